"""Questions and rules on trial: what they say, and what they never do."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace
from support.outcome import outcome_of

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.findings import Finding, Location, Saving, Verdict
from tfadvisor.advice.judging.cause import cause_of
from tfadvisor.advice.judging.judge_rules import run_rules
from tfadvisor.advice.judging.verdict import Seen, unless_asked, verdict_of
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import Rule, SavingRule
from tfadvisor.advice.ranking import Ranking, ranked
from tfadvisor.advice.savings import calibration
from tfadvisor.metrics.registry import (
    Measured,
    Metrics,
    registered_facts,
    registered_metrics,
)
from tfadvisor.vocabulary import TIME_CLASSES, Severity

SHOWN = next(one for one in load_catalogue().rules if one.id == "host-work-in-loop")
STEP = {
    "compute_fraction": 0.6,
    "host_fraction": 0.4,
    "loop_python_fraction": 0.4,
    "dispatches_per_step": 1.0,
    "steps_counted": 9.0,
    "step_confidence": 1.0,
}


def metrics(**values: float) -> Metrics:
    facts = {
        "framework": "jax",
        "device_kind": "cpu",
        "python_tracer": "off",
        "host_question": "Why?",
    }
    return Metrics(
        {
            n: Measured(values.get(n), m.unit, "" if n in values else "absent", m.about)
            for n, m in registered_metrics().items()
        },
        {n: (facts.get(n), "" if n in facts else "absent") for n in registered_facts()},
    )


def shown(name: str, high: float) -> Rule:
    """Saves this part of the host time."""
    return replace(
        SHOWN,
        id=name,
        saving=SavingRule("host_fraction", high / 2, high, "", ("host",)),
        confirmed=(),
    )


def likely(name: str, high: float = 1.0) -> Rule:
    return replace(
        shown(name, high), proof="likely", ask="Are all {dispatches_per_step} needed?"
    )


def on_trial(name: str, high: float) -> Rule:
    return replace(shown(name, high), tier="preview")


def run(*rules: Rule, **values: float) -> Ranking:
    measured = metrics(**{**STEP, **values})
    return ranked(run_rules(rules, measured), measured, calibration())


def verdict(shares: dict[str, float], measured: Metrics, finding: Finding) -> Verdict:
    return verdict_of(cause_of(shares, measured), shares, measured, [finding], Seen())


def test_a_question_takes_a_share_of_the_step_and_promises_nothing() -> None:
    (one,) = run(likely("a")).findings

    assert (one.proof, one.ask, one.takes, one.saving, one.severity) == (
        "likely",
        "Are all 1 needed?",
        0.4,
        None,
        Severity.LOW,
    )


def test_what_the_trace_shows_says_so() -> None:
    (one,) = run(shown("a", 0.5)).findings

    assert (one.proof, one.ask, one.tier, one.takes) == (
        "shown",
        msgspec.UNSET,
        msgspec.UNSET,
        0.4,
    )
    assert not one.is_question
    assert one.bears_verdict


@pytest.mark.parametrize(
    ("takes", "whole", "share"),
    [
        ("", "", 0.4),
        ("", "compute_fraction", 0.4),
        ("wait_fraction", "compute_fraction", 0.1),
    ],
)
def test_a_finding_is_about_the_share_that_its_rule_names_and_not_about_its_whole_class(
    takes: str, whole: str, share: float
) -> None:
    rule = shown("a", 0.5)
    assert rule.saving is not None
    rule = replace(rule, takes=takes, saving=replace(rule.saving, whole=whole))

    one = outcome_of(rule, metrics(**STEP, wait_fraction=0.1))

    assert isinstance(one, Finding)
    assert one.takes == share


def test_a_rule_that_names_no_share_takes_none() -> None:
    one = outcome_of(
        replace(SHOWN, saving=None, severity=Severity.LOW), metrics(**STEP)
    )

    assert isinstance(one, Finding)
    assert one.takes is None


def test_questions_come_last_and_take_nothing_from_findings() -> None:
    """20 of the 40% host time are asked about, and 24 are saved all the same."""
    with_question, alone = (
        run(likely("a"), shown("b", 0.6)).findings,
        run(shown("b", 0.6)).findings,
    )

    assert [one.rule_id for one in with_question] == ["b", "a"]
    assert with_question[0] == alone[0]


def test_time_that_findings_take_is_not_asked_about() -> None:
    outcomes = run(likely("a"), shown("b", 1.0))

    assert [one.rule_id for one in outcomes.findings] == ["b"]
    assert [one.rule_id for one in outcomes.not_applicable] == ["a"]


def test_two_questions_may_be_about_the_same_time() -> None:
    assert [one.rule_id for one in run(likely("b"), likely("a")).findings] == ["a", "b"]


def test_a_rule_on_trial_is_low_comes_after_the_stable_ones_and_takes_nothing_from_them() -> (
    None
):
    """It would save 36 of the 40% host time, and gets what 20 leave."""
    both, alone = (
        run(on_trial("a", 0.9), shown("b", 0.5)).findings,
        run(shown("b", 0.5)).findings,
    )

    assert [(one.rule_id, one.tier, one.severity) for one in both] == [
        ("b", msgspec.UNSET, Severity.HIGH),
        ("a", "preview", Severity.LOW),
    ]
    assert both[0] == alone[0]


def test_no_plan_is_made_of_what_is_not_proven() -> None:
    assert run(on_trial("a", 0.4), shown("b", 0.4), likely("c")).plan is None
    assert run(shown("a", 0.4), shown("b", 0.4)).plan is not None


def test_a_verdict_over_questions_is_the_same_as_over_nothing() -> None:
    """The report gives the verdict those findings only that bear one."""
    found = [
        one
        for one in run(likely("a"), on_trial("b", 0.3)).findings
        if one.bears_verdict
    ]

    assert found == []


@pytest.mark.parametrize("severity", list(Severity))
def test_no_run_is_called_healthy_over_a_finding_that_is_worth_a_change(
    severity: Severity,
) -> None:
    (one,) = run(shown("a", 0.1)).findings
    shares = dict.fromkeys(TIME_CLASSES, 0.0) | {"compute": 0.95, "host": 0.05}

    found = verdict(
        shares,
        metrics(**STEP),
        replace(one, severity=severity, saving=Saving(0.05, 0.1, "")),
    )

    assert found.healthy is (severity is Severity.INFO)
    assert ("No finding is worth acting on" in found.summary) is found.healthy


@pytest.mark.parametrize(
    ("share", "words"), [(0.1, "10% is "), (0.099, "no other cost is large")]
)
def test_a_cost_that_a_finding_is_worth_a_change_for_is_no_small_one(
    share: float, words: str
) -> None:
    (one,) = run(shown("a", 0.5)).findings
    shares = dict.fromkeys(TIME_CLASSES, 0.0) | {"compute": 1 - share, "host": share}
    measured = Metrics(
        dict(metrics(**STEP).items()),
        {
            name: ("gpu" if name == "device_kind" else None, "absent")
            for name in registered_facts()
        },
    )

    assert words in verdict(shares, measured, one).summary


def question(takes: float, line: int | None = None) -> Finding:
    """About a line of train.py, or about none."""
    places = () if line is None else (Location("train.py", line, ""),)
    return Finding(
        rule_id="sorting",
        category="compute",
        severity=Severity.LOW,
        title="Sorting takes much of the step",
        summary="",
        evidence=(),
        saving=None,
        fixes=(),
        locations=places,
        source=(),
        caveat="",
        proof="likely",
        takes=takes,
    )


@pytest.mark.parametrize(("takes", "healthy"), [(0.29, True), (0.3, False)])
def test_no_run_is_healthy_over_a_question_about_much_of_the_step(
    takes: float, healthy: bool
) -> None:
    """Whoever has the answer may save most of it."""
    sound = Verdict("compute", 0.95, True, "The devices compute for 95%.")
    asked = question(takes)

    found = unless_asked(sound, [asked])

    assert found.healthy is healthy
    if not healthy:
        assert found.summary == (
            "The devices compute for 95%. One question, below, is about 30% of the "
            "step."
        )


@pytest.mark.parametrize(
    ("asked", "healthy"),
    [
        ([question(0.21, 5), question(0.1, 9)], False),
        ([question(0.2, 5), question(0.1, 5)], True),
        ([question(0.2), question(0.1)], True),
        ([question(0.2, 5), question(0.09, 6), question(0.09, 7)], True),
    ],
    ids=["two places", "one place", "no place", "small ones"],
)
def test_nor_over_questions_about_much_of_it_together(
    asked: list[Finding], healthy: bool
) -> None:
    """Of several about one place the largest counts, and none below a tenth."""
    sound = Verdict("compute", 0.95, True, "The devices compute for 95%.")
    found = unless_asked(sound, asked)

    assert found.healthy is healthy
    if not healthy:
        assert found.summary.endswith("Questions, below, are together about 31% of it.")
