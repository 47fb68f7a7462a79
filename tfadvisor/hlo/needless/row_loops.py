"""Loops that take one example after the other, although no turn needs another's result: `lax.map`, or a scan over a batch."""

from __future__ import annotations

from collections.abc import Iterator

from tfadvisor.hlo.format.module import Computation, Instruction
from tfadvisor.hlo.questions.executions import called_before, trip_count
from tfadvisor.hlo.questions.flow import effect
from tfadvisor.hlo.questions.products import products

_FEWEST_TURNS = 16
_SMALLEST = 1024
"""Elements of the matrix that a row is multiplied by."""
_HANDED_ON = frozenset("constant copy dynamic-update-slice get-tuple-element parameter".split())
_MULTIPLYING = frozenset(("dot", "custom-call", "fusion"))
_BACKWARD = "transpose("


def loops_over_rows(one: Instruction) -> bool:
    """Whether an instruction runs a loop whose turns multiply single rows and only write their results side by side.

    Its gradient adds up as well. Raises TraceError for damaged bytes.
    """
    if one.opcode not in ("while", "call"):
        return False
    return any(_over_rows(loop, _BACKWARD in one.op_name) for loop in _loops(one))


def _loops(one: Instruction) -> Iterator[Instruction]:
    if one.opcode == "while":
        yield one
        return
    for called in called_before(one.computation, one):
        yield from (inner for inner in called.instructions if inner.opcode == "while")


def _over_rows(loop: Instruction, backward: bool) -> bool:
    called = called_before(loop.computation, loop)
    if not called or (trip_count(loop) or 0) < _FEWEST_TURNS:
        return False
    body = called[0]
    sizes = [size for one in body.instructions if one.opcode in _MULTIPLYING for size in products(one)]
    rows = bool(sizes) and all(size.batch == 1 and min(size.m, size.n) == 1 for size in sizes)
    return rows and any(size.k * max(size.m, size.n) >= _SMALLEST for size in sizes) and _independent(body, backward)


def _independent(body: Computation, backward: bool) -> bool:
    """Whether nothing but a counter, results side by side and sums (of gradients) goes from turn to turn."""
    for one in body.root.operands:
        does = effect(one)
        if does in _HANDED_ON or one.shape.elements == 1 or (backward and does == "add"):
            continue
        return False
    return True
