"""What makes the device run dry around steps: waits, synchronisation, dynamic loss
scaling.
"""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

approx = pytest.approx


def waiting_loop() -> TraceBuilder:
    """Four steps of 100 µs: dispatch until 20, kernel from 20 to 80, and the host waits
    for it until 85.
    """
    builder = trace()
    for index in range(4):
        at = index * 100
        builder.step(at, at + 100).call("PjitFunction(train_step)", at, at + 20)
        builder.call("BlockUntilReady", at + 20, at + 85).busy(
            "GPU:0", (at + 20, at + 80)
        )
    return builder


def test_waits_in_few_steps_are_counted_with_these_steps() -> None:
    """Of ten steps the second waits for five of its kernels, one after the other; of
    four each waits once.
    """
    builder = trace()
    for index in range(10):
        at = index * 100
        builder.step(at, at + 100).call("PjitFunction(train_step)", at, at + 9)
        builder.busy("GPU:0", (at + 10, at + 20))
        if index == 1:
            for wait in range(at + 20, at + 95, 15):
                builder.call("BlockUntilReady", wait, wait + 5)

    few, each = builder.measure(), waiting_loop().measure()

    assert few.fact("waits_in_few_steps") == "5 times in 1 of 10 steps"
    assert few.value("waits_per_step") == 0.5
    assert each.fact("waits_in_few_steps") is None


def test_waits_and_the_way_back_to_the_next_launch() -> None:
    """Between two kernels lie 40 µs: 20 waiting and returning (5 of them awake for 15),
    20 dispatching the next.
    """
    metrics = waiting_loop().measure()

    assert metrics.value("waits_per_step") == 1
    assert metrics.value("inter_step_gap_fraction") == approx(0.4)
    explained = sum(
        metrics.value(f"{one}_fraction") or 0.0
        for one in ("input_bound", "host", "compile")
    )
    assert metrics.value("turnaround_fraction") == approx(0.4 - explained)
    assert metrics.value("host_fraction") == approx(0.15)


def test_python_between_steps_is_no_turnaround() -> None:
    """The kernel ends at 20, the host works in Python until the next step: all of the
    gap is explained.
    """
    builder = trace()
    for index in range(4):
        at = index * 100
        builder.step(at, at + 100).call("PjitFunction(f)", at, at + 1).call(
            "$train.py:9 log", at + 20, at + 100
        )
        builder.busy("GPU:0", (at + 1, at + 20))
    metrics = builder.measure()

    assert metrics.value("turnaround_fraction") == approx(0.01, abs=0.011)


def test_values_that_are_read_inside_the_step_are_turnaround() -> None:
    """Of 100 µs the device works for 30 and 20, and idles for 40 while the host reads a
    value between the two.
    """
    builder = trace()
    for index in range(4):
        at = index * 100
        builder.step(at, at + 100).call("PjitFunction(f)", at, at + 10).call(
            "np.asarray(jax.Array)", at + 10, at + 70
        )
        builder.call("PjitFunction(g)", at + 70, at + 80).busy(
            "GPU:0", (at, at + 30), (at + 70, at + 100)
        )
    metrics = builder.measure()

    assert metrics.value("turnaround_fraction") == approx(0.4)


def test_a_host_that_is_ahead_has_no_turnaround() -> None:
    metrics = trace().steps(4, period=100).busy("GPU:0", (0, 400)).measure()

    assert metrics.value("turnaround_fraction") == 0


def test_loss_scaling_is_told_by_the_ops_names() -> None:
    """Two ops a step bear the optimizer's name; a Python frame and a gradient do not
    count.
    """
    builder = trace()
    for index in range(4):
        at = index * 100
        builder.thread("python").step(at, at + 100).call(
            "$loss_scale_optimizer.py:7 apply", at, at + 5
        )
        builder.thread("executor").call("LossScaleOptimizer/cond:If", at + 5, at + 10)
        builder.call("loss_scale_optimizer/IsFinite:IsFinite", at + 10, at + 12).call(
            "dense/MatMul:MatMul", at + 12, at + 14
        )
        builder.busy("GPU:0", (at, at + 90))
    metrics = builder.measure()

    assert metrics.value("loss_scaling_ops_per_step") == 2


def test_a_cpu_run_has_no_such_calls() -> None:
    metrics = (
        trace().step(0, 10).thread("tf_Compute/1").call("a:MatMul", 0, 5).measure()
    )

    assert metrics.value("loss_scaling_ops_per_step") is None
