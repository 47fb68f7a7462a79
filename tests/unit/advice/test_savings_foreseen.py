"""Findings with replayed savings, each on top of those before it; answers worked out on
paper.
"""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.findings import SURE, UNSURE
from tfadvisor.advice.judging.judge_rules import run_rules
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import Rule, SavingRule
from tfadvisor.advice.ranking import Ranking, ranked
from tfadvisor.advice.savings import (
    HELD,
    MEASURED,
    PARTS,
    Calibration,
    Claim,
    FaultTime,
    Held,
    around,
    calibration,
    moved,
    promises,
)
from tfadvisor.metrics.registry import (
    Measured,
    Metrics,
    registered_facts,
    registered_metrics,
)
from tfadvisor.vocabulary import Severity

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
        "host_question": "Why?",
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
) -> Ranking:
    found = metrics(device, **values)
    return ranked(run_rules(rules, found), found, known)


def test_a_saving_is_the_fault_and_what_goes_with_it() -> None:
    """30 of 40% host time, and half of the 20% dispatching."""
    (one,) = foreseen(
        rule("a", "taking_turns_fraction"), **STEP, taking_turns_fraction=0.3
    ).findings

    assert (one.saving.low, one.saving.high) == pytest.approx((0.4, 0.4))
    assert one.saving.basis == f"Why. {MEASURED.format(pairs='7 programs')}"


@pytest.mark.parametrize("pairs", [0, 1])
def test_of_fewer_than_two_measured_programs_no_range_is_printed(pairs: int) -> None:
    """What it takes still is: 30% of the step."""
    known = replace(KNOWN, faults={"host": replace(TAKES_LAUNCH, pairs=pairs)})
    (one,) = foreseen(
        rule("a", "taking_turns_fraction"),
        known=known,
        **STEP,
        taking_turns_fraction=0.3,
    ).findings

    assert (one.saving, one.takes) == (None, 0.3)


def test_the_basis_says_how_many_programs_stand_behind_it() -> None:
    known = replace(KNOWN, faults={"host": replace(TAKES_LAUNCH, pairs=2)})
    (one,) = foreseen(
        rule("a", "taking_turns_fraction"),
        known=known,
        **STEP,
        taking_turns_fraction=0.3,
    ).findings

    assert one.saving is not None
    assert "as in 2 programs measured on CPUs" in one.saving.basis


def test_the_second_saves_of_what_the_first_leaves() -> None:
    """The first leaves 40 compute, 20 host and 10 dispatching; the second takes the 20
    host and 5 of dispatching.
    """
    rules = rule("a", "taking_turns_fraction"), rule("b", "crowded_launch_fraction")
    first, second = foreseen(
        *rules, **STEP, taking_turns_fraction=0.2, crowded_launch_fraction=0.2
    ).findings

    assert (first.rule_id, first.saving.high) == ("a", pytest.approx(0.3))
    assert (second.rule_id, second.saving.high) == ("b", pytest.approx(0.25))


def test_a_range_is_in_odds() -> None:
    """0.4 has odds of 2 to 3: half of them are 1 to 3, twice 4 to 3. Half of 4/7 less 1/4 to both sides."""
    wide = replace(TAKES_LAUNCH, spread=math.log(2))
    (one,) = foreseen(
        rule("a", "taking_turns_fraction"),
        known=replace(KNOWN, faults={"host": wide}),
        **STEP,
        taking_turns_fraction=0.3,
    ).findings

    assert (one.saving.low, one.saving.high) == pytest.approx(
        (0.4 - (4 / 7 - 1 / 4) / 2, 0.5)
    )  # half a step is all that could go


def test_findings_of_one_step_never_promise_more_than_it() -> None:
    wild = FaultTime(left=0.0, keeps=dict.fromkeys(PARTS, 0.01), spread=3.0, pairs=2)
    rules = [rule(name, "loop_python_fraction") for name in "abcd"]
    found = foreseen(
        *rules, known=replace(KNOWN, faults={"host": wild}), **STEP
    ).findings

    savings = [one.saving for one in found if one.saving is not None]
    assert len(savings) > 0
    assert sum(one.high for one in savings) <= 1 + 1e-9
    assert all(0 <= one.low <= one.high <= 1 for one in savings)


def test_order_and_severity_stay_what_the_fault_is_seen_to_take() -> None:
    """40 and 10 points of host time, whatever goes with them: high and medium."""
    rules = rule("b", "taking_turns_fraction"), rule("a", "loop_python_fraction")
    step = {**STEP, "host_fraction": 0.6, "compute_fraction": 0.2}
    unmeasured = Calibration((), {}, {})
    before, after = (
        foreseen(*rules, known=known, **step, taking_turns_fraction=0.1)
        for known in (unmeasured, KNOWN)
    )

    assert [one.saving for one in before.findings] == [None, None]
    assert all(one.saving is not None for one in after.findings)
    for found in (before, after):
        assert [(one.rule_id, one.severity) for one in found.findings] == [
            ("a", Severity.HIGH),
            ("b", Severity.MEDIUM),
        ]


def held(pairs: int) -> Calibration:
    """So many programs with a fault of the host's on a GPU."""
    return replace(KNOWN, held={"gpu": Held("On a GPU", {"host": pairs})})


@pytest.mark.parametrize("pairs", [0, 1])
def test_on_a_gpu_a_class_with_fewer_than_two_programs_prints_no_range(
    pairs: int,
) -> None:
    (one,) = foreseen(
        rule("a", "taking_turns_fraction"),
        known=held(pairs),
        device="gpu",
        **STEP,
        taking_turns_fraction=0.3,
    ).findings

    assert (one.saving, one.takes) == (None, 0.3)


@pytest.mark.parametrize(
    ("takes", "low", "high"), [(0.3, 0.15, 0.3), (0.2, 0.15, 0.2), (0.1, 0.1, 0.1)]
)
def test_on_a_gpu_the_rules_own_range_stands_and_never_exceeds_what_the_finding_takes(
    takes: float, low: float, high: float
) -> None:
    """15 to 30% by the rule; its sentence names 30, 20 or 10% of the step. Pairs of CPUs
    say 40%, and have no part in it.
    """
    about = replace(rule("a", "taking_turns_fraction"), takes="crowded_launch_fraction")
    (one,) = foreseen(
        about,
        known=held(2),
        device="gpu",
        **STEP,
        taking_turns_fraction=0.3,
        crowded_launch_fraction=takes,
    ).findings

    assert one.saving is not None
    assert (one.saving.low, one.saving.high) == pytest.approx((low, high))
    words = HELD.format(where="On a GPU", pairs="2 programs")
    assert one.saving.basis == f"Why. {words}"


def test_what_was_measured_on_one_kind_of_device_says_nothing_of_another() -> None:
    (one,) = foreseen(
        rule("a", "taking_turns_fraction"),
        known=held(7),
        device="tpu",
        **STEP,
        taking_turns_fraction=0.3,
    ).findings

    assert one.saving is None


@pytest.mark.parametrize("device", ["gpu", "tpu"])
def test_on_devices_without_measured_pairs_a_finding_says_what_it_takes(
    device: str,
) -> None:
    (one,) = foreseen(
        rule("a", "taking_turns_fraction"),
        device=device,
        **STEP,
        taking_turns_fraction=0.3,
    ).findings

    assert (one.saving, one.takes, one.severity) == (None, 0.3, Severity.HIGH)


def test_a_class_of_fault_without_pairs_prints_no_range() -> None:
    (one,) = foreseen(
        rule("a", "taking_turns_fraction", ("launch",), "launch"),
        **STEP,
        taking_turns_fraction=0.1,
    ).findings

    assert (one.saving, one.takes) == (None, 0.1)


def test_a_calibration_without_pairs_prints_none() -> None:
    rules = rule("a", "taking_turns_fraction"), rule("b", "crowded_launch_fraction")
    found = foreseen(
        *rules,
        known=Calibration(("cpu",), {}, {}),
        **STEP,
        taking_turns_fraction=0.2,
        crowded_launch_fraction=0.2,
    )

    assert [one.saving for one in found.findings] == [None, None]
    assert found.plan is None


def test_where_time_is_not_known_by_class_no_range_is_printed() -> None:
    known = {name: value for name, value in STEP.items() if name != "compute_fraction"}
    (one,) = foreseen(
        rule("a", "taking_turns_fraction"), **known, taking_turns_fraction=0.3
    ).findings

    assert (one.saving, one.takes) == (None, 0.3)


@pytest.mark.parametrize(
    "weak",
    [{"steps_counted": 2}, {"step_confidence": 0.2}, {"lost_runs_fraction": 0.5}],
)
@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_what_is_unsure_prints_no_range(device: str, weak: dict[str, float]) -> None:
    """Though seven programs stand behind its class; 30% of the step stays high."""
    launch = rule("a", "taking_turns_fraction", ("launch", "host"), "launch")
    known = Calibration(
        ("cpu",),
        {},
        {"launch": TAKES_LAUNCH},
        {"gpu": Held("On a GPU", {"launch": 7})},
    )
    sure, unsure = (
        foreseen(
            launch,
            known=known,
            device=device,
            **{**STEP, "kernel_launch_gap_fraction": 0.3, "host_fraction": 0.3},
            taking_turns_fraction=0.3,
            **more,
        ).findings[0]
        for more in ({}, weak)
    )

    assert (sure.certainty, sure.saving is None) == (SURE, False)
    assert (unsure.certainty, unsure.saving) == (UNSURE, None)
    assert unsure.takes == 0.3


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_what_a_guide_alone_describes_is_at_most_medium_and_prints_no_range(
    device: str,
) -> None:
    """A recording has not confirmed it yet. 30% of the step would be high."""
    guided = replace(rule("a", "taking_turns_fraction"), proof="documented")
    (one,) = foreseen(
        guided, known=held(7), device=device, **STEP, taking_turns_fraction=0.3
    ).findings

    assert (one.severity, one.saving) == (Severity.MEDIUM, None)
    assert (one.proof, one.takes, one.certainty) == ("documented", 0.3, SURE)


@pytest.mark.parametrize("saving", [0.0, 0.001, 0.3, 0.5, 0.97, 1.0])
def test_odds_move_a_saving_within_the_step_and_never_the_wrong_way(
    saving: float,
) -> None:
    less, same, more = moved(saving, -1.0), moved(saving, 0.0), moved(saving, 1.0)

    assert 0 <= less <= same <= more <= 1
    assert same == pytest.approx(saving)


def test_what_is_stored_keeps_within_the_step() -> None:
    known = calibration()

    assert known.devices == ("cpu",)
    for fault in known.faults.values():
        assert set(fault.keeps) == set(PARTS)
        assert all(0 <= keep <= 1 for keep in (fault.left, *fault.keeps.values()))
        assert fault.spread >= 0


def test_what_is_stored_of_other_devices_is_about_known_classes_of_fault() -> None:
    known = calibration()

    assert set(known.held) == {"gpu"}
    for one in known.held.values():
        assert set(one.pairs) <= set(known.faults)


def test_few_rules_have_no_class_that_was_measured() -> None:
    unknown = {
        one.id
        for one in RULES.values()
        if one.saving is not None
        and calibration().fault_of(one.id, one.category) is None
    }

    assert unknown == {
        "allocation-in-steps",
        "argument-trees-flattened",
        "independent-rounds-in-turn",
        "values-converted-one-by-one",
    }


def test_a_class_of_fault_without_pairs_promises_no_more_than_is_left() -> None:
    """Up to 18 of 20% dispatching, and nothing goes with it. Where the first may take
    95%, 5 are left.
    """
    parts = {**dict.fromkeys(PARTS, 0.0), "kernels": 0.4, "host": 0.4, "launch": 0.2}
    first = Claim("a", "host", 0.3, ("host",), (0.15, 0.3))
    names = Claim("b", "launch", 0.18, ("launch",), (0.0, 0.18))
    wide = FaultTime(left=0.0, keeps=dict.fromkeys(PARTS, 0.05), spread=0.0, pairs=0)

    alone, beside = (
        promises(parts, 0.0, [first, names], replace(KNOWN, faults={"host": fault}))[1]
        for fault in (TAKES_LAUNCH, wide)
    )

    assert (alone.low, alone.high, alone.pairs) == (0.0, pytest.approx(0.18), None)
    assert (beside.low, beside.high) == (0.0, pytest.approx(1 - (0.3 + 0.7 * 0.95)))


@pytest.mark.parametrize(
    ("seen", "saves", "takes"), [(0.15, (0.2, 0.2), 0.15), (0.05, (0.0, 0.05), 0.05)]
)
def test_the_whole_fault_goes_where_its_metric_only_shows_it(
    seen: float, saves: tuple[float, float], takes: float
) -> None:
    """Gaps of 15% show it, and all 20% dispatching is its own; half of no dispatching is
    left to go with it. Gaps of 5% could save 3.5: so minor a fault prints no more than
    it takes, and where its replay says more than that for sure, nothing says how much.
    """
    one = replace(RULES["host-work-in-loop"], id="a", category="launch")
    saving = SavingRule(
        "taking_turns_fraction", 0.3, 0.7, "", ("launch",), "kernel_launch_gap_fraction"
    )
    known = replace(KNOWN, faults={"launch": TAKES_LAUNCH})
    (found,) = foreseen(
        replace(one, saving=saving), known=known, **STEP, taking_turns_fraction=seen
    ).findings

    assert found.saving is not None
    assert (found.saving.low, found.saving.high) == pytest.approx(saves)
    assert found.takes == takes


@pytest.mark.parametrize(
    ("size", "saves"), [(0.03, 0.1755), (0.04, None), (0.05, None), (0.0999, None)]
)
def test_nothing_is_low_and_saves_a_fifth_of_the_step(
    size: float, saves: float | None
) -> None:
    """A fault of a fifth of the step would take all else along. One of 3% takes 3/20 of
    the other 97 along: 17.55% in all. One of 4% takes a fifth of 96, 23.2%: that is not
    printed of a finding that is low, as little as more.
    """
    takes_all = FaultTime(
        left=0.0, keeps=dict.fromkeys(PARTS, 0.0), spread=0.0, pairs=9
    )
    unbounded = replace(
        rule("a", "loop_python_fraction"),
        saving=SavingRule("loop_python_fraction", 0.0, size / 0.4, "", ("host",)),
    )
    known = replace(KNOWN, faults={"host": takes_all})
    (found,) = foreseen(unbounded, known=known, **STEP).findings

    assert found.severity is Severity.LOW
    if saves is None:
        assert found.saving is None
    else:
        assert found.saving is not None
        assert found.saving.high == pytest.approx(saves)


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
    saving = SavingRule("taking_turns_fraction", 0.2, 0.5, "", ("host",))
    (found,) = foreseen(
        replace(rule("a", "host_fraction"), saving=saving),
        **STEP,
        taking_turns_fraction=0.4,
    ).findings

    assert found.saving.high == pytest.approx(0.3)


def test_what_saves_more_with_all_that_goes_comes_first() -> None:
    """By its own time b saves 20% and a 15%. With a go three quarters of half of the
    20% dispatching, since 15% is three quarters of the fifth from which on all of that
    goes: 22.5%. With b nothing goes."""
    known = replace(
        KNOWN, faults={"host": TAKES_LAUNCH, "input": replace(TAKES_LAUNCH, keeps={})}
    )
    a = rule("a", "taking_turns_fraction")
    b = rule("b", "crowded_launch_fraction", category="input")

    found = foreseen(
        a,
        b,
        known=known,
        **STEP,
        taking_turns_fraction=0.15,
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
        "taking_turns_fraction", 0.2, 1.0, "", ("host",), reach="device_busy_fraction"
    )
    values = {**STEP, "taking_turns_fraction": 0.3, "device_busy_fraction": 0.25}
    (found,) = foreseen(
        replace(rule("a", "host_fraction"), saving=saving), **values
    ).findings

    assert found.saving.high == pytest.approx(0.325)


def test_where_the_trace_does_not_tell_a_faults_reach_it_is_about_all() -> None:
    saving = SavingRule(
        "taking_turns_fraction", 0.2, 1.0, "", ("host",), reach="device_busy_fraction"
    )
    (found,) = foreseen(
        replace(rule("a", "host_fraction"), saving=saving),
        **STEP,
        taking_turns_fraction=0.3,
    ).findings

    assert found.saving.high == pytest.approx(0.4)
