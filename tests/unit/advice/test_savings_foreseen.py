"""Findings with replayed savings, each on top of those before it; answers worked out on
paper.
"""

from __future__ import annotations

import math
from functools import partial

import pytest
from msgspec.structs import replace

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.judging.judge_rules import Outcomes, run_rules
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import Rule, SavingRule
from tfadvisor.advice.savings import (
    MEASURED,
    NOT_MEASURED,
    ON_GPU,
    PARTS,
    Calibration,
    FaultTime,
    around,
    calibration,
    foresee,
    moved,
)
from tfadvisor.metrics.registry import (
    Measured,
    Metrics,
    registered_facts,
    registered_metrics,
)

RULES = {rule.id: rule for rule in load_catalogue().rules}
TAKES_LAUNCH = FaultTime(left=0.0, keeps={"launch": 0.5}, spread=0.0, pairs=7)
KNOWN = Calibration(("cpu",), {"kernel": "compute"}, {"host": TAKES_LAUNCH})
STEP = {
    "compute_fraction": 0.4,
    "host_fraction": 0.4,
    "kernel_launch_gap_fraction": 0.2,
    "loop_python_fraction": 0.4,
    "dispatches_per_step": 1,
}


def metrics(device: str = "cpu", **values: float) -> Metrics:
    facts = {
        "framework": "jax",
        "device_kind": device,
        "python_tracer": "off",
        "steps_per_execution": "4",
    }
    return Metrics(
        {
            name: Measured(
                values.get(name),
                one.unit,
                "" if name in values else "absent",
                one.about,
            )
            for name, one in registered_metrics().items()
        },
        {
            name: (facts.get(name), "" if name in facts else "absent")
            for name in registered_facts()
        },
    )


def rule(
    name: str, share: str, of: tuple[str, ...] = ("host",), category: str = "host"
) -> Rule:
    """Fires on host time; its saving is a part of another metric."""
    return replace(
        RULES["host-work-in-loop"],
        id=name,
        category=category,
        saving=SavingRule(share, 0.5, 1.0, "Why.", of),
    )


def foreseen(
    *rules: Rule, known: Calibration = KNOWN, device: str = "cpu", **values: float
) -> Outcomes:
    found = metrics(device, **values)
    return run_rules(rules, found, partial(foresee, known=known))


def test_a_saving_is_the_fault_and_what_goes_with_it() -> None:
    """30 of 40% host time, and half of the 20% dispatching."""
    (one,) = foreseen(
        rule("a", "memory_call_fraction"), **STEP, memory_call_fraction=0.3
    ).findings

    assert (one.saving.low, one.saving.high) == pytest.approx((0.4, 0.4))
    assert one.saving.basis == f"Why. {MEASURED.format(pairs='7 programs')}"


@pytest.mark.parametrize(
    ("pairs", "words"), [(0, "that is an estimate"), (1, "as in 1 program measured")]
)
def test_the_basis_says_how_many_programs_stand_behind_it(
    pairs: int, words: str
) -> None:
    known = replace(KNOWN, faults={"host": replace(TAKES_LAUNCH, pairs=pairs)})
    (one,) = foreseen(
        rule("a", "memory_call_fraction"), known=known, **STEP, memory_call_fraction=0.3
    ).findings

    assert words in one.saving.basis


def test_the_second_saves_of_what_the_first_leaves() -> None:
    """The first leaves 40 compute, 20 host and 10 dispatching; the second takes the 20
    host and 5 of dispatching.
    """
    rules = rule("a", "memory_call_fraction"), rule("b", "crowded_launch_fraction")
    first, second = foreseen(
        *rules, **STEP, memory_call_fraction=0.2, crowded_launch_fraction=0.2
    ).findings

    assert (first.rule_id, first.saving.high) == ("a", pytest.approx(0.3))
    assert (second.rule_id, second.saving.high) == ("b", pytest.approx(0.25))


def test_a_range_is_in_odds() -> None:
    """0.4 has odds of 2 to 3: half of them are 1 to 3, twice 4 to 3. Half of 4/7 less 1/4 to both sides."""
    wide = replace(TAKES_LAUNCH, spread=math.log(2))
    (one,) = foreseen(
        rule("a", "memory_call_fraction"),
        known=replace(KNOWN, faults={"host": wide}),
        **STEP,
        memory_call_fraction=0.3,
    ).findings

    assert (one.saving.low, one.saving.high) == pytest.approx(
        (0.4 - (4 / 7 - 1 / 4) / 2, 0.5)
    )  # half a step is all that could go


def test_findings_of_one_step_never_promise_more_than_it() -> None:
    wild = FaultTime(left=0.0, keeps=dict.fromkeys(PARTS, 0.01), spread=3.0, pairs=0)
    rules = [rule(name, "loop_python_fraction") for name in "abcd"]
    found = foreseen(
        *rules, known=replace(KNOWN, faults={"host": wild}), **STEP
    ).findings

    assert sum(one.saving.high for one in found) <= 1 + 1e-9
    assert all(0 <= one.saving.low <= one.saving.high <= 1 for one in found)


def test_order_and_severity_stay_what_the_fault_is_seen_to_take() -> None:
    """45 and 9 points of host time, whatever goes with them."""
    rules = rule("a", "loop_python_fraction"), rule("b", "memory_call_fraction")
    before = run_rules(
        rules,
        metrics(
            **{**STEP, "host_fraction": 0.6, "compute_fraction": 0.2},
            memory_call_fraction=0.1,
        ),
    )
    after = foreseen(
        *rules,
        **{**STEP, "host_fraction": 0.6, "compute_fraction": 0.2},
        memory_call_fraction=0.1,
    )

    assert [(one.rule_id, one.severity) for one in after.findings] == [
        (one.rule_id, one.severity) for one in before.findings
    ]


@pytest.mark.parametrize(("spread", "low"), [(0.0, 0.0), (1.0, 0.4 - 0.2237)])
def test_on_a_gpu_nothing_promises_more_than_a_quarter_beyond_what_it_takes(
    spread: float, low: float
) -> None:
    """30 of 40% host time, of which 40% would go for sure: up to 37.5. In odds of 2 to 3, e times as large and as small make
    0.644 and 0.197, half of whose difference lies to both sides."""
    known = replace(
        KNOWN,
        devices=("cpu", "gpu"),
        faults={"host": replace(TAKES_LAUNCH, spread=spread)},
    )
    (one,) = foreseen(
        rule("a", "memory_call_fraction"),
        known=known,
        device="gpu",
        **STEP,
        memory_call_fraction=0.3,
    ).findings

    assert (one.saving.low, one.saving.high) == pytest.approx((low, 0.375), abs=1e-3)
    assert one.saving.basis.endswith(ON_GPU)


@pytest.mark.parametrize("device", ["gpu", "tpu"])
def test_on_devices_without_measured_pairs_savings_stay_and_say_so(device: str) -> None:
    (one,) = foreseen(
        rule("a", "memory_call_fraction"),
        device=device,
        **STEP,
        memory_call_fraction=0.3,
    ).findings

    assert (one.saving.low, one.saving.high) == pytest.approx((0.15, 0.3))
    assert one.saving.basis == f"Why. {NOT_MEASURED}"


def test_a_class_of_fault_without_pairs_keeps_its_saving() -> None:
    (one,) = foreseen(
        rule("a", "memory_call_fraction", ("launch",), "launch"),
        **STEP,
        memory_call_fraction=0.1,
    ).findings

    assert (one.saving.low, one.saving.high) == pytest.approx((0.05, 0.1))


def test_where_time_is_not_known_by_class_savings_stay() -> None:
    known = {name: value for name, value in STEP.items() if name != "compute_fraction"}
    (one,) = foreseen(
        rule("a", "memory_call_fraction"), **known, memory_call_fraction=0.3
    ).findings

    assert one.saving.high == pytest.approx(0.3)


@pytest.mark.parametrize("saving", [0.0, 0.001, 0.3, 0.5, 0.97, 1.0])
def test_odds_move_a_saving_within_the_step_and_never_the_wrong_way(
    saving: float,
) -> None:
    less, same, more = moved(saving, -1.0), moved(saving, 0.0), moved(saving, 1.0)

    assert 0 <= less <= same <= more <= 1
    assert same == pytest.approx(saving)


def test_what_is_stored_keeps_within_the_step() -> None:
    known = calibration()

    assert known.devices == ("cpu", "gpu")
    for fault in known.faults.values():
        assert set(fault.keeps) == set(PARTS)
        assert all(0 <= keep <= 1 for keep in (fault.left, *fault.keeps.values()))
        assert fault.spread >= 0


def test_every_rule_that_saves_something_has_a_class_that_was_measured() -> None:
    unknown = {
        one.id
        for one in RULES.values()
        if one.saving is not None
        and calibration().fault_of(one.id, one.category) is None
    }

    assert unknown == set()


def test_a_class_of_fault_without_pairs_promises_no_more_than_is_left() -> None:
    """Up to 18 of 20% dispatching, and nothing goes with it. Where the first may take
    95%, 5 are left.
    """
    names = replace(
        RULES["host-work-in-loop"],
        id="b",
        category="launch",
        saving=SavingRule("kernel_launch_gap_fraction", 0.0, 0.9, "", ("launch",)),
    )
    values = {
        **STEP,
        "memory_call_fraction": 0.3,
        "steps_counted": 9,
        "step_confidence": 0.9,
    }
    wide = FaultTime(left=0.0, keeps=dict.fromkeys(PARTS, 0.05), spread=0.0, pairs=0)

    _, alone = foreseen(rule("a", "memory_call_fraction"), names, **values).findings
    _, beside = foreseen(
        rule("a", "memory_call_fraction"),
        names,
        known=replace(KNOWN, faults={"host": wide}),
        **values,
    ).findings

    assert (alone.saving.low, alone.saving.high) == (0.0, pytest.approx(0.18))
    assert (beside.saving.low, beside.saving.high) == (
        0.0,
        pytest.approx(1 - (0.3 + 0.7 * 0.95)),
    )


def test_the_whole_fault_goes_where_its_metric_only_shows_it() -> None:
    """Gaps of 5% show it, and all 20% dispatching is its own; half of no dispatching is
    left to go with it.
    """
    one = replace(RULES["host-work-in-loop"], id="a", category="launch")
    saving = SavingRule(
        "memory_call_fraction", 0.3, 0.7, "", ("launch",), "kernel_launch_gap_fraction"
    )
    known = replace(KNOWN, faults={"launch": TAKES_LAUNCH})
    (found,) = foreseen(
        replace(one, saving=saving), known=known, **STEP, memory_call_fraction=0.05
    ).findings

    assert found.saving.high == pytest.approx(0.2)


def test_a_range_keeps_the_expected_saving_in_its_middle() -> None:
    for saving in (0.05, 0.3, 0.5, 0.9):
        low, high = around(saving, 0.8)
        assert (low + high) / 2 == pytest.approx(saving)
        assert 0 < low < high < 1


def test_a_fifth_of_what_is_expected_to_remain_remains_for_sure() -> None:
    """Odds of 98 to 2, e to the third as high or low: far more than one point to both
    sides.
    """
    assert around(0.98, 3.0)[1] == pytest.approx(0.996)


def test_of_its_own_time_no_more_goes_than_its_rule_says() -> None:
    """Half of the 40% host time at most: 20, and half of the dispatching with it."""
    saving = SavingRule("memory_call_fraction", 0.2, 0.5, "", ("host",))
    (found,) = foreseen(
        replace(rule("a", "host_fraction"), saving=saving),
        **STEP,
        memory_call_fraction=0.4,
    ).findings

    assert found.saving.high == pytest.approx(0.3)


def test_what_saves_more_with_all_that_goes_comes_first() -> None:
    """By its own time b saves 20% and a 15%. With a go three quarters of half of the
    20% dispatching, since 15% is three quarters of the fifth from which on all of that
    goes: 22.5%. With b nothing goes."""
    known = replace(
        KNOWN, faults={"host": TAKES_LAUNCH, "input": replace(TAKES_LAUNCH, keeps={})}
    )
    a = rule("a", "memory_call_fraction")
    b = rule("b", "crowded_launch_fraction", category="input")

    found = foreseen(
        a,
        b,
        known=known,
        **STEP,
        memory_call_fraction=0.15,
        crowded_launch_fraction=0.2,
    ).findings

    assert [(one.rule_id, round(one.saving.high, 3)) for one in found] == [
        ("a", 0.225),
        ("b", 0.2),
    ]


def test_of_work_that_a_fault_is_not_about_nothing_goes_with_it() -> None:
    """A quarter of the step runs like this: an eighth of the dispatching goes beside
    its 30% host time.
    """
    saving = SavingRule(
        "memory_call_fraction", 0.2, 1.0, "", ("host",), reach="device_busy_fraction"
    )
    values = {**STEP, "memory_call_fraction": 0.3, "device_busy_fraction": 0.25}
    (found,) = foreseen(
        replace(rule("a", "host_fraction"), saving=saving), **values
    ).findings

    assert found.saving.high == pytest.approx(0.325)


def test_where_the_trace_does_not_tell_a_faults_reach_it_is_about_all() -> None:
    saving = SavingRule(
        "memory_call_fraction", 0.2, 1.0, "", ("host",), reach="device_busy_fraction"
    )
    (found,) = foreseen(
        replace(rule("a", "host_fraction"), saving=saving),
        **STEP,
        memory_call_fraction=0.3,
    ).findings

    assert found.saving.high == pytest.approx(0.4)
