"""What functions of TensorFlow compute again, though it stays the same."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.trace_builder import trace

from tfadvisor.metrics import measure
from tfadvisor.metrics.registry import Metrics
from tfadvisor.trace.noted_ops import MadeOf, NotedOp, NotedOps, OpLine

FACTOR, SOLVE = OpLine("gp.py", 30, "factor"), OpLine("gp.py", 40, "predict")
NOTED = (
    NotedOp("Cholesky", "Cholesky", FACTOR, MadeOf.VARIABLES),
    NotedOp("eye", "MatrixDiagV3", FACTOR, MadeOf.CONSTANTS),
    NotedOp("solve", "MatrixTriangularSolve", SOLVE, MadeOf.ARGUMENTS),
)
OPS = (("Cholesky:Cholesky", 40), ("eye:MatrixDiagV3", 10))
SOLVES = ("solve:MatrixTriangularSolve", 30)


def ops(*more: tuple[str, int], noted: tuple[NotedOp, ...] = NOTED) -> Metrics:
    """Four steps of 1,000 µs, of which a thread works 40 + 10 + 30 µs and more."""
    builder = trace()
    for index in range(4):
        at = index * 1000
        builder.thread("python").step(at, at + 1000)
        builder.call("EagerLocalExecute: __inference_predict_7", at, at + 900)
        builder.thread("tf_Compute/1")
        begin = at + 10
        for name, us in (*OPS, SOLVES, *more):
            builder.call(name, begin, begin + us)
            begin += us
    return measure(replace(builder.build(), op_lines=NotedOps(noted)))


def share_of_step(metrics: Metrics, of_compute: float) -> object:
    compute = metrics.value("compute_fraction")
    assert compute is not None
    return pytest.approx(of_compute * compute)


def test_what_is_made_of_no_argument_is_the_same_in_each_call() -> None:
    metrics = ops()

    share = metrics.value("same_in_graph_fraction")
    assert share == share_of_step(metrics, 50 / 80)
    assert metrics.fact("same_in_graph_line") == "factor (gp.py:30)"
    assert metrics.fact("same_in_graph_ops") == "Cholesky and MatrixDiagV3"
    assert metrics.fact("same_in_graph_made_of") == (
        "constants and of variables that no op of the trace changes"
    )


@pytest.mark.parametrize(
    "kind", ["AssignSubVariableOp", "ResourceApplyAdam", "ResourceScatterUpdate"]
)
def test_variables_change_where_an_op_may_write_one(kind: str) -> None:
    """Of 100 µs then, the 10 of constants stay the same."""
    metrics = ops((f"update:{kind}", 20))

    share = metrics.value("same_in_graph_fraction")
    assert share == share_of_step(metrics, 10 / 100)
    assert metrics.fact("same_in_graph_made_of") == "constants alone"


@pytest.mark.parametrize(
    "noted",
    [
        (),
        tuple(op._replace(made_of=MadeOf.ARGUMENTS) for op in NOTED),
        tuple(op._replace(made_of=MadeOf.CONSTANTS) for op in NOTED),
        NOTED[:2],
        (*NOTED[2:], NOTED[0], NOTED[0]._replace(at=SOLVE)),
    ],
    ids=[
        "not noted",
        "of arguments",
        "a call is measured",
        "no argument noted",
        "on several lines",
    ],
)
def test_else_nothing_is_known_to_stay_the_same(noted: tuple[NotedOp, ...]) -> None:
    metrics = ops(noted=noted)

    assert metrics.value("same_in_graph_fraction") is None
    assert metrics.fact("same_in_graph_line") is None
