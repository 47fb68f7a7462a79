"""What a callback writes, and what builds a pipeline, is no part of a step."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

CALLED = {"tf_function_call": "notTraced-nonXla"}


def one_batch() -> TraceBuilder:
    """A batch of 1 ms, computed on one thread for 0.8 ms."""
    return (
        trace()
        .call("train_function", 0, 1000, **CALLED)
        .call("EagerLocalExecute: __inference_train_function_7", 50, 950)
        .thread("tf_Compute/1")
        .call("dense/MatMul:MatMul", 100, 900)
    )


@pytest.mark.parametrize(
    "op", ["FlushSummaryWriter", "WriteSummary", "SaveV2", "MakeIterator"]
)
def test_an_op_after_the_step_is_neither_compute_nor_a_step(op: str) -> None:
    """It takes five times as long as the step, and the step stays 1 ms, 80% compute."""
    report = (
        one_batch()
        .thread("python")
        .call(f"EagerLocalExecute: {op}", 1500, 6500)
        .call(f"{op}:{op}", 1500, 6490)
        .report()
    )

    assert report.steps.count == 1
    assert report.steps.time_ms is not None
    assert report.steps.time_ms.median == pytest.approx(1.0)
    assert report.breakdown["compute"] == pytest.approx(0.8)


def test_what_a_step_writes_is_the_hosts_work() -> None:
    """Four steps of 100 µs: 40 compute, then a summary takes 50."""
    builder = trace().steps(4, period=100)
    for at in range(0, 400, 100):
        builder.thread("python")
        builder.call("EagerLocalExecute: FlushSummaryWriter", at + 45, at + 97)
        builder.call("FlushSummaryWriter:FlushSummaryWriter", at + 46, at + 96)
        builder.thread("tf_Compute/1").call("dense/MatMul:MatMul", at + 2, at + 42)

    report = builder.report()

    assert report.breakdown["compute"] == pytest.approx(0.4)
    assert report.breakdown["host"] >= 0.5
