"""Which loop of a program runs one of its instructions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from tfadvisor.program.flow import kernel_computations, runs, trip_count
from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.operations import line_of


class LoopAround(msgspec.Struct, frozen=True):
    """A while loop."""

    line: str
    """`train.py:42`, "" where the trace does not tell."""
    rounds: int
    """0 where the compiler noted no number."""


def loop_around(instruction: Instruction) -> LoopAround | None:
    """The innermost while loop that runs an instruction that is a kernel of its own;
    None without one. Raises TraceError for damaged bytes.
    """
    by = calling(instruction.computation.module)
    around = by.get(instruction.computation.id)
    while around is not None and around.opcode != "while":
        around = by.get(around.computation.id)  # callers stand behind the called
    if around is None:
        return None
    return LoopAround(line_of(around), trip_count(around) or 0)


@lru_cache(maxsize=16)  # asked for several ops of a program
def calling(module: Module) -> Mapping[int, Instruction]:
    """What runs a computation, by the computation's id; without the entry."""
    return {
        called.id: instruction
        for computation in kernel_computations(module)
        for instruction in computation.instructions
        for called in runs(instruction)
    }
