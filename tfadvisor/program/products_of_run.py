"""The matrix products and convolutions that one run of a compiled program does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from tfadvisor.program.cost import own_bytes
from tfadvisor.program.flow import called_before, inside, trip_count
from tfadvisor.program.matrix_products import multiplied_type
from tfadvisor.program.module import Computation, Instruction, Module
from tfadvisor.program.operations import matrix_flops

_RUNNING = frozenset(("while", "conditional", "call", "async-start"))
_MULTIPLYING = frozenset(
    ("dot", "ragged-dot", "scaled-dot", "convolution", "custom-call")
)


class ProductOfRun(msgspec.Struct, frozen=True):
    """One instruction that multiplies matrices or convolves."""

    name: str
    """Of the instruction, as events bear it: `dot.4`, a fusion's name."""
    dtype: str
    """Of what it multiplies, as HLO names it; "" where that is of several types."""
    flops: int
    """Of its products and convolutions, of one execution."""
    bytes: int
    """Read and written by one execution."""
    times: int | None
    """How often one run of the program executes it; None inside of a loop of unknown
    length, or of a branch.
    """
    is_library: bool
    """Whether it calls a library, whose kernels bear names of their own."""


@lru_cache(maxsize=64)  # the hosts of a run share their programs
def products_of_run(module: Module) -> tuple[ProductOfRun, ...]:
    """In the program's order. Raises TraceError for damaged bytes."""
    times = _executions(module)
    found = (
        _product(instruction, times[computation.id])
        for computation in module.computations
        if computation.id in times
        for instruction in computation.instructions
        if instruction.opcode == "fusion" or instruction.opcode in _MULTIPLYING
    )
    return tuple(product for product in found if product is not None)


def _product(instruction: Instruction, times: int | None) -> ProductOfRun | None:
    parts = [part for part in inside(instruction) if part.opcode in _MULTIPLYING]
    flops = sum(matrix_flops(part) or 0 for part in parts)
    if not flops:
        return None
    is_library = instruction.opcode == "custom-call"
    return ProductOfRun(
        instruction.name,
        multiplied_type(instruction),
        flops,
        own_bytes(instruction),
        times,
        is_library,
    )


def _executions(module: Module) -> Mapping[int, int | None]:
    """By id, how often one run of the program executes each computation whose
    instructions are events of their own.
    """
    found: dict[int, int | None] = {module.entry.id: 1}
    for computation in reversed(module.computations):  # callers stand behind
        if computation.id not in found:
            continue
        for instruction in computation.instructions:
            if instruction.opcode in _RUNNING:
                for called in called_before(computation, instruction):
                    _add(found, called, _turns(instruction, found[computation.id]))
    return found


def _add(
    found: dict[int, int | None],
    called: Computation,
    more: int | None,
) -> None:
    before = found.get(called.id, 0)
    found[called.id] = None if before is None or more is None else before + more


def _turns(caller: Instruction, outer: int | None) -> int | None:
    if outer is None or caller.opcode == "conditional":
        return None
    if caller.opcode != "while":
        return outer
    turns = trip_count(caller)
    return None if turns is None else turns * outer
