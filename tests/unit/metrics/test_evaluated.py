"""Functions that a step calls although nothing is trained in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics.registry import Metrics, Settings

LOOP = """
for epoch in range(9):
    train()
    loss = evaluate()
    print("loss", float(loss))
"""
TRAINS = ("update/ResourceApplyAdam:ResourceApplyAdam",)
SUMS = ("mean/AssignAddVariableOp:AssignAddVariableOp",)


def two_functions(train: tuple[str, ...], evaluate: tuple[str, ...]) -> TraceBuilder:
    """Eight steps of 100 µs: train takes 60 and evaluate 30 of them; the ops of both
    run on another thread.
    """
    builder = trace()
    for step in range(8):
        at = 100 * step
        builder.thread("python")
        builder.call("EagerLocalExecute: __inference_train_12", at, at + 60)
        builder.call("EagerLocalExecute: __inference_evaluate_34", at + 60, at + 90)
        builder.thread("tf_Compute/1")
        builder.call("model/MatMul:MatMul", at + 1, at + 40)
        for number, op in enumerate(train):
            builder.call(op, at + 42 + number, at + 43 + number)
        builder.call("model/MatMul:MatMul", at + 61, at + 80)
        for number, op in enumerate(evaluate):
            builder.call(op, at + 82 + number, at + 83 + number)
    return builder


def measured(builder: TraceBuilder, folder: Path, program: str = LOOP) -> Metrics:
    (folder / "train.py").write_text(program)
    return builder.measure(Settings(source=ProgramSource(folder)))


def test_what_adds_to_metrics_alone_trains_nothing(tmp_path: Path) -> None:
    """30 of 100 µs."""
    metrics = measured(two_functions(TRAINS, SUMS), tmp_path)

    assert metrics.value("evaluated_fraction") == pytest.approx(0.3, abs=0.01)
    assert metrics.fact("evaluated_function") == "evaluate"
    assert metrics.fact("trained_function") == "train"
    assert metrics.fact("evaluated_result") == "goes into no step"
    assert metrics.fact("evaluated_place") == "evaluate (train.py:4)"


@pytest.mark.parametrize(
    "evaluate",
    [
        TRAINS,
        ("assign/AssignSubVariableOp:AssignSubVariableOp",),
        ("c/XlaRun:_XlaRun",),
    ],
    ids=["trains too", "changes a variable", "hides its ops"],
)
def test_what_may_train_is_no_evaluation(
    tmp_path: Path, evaluate: tuple[str, ...]
) -> None:
    metrics = measured(two_functions(TRAINS, evaluate), tmp_path)

    assert metrics.value("evaluated_fraction") == 0.0


def test_without_a_function_that_trains_nothing_is_beside_it(tmp_path: Path) -> None:
    metrics = measured(two_functions((), SUMS), tmp_path)

    assert metrics.value("evaluated_fraction") == 0.0


def test_many_calls_in_one_step_are_no_evaluation_in_each(tmp_path: Path) -> None:
    """Eight calls, all in the second of eight steps."""
    builder = trace()
    for step in range(8):
        at = 100 * step
        builder.thread("python").step(at, at + 100)
        builder.call("EagerLocalExecute: __inference_train_12", at, at + 40)
        for call in range(8 if step == 1 else 0):
            begin = at + 44 + 6 * call
            builder.call("EagerLocalExecute: __inference_evaluate_34", begin, begin + 5)
        builder.thread("tf_Compute/1")
        builder.call("model/MatMul:MatMul", at + 1, at + 30)
        builder.call(TRAINS[0], at + 32, at + 33)
        for call in range(8 if step == 1 else 0):
            begin = at + 45 + 6 * call
            builder.call("model/MatMul:MatMul", begin, begin + 2)

    assert measured(builder, tmp_path).value("evaluated_fraction") == 0.0


def test_a_trace_without_steps_tells_nothing_of_each(tmp_path: Path) -> None:
    builder = trace().thread("python")
    builder.call("EagerLocalExecute: __inference_train_12", 0, 60)
    metrics = measured(builder, tmp_path)

    assert metrics.value("evaluated_fraction") is None
    assert "no step markers" in metrics.why_no_fact("evaluated_function")


def test_without_source_nobody_knows_where_its_result_goes() -> None:
    metrics = two_functions(TRAINS, SUMS).measure()

    assert metrics.fact("evaluated_result") is None
    assert "calls both" in metrics.why_no_fact("evaluated_result")


def test_of_jax_the_costliest_program_is_what_trains(tmp_path: Path) -> None:
    """On a GPU, of 100 µs a step 70 in the one program and 20 in the other."""
    builder = trace()
    for step in range(8):
        at = 100 * step
        builder.thread("python").step(at, at + 100)
        builder.call("PjitFunction(train)", at, at + 5)
        builder.call("PjitFunction(evaluate)", at + 5, at + 9)
        for number, (name, begin, end) in enumerate(
            (("jit_train", 10, 80), ("jit_evaluate", 80, 100)), start=1
        ):
            builder.on_line(
                "/device:GPU:0",
                "Stream #1(Compute)",
                f"gemm_{name}",
                at + begin,
                at + end,
                hlo_op=f"dot.{number}",
                hlo_module=name,
                program_id=number,
            )
    metrics = measured(builder, tmp_path)

    assert metrics.value("evaluated_fraction") == pytest.approx(0.2, abs=0.01)
    assert metrics.fact("evaluated_function") == "evaluate"
    assert metrics.fact("trained_function") == "train"
    assert metrics.fact("evaluated_result") == "goes into no step"
