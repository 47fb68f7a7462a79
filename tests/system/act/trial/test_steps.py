"""Which loop's rounds are the steps, and how many are timed."""

from __future__ import annotations

from typing import Any

from tfadvisor.act.trial.orders import SeenLoop, StepLoop
from tfadvisor.act.trial.steps import StepPlan, choose_loop, plan_steps, refined


def loop(line: int, done: int, seconds: float, **more: Any) -> SeenLoop:
    given = {"longest": 0.0, "compiled": 1, "after": False, "aside": False, **more}
    return SeenLoop(
        file="train.py",
        line=line,
        function="train",
        done=done,
        seconds=seconds,
        **given,
    )


def chosen(*seen: SeenLoop, step_ms: float | None = None) -> int | None:
    found = choose_loop(seen, step_ms)
    return found.line if found else None


def test_layers_inside_of_a_step_are_no_steps() -> None:
    assert chosen(loop(3, 100, 2.0), loop(5, 1200, 1.9)) == 3


def test_three_epochs_are_too_few_to_be_steps() -> None:
    assert chosen(loop(2, 3, 2.0), loop(3, 90, 1.9)) == 3


def test_data_that_is_made_before_is_no_training() -> None:
    """Nothing compiled in the loop that took longer, nor before."""
    assert chosen(loop(2, 500, 3.0, compiled=0), loop(9, 40, 2.0)) == 9


def test_the_warm_up_loop_compiled_and_the_loop_after_it_trains() -> None:
    """Without its longest round the first took 0.3 s."""
    assert (
        chosen(loop(2, 10, 5.0, longest=4.7), loop(9, 40, 2.0, compiled=0, after=True))
        == 9
    )


def test_a_generator_that_makes_the_batches_is_not_the_training() -> None:
    """It is entered before, and stands still in its loop while the step runs."""
    assert chosen(loop(2, 99, 2.0, aside=True), loop(9, 100, 1.9)) == 9
    assert chosen(loop(2, 99, 2.0, aside=True)) == 2


def test_a_report_tells_epochs_from_steps() -> None:
    """Rounds of 100 ms and of 10 ms: the report's step takes 12."""
    epochs, steps = loop(2, 20, 2.0), loop(3, 195, 1.95)

    assert chosen(epochs, steps) == 2
    assert chosen(epochs, steps, step_ms=12.0) == 3


def test_a_report_tells_slow_steps_from_the_loop_over_words_in_them() -> None:
    """Four rounds of half a second, of which the report's step takes 450 ms, hold 90 of
    21 ms.
    """
    steps, words = loop(2, 4, 2.0), loop(3, 90, 1.9)

    assert chosen(steps, words) == 3
    assert chosen(steps, words, step_ms=450.0) == 2


def test_a_report_tells_steps_from_the_generator_of_their_batches() -> None:
    """16 rounds, of which the first compiled for 2.8 s; the others take 87 ms, as the
    report's step of 48 may. The generator of the batches went round 512 times in twice
    the time: it was asked before the loop began."""
    steps, batches = (
        loop(2, 16, 4.09, longest=2.79),
        loop(9, 512, 8.61, longest=4.51, aside=True),
    )

    assert chosen(steps, batches) == 9
    assert chosen(steps, batches, step_ms=48.0) == 2


def test_a_loop_that_goes_round_once_in_each_step_is_not_the_step() -> None:
    """`for _ in range(train_steps)` around the update, with one step of the environment
    before it.
    """
    assert chosen(loop(22, 400, 4.0), loop(46, 400, 3.6), step_ms=9.2) == 22


def test_no_loop_goes_round_often_enough() -> None:
    assert chosen(loop(2, 7, 2.0)) is None


def test_a_short_program_is_timed_as_far_as_it_goes() -> None:
    """16 rounds of 25 ms: 4 are set aside, 12 are left."""
    plan = plan_steps(loop(2, 16, 0.4), 2.0, ended=True)

    assert (plan.warm, plan.count) == (4, 12)


def test_a_long_program_is_timed_for_two_seconds() -> None:
    """Rounds of 20 ms: half a second is set aside, two are timed."""
    plan = plan_steps(loop(2, 101, 2.0), 2.0, ended=False)

    assert (plan.warm, plan.count) == (25, 100)


def test_watching_may_slow_a_program_down() -> None:
    """Planned by 100 ms a step, it takes 5: 400 steps last two seconds."""
    plan = StepPlan(StepLoop("train.py", 3), "train", 5, 20)

    assert refined(plan, 5.0, 2.0, None).count == 400
    assert refined(plan, 5.0, 2.0, 17).count == 17
    assert refined(refined(plan, 5.0, 2.0, 17), 5.0, 2.0, None).count == 17
    assert refined(plan, 100.0, 2.0, None) == plan
