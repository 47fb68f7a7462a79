"""What each part costs, in one sentence and as findings of a report."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.places import ROOT

from tfadvisor.act.trial.ablation import measured_in, profile_of
from tfadvisor.act.trial.trial_result import Arm, StepRatio, TrialResult, TriedSteps
from tfadvisor.analysis import Options, analyze_run
from tfadvisor.report.model import Report
from tfadvisor.trace.runs import choose_run


def arm(name: str, kind: str, estimate: float, **more: Any) -> Arm:
    given = {
        "outcome": "better" if estimate < 0.98 else "not better",
        "category": "host",
        **more,
    }
    ratio = StepRatio(estimate, estimate - 0.03, estimate + 0.03)
    return Arm(name=name, rule_id="", change="ablation", identity="", why="", ratio=ratio, p=0.001, predicted=None,
               check="not checked", effect="without it", step_ms=(20 * estimate,) * 3, smallest_change=None, kind=kind,
               **given)  # fmt: skip


def result(*arms: Arm) -> TrialResult:
    return TrialResult(
        "winner",
        "",
        (),
        {},
        "",
        TriedSteps("train.py:8", 3, 50),
        (20.0,) * 3,
        arms,
        True,
        60.0,
    )


def judged(fixture: str, found: TrialResult | None = None) -> Report:
    """A recorded run, with what experiments came to."""
    run, _ = choose_run([ROOT / "fixtures" / fixture])
    measured = None if found is None else measured_in(found)
    return analyze_run(run, Options(measured=measured))


def test_the_dearest_part_comes_first() -> None:
    said = profile_of(
        [
            arm("callbacks", "part", 0.89),
            arm("input", "part", 0.58),
            arm("evaluation", "part", 1.0),
        ]
    )

    assert said == "input 42% (39 to 45), callbacks 11% (8 to 14)"


def test_half_of_the_batch_takes_nearly_as_long() -> None:
    """A step bound by launches and one that reads weights look alike. Where the input
    costs most, it says neither.
    """
    half = arm("half the batch", "scale", 0.93)

    assert profile_of([half]) == (
        "half the batch takes 93% of the time, so its size hardly matters (is it "
        "launches, or weights that are read?)"
    )
    assert profile_of([arm("input", "part", 0.4), half]).endswith(
        "half the batch takes 93% of the time"
    )


def test_switches_save_or_make_a_step_longer() -> None:
    said = profile_of(
        [
            arm("jit off", "switch", 0.43),
            arm("prefetch", "switch", 1.0),
            arm("jit on", "switch", 1.5),
        ]
    )

    assert said == "jit off saves 57% (54 to 60); jit on makes a step 50% longer"


def test_what_costs_nothing_is_said() -> None:
    assert (
        profile_of([arm("input", "part", 1.0)])
        == "no part that was taken out costs anything that shows"
    )


def test_measured_findings_come_first_and_bound_what_was_foreseen() -> None:
    """The input takes 10% at most 13%, whatever a rule foresaw; callbacks 60%."""
    report = judged("jax-loader")
    foreseen = next(
        one for one in report.findings if one.category == "input" and one.saving
    )
    assert foreseen.saving is not None
    assert foreseen.saving.high > 0.13

    found = judged(
        "jax-loader",
        result(
            arm("input", "part", 0.9, category="input"), arm("callbacks", "part", 0.4)
        ),
    )

    first = found.findings[0]
    assert (first.rule_id, first.proof, first.severity.value) == (
        "measured-callbacks",
        "measured",
        "critical",
    )
    assert first.saving is not None
    assert (first.saving.low, first.saving.high, first.saving.basis) == (
        pytest.approx(0.57),
        pytest.approx(0.63),
        "measured here",
    )
    bounded = next(one for one in found.findings if one.rule_id == foreseen.rule_id)
    assert bounded.saving is not None
    assert bounded.saving.high == pytest.approx(0.13)
    undecided = result(replace(arm("input", "part", 0.9), outcome="cannot tell"))
    assert judged("jax-loader", undecided) == report


@pytest.mark.parametrize(("between", "told"), [(0.4, True), (0.09, False)])
def test_what_passes_between_turns_of_the_loop_ranks_by_what_it_takes(
    between: float, told: bool
) -> None:
    """The trace is healthy. Callbacks cost 60% and checkpoints 30%; 40 or 9% pass
    between turns.
    """
    arms = arm("callbacks", "part", 0.4), arm("checkpoints", "part", 0.7)
    timed = result(*arms)
    timed = replace(timed, steps=replace(timed.steps, between=between))

    alone = judged("jax-healthy", replace(timed, arms=())).verdict
    found = judged("jax-healthy", timed)

    named = [(one.rule_id, one.takes) for one in found.findings[:3]]
    measured = [
        ("measured-callbacks", 0.6),
        ("measured-checkpoints", pytest.approx(0.3)),
    ]
    if not told:
        assert named[:2] == measured
    else:
        assert named == [measured[0], ("outside-the-steps", 0.4), measured[1]]
        ends = found.findings[1]
        assert ends.proof == "measured"
        assert (
            ends.title
            == "40% of the time passes between turns of the loop at train.py:8"
        )
        assert ends.summary.startswith("By the program's clock, without the profiler")
    assert alone.healthy is not told


def test_a_run_is_not_healthy_once_a_part_was_measured_to_cost_much() -> None:
    """By the trace alone it is: `No finding is worth acting on`. A switch is no class
    of lost time.
    """
    report = judged("jax-healthy")
    assert report.verdict.healthy

    callbacks = judged("jax-healthy", result(arm("callbacks", "part", 0.4))).verdict
    switch = arm("jit on", "switch", 0.4, category="launch")
    jit = judged("jax-healthy", result(switch)).verdict
    little = judged("jax-healthy", result(arm("callbacks", "part", 0.95))).verdict

    assert (callbacks.bottleneck, callbacks.healthy) == ("host", False)
    assert callbacks.fraction == pytest.approx(0.6)
    assert callbacks.summary == "60% of each step goes into callbacks, by experiment."
    assert (jit.bottleneck, jit.healthy, jit.summary) == (
        report.verdict.bottleneck,
        False,
        "Jit on saves 60% of each step, by experiment.",
    )
    assert little == report.verdict
