"""The whole verdict: which outcome wins, what is ignored, what is broken."""

from __future__ import annotations

from datetime import date
from functools import cache

import pytest
from msgspec.structs import replace
from support.made_runs import QUIET
from support.trace_builder import trace

from tfadvisor.advice.findings import Broken, Evidence, Finding, Fix, Location, Saving
from tfadvisor.comparison.baseline.snapshot import Baseline, choose, snapshot_of
from tfadvisor.comparison.gate.config import Budget, Config, Ignore, Relative, RuleLevel
from tfadvisor.comparison.gate.judge import judge
from tfadvisor.comparison.gate.result import GateResult, Outcome
from tfadvisor.report.model import Report
from tfadvisor.vocabulary import Severity

TODAY = date(2026, 6, 1)
STEP_TIME = Relative("step_time_ms", 0.05, None, None, "error", 3)


@cache
def report(busy: float = 60.0, period: float = 100.0) -> Report:
    """Six steps with one kernel each; made once, since nobody changes it."""
    spans = [(index * period, index * period + busy) for index in range(6)]
    return trace().steps(6, period=period).busy("GPU:0", *spans).report()


def finding(rule_id: str = "slow-thing", severity: Severity = Severity.HIGH) -> Finding:
    return Finding(
        rule_id=rule_id,
        category="host",
        severity=severity,
        title="Something is slow",
        summary="It takes long.",
        evidence=(Evidence("host_fraction", "", 0.4, "fraction"),),
        saving=Saving(0.1, 0.2, "the trace"),
        fixes=(Fix("code", "Make it fast.", "fast()", {}, "all", ""),),
        locations=(Location("train.py", 42, "step"),),
        source=(),
        caveat="",
    )


def gate(
    config: Config, one: Report, baseline: Baseline = Baseline((), (), (), ())
) -> GateResult:
    return judge(config, [one], [snapshot_of(one)], baseline, TODAY)


def budget(
    metric: str = "kernels_per_step",
    most: float | None = 0.5,
    level: str = "error",
    least: float | None = None,
) -> Budget:
    return Budget(metric, most, least, level, 7)


@pytest.mark.parametrize(
    ("config", "outcome", "code"),
    [
        (QUIET, Outcome.PASS, 0),
        (replace(QUIET, budgets=(budget(most=1.0),)), Outcome.PASS, 0),
        (replace(QUIET, budgets=(budget(),)), Outcome.FAIL, 1),
        (replace(QUIET, budgets=(budget(level="warn"),)), Outcome.WARN, 0),
        (replace(QUIET, budgets=(budget(most=None, least=2.0),)), Outcome.FAIL, 1),
        (
            replace(QUIET, budgets=(budget("h2d_bytes_per_step", least=1.0),)),
            Outcome.FAIL,
            1,
        ),
        (replace(QUIET, relative=(STEP_TIME,)), Outcome.PASS, 0),
    ],
)
def test_budgets_and_first_runs(config: Config, outcome: Outcome, code: int) -> None:
    verdict = gate(config, report())

    assert (verdict.outcome, verdict.exit_code) == (outcome, code)


def test_a_budget_of_a_metric_that_the_trace_cannot_give_is_not_applicable() -> None:
    (check,) = gate(
        replace(QUIET, budgets=(budget("allreduce_efficiency"),)), report()
    ).checks

    assert check.outcome is Outcome.NOT_APPLICABLE
    assert "allreduce_efficiency: " in check.message


@pytest.mark.parametrize(
    ("level", "outcome", "code"),
    [("off", Outcome.PASS, 0), ("warn", Outcome.WARN, 0), ("error", Outcome.FAIL, 1)],
)
def test_a_rule_counts_at_its_level(level: str, outcome: Outcome, code: int) -> None:
    config = replace(QUIET, rules=(RuleLevel("slow-*", level, 9),))
    one = replace(report(), findings=(finding(),))

    verdict = gate(config, one)

    assert (verdict.outcome, verdict.exit_code) == (outcome, code)
    if level != "off":
        (check,) = verdict.checks
        assert (check.kind, check.name, check.line) == ("rule", "slow-thing", 9)
        assert (check.file, check.file_line) == ("train.py", 42)
        assert check.message == "Something is slow. It takes long. Make it fast."


def test_without_a_word_about_the_rule_its_severity_decides() -> None:
    config = replace(QUIET, severity={"high": "error", "low": "warn"})

    assert gate(config, replace(report(), findings=(finding(),))).exit_code == 1
    assert (
        gate(
            config, replace(report(), findings=(finding(severity=Severity.LOW),))
        ).outcome
        is Outcome.WARN
    )
    assert (
        gate(
            config, replace(report(), findings=(finding(severity=Severity.INFO),))
        ).outcome
        is Outcome.PASS
    )


def test_a_severe_finding_that_the_baseline_has_not_fails_the_gate() -> None:
    config = replace(QUIET, severity={"high": "warn"})
    slow = replace(finding(), evidence=())
    without, found = report(), replace(report(busy=61.0), findings=(slow,))
    debt = replace(report(busy=62.0), findings=(slow,))

    new = gate(config, found, choose([snapshot_of(without)], [snapshot_of(found)], 10))
    known = gate(config, debt, choose([snapshot_of(found)], [snapshot_of(debt)], 10))

    assert (new.exit_code, new.checks[0].message) == (
        1,
        "New: Something is slow. It takes long. Make it fast.",
    )
    assert (known.exit_code, known.outcome, known.checks[0].news) == (
        0,
        Outcome.WARN,
        "known",
    )


@pytest.mark.parametrize(
    ("period", "outcome"), [(91.0, Outcome.FAIL), (89.0, Outcome.WARN)]
)
def test_a_new_finding_of_a_much_shorter_step_warns(
    period: float, outcome: Outcome
) -> None:
    """What was hidden behind something else is seen then, and nothing got worse."""
    config = replace(QUIET, severity={"high": "warn"}, relative=(STEP_TIME,))
    slow = replace(finding(), evidence=())
    before = report(busy=60.0, period=100.0)
    found = replace(report(busy=60.0, period=period), findings=(slow,))

    runs = choose([snapshot_of(before)], [snapshot_of(found)], 10)
    (_, new) = gate(config, found, runs).checks

    assert (new.news, new.outcome) == ("new", outcome)


def not_comparable() -> Baseline:
    stored = replace(
        snapshot_of(report()),
        key=replace(snapshot_of(report()).key, hosts=9),
        fingerprint="other",
    )
    return choose([stored], [snapshot_of(report())], 10)


@pytest.mark.parametrize(
    ("policy", "outcome", "code"),
    [
        ("fail", Outcome.CANNOT_TELL, 4),
        ("warn", Outcome.CANNOT_TELL, 0),
        ("pass", Outcome.CANNOT_TELL, 0),
    ],
)
def test_what_cannot_be_told_follows_the_policy(
    policy: str, outcome: Outcome, code: int
) -> None:
    config = replace(
        QUIET, relative=(STEP_TIME,), on_cannot_tell=policy, on_not_comparable=policy
    )

    verdict = gate(config, report(), not_comparable())

    assert (verdict.outcome, verdict.exit_code) == (outcome, code)
    assert verdict.of(Outcome.CANNOT_TELL)


def too_few() -> Baseline:
    """One run that took half the time: whether that is a change or chance, nobody
    knows.
    """
    faster = snapshot_of(report())
    side = replace(
        faster.side,
        metrics={
            **faster.side.metrics,
            "step_time_ms": faster.side.metrics["step_time_ms"] * 0.9,
        },
    )
    return choose(
        [replace(faster, side=side, fingerprint="other")], [snapshot_of(report())], 10
    )


def test_too_few_runs_cannot_tell_and_hold_nobody_up() -> None:
    """What the documented recipe meets in its first days, against a baseline that
    nothing may be compared with.
    """
    usual = replace(
        QUIET, relative=(STEP_TIME,), on_cannot_tell="pass", on_not_comparable="fail"
    )

    few = gate(usual, report(), too_few())

    assert (few.outcome, few.exit_code) == (Outcome.CANNOT_TELL, 0)
    (open_check,) = few.of(Outcome.CANNOT_TELL)
    assert open_check.message.startswith("step_time_ms rose by 11")
    assert gate(usual, report(), not_comparable()).exit_code == 4


def test_a_warning_that_cannot_be_told_holds_nobody_up() -> None:
    config = replace(QUIET, relative=(replace(STEP_TIME, level="warn"),))

    assert gate(config, report(), not_comparable()).exit_code == 0


def test_a_failure_wins_over_what_broke_and_what_cannot_be_told() -> None:
    one = replace(report(), broken=(Broken("some_metric", "broken: ValueError"),))
    config = replace(QUIET, relative=(STEP_TIME,))

    assert (
        gate(replace(config, budgets=(budget(),)), one, not_comparable()).exit_code == 1
    )
    assert gate(config, one, not_comparable()).exit_code == 5
    assert gate(config, report(), not_comparable()).exit_code == 4


def test_a_gated_metric_that_broke_is_broken_and_never_a_regression() -> None:
    one = replace(
        report(), broken=(Broken("kernels_per_step", "broken: ValueError: x"),)
    )

    verdict = gate(replace(QUIET, budgets=(budget(),)), one)

    assert (verdict.outcome, verdict.exit_code) == (Outcome.BROKEN, 5)
    assert verdict.checks[0].outcome is Outcome.BROKEN
    assert "kernels_per_step: broken: ValueError: x" in verdict.notices


def ignoring(expires: date) -> Config:
    entry = Ignore("kernels_*", "known, ticket 7", expires, 3)
    return replace(QUIET, budgets=(budget(),), ignores=(entry,))


def test_what_is_ignored_passes_with_its_reason() -> None:
    verdict = gate(ignoring(date(2026, 6, 1)), report())

    assert verdict.exit_code == 0
    assert verdict.checks[0].outcome is Outcome.IGNORED
    assert "Ignored until 2026-06-01: known, ticket 7" in verdict.checks[0].message


def test_an_expired_entry_ignores_nothing_and_is_told() -> None:
    verdict = gate(ignoring(date(2026, 5, 31)), report())

    assert verdict.exit_code == 1
    assert (
        "was ignored until 2026-05-31 (known, ticket 7); the gate judges it again"
        in verdict.notices[0]
    )


def test_an_entry_does_not_touch_what_passes() -> None:
    config = replace(ignoring(date(2026, 6, 1)), budgets=(budget(most=2.0),))

    assert gate(config, report()).checks[0].outcome is Outcome.PASS


def test_a_failed_gate_explains_itself() -> None:
    """60 of 100 µs busy before, 160 of 200 µs now."""
    before = [
        replace(snapshot_of(report()), fingerprint=str(number)) for number in range(6)
    ]
    one = report(busy=160, period=200)

    verdict = gate(
        replace(QUIET, relative=(STEP_TIME,)),
        one,
        choose(before, [snapshot_of(one)], 10),
    )

    assert verdict.exit_code == 1
    assert verdict.comparison is not None
    assert verdict.comparison.causes[0].class_name == "compute"
    assert verdict.comparison.change_ms == pytest.approx(0.1)
    assert sum(cause.change_ms for cause in verdict.comparison.causes) == pytest.approx(
        0.1
    )


def test_the_verdict_as_plain_data() -> None:
    plain = gate(replace(QUIET, budgets=(budget(),)), report()).to_dict()

    assert plain["schema_version"] == "1"
    assert (plain["outcome"], plain["exit_code"], plain["comparison"]) == (
        "fail",
        1,
        None,
    )
    assert plain["checks"][0]["outcome"] == "fail"
    assert plain["gated"]["candidates"] == 1
