"""What instructions cost: arithmetic operations and bytes of memory, each worked out from shapes, never measured."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tfadvisor.hlo.format.module import Computation, Instruction, Module
from tfadvisor.hlo.questions.bytes_accessed import own_bytes
from tfadvisor.hlo.questions.executions import CALLING, called_before, trip_count
from tfadvisor.hlo.questions.operations import APPLYING, applications, matrix_flops, own_operations

_MOST_UNKNOWN = 20


class Cost(msgspec.Struct, frozen=True):
    """flops: all arithmetic but transcendentals; matrix_flops: those of dots and convolutions among them.

    bytes: read and written. unknown: what is not in the numbers, such as a custom call or a loop's length, in words; the
    numbers are exact by their definition only when it is empty, else a lower bound.
    """

    flops: int = 0
    matrix_flops: int = 0
    transcendentals: int = 0
    bytes: int = 0
    unknown: tuple[str, ...] = ()

    def times(self, count: int) -> Cost:
        """Of so many executions."""
        return Cost(
            self.flops * count,
            self.matrix_flops * count,
            self.transcendentals * count,
            self.bytes * count,
            self.unknown,
        )


def total(costs: Iterable[Cost]) -> Cost:
    """The sum; what is unknown is named once, the first twenty of it."""
    flops = matrix = transcendentals = accessed = 0
    unknown: dict[str, None] = {}
    for one in costs:
        flops += one.flops
        matrix += one.matrix_flops
        transcendentals += one.transcendentals
        accessed += one.bytes
        unknown.update(dict.fromkeys(one.unknown))
    return Cost(flops, matrix, transcendentals, accessed, tuple(unknown)[:_MOST_UNKNOWN])


class Costs:
    """The costs of one module's parts. Each computation is worked out once. Questions may raise TraceError."""

    def __init__(self, module: Module) -> None:
        """Reads nothing yet."""
        self._module = module
        self._known: dict[int, Cost] = {}

    def of_module(self) -> Cost:
        """Of one run: loops as often as the compiler knew, of a conditional the branch with most flops."""
        return self.of_computation(self._module.entry)

    def of_computation(self, computation: Computation) -> Cost:
        """Of one run of it."""
        for one in self._needed([computation]):
            self._known[one.id] = total([self._cost(instruction) for instruction in one.instructions])
        return self._known[computation.id]

    def of(self, instruction: Instruction) -> Cost:
        """Of one execution, with all that it calls."""
        if instruction.opcode in CALLING or instruction.opcode in APPLYING:
            for one in self._needed(called_before(instruction.computation, instruction)):
                self._known[one.id] = total([self._cost(inner) for inner in one.instructions])
        return self._cost(instruction)

    def _needed(self, wanted: Iterable[Computation]) -> list[Computation]:
        """These and what they call, as far as not known, each behind what it calls itself."""
        found: dict[int, Computation] = {}
        waiting = list(wanted)
        while waiting:
            computation = waiting.pop()
            if computation.id in found or computation.id in self._known:
                continue
            found[computation.id] = computation
            for instruction in computation.instructions:
                if instruction.opcode in CALLING or instruction.opcode in APPLYING:
                    waiting += called_before(computation, instruction)
        return sorted(found.values(), key=lambda computation: computation.position)

    def _cost(self, instruction: Instruction) -> Cost:
        """What it calls is known already."""
        opcode = instruction.opcode
        if opcode in CALLING:
            return self._calling(instruction)
        accessed = own_bytes(instruction)
        if opcode in APPLYING:
            times = applications(instruction)
            applied = total(self._known[one.id].times(n) for one, n in zip(instruction.called, times, strict=False))
            return Cost(applied.flops, applied.matrix_flops, applied.transcendentals, accessed, applied.unknown)
        own = own_operations(instruction)
        if own is not None:
            return Cost(own[0], 0, own[1], accessed)
        matrix = matrix_flops(instruction)
        if matrix is None:
            what = f"custom call {instruction.custom_call_target}" if opcode == "custom-call" else opcode
            return Cost(bytes=accessed, unknown=(f"operations of {what}",))
        return Cost(matrix, matrix, 0, accessed)

    def _calling(self, instruction: Instruction) -> Cost:
        called = [self._known[one.id] for one in instruction.called]
        if instruction.opcode == "fusion":
            inside = total(called)
            return Cost(
                inside.flops, inside.matrix_flops, inside.transcendentals, own_bytes(instruction), inside.unknown
            )
        if instruction.opcode == "conditional":
            return max(called, key=lambda cost: (cost.flops, cost.bytes), default=Cost())
        if instruction.opcode == "while":
            count = trip_count(instruction)
            if count is None:
                return total([*called, Cost(unknown=(f"iterations of {instruction.name}",))])
            return total(called).times(count)
        return total(called)
