"""What instructions cost: arithmetic operations and bytes of memory, each worked out
from shapes, never measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from tfadvisor.program.flow import CALLING, Users, called_before, trip_count
from tfadvisor.program.module import Computation, Instruction
from tfadvisor.program.operations import (
    APPLYING,
    applications,
    matrix_flops,
    operand,
    own_operations,
    own_transcendentals,
)
from tfadvisor.program.shape import MOST_COUNTED


class Cost(msgspec.Struct, frozen=True):
    """flops: all arithmetic but transcendentals. bytes: read and written.

    unknown: whether something is not in the numbers, such as a custom call or a loop's
    length: then they are a lower bound, else exact by their definition.
    transcendentals: values of exponentials, logarithms, roots and their like.
    """

    flops: int = 0
    bytes: int = 0
    unknown: bool = False
    transcendentals: int = 0

    def times(self, count: int) -> Cost:
        """Of so many executions."""
        return _bounded(
            self.flops * count,
            self.bytes * count,
            self.unknown,
            self.transcendentals * count,
        )


def _bounded(
    flops: int,
    bytes: int,
    unknown: bool,
    transcendentals: int,
) -> Cost:
    """No number beyond what int64 holds: a program can be made that counts further."""
    return Cost(
        min(flops, MOST_COUNTED),
        min(bytes, MOST_COUNTED),
        unknown,
        min(transcendentals, MOST_COUNTED),
    )


def total(costs: Iterable[Cost]) -> Cost:
    """The sum."""
    found = tuple(costs)
    return _bounded(
        sum(cost.flops for cost in found),
        sum(cost.bytes for cost in found),
        any(cost.unknown for cost in found),
        sum(cost.transcendentals for cost in found),
    )


class Costs:
    """The costs of one module's parts. Each computation is worked out once. Questions
    may raise TraceError.
    """

    def __init__(self) -> None:
        """Reads nothing yet."""
        self._known: dict[int, Cost] = {}

    def of(self, instruction: Instruction) -> Cost:
        """Of one execution, with all that it calls."""
        if instruction.opcode in CALLING or instruction.opcode in APPLYING:
            for computation in self._needed(
                called_before(instruction.computation, instruction)
            ):
                self._known[computation.id] = total(
                    [self._cost(inner) for inner in computation.instructions]
                )
        return self._cost(instruction)

    def _needed(self, wanted: Iterable[Computation]) -> list[Computation]:
        """These and what they call, as far as not known, each behind what it calls
        itself.
        """
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
            applied = total(
                self._known[computation.id].times(n)
                for computation, n in zip(instruction.called, times, strict=False)
            )
            return replace(applied, bytes=accessed)
        own = own_operations(instruction)
        if own is not None:
            found = own_transcendentals(instruction)
            return _bounded(own, accessed, False, found)
        matrix = matrix_flops(instruction)
        return _bounded(matrix or 0, accessed, matrix is None, 0)

    def _calling(self, instruction: Instruction) -> Cost:
        called = [self._known[computation.id] for computation in instruction.called]
        if instruction.opcode == "fusion":
            return replace(total(called), bytes=own_bytes(instruction))
        if instruction.opcode == "conditional":
            return max(
                called,
                key=lambda cost: (cost.flops, cost.bytes),
                default=Cost(),
            )
        if instruction.opcode == "while":
            count = trip_count(instruction)
            if count is None:
                return total([*called, Cost(unknown=True)])
            return total(called).times(count)
        return total(called)


# How much memory an instruction reads and writes: operands and result, less what it
# never touches.

_FREE = frozenset(
    """
        add-dependency after-all bitcast constant domain get-dimension-size
        get-tuple-element opt-barrier parameter partition-id replica-id tuple
    """.split()
)
_SLICING = frozenset(("slice", "dynamic-slice", "gather"))
_THROUGH = frozenset(("bitcast", "reshape"))


def own_bytes(instruction: Instruction) -> int:
    """Of one execution, without what a while, conditional or call runs: for those 0.
    Raises TraceError.
    """
    opcode = instruction.opcode
    shape = instruction.shape
    if opcode in _FREE or opcode.endswith(("-done", "-update")):
        return 0
    if opcode == "fusion":
        return _fusion_bytes(instruction)
    if opcode in _SLICING:
        return 2 * shape.bytes + _operand_bytes(instruction, first=1)
    if opcode == "dynamic-update-slice":
        return 2 * operand(instruction, 1).bytes + _operand_bytes(instruction, first=2)
    if opcode == "scatter":
        arrays = len(instruction.operand_ids) // 2
        updates = sum(
            operand(instruction, arrays + 1 + number).bytes for number in range(arrays)
        )
        return 3 * updates + operand(instruction, arrays).bytes
    return _operand_bytes(instruction) + _written(instruction)


def _operand_bytes(instruction: Instruction, first: int = 0) -> int:
    """An operand that is used twice is read once."""
    ids = dict.fromkeys(instruction.operand_ids[first:])
    return sum(instruction.computation.by_id(id_).shape.bytes for id_ in ids)


def _written(instruction: Instruction) -> int:
    """A start's shape repeats its operands; a library call's has its workspace,
    unformatted bytes, at the end.
    """
    opcode = instruction.opcode
    shape = instruction.shape
    parts = shape.parts
    if opcode == "copy-start" and parts:
        return parts[0].bytes
    if opcode in ("all-gather-start", "collective-permute-start") and len(parts) > 1:
        return parts[1].bytes
    if opcode in ("send", "recv") and parts:
        return parts[0].bytes if opcode == "recv" else 0
    if (
        opcode == "custom-call"
        and len(parts) > 1
        and parts[-1].dtype in ("s8", "u8")
        and len(parts[-1].dims) == 1
    ):
        return sum(part.bytes for part in parts[:-1])
    return shape.bytes


def _fusion_bytes(fusion: Instruction) -> int:
    called = fusion.called
    if not called:
        raise fusion.damaged("calls no computation")
    inner = called[0]
    users = Users(inner).by_id
    read = sum(_read(parameter, users) for parameter in inner.parameters())
    tables = sum(
        instruction.shape.bytes
        for instruction in inner.instructions
        if instruction.opcode == "constant" and instruction.shape.elements > 1
    )
    results = inner.root.operands if inner.root.opcode == "tuple" else (inner.root,)
    return read + tables + sum(map(_returned, results))


def _read(value: Instruction, users: Mapping[int, list[Instruction]]) -> int:
    """What is read of a parameter: all of it, unless every use takes slices or
    overwrites a part.
    """
    full = value.shape.bytes
    parts = 0
    names = {value.id}  # the parameter itself, and the bitcasts of it
    waiting = [value.id]
    while waiting:
        used = waiting.pop()
        for user in users.get(used, ()):
            if user.opcode in _THROUGH:
                if user.id not in names:
                    names.add(user.id)
                    waiting.append(user.id)
            elif user.opcode == "get-tuple-element" or (
                user.opcode in _SLICING and _only_first(user, used)
            ):
                parts += user.shape.bytes
            elif not (
                user.opcode == "dynamic-update-slice" and _only_first(user, used)
            ):
                return full
    return min(full, parts)


def _only_first(user: Instruction, used: int) -> bool:
    operands = user.operand_ids
    return operands[0] == used and used not in operands[1:]


def _returned(result: Instruction) -> int:
    """What is written of a result: an update in place writes only its update."""
    written = result
    for _ in range(8):
        if written.opcode not in _THROUGH or not written.operand_ids:
            break
        written = written.operands[0]
    if written.opcode == "dynamic-update-slice":
        return operand(written, 1).bytes
    return result.shape.bytes
