"""Findings against the baseline: known ones are debt, new severe ones fail, those on a
threshold do neither.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from support.made_runs import QUIET, side, snapshot

from tfadvisor.advice.findings import Evidence, Finding, Saving
from tfadvisor.comparison.baseline.snapshot import CALLS, Baseline, Snapshot, choose
from tfadvisor.comparison.gate.config import Config, RuleLevel
from tfadvisor.comparison.gate.judge import check_rules
from tfadvisor.comparison.gate.result import Check, Outcome
from tfadvisor.comparison.side import KnownFinding
from tfadvisor.vocabulary import Severity

WARNS = replace(QUIET, severity=dict.fromkeys(("critical", "high", "medium"), "warn"))
RULE = "input-loader-in-step"


class Findings:
    """As much of a report as is asked."""

    def __init__(self, *findings: Finding) -> None:
        self.findings = findings


def finding(
    severity: Severity = Severity.HIGH, metric: str | None = "input_bound_fraction"
) -> Finding:
    evidence = () if metric is None else (Evidence(metric, "", 0.4, "fraction"),)
    saving = Saving(0.2, 0.4, "the trace")
    return Finding(
        RULE,
        "input",
        severity,
        "The loop loads",
        "It waits.",
        evidence,
        saving,
        (),
        (),
        (),
        "",
    )


def run(waits: float, found: bool) -> Snapshot:
    """input_bound_fraction, and whether the rule fired."""
    findings = (
        [KnownFinding(RULE, "input", "The loop loads", "train.py:4", "high")]
        if found
        else []
    )
    return snapshot(
        of=side(100.0, metrics={"input_bound_fraction": waits}, findings=findings)
    )


def judged(
    base: Sequence[Snapshot],
    *new: Snapshot,
    config: Config = WARNS,
    of: Finding | None = None,
) -> Check:
    baseline: Baseline = choose(base, new, 30) if base else Baseline((), (), (), ())
    (check,) = check_rules(config, Findings(of or finding()), new, baseline)  # type: ignore[arg-type]
    return check


def test_without_a_baseline_a_finding_is_what_its_severity_says() -> None:
    check = judged([], run(0.4, True))

    assert (check.outcome, check.news, check.message) == (
        Outcome.WARN,
        "unknown",
        "The loop loads. It waits.",
    )


def test_a_new_severe_finding_fails_from_the_second_run_on() -> None:
    check = judged([run(0.0, False)], run(0.4, True))

    assert (check.outcome, check.level, check.news) == (Outcome.FAIL, "error", "new")
    assert check.message == "New: The loop loads. It waits."


def test_a_known_finding_is_debt() -> None:
    check = judged([run(0.4, True)], run(0.4, True))

    assert (check.outcome, check.news, check.message) == (
        Outcome.WARN,
        "known",
        "Debt: The loop loads. It waits.",
    )


def test_a_finding_that_stayed_away_for_ten_runs_was_mended() -> None:
    mended = [run(0.4, True), *(run(0.0, False) for _ in range(10))]

    assert judged(mended, run(0.4, True)).outcome is Outcome.FAIL
    assert judged(mended[:-1], run(0.4, True)).news == "known"


def test_a_finding_on_the_edge_of_its_threshold_fails_nothing() -> None:
    """Ten runs wait for 19% to 21% of the step, and a rule fires from 20.5% on."""
    base = [run(0.19 + 0.002 * number, False) for number in range(10)]

    check = judged(base, run(0.21, True))

    assert (check.outcome, check.news) == (Outcome.WARN, "on_the_edge")
    assert check.message.startswith(
        "New, but no number that it rests on moved beyond noise: "
    )
    assert judged(base, run(0.4, True)).outcome is Outcome.FAIL


def test_a_finding_that_rests_on_no_number_or_a_new_one_is_new() -> None:
    assert (
        judged([run(0.4, False)], run(0.4, True), of=finding(metric=None)).news == "new"
    )
    assert (
        judged(
            [run(0.4, False)], run(0.4, True), of=finding(metric="allreduce_bus_gb_s")
        ).news
        == "new"
    )


def test_a_new_finding_of_one_of_several_candidates_fails_nothing() -> None:
    assert (
        judged([run(0.0, False)], run(0.4, True), run(0.4, False)).news == "on_the_edge"
    )
    assert judged([run(0.0, False)], run(0.4, True), run(0.4, True)).news == "new"


@pytest.mark.parametrize(
    ("from_severity", "severity", "outcome"),
    [
        ("high", Severity.CRITICAL, Outcome.FAIL),
        ("high", Severity.MEDIUM, Outcome.WARN),
        ("medium", Severity.MEDIUM, Outcome.FAIL),
        ("critical", Severity.HIGH, Outcome.WARN),
        ("off", Severity.CRITICAL, Outcome.WARN),
    ],
)
def test_the_configuration_says_from_which_severity_on(
    from_severity: str, severity: Severity, outcome: Outcome
) -> None:
    config = replace(WARNS, new_findings=from_severity)

    assert (
        judged(
            [run(0.0, False)], run(0.4, True), config=config, of=finding(severity)
        ).outcome
        is outcome
    )


def test_what_the_configuration_says_of_the_rule_itself_wins() -> None:
    config = replace(WARNS, rules=(RuleLevel("input-*", "warn", 7),))

    assert (
        judged([run(0.0, False)], run(0.4, True), config=config).outcome is Outcome.WARN
    )


def recorded(
    calls: str, waits: float, *found: KnownFinding, host: float = 0.0
) -> Snapshot:
    """A run with or without calls of Python functions."""
    values = {"input_bound_fraction": waits}
    made = snapshot(of=side(100.0, {}, {"host": host}, metrics=values, findings=found))  # type: ignore[arg-type]
    return replace(made, about={CALLS: calls})


LOADS = replace(finding(), claims=("input",), takes=0.29)
WORKS = KnownFinding(
    "host-work-in-loop", "host", "Python runs", "", "high", claims="host", takes=0.30
)
LOADED = KnownFinding(
    RULE, "input", "The loop loads", "train.py:4", "high", claims="input", takes=0.29
)


def test_one_cause_that_two_rules_name_is_not_new() -> None:
    """Without calls of Python functions loading is other Python: the same 30% of the
    step, under another rule and class.
    """
    base = [recorded("not recorded", 0.0, WORKS) for _ in range(2)]

    assert judged(base, recorded("recorded", 0.29, LOADED), of=LOADS).news == "known"


def test_what_calls_tell_apart_is_no_new_finding_against_runs_without_them() -> None:
    base = [recorded("not recorded", 0.0) for _ in range(2)]

    check = judged(base, recorded("recorded", 0.29, LOADED), of=LOADS)

    assert (check.outcome, check.news) == (Outcome.WARN, "recorded_otherwise")
    assert check.message.startswith(
        "Not compared, because calls of Python functions were recorded on one side "
        "only: "
    )
    assert (
        judged(
            [*base, recorded("recorded", 0.0)],
            recorded("recorded", 0.29, LOADED),
            of=LOADS,
        ).news
        == "new"
    )


def test_another_place_class_or_share_is_another_cause() -> None:
    elsewhere = KnownFinding(
        "other-rule", "input", "", "data.py:9", "high", claims="input", takes=0.29
    )

    assert not LOADED.same_cause(elsewhere)
    assert LOADED.same_cause(replace(elsewhere, place="train.py:4 in load"))
    assert LOADED.same_cause(replace(elsewhere, place=""))
    assert not LOADED.same_cause(replace(elsewhere, place="", takes=0.58))
    assert not LOADED.same_cause(WORKS)
    assert LOADED.same_cause(WORKS, ("input", "host"))


def test_a_finding_whose_number_scatters_so_much_anyway_is_not_new() -> None:
    """Six runs wait for 10% to 34%. 70% is further out than three of their spreads, and
    not so rare as 1 run in 100.
    """
    base = [run(waits, False) for waits in (0.10, 0.34, 0.11, 0.33, 0.12, 0.32)]

    assert judged(base, run(0.70, True)).news == "on_the_edge"
