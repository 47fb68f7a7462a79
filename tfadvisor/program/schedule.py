"""What a compiled program launches, in the order in which it launches it.

Source: `HloModuleProto.schedule` in openxla/xla, xla/service/hlo.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache

import msgspec

from tfadvisor.program.flow import inside
from tfadvisor.program.module import Computation, Instruction, Module
from tfadvisor.program.wire import entries, message_of, number_of, numbers_of, span

_SCHEDULE = 7
_SEQUENCES = span(1)
_KEY = 1
_VALUE = 2
_IDS = 1
"""Fields of a HloModuleProto, its HloScheduleProto, an entry of that one's map, and an
InstructionSequence.
"""
_NOTHING = frozenset(
    """
    parameter constant tuple get-tuple-element bitcast after-all add-dependency domain
    opt-barrier partition-id replica-id get-dimension-size async-start async-update
    async-done copy-start copy-done send send-done recv recv-done infeed outfeed
    all-reduce all-reduce-start all-reduce-done all-gather all-gather-start
    all-gather-done reduce-scatter all-to-all ragged-all-to-all collective-permute
    collective-permute-start collective-permute-done collective-broadcast
    """.split()
)
"""Opcodes that launch no kernel of the program's own."""
_RUNNING = ("while", "conditional", "call")
_MOST = 50_000
"""Instructions that are put in order."""


class Region(msgspec.Struct, frozen=True):
    """Positions lo <= p < hi that run any number of times: a loop's body and condition,
    or a branch."""

    lo: int
    hi: int
    is_loop: bool


class Launched(msgspec.Struct, frozen=True, dict=True):
    """The instructions that launch kernels, each once, and what of them repeats."""

    instructions: tuple[Instruction, ...]
    regions: tuple[Region, ...]
    """Outer ones behind those inside of them."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the instructions."""
        return tuple(each.name for each in self.instructions)

    @cached_property
    def likenesses(self) -> tuple[object, ...]:
        """Equal for instructions for which XLA may make one kernel."""
        return tuple(map(_likeness, self.instructions))

    def is_call(self, at: int) -> bool:
        """Whether the launch at a position calls a library or a kernel that somebody
        else compiled."""
        return self.instructions[at].opcode == "custom-call"

    def between(self, before: int, after: int) -> tuple[range, range, range] | None:
        """Positions that run between the launches at two positions that follow each
        other: up to the end of what repeats, all of that any number of times, from its
        beginning on. None where a part of them may run any number of times by itself.
        """
        if after > before:
            own = range(before + 1, after)
            return (own, range(0), range(0)) if self._is_straight(own) else None
        whole = range(len(self.instructions))
        for region in self.regions:
            if region.is_loop and region.lo <= after and before < region.hi:
                whole = range(region.lo, region.hi)
                break
        parts = range(before + 1, whole.stop), whole, range(whole.start, after)
        return parts if all(map(self._is_straight, parts)) else None

    def _is_straight(self, own: range) -> bool:
        """Whether no region lies among positions, other than around all of them."""
        inside = (range(region.lo, region.hi) for region in self.regions)
        return not any(
            own.start <= each.start and each.stop <= own.stop and each != own
            for each in inside
        )


def _likeness(launch: Instruction) -> object:
    operands = tuple(str(operand.shape) for operand in launch.operands)
    does = tuple(part.opcode for part in inside(launch))
    return does, str(launch.shape), operands


@lru_cache(maxsize=16)  # the devices and hosts of a run share their programs
def launched(module: Module) -> Launched | None:
    """What a program launches; None without a schedule, and of a program too large.
    Raises TraceError for damaged bytes.
    """
    order = _schedule(module)
    if not order:
        return None
    flat = _Flat(order)
    flat.add(module.entry, frozenset())
    if len(flat.found) > _MOST:
        return None
    return Launched(tuple(flat.found), tuple(flat.regions))


def _schedule(module: Module) -> dict[int, tuple[int, ...]]:
    """Ids of instructions in order, by the computation's id."""
    found = {}
    proto = module.proto
    for key, lo, hi in message_of(proto, module.fields, _SCHEDULE):
        if key == _SEQUENCES:
            entry = entries(proto, lo, hi)
            sequence = message_of(proto, entry, _VALUE)
            found[number_of(entry, _KEY)] = numbers_of(proto, sequence, _IDS)
    return found


class _Flat:
    """The launches of computations within each other, one after the other."""

    def __init__(self, order: dict[int, tuple[int, ...]]) -> None:
        self._order = order
        self.found: list[Instruction] = []
        self.regions: list[Region] = []

    def add(self, computation: Computation, around: frozenset[int]) -> None:
        """around: ids of the computations that it lies in."""
        if computation.id in around or len(self.found) > _MOST:
            return
        for instruction in self._scheduled(computation):
            if instruction.opcode in _RUNNING:
                self._add_called(instruction, around | {computation.id})
            elif instruction.opcode not in _NOTHING:
                self.found.append(instruction)

    def _add_called(self, instruction: Instruction, around: frozenset[int]) -> None:
        first = len(self.found)
        for inner in instruction.called:  # of a loop its body, then its condition
            lo = len(self.found)
            self.add(inner, around)
            if instruction.opcode == "conditional":
                self._close(lo, is_loop=False)
        if instruction.opcode == "while":
            self._close(first, is_loop=True)

    def _close(self, lo: int, *, is_loop: bool) -> None:
        if len(self.found) > lo:
            self.regions.append(Region(lo, len(self.found), is_loop))

    def _scheduled(self, computation: Computation) -> Iterator[Instruction]:
        ids = self._order.get(computation.id)
        if ids is None:
            return iter(computation.instructions)
        return map(computation.by_id, ids)
