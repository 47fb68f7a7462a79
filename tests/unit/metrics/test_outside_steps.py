"""An evaluation that follows the last step of a recording."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace


def evaluated(calls: int, function: str = "PjitFunction(eval_step)") -> TraceBuilder:
    """Six steps of 100 µs in which a GPU computes throughout, then so many calls of an
    evaluation, each of 10 µs every 40 µs, each waited for.
    """
    builder = trace().steps(6, period=100)
    for index in range(6):
        builder.call("PjitFunction(train_step)", index * 100, index * 100 + 20)
        builder.busy("GPU:0", (index * 100 + 1, index * 100 + 100))
    for index in range(calls):
        at = 600 + index * 40
        builder.call("$main.py:7 evaluate", at, at + 40)
        builder.call(function, at + 1, at + 10)
        builder.call("$array.py:629 _value", at + 12, at + 40)
        builder.busy("GPU:0", (at + 30, at + 40))
    return builder


def test_what_follows_the_last_step_is_counted_apart() -> None:
    """From 1 to 1,000 µs, 400 of them behind the steps: ten calls, devices busy for 100
    of the 400.
    """
    metrics = evaluated(10).measure()

    assert metrics.value("outside_steps_ms") == pytest.approx(0.4)
    assert metrics.value("outside_steps_fraction") == pytest.approx(400 / 999)
    assert metrics.value("outside_busy_share") == pytest.approx(0.25)
    assert metrics.value("outside_calls") == 10
    assert metrics.value("outside_waits") == 10
    assert metrics.fact("outside_function") == "eval_step"
    assert metrics.fact("outside_place") == "evaluate (main.py:7)"


def test_steps_alone_have_nothing_beside_them() -> None:
    assert evaluated(0).measure()["outside_steps_fraction"].reason == (
        "all work of the devices lies in steps"
    )


def test_ops_that_run_by_themselves_are_no_call_of_a_function() -> None:
    metrics = evaluated(10, "EagerLocalExecute: Mean").measure()

    assert metrics.value("outside_calls") is None


def test_steps_that_nothing_marks_are_no_work_beside_the_steps() -> None:
    metrics = evaluated(10, "PjitFunction(train_step)").measure()

    assert metrics["outside_calls"].reason == (
        "no compiled function is called outside of the steps alone"
    )


def test_a_run_of_which_much_is_in_no_step_is_not_healthy() -> None:
    healthy, other = evaluated(0).report(), evaluated(10).report()

    assert healthy.verdict.healthy
    assert not other.verdict.healthy
    assert other.verdict.summary.startswith(
        "40% of the recorded time, 400 µs, lies in no step: there the program calls "
        "eval_step 10 times"
    )
