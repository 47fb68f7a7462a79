"""Which line a call spends its time on that runs loops as one op, as XLA's compiler for
CPUs makes of small ones: no event tells of what lies inside.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tfadvisor.program.cost import Cost, Costs
from tfadvisor.program.flow import called_before, trip_count
from tfadvisor.program.module import Computation, Instruction
from tfadvisor.program.operations import SourceLocation, location_of
from tfadvisor.tallies import listed

_MOST = 0.5
"""Of what the call computes and moves, for one line to stand for it."""
_MOST_READ = 50_000
"""Instructions."""
_RUNNING = ("call", "conditional", "while")


class _Inside:
    """An instruction that the call runs."""

    __slots__ = ("location", "weight")

    def __init__(self, location: SourceLocation | None, weight: int) -> None:
        self.location = location
        self.weight = weight


def costliest_line(call: Instruction, costs: Costs) -> SourceLocation | None:
    """The line of most of what a call computes and moves, by shapes and the loops'
    lengths; of a loop whose length is not known one round counts. Its path is that of
    the innermost loop there. None where no line has half of it, and for what runs no
    loop. Raises TraceError for damaged bytes.
    """
    if not runs_loop(call):
        return None
    found = [*_inside(call, costs)]
    lines = listed(
        ((each.location.file, each.location.line), each)
        for each in found
        if each.location is not None and each.location.file
    )
    weights = {line: sum(each.weight for each in of) for line, of in lines.items()}
    most = max(weights, key=weights.__getitem__, default=None)
    if most is None or weights[most] < _MOST * sum(each.weight for each in found):
        return None
    return max(lines[most], key=lambda each: each.weight).location


def runs_loop(call: Instruction) -> bool:
    """Whether it is a call that runs a loop. Raises TraceError for damaged bytes."""
    if call.opcode != "call":
        return False
    waiting = [*called_before(call.computation, call)]
    for computation in waiting:
        for each in computation.instructions:
            if each.opcode == "while":
                return True
            if each.opcode in _RUNNING:
                waiting += called_before(computation, each)
    return False


def _inside(call: Instruction, costs: Costs) -> Iterator[_Inside]:
    """All that runs, but for what only runs others."""
    waiting: list[tuple[Computation, int, Instruction | None]] = [
        (computation, 1, None) for computation in called_before(call.computation, call)
    ]
    read = 0
    for computation, times, loop in waiting:
        read += len(computation.instructions)
        if read > _MOST_READ:
            return
        for each in computation.instructions:
            if each.opcode in _RUNNING:
                is_loop = each.opcode == "while"
                rounds = (trip_count(each) or 1) if is_loop else 1
                around = each if is_loop else loop
                waiting += [
                    (called, times * rounds, around)
                    for called in called_before(computation, each)
                ]
                continue
            weight = _weight(costs.of(each)) * times
            if weight:
                yield _Inside(_placed(each, loop), weight)


def _weight(cost: Cost) -> int:
    return cost.flops + cost.transcendentals + cost.bytes


def _placed(each: Instruction, loop: Instruction | None) -> SourceLocation | None:
    """The line of an instruction with the path of the loop that runs it."""
    place = location_of(each)
    around = location_of(loop) if loop is not None else None
    if place is None or around is None:
        return place
    return replace(place, op_name=around.op_name)
