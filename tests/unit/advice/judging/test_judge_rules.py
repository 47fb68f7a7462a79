"""One rule on metrics: bounds from both sides, what is shown, and what a weak trace
changes.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.outcome import outcome_of

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.findings import Finding, NotApplicable
from tfadvisor.advice.judging.conditions import Condition, parse_condition
from tfadvisor.advice.judging.judge_rules import run_rules
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import Cap, Rule, SavingRule
from tfadvisor.advice.loading.yaml_marks import load
from tfadvisor.metrics.registry import (
    Measured,
    Metrics,
    registered_facts,
    registered_metrics,
)
from tfadvisor.report.model import Severity

RULES = {rule.id: rule for rule in load_catalogue().rules}
LOADER = RULES["input-loader-in-step"]
FACTS = {"framework": "jax", "input_frame": "load (a.py:3)"}


def condition(text: str) -> Condition:
    marked = load(text, "x.yaml")
    return parse_condition(marked, "", marked.data)


def metrics(facts: dict[str, str] = FACTS, /, **values: float) -> Metrics:
    return Metrics(
        {
            n: Measured(
                values.get(n), m.unit, "" if n in values else f"no {n}", m.about
            )
            for n, m in registered_metrics().items()
        },
        {
            n: (facts.get(n), "" if n in facts else f"no {n}")
            for n in registered_facts()
        },
    )


def found(rule: Rule, facts: dict[str, str] = FACTS, /, **values: float) -> Finding:
    outcome = outcome_of(rule, metrics(facts, **values))
    assert isinstance(outcome, Finding)
    return outcome


def saving(low: float, high: float, metric: str = "host_fraction") -> Rule:
    """Fires on input time; its saving is this part of another metric."""
    return replace(LOADER, saving=SavingRule(metric, low, high, "as measured"))


@pytest.mark.parametrize(
    ("share", "severity"),
    [
        (0.5, "critical"),
        (0.499, "high"),
        (0.2, "high"),
        (0.199, "medium"),
        (0.1, "medium"),
        (0.099, "low"),
        (0.03, "low"),
        (0.029, "info"),
    ],
)
def test_severity_changes_at_50_20_10_and_3_percent(
    share: float, severity: str
) -> None:
    assert (
        found(
            saving(0.5, 1.0), input_bound_fraction=0.5, host_fraction=share
        ).severity.value
        == severity
    )


@pytest.mark.parametrize(
    ("measured", "high"), [(-0.3, 0.0), (0.0, 0.0), (0.9, 0.9), (1.0, 1.0), (1.4, 1.0)]
)
def test_a_saving_is_a_share_of_the_step(measured: float, high: float) -> None:
    one = found(saving(0.5, 1.0), input_bound_fraction=0.5, host_fraction=measured)

    assert one.takes == high
    assert (
        (one.saving.low, one.saving.high) == (high / 2, high)
        if high
        else one.saving is None
    )


def test_low_and_high_are_parts_of_the_metric() -> None:
    """20 to 60% of 50%."""
    one = found(saving(0.2, 0.6), input_bound_fraction=0.5, host_fraction=0.5).saving

    assert (one.low, one.high, one.basis) == (0.1, 0.3, "as measured")


def test_a_saving_that_the_trace_cannot_give_is_not_applicable() -> None:
    outcome = outcome_of(saving(0.5, 1.0), metrics(input_bound_fraction=0.5))

    assert outcome == NotApplicable(LOADER.id, "no host_fraction")


def test_a_rule_of_fixed_severity_promises_nothing() -> None:
    one = found(
        replace(LOADER, saving=None, severity=Severity.HIGH), input_bound_fraction=0.5
    )

    assert (one.severity, one.saving) == (Severity.HIGH, None)


def test_a_rule_whose_fixes_are_all_for_others_is_not_applicable() -> None:
    (other, *_) = (fix for fix in LOADER.fixes if fix.when is not None)
    outcome = outcome_of(
        replace(LOADER, fixes=(other,)),
        metrics({**FACTS, "framework": "none"}, input_bound_fraction=0.5),
    )

    assert outcome == NotApplicable(LOADER.id, "none of its fixes applies to this run")


def test_only_the_evidence_that_the_trace_gives_is_shown() -> None:
    rule = replace(
        LOADER,
        evidence=(
            "host_fraction",
            "input_bound_fraction",
            "input_frame",
            "device_kind",
        ),
    )

    metric, fact = found(rule, input_bound_fraction=0.5).evidence

    assert (metric.metric, metric.value, metric.unit) == (
        "input_bound_fraction",
        0.5,
        "fraction",
    )
    assert (fact.metric, fact.text, fact.value, fact.unit) == (
        None,
        "input frame",
        "load (a.py:3)",
        "text",
    )


def test_only_facts_that_name_a_place_are_locations() -> None:
    rule = replace(LOADER, locations=("input_frame", "device_kind", "framework"))

    (place,) = found(rule, input_bound_fraction=0.5).locations

    assert (place.file, place.line) == ("a.py", 3)


@pytest.mark.parametrize(("confidence", "weak"), [(0.5, False), (0.49, True)])
def test_steps_below_half_confidence_are_weak(confidence: float, weak: bool) -> None:
    one = found(LOADER, input_bound_fraction=0.6, step_confidence=confidence)

    assert ("whole trace" in one.caveat) is weak
    assert one.severity is (Severity.LOW if weak else Severity.CRITICAL)


@pytest.mark.parametrize(
    ("steps", "caveat"),
    [
        (3, ""),
        (2, "The trace holds only 2 whole steps:"),
        (1, "The trace holds only 1 whole step:"),
    ],
)
def test_fewer_than_three_steps_may_differ_from_the_next(
    steps: float, caveat: str
) -> None:
    one = found(LOADER, input_bound_fraction=0.6, steps_counted=steps)

    assert one.caveat.startswith(caveat)
    assert bool(one.caveat) is bool(caveat)


def test_a_weak_trace_lowers_severities_and_raises_none() -> None:
    """What waits for input may have waited once: low. What the device computes it
    computes in every step: medium.
    """
    computes = replace(LOADER, category="kernel")
    for share, waits, works in (
        (0.3, Severity.LOW, Severity.MEDIUM),
        (0.06, Severity.LOW, Severity.LOW),
    ):
        assert (
            found(LOADER, input_bound_fraction=share, steps_counted=2).severity is waits
        )
        assert (
            found(computes, input_bound_fraction=share, steps_counted=2).severity
            is works
        )


def test_what_is_wrong_with_the_trace_itself_has_no_caveat() -> None:
    one = found(
        replace(LOADER, category="capture"),
        input_bound_fraction=0.6,
        step_confidence=0.1,
        steps_counted=1,
    )

    assert (one.caveat, one.severity) == ("", Severity.CRITICAL)


def same(name: str, **changes: Any) -> Rule:
    return replace(saving(0.5, 1.0), id=name, **changes)


def test_findings_come_by_saving_then_by_what_is_sure_then_by_severity_then_by_name() -> (
    None
):
    rules = [
        same("e", saving=None, severity=Severity.LOW),
        same("d", saving=None, severity=Severity.HIGH),
        same("c", saving=SavingRule("host_fraction", 0.2, 0.3, "", ("host",))),
        same("b", saving=SavingRule("host_fraction", 0.3, 0.3, "", ("host",))),
        same("f", saving=SavingRule("host_fraction", 0.3, 0.3, "", ("host",))),
        same("a", saving=SavingRule("host_fraction", 0.0, 0.4, "", ("host",))),
    ]
    classes = {
        "compute_fraction": 0.1,
        "host_fraction": 0.5,
        "input_bound_fraction": 0.4,
    }

    outcomes = run_rules(rules, metrics(**{**classes, "host_fraction": 0.5}))

    assert [one.rule_id for one in outcomes.findings] == ["a", "b", "f", "d", "e"]
    assert [one.rule_id for one in outcomes.not_applicable] == ["c"]


def test_each_rule_has_one_outcome() -> None:
    """One fires, one is quiet, one lacks its metric, one breaks."""
    rules = [
        LOADER,
        RULES["exposed-copies"],
        RULES["few-steps"],
        replace(LOADER, id="broken", evidence=("nonsense",)),
    ]

    outcomes = run_rules(rules, metrics(input_bound_fraction=0.4, steps_counted=100))

    assert [one.rule_id for one in outcomes.findings] == [LOADER.id]
    assert [one.rule_id for one in outcomes.not_applicable] == ["exposed-copies"]
    assert [one.name for one in outcomes.broken] == ["broken"]
    assert outcomes.broken[0].error.startswith("KeyError: ")


@pytest.mark.parametrize(
    ("known", "first"),
    [
        ({"steps_counted": 3, "step_confidence": 0.5}, "saves"),
        ({"steps_counted": 2, "step_confidence": 0.9}, "proves"),
        ({"steps_counted": 100, "step_confidence": 0.2}, "proves"),
    ],
)
def test_where_steps_are_few_or_guessed_the_more_severe_comes_before_what_saves_more(
    known: dict[str, float], first: str
) -> None:
    rules = [
        same(
            "saves",
            saving=SavingRule("host_fraction", 0.3, 0.3, "", ("host",)),
            severity=Severity.LOW,
        ),
        same("proves", saving=None, severity=Severity.HIGH),
    ]

    outcomes = run_rules(
        rules, metrics(input_bound_fraction=0.4, host_fraction=0.5, **known)
    )

    assert outcomes.findings[0].rule_id == first


@pytest.mark.parametrize(
    ("claimed", "severity"),
    [
        ("launch", "low"),
        ("input", "low"),
        ("host", "low"),
        ("compile", "low"),
        ("idle", "low"),
        ("compute", "medium"),
    ],
)
def test_what_may_have_happened_once_is_low_where_steps_are_few(
    claimed: str, severity: str
) -> None:
    rule = same("x", saving=SavingRule("host_fraction", 0.9, 0.9, "", (claimed,)))

    assert (
        found(
            rule, input_bound_fraction=0.4, host_fraction=1.0, steps_counted=2
        ).severity.value
        == severity
    )


@pytest.mark.parametrize(("confidence", "severity"), [(1.0, "medium"), (0.49, None)])
def test_what_each_call_of_the_step_does_is_told_from_one_but_not_where_steps_are_guessed(
    confidence: float, severity: str | None
) -> None:
    rule = replace(
        same("x", saving=SavingRule("host_fraction", 0.9, 0.9, "", ("host",))),
        category="host",
        every_call=True,
    )
    measured = metrics(
        input_bound_fraction=0.4,
        host_fraction=1.0,
        steps_counted=1,
        step_confidence=confidence,
    )
    outcomes = run_rules([rule], measured)

    assert [one.severity.value for one in outcomes.findings] == (
        [severity] if severity else []
    )


def test_what_the_host_may_have_done_once_is_left_open() -> None:
    """From two steps a rule about the host says nothing, with a saving or without,
    unless each call does it.
    """
    rule = replace(saving(0.5, 1.0), category="host")
    measured = metrics(input_bound_fraction=0.5, host_fraction=0.5, steps_counted=2)

    assert isinstance(outcome_of(rule, measured), NotApplicable)
    assert isinstance(
        outcome_of(replace(rule, saving=None, severity=Severity.LOW), measured),
        NotApplicable,
    )
    assert isinstance(outcome_of(replace(rule, every_call=True), measured), Finding)


@pytest.mark.parametrize(
    ("bound", "share", "severity"),
    [
        (None, 0.9, "critical"),
        (Cap(Severity.LOW, None), 0.9, "low"),
        (Cap(Severity.LOW, None), 0.02, "info"),
        (
            Cap(Severity.LOW, condition("{metric: host_fraction, below: 0.15}")),
            0.149,
            "low",
        ),
        (
            Cap(Severity.LOW, condition("{metric: host_fraction, below: 0.15}")),
            0.15,
            "medium",
        ),
        (
            Cap(Severity.LOW, condition("{metric: loop_python_fraction, below: 0.15}")),
            0.9,
            "critical",
        ),
    ],
)
def test_a_rule_may_bound_its_severity(
    bound: Cap | None, share: float, severity: str
) -> None:
    rule = replace(saving(0.5, 1.0), at_most=bound)

    assert (
        found(rule, input_bound_fraction=0.5, host_fraction=share).severity.value
        == severity
    )


def test_of_a_fragment_of_a_step_nothing_is_promised() -> None:
    """What takes half of the part that was recorded may be nothing of the whole
    step.
    """
    fragment = {
        **FACTS,
        "step_fragment": "each reads 393 variables and multiplies none of them",
    }

    whole, part = (
        found(saving(0.5, 1.0), facts, input_bound_fraction=0.5, host_fraction=0.5)
        for facts in (FACTS, fragment)
    )

    assert whole.saving is not None
    assert (whole.severity.value, whole.saving.high) == ("critical", 0.5)
    assert (part.severity.value, part.saving, part.takes) == ("info", None, 0.5)
    assert part.caveat.startswith("The steps are fragments (each reads 393 variables")


@pytest.mark.parametrize(
    ("rule", "device", "reason"),
    [
        ("staggered-launches", "tpu", "it is about GPUs, and this run used a TPU"),
        (
            "layout-conversions",
            "cpu",
            "it is about GPUs and TPUs, and this run used a CPU",
        ),
        ("staggered-launches", "gpu", None),
        ("exposed-collectives", "tpu", None),
    ],
)
def test_a_rule_about_other_devices_says_so(
    rule: str, device: str, reason: str | None
) -> None:
    """Whatever else it looks at: here nothing else would make it fire."""
    values = dict.fromkeys(
        (
            "launch_stagger_fraction",
            "layout_conversion_fraction",
            "exposed_rest_fraction",
        ),
        0.0,
    )
    outcome = outcome_of(
        RULES[rule], metrics({**FACTS, "device_kind": device}, **values)
    )

    assert (None if outcome is None else outcome.reason) == reason
