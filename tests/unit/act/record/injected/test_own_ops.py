"""Which lines of a recorded program made TensorFlow's ops."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
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


class Dtype(NamedTuple):
    """Of a tensor."""

    name: str


FLOAT, RESOURCE, VARIANT = Dtype("float32"), Dtype("resource"), Dtype("variant")


@dataclass(frozen=True)
class Tensor:
    """A result of an op, or what a graph has of another one."""

    op: Op | None = None
    dtype: Dtype = FLOAT


class EagerTensor(Tensor):
    """A value, or the handle of a variable."""


@dataclass(frozen=True)
class Op:
    """Of a graph; the outermost frame comes first."""

    name: str
    type: str
    traceback: tuple[Frame, ...]
    inputs: tuple[Tensor, ...] = ()
    _is_stateful: bool = False


class FuncGraph:
    """As TensorFlow's. captures: (outside, inside)."""

    def __init__(self, *ops: Op, captures: Iterable[tuple[Tensor, Op]] = ()) -> None:
        self.ops = ops
        self.captures = [(outer, Tensor(inner)) for outer, inner in captures]

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
    assert found["ops"] == [
        ("Sum", "Sum", 0, 3, 0, 2),
        ("while/Tile", "Tile", 0, 9, 1, 2),
    ]


def test_a_line_that_calls_fit_made_none() -> None:
    """A layer of the program's own in the same model did."""
    fit = (PROGRAM, 9, "main"), (f"{KERAS}backend/tensorflow/trainer.py", 5, "fit")
    layer = (f"{KERAS}layers/layer.py", 7, "__call__"), (PROGRAM, 4, "call")
    graph = FuncGraph(
        op("dense/MatMul", "MatMul", *fit, (OPS, 3, "matmul")),
        op("mine/MatMul", "MatMul", *fit, *layer, (OPS, 3, "matmul")),
    )

    assert own_ops()["ops"] == [("mine/MatMul", "MatMul", 0, 4, 0, 2)]
    assert graph.ops


def test_no_object_is_asked_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of TensorFlow's eager ops may not be whole: asking them from another thread
    ended two of six recorded programs with a segmentation fault.
    """
    graph = FuncGraph(op("Sum", "Sum", (PROGRAM, 3, "step"), (OPS, 80, "reduce_sum")))
    for traversing in ("get_referrers", "get_referents", "collect"):
        monkeypatch.delattr(gc, traversing)

    assert own_ops()["ops"] == [("Sum", "Sum", 0, 3, 0, 2)]
    assert graph.ops


def test_constants_and_what_libraries_make_are_left_out() -> None:
    graph = FuncGraph(
        op("c", "Const", (PROGRAM, 1, "step")), op("x", "Mul", (OPS, 2, "mul"))
    )

    assert own_ops()["ops"] == []
    assert graph.ops


STEP = Frame(PROGRAM, 3, "step")


def made(name: str, *inputs: Op, kind: str = "MatMul", stateful: bool = False) -> Op:
    return Op(name, kind, (STEP,), tuple(map(Tensor, inputs)), stateful)


def test_what_an_op_is_made_of_is_the_least_constant_of_its_inputs() -> None:
    """x is an argument, w a variable, c a value from outside, b one of another graph, i
    an iterator.
    """
    x, w, c, b, i = (made(name, kind="Placeholder") for name in "xwcbi")
    read = made("read", w, kind="ReadVariableOp", stateful=True)
    k = made("k", kind="Const")
    of_constants, of_variables = made("ck", c, k), made("cw", c, read)
    rest = [
        made("rows", w, x, kind="ResourceGather", stateful=True),
        made("random", k, kind="RandomUniform", stateful=True),
        made("cwx", of_variables, x),
        made("both", of_constants, of_variables),
        made("outer", b, c),
        made("next", i),
    ]
    outside = [
        (EagerTensor(dtype=RESOURCE), w),
        (EagerTensor(), c),
        (Tensor(), b),
        (EagerTensor(dtype=VARIANT), i),
    ]
    ops = (x, w, c, b, i, k, read, of_constants, of_variables, *rest)
    graph = FuncGraph(*ops, captures=outside)

    assert {name: of for name, *_, of in own_ops()["ops"]} == {
        "ck": 2,
        "cw": 1,
        "rows": 0,
        "random": 0,
        "cwx": 0,
        "both": 1,
        "outer": 0,
        "next": 0,
    }
    assert graph.ops


def test_of_a_version_that_does_not_say_what_keeps_a_state_nothing_is_constant() -> (
    None
):
    k = made("k", kind="Const")
    old = SimpleNamespace(
        name="ck", type="MatMul", traceback=(STEP,), inputs=(Tensor(k),)
    )
    graph = FuncGraph(k, old)  # type: ignore[arg-type]

    assert own_ops()["ops"] == [("ck", "MatMul", 0, 3, 0, 0)]
    assert graph.ops


def test_without_tensorflow_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tensorflow.python.framework.func_graph")

    assert own_ops() == {"version": 2, "files": [], "functions": [], "ops": []}


def test_stacks_of_another_form_lose_no_recording() -> None:
    """As TensorFlow 2.2 kept them."""
    graph = FuncGraph(Op("Sum", "Sum", ((PROGRAM, 9, "main"),)))  # type: ignore[arg-type]

    assert own_ops() == {}
    assert graph.ops
