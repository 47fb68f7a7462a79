"""One rule on metrics: bounds from both sides, what is shown, and how sure a weak trace
makes it.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.outcome import outcome_of

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.findings import SURE, UNSURE, Finding, NotApplicable, Saving
from tfadvisor.advice.judging.conditions import Condition, parse_condition
from tfadvisor.advice.judging.judge_rules import judge, run_rules
from tfadvisor.advice.judging.judged import NO_SAVING, Judged
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import Cap, Rule, SavingRule
from tfadvisor.advice.loading.yaml_marks import load
from tfadvisor.advice.ranking import Ranking, ranked
from tfadvisor.advice.savings import calibration
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


def fired(rule: Rule, facts: dict[str, str] = FACTS, /, **values: float) -> Judged:
    """What the rule comes to before it is ranked."""
    outcome = judge(rule, metrics(facts, **values))
    assert isinstance(outcome, Judged)
    return outcome


def ranking(rules: list[Rule], **values: float) -> Ranking:
    """Without a range on any finding: what device computes is not known."""
    measured = metrics(**values)
    return ranked(run_rules(rules, measured), measured, calibration())


def ids(found: Ranking) -> list[str]:
    return [one.rule_id for one in found.findings]


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
    one = fired(saving(0.5, 1.0), input_bound_fraction=0.5, host_fraction=measured)

    assert one.takes == high
    assert (one.own.low, one.own.high) == (high / 2, high)


def test_low_and_high_are_parts_of_the_metric() -> None:
    """20 to 60% of 50%."""
    one = fired(saving(0.2, 0.6), input_bound_fraction=0.5, host_fraction=0.5)

    assert one.own == Saving(0.1, 0.3, "as measured")


def test_a_rule_alone_prints_no_range_and_says_what_it_takes() -> None:
    """Which programs bear a range out is known only where all that fired are ranked."""
    one = found(saving(0.2, 0.6), input_bound_fraction=0.5, host_fraction=0.5)

    assert (one.saving, one.takes, one.size) == (None, 0.5, 0.5)


def test_a_saving_that_the_trace_cannot_give_is_not_applicable() -> None:
    outcome = outcome_of(saving(0.5, 1.0), metrics(input_bound_fraction=0.5))

    assert outcome == NotApplicable(LOADER.id, "no host_fraction")


def test_a_rule_of_fixed_severity_promises_nothing() -> None:
    one = found(
        replace(LOADER, saving=None, severity=Severity.HIGH), input_bound_fraction=0.5
    )

    assert (one.severity, one.saving) == (Severity.HIGH, None)


def test_a_rule_whose_fixes_are_all_for_others_is_not_applicable() -> None:
    """The first is for JAX."""
    outcome = outcome_of(
        replace(LOADER, fixes=LOADER.fixes[:1]),
        metrics({**FACTS, "framework": "tensorflow"}, input_bound_fraction=0.5),
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
    """60% of the step is critical from guessed steps too: how sure that is stands
    beside it.
    """
    one = found(LOADER, input_bound_fraction=0.6, step_confidence=confidence)

    assert ("whole trace" in one.caveat) is weak
    assert one.certainty == (UNSURE if weak else SURE)
    assert one.severity is Severity.CRITICAL


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


def test_a_weak_trace_lowers_certainty_and_no_severity() -> None:
    """30% is high and 6% low, from three steps as from two. What waits for input may
    have waited once: unsure. What the device computes it computes in every step: sure.
    """
    computes = replace(LOADER, category="kernel")
    for share, severity in ((0.3, Severity.HIGH), (0.06, Severity.LOW)):
        for steps, waits in ((3, SURE), (2, UNSURE)):
            seen = {"input_bound_fraction": share, "steps_counted": steps}

            assert found(LOADER, **seen).severity is severity
            assert found(LOADER, **seen).certainty == waits
            assert found(computes, **seen).severity is severity
            assert found(computes, **seen).certainty == SURE


def test_what_is_wrong_with_the_trace_itself_has_no_caveat() -> None:
    one = found(
        replace(LOADER, category="capture"),
        input_bound_fraction=0.6,
        step_confidence=0.1,
        steps_counted=1,
    )

    assert (one.caveat, one.certainty, one.severity) == ("", SURE, Severity.CRITICAL)


def same(name: str, **changes: Any) -> Rule:
    return replace(saving(0.5, 1.0), id=name, **changes)


def test_findings_come_by_size_then_by_what_is_sure_then_by_severity_then_by_name() -> (
    None
):
    """Of 50% host time a may save 20, b and f 15 each: nothing is left to c, whose least
    is less.
    """
    host = ("host",)
    rules = [
        same("e", saving=None, severity=Severity.LOW),
        same("d", saving=None, severity=Severity.HIGH),
        same("c", saving=SavingRule("host_fraction", 0.2, 0.3, "", host)),
        same("b", saving=SavingRule("host_fraction", 0.3, 0.3, "", host)),
        same("f", saving=SavingRule("host_fraction", 0.3, 0.3, "", host)),
        same("a", saving=SavingRule("host_fraction", 0.0, 0.4, "", host)),
    ]

    found = ranking(
        rules, compute_fraction=0.1, host_fraction=0.5, input_bound_fraction=0.4
    )

    assert ids(found) == ["a", "b", "f", "d", "e"]
    assert [one.rule_id for one in found.not_applicable] == ["c"]


def test_each_rule_has_one_outcome() -> None:
    """One fires, one is quiet, one lacks its metric, one breaks."""
    rules = [
        LOADER,
        RULES["exposed-copies"],
        RULES["few-steps"],
        replace(LOADER, id="broken", evidence=("nonsense",)),
    ]

    found = ranking(rules, input_bound_fraction=0.4, steps_counted=100)

    assert ids(found) == [LOADER.id]
    assert [one.rule_id for one in found.not_applicable] == ["exposed-copies"]
    assert [one.name for one in found.broken] == ["broken"]
    assert found.broken[0].error.startswith("KeyError: ")


@pytest.mark.parametrize(
    ("known", "first"),
    [
        ({"steps_counted": 3, "step_confidence": 0.5}, "waits"),
        ({"steps_counted": 2, "step_confidence": 0.9}, "computes"),
        ({"steps_counted": 100, "step_confidence": 0.2}, "waits"),
    ],
)
def test_what_is_sure_comes_before_what_is_larger(
    known: dict[str, float], first: str
) -> None:
    """Input of 15% may have been waited for once in two steps, and what computes for 5%
    computes in both. Where steps are guessed neither is sure.
    """
    rules = [
        same("waits", saving=SavingRule("host_fraction", 0.3, 0.3, "", ("host",))),
        same(
            "computes",
            category="kernel",
            saving=SavingRule("host_fraction", 0.1, 0.1, "", ("compute",)),
        ),
    ]

    found = ranking(rules, input_bound_fraction=0.4, host_fraction=0.5, **known)

    assert ids(found)[0] == first


@pytest.mark.parametrize(
    ("claimed", "certainty"),
    [
        ("launch", UNSURE),
        ("input", UNSURE),
        ("host", UNSURE),
        ("compile", UNSURE),
        ("idle", UNSURE),
        ("compute", SURE),
    ],
)
def test_what_may_have_happened_once_is_unsure_where_steps_are_few(
    claimed: str, certainty: str
) -> None:
    rule = same("x", saving=SavingRule("host_fraction", 0.9, 0.9, "", (claimed,)))
    one = found(rule, input_bound_fraction=0.4, host_fraction=1.0, steps_counted=2)

    assert (one.severity, one.certainty) == (Severity.CRITICAL, certainty)


@pytest.mark.parametrize(("confidence", "certain"), [(1.0, True), (0.49, None)])
def test_what_each_call_of_the_step_does_is_sure_from_one_but_not_where_steps_are_guessed(
    confidence: float, certain: bool | None
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
    judged = run_rules([rule], measured).judged

    assert [one.is_sure for one in judged] == ([] if certain is None else [certain])


@pytest.mark.parametrize("lost", ["lost_runs_fraction", "lost_launches_fraction"])
def test_where_most_launched_work_left_nothing_no_share_is_sure(lost: str) -> None:
    """What a device computes stays as large as it is seen; time without work may be work,
    so none of it is saved.
    """
    seen = {"input_bound_fraction": 0.4, "host_fraction": 1.0, "steps_counted": 9}
    computes, waits = (
        same("x", saving=SavingRule("host_fraction", 0.9, 0.9, "", (claimed,)))
        for claimed in ("compute", "idle")
    )

    assert (fired(computes, **seen).is_sure, fired(waits, **seen).is_sure) == (
        True,
        True,
    )
    work, gap = (
        fired(computes, **seen, **{lost: 0.5}),
        fired(waits, **seen, **{lost: 0.5}),
    )
    assert (work.is_sure, work.own.high) == (False, 0.9)
    assert (gap.is_sure, gap.own) == (False, NO_SAVING)
    assert fired(waits, **seen, **{lost: 0.49}).own.high == 0.9


def test_communication_that_computation_may_hide_is_unsure() -> None:
    """The profiler let no two kernels run at the same time."""
    rule = replace(saving(0.5, 1.0), category="collective")
    seen = {"input_bound_fraction": 0.5, "host_fraction": 0.5, "steps_counted": 9}

    in_turn = fired(rule, **seen, kernels_in_turn_fraction=1.0)

    assert not in_turn.is_sure
    assert in_turn.caveat.startswith("The profiler let no two kernels run")
    assert fired(rule, **seen).is_sure


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

    seen = {"input_bound_fraction": 0.5, "host_fraction": 0.5}
    whole, part = (
        fired(saving(0.5, 1.0), facts, **seen) for facts in (FACTS, fragment)
    )
    written = found(saving(0.5, 1.0), fragment, **seen)

    assert (whole.own.high, whole.is_sure) == (0.5, True)
    assert (part.own, part.takes, part.is_sure) == (NO_SAVING, 0.5, False)
    assert (written.severity, written.saving) == (Severity.INFO, None)
    assert part.caveat.startswith(
        "The steps of the trace are not the program's (each reads"
    )


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


@pytest.mark.parametrize(
    ("launch", "severity"), [(0.31, "low"), (0.3, "high"), (0.0, "high")]
)
def test_another_precision_is_minor_where_kernels_wait_for_launches(
    launch: float, severity: str
) -> None:
    """Products of TF32 take 30% of the step, all of its compute."""
    rule = RULES["fp32-matrix-kernels"]
    seen = {
        "compute_fraction": 0.3,
        "kernel_launch_gap_fraction": launch,
        "fp32_matrix_share": 1.0,
        "fp32_matrix_compute_fraction": 0.3,
        "compute_capability": 8.0,
    }
    facts = {**FACTS, "sixteen_bit_type": "bfloat16", "device_kind": "gpu"}
    found = outcome_of(rule, metrics(facts, **seen))

    assert isinstance(found, Finding)
    assert found.severity.value == severity


@pytest.mark.parametrize(
    ("steps", "takes", "reached"),
    [
        (1, 0.49, Severity.LOW),
        (1, 0.5, Severity.CRITICAL),
        (3, 0.49, Severity.HIGH),
    ],
)
def test_less_than_half_of_a_single_step_is_low(
    steps: int, takes: float, reached: Severity
) -> None:
    """Other steps may not wait at all; half of it is most of what was recorded."""
    seen = {
        "input_bound_fraction": 0.5,
        "host_fraction": takes,
        "steps_counted": steps,
    }

    assert found(saving(0.5, 1.0), FACTS, **seen).severity is reached
