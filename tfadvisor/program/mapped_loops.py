"""While loops under JAX's vmap whose rows need rounds of their own: the loop goes on
for all rows until the last one ends, and a select keeps what the others had.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tfadvisor.program.flow import called_before, inside
from tfadvisor.program.module import Computation, Instruction, Module
from tfadvisor.program.operations import line_of, operand
from tfadvisor.program.rounds import kernels_of, loops_of

_LOOP = "/while"
"""Ends the path that JAX gives a loop; `/while/cond` that of its condition."""
_REDUCING = ("reduce", "reduce-window")


class MappedLoop(msgspec.Struct, frozen=True):
    """A loop that runs until its last row ends."""

    name: str
    """Of its instruction."""
    path: str
    """JAX's: `jit(f)/vmap()/while`."""
    line: str
    """`train.py:21`, "" where the trace does not tell."""
    compares_floats: bool
    """Whether a row ends by floating-point numbers, as where it converges, and not by
    integers alone, as where each has a length.
    """
    kernels: frozenset[str]
    """Names of the instructions that it runs, in inner loops too, its own, and those of
    calls that hold nothing else.
    """


def mapped_loops(module: Module) -> tuple[MappedLoop, ...]:
    """Those that it runs, without those inside of another one. Raises TraceError for
    damaged bytes.
    """
    found: list[MappedLoop] = []
    within: set[str] = set()
    for loop in loops_of(module):
        condition = called_before(loop.computation, loop)[1]
        if loop.name in within or not _waits(loop, condition):
            continue
        kernels = frozenset(kernels_of(loop))
        floats = _compares_floats(condition)
        line = line_of(loop)
        found.append(MappedLoop(loop.name, loop.op_name, line, floats, kernels))
        within |= kernels
    return tuple(found)


def _waits(loop: Instruction, condition: Computation) -> bool:
    """Whether rows decide for themselves whether they go on, and not one condition for
    all. What vmap adds bears the loop's own path, unlike an `any` that the program's
    condition calls.
    """
    return loop.op_name.endswith(_LOOP) and any(
        each.op_name == loop.op_name and _is_any(each) for each in _parts(condition)
    )


def _is_any(each: Instruction) -> bool:
    return (
        each.opcode in _REDUCING
        and each.shape.dtype == "pred"
        and [called.root.opcode for called in each.called] == ["or"]
    )


def _compares_floats(condition: Computation) -> bool:
    return any(
        each.opcode == "compare" and operand(each, 0).is_floating
        for each in _parts(condition)
    )


def _parts(condition: Computation) -> Iterator[Instruction]:
    for each in condition.instructions:
        yield from inside(each)
