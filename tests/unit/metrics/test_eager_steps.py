"""A step that is run op by op, and a checkpoint that reads every variable once."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace


def steps_and_ops(*ops: list[str], compute: float = 400) -> TraceBuilder:
    """Steps of 10 ms on a GPU that works for `compute` µs of each; the ops of step n,
    100 µs each, 10 µs apart.
    """
    builder = trace()
    for step, names in enumerate(ops):
        at = step * 10_000
        builder.step(at, at + 10_000).call(
            "EagerLocalExecute: __inference_train_step_7", at, at + compute
        )
        builder.busy("GPU:0", (at, at + compute))
        for place, op in enumerate(names):
            start = at + compute + 10 + place * 110
            builder.call(f"EagerLocalExecute: {op}", start, start + 100)
    return builder


def fired(builder: TraceBuilder) -> bool:
    return "eager-execution" in {one.rule_id for one in builder.report().findings}


@pytest.mark.parametrize(
    "ops",
    [
        ["ReadVariableOp"] * 70 + ["MergeV2Checkpoints", "SaveV2"],
        ["AssignVariableOp"] * 70,
    ],
)
def test_a_checkpoints_reads_are_no_eager_step(ops: list[str]) -> None:
    """72 or 70 ops in one step of four: 18 dispatches a step, 19 % of its time."""
    builder = steps_and_ops([], ops, [], [])

    assert builder.measure().value("eager_step_share") == 0
    assert builder.measure().value("eager_dispatch_fraction") > 0.1
    assert not fired(builder)


def test_a_checkpoint_in_every_step_is_no_eager_step() -> None:
    assert not fired(steps_and_ops(*[["ReadVariableOp"] * 70 + ["SaveV2"]] * 4))


@pytest.mark.parametrize(
    ("ops", "share"),
    [
        (["Cast", "Sum", "WriteSummary"], 0.0),
        (["Cast", "Sum", "WriteSummary", *["MatMul"] * 8], 1.0),
    ],
)
def test_ops_that_prepare_a_file_are_no_eager_step(
    ops: list[str], share: float
) -> None:
    """Histograms of 10 variables, op by op, each written: 20 ops between the compiled
    step and the last write.
    """
    builder = steps_and_ops(*[["Cast", "Sum", "WriteSummary"] * 9 + ops] * 4)

    assert builder.measure().value("eager_step_share") == share


def test_ops_of_one_step_are_no_eager_training() -> None:
    """One of four steps measures something op by op."""
    builder = steps_and_ops([], ["MatMul"] * 70, [], [])

    assert builder.measure().value("eager_step_share") == pytest.approx(0.25)
    assert not fired(builder)


@pytest.mark.parametrize(("number", "share"), [(7, 0.0), (8, 1.0)])
def test_a_step_with_eight_ops_is_run_op_by_op(number: int, share: float) -> None:
    """Variables are read between them."""
    builder = steps_and_ops(*[["MatMul", "ReadVariableOp"] * number] * 4)

    assert builder.measure().value("eager_step_share") == share


def test_an_eager_training_loop_is_found() -> None:
    assert fired(steps_and_ops(*[["MatMul", "ReadVariableOp", "Relu"] * 20] * 4))


def test_without_eager_ops_nothing_is_known() -> None:
    assert (
        trace().step(0, 100).busy("GPU:0", (0, 90)).measure().value("eager_step_share")
        is None
    )
