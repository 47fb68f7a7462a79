"""Which lines of a recorded program made TensorFlow's ops."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import NamedTuple

import pytest

from tfadvisor.act.record.injected.tfadvisor_hook.own_ops import own_ops

PROGRAM = "/home/me/train.py"
KERAS = "/venv/lib/python3.11/site-packages/keras/src/"
OPS = "/venv/lib/python3.11/site-packages/tensorflow/python/ops/array_ops.py"


class Frame(NamedTuple):
    """As TensorFlow keeps them."""

    filename: str
    lineno: int
    name: str


class Op(NamedTuple):
    """Of a graph; the outermost frame comes first."""

    name: str
    type: str
    traceback: tuple[Frame, ...]


class FuncGraph:
    """As TensorFlow's."""

    def __init__(self, *ops: Op) -> None:
        self.ops = ops

    def get_operations(self) -> tuple[Op, ...]:
        return self.ops


class WhileBodyFuncGraph(FuncGraph):
    """Of a loop."""


@pytest.fixture(autouse=True)
def tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("func_graph")
    module.FuncGraph = FuncGraph  # type: ignore[attr-defined]
    name = "tensorflow.python.framework.func_graph"
    monkeypatch.setitem(sys.modules, name, module)


def op(name: str, kind: str, *frames: tuple[str, int, str]) -> Op:
    return Op(name, kind, tuple(Frame(*frame) for frame in frames))


def test_the_innermost_line_of_the_program_made_an_op() -> None:
    """Of two functions; the second is the body of a loop."""
    main, step = (PROGRAM, 9, "main"), (PROGRAM, 3, "step")
    graphs = [
        FuncGraph(op("Sum", "Sum", main, step, (OPS, 80, "reduce_sum"))),
        WhileBodyFuncGraph(op("while/Tile", "Tile", main, (OPS, 7, "tile"))),
    ]

    found = own_ops()

    assert len(graphs) == 2
    assert found["files"] == [PROGRAM]
    assert found["functions"] == ["step", "main"]
    assert found["ops"] == [("Sum", "Sum", 0, 3, 0), ("while/Tile", "Tile", 0, 9, 1)]


def test_a_line_that_calls_fit_made_none() -> None:
    """A layer of the program's own in the same model did."""
    fit = (PROGRAM, 9, "main"), (f"{KERAS}backend/tensorflow/trainer.py", 5, "fit")
    layer = (f"{KERAS}layers/layer.py", 7, "__call__"), (PROGRAM, 4, "call")
    graph = FuncGraph(
        op("dense/MatMul", "MatMul", *fit, (OPS, 3, "matmul")),
        op("mine/MatMul", "MatMul", *fit, *layer, (OPS, 3, "matmul")),
    )

    assert own_ops()["ops"] == [("mine/MatMul", "MatMul", 0, 4, 0)]
    assert graph.ops


def test_constants_and_what_libraries_make_are_left_out() -> None:
    graph = FuncGraph(
        op("c", "Const", (PROGRAM, 1, "step")), op("x", "Mul", (OPS, 2, "mul"))
    )

    assert own_ops()["ops"] == []
    assert graph.ops


def test_without_tensorflow_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tensorflow.python.framework.func_graph")

    assert own_ops() == {"version": 1, "files": [], "functions": [], "ops": []}


def test_stacks_of_another_form_lose_no_recording() -> None:
    """As TensorFlow 2.2 kept them."""
    graph = FuncGraph(Op("Sum", "Sum", ((PROGRAM, 9, "main"),)))  # type: ignore[arg-type]

    assert own_ops() == {}
    assert graph.ops
