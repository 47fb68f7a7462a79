"""Ops of a run without an accelerator, undisturbed; sums worked out on paper."""

from __future__ import annotations

import numpy as np
import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.summary import hot_ops as calm_ops_module
from tfadvisor.timeline.summary.hot_ops import CalmOps, _calm

PS = 1_000_000


def ops(*lengths: float, name: str = "dot") -> TraceBuilder:
    """One step of 1,000 µs in which a jitted program's op runs on a thread of XLA's
    pool for so many µs each time.
    """
    builder = (
        trace().step(0, 1000).call("PjitFunction(step)", 0, 5).thread("tf_XLAEigen/1")
    )
    at = 10.0
    for length in lengths:
        builder.call(name, at, at + length, hlo_op=name, hlo_module="jit_step")
        at += length + 1
    return builder.thread("python")


def found(builder: TraceBuilder) -> CalmOps:
    (host,) = builder.build().hosts
    return host.calm


def test_each_execution_is_as_long_as_the_fastest_fifth() -> None:
    """Of 10, 20, 20, 30, 50, 90 µs the second is the fastest fifth's end: six
    times 20.
    """
    assert found(ops(90, 20, 10, 50, 20, 30)) == CalmOps(220 * PS, 6 * 20 * PS, 60 * PS)


def test_a_single_execution_is_calm() -> None:
    assert found(ops(70)) == CalmOps(70 * PS, 70 * PS, 10 * PS)


def test_an_op_shorter_than_a_start_is_all_start() -> None:
    assert found(ops(4)) == CalmOps(4 * PS, 4 * PS, 4 * PS)


@pytest.mark.parametrize("scale", [1, 1 << 40])
def test_ops_are_told_apart(scale: int) -> None:
    """Three of 10 and 40, 40, 100: 30 and 120, whatever their order, and where op and
    length need more than 63 bits.
    """
    length, op = np.array([40, 10, 100, 10, 40, 10]), np.array([2, 1, 2, 1, 2, 1])

    assert _calm(length * scale, op * scale) == (3 * 10 + 3 * 40) * scale


def test_an_accelerator_has_none() -> None:
    assert found(trace().step(0, 100).busy("GPU:0", (0, 30))) == CalmOps()


def test_of_far_too_many_ops_every_second_step_tells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four steps with two ops of 10, 20, 30 and 40 µs, of which four ops are enough:
    the first and the third step.
    """
    monkeypatch.setattr(calm_ops_module, "_ENOUGH_CALM_OPS", 4)
    builder = trace().steps(4, period=100)
    for number, length in enumerate((10, 20, 30, 40)):
        builder.thread("tf_Compute/1").call(
            "a:MatMul", number * 100 + 10, number * 100 + 10 + length
        )
        builder.call("a:MatMul", number * 100 + 55, number * 100 + 55 + length).thread(
            "python"
        )

    assert found(builder).total_ps == (2 * 10 + 2 * 30) * PS
