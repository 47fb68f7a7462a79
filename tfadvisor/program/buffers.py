"""What lies in device memory while a program runs, by the compiler's own plan: its
buffer assignment.

Source: `BufferAssignmentProto`, `BufferAllocationProto`, `LogicalBufferProto` and
`HeapSimulatorTrace` in openxla/xla, xla/service/hlo.proto. An allocation is one block
of memory. Of a block that temporaries share, the heap simulator's trace tells which of
them live at the same time; where there is no such trace, all that were put into the
block are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

import msgspec

from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.operations import location_of
from tfadvisor.program.wire import (
    Entry,
    entries,
    message_of,
    messages_of,
    number_of,
    text_of,
)

_ASSIGNMENT = 3
_LOGICAL = 1
_ALLOCATIONS = 3
_TRACES = 4
_ALLOC = 0
_FREE = 1
_SHARE = 2
_HOST_SPACE = 5
"""`Layout::kHostMemorySpace` in xla/layout.h."""
_MOST = 100


class BufferKind(Enum):
    """Why a block is held."""

    ARGUMENT = "argument"
    """The caller hands it in: parameters, the optimizer's state, the batch."""
    OUTPUT = "output"
    """A result that is no argument's memory."""
    CONSTANT = "constant"
    TEMPORARY = "temporary"
    """Needed between two instructions."""
    HOST = "host memory"
    """In the host's memory, which a program may offload to."""


class Buffer(msgspec.Struct, frozen=True):
    """One value in memory when the program needs most. "" and 0 for what the HLO does
    not tell.
    """

    kind: BufferKind
    name: str
    """Of the instruction that makes it."""
    opcode: str
    shape: str
    bytes: int
    file: str
    line: int
    op_name: str
    """The framework's path, or an argument's name."""


class ProgramMemory(msgspec.Struct, frozen=True):
    """The memory of one program on one device."""

    program: str
    bytes_of: Mapping[BufferKind, int]
    """All blocks of a kind; their sum without the host's is what the program needs."""
    buffers: tuple[Buffer, ...]
    """At the moment at which temporaries need most, the largest first."""
    left_out: int
    """How many smaller buffers there are."""

    @property
    def bytes(self) -> int:
        """What the program needs of the device in all."""
        return sum(
            size for kind, size in self.bytes_of.items() if kind is not BufferKind.HOST
        )


def program_memory(module: Module) -> ProgramMemory | None:
    """None where the HLO carries no buffer assignment. Raises TraceError for damaged
    bytes.
    """
    proto = module.proto
    fields = message_of(proto, entries(proto, 0, len(proto.data)), _ASSIGNMENT)
    values = dict(_values(module, fields))
    at_peak = dict(_live_at_peak(module, fields, values))
    bytes_of = dict.fromkeys(BufferKind, 0)
    found: list[Buffer] = []
    for allocation in messages_of(proto, fields, _ALLOCATIONS):
        if number_of(allocation, 3) or not number_of(
            allocation,
            2,
        ):  # a thread's own, or empty
            continue
        kind = _kind(allocation)
        bytes_of[kind] += number_of(allocation, 2)
        found += _buffers(
            module,
            allocation,
            kind,
            values,
            at_peak.get(number_of(allocation, 1)),
        )
    if not found:
        return None
    found.sort(key=lambda buffer: -buffer.bytes)
    return ProgramMemory(
        module.name,
        bytes_of,
        tuple(found[:_MOST]),
        max(len(found) - _MOST, 0),
    )


_Value = tuple[Instruction | None, int]
"""The instruction that makes a value, and its size in bytes."""


def _kind(allocation: list[Entry]) -> BufferKind:
    if number_of(allocation, 8) == _HOST_SPACE:
        return BufferKind.HOST
    if number_of(allocation, 5):
        return BufferKind.ARGUMENT
    if number_of(allocation, 12):
        return BufferKind.CONSTANT
    return BufferKind.OUTPUT if number_of(allocation, 7) else BufferKind.TEMPORARY


def _values(module: Module, fields: list[Entry]) -> Iterator[tuple[int, _Value]]:
    """(id, value) of every logical buffer."""
    by_id = {
        instruction.id: instruction
        for part in module.computations
        for instruction in part.instructions
    }
    for value in messages_of(module.proto, fields, _LOGICAL):
        place = message_of(module.proto, value, 3)
        name = text_of(module.proto, place, 2)
        maker = module.instruction(name) if name else by_id.get(number_of(place, 4))
        yield number_of(value, 1), (maker, number_of(value, 2))


def _live_at_peak(
    module: Module,
    fields: list[Entry],
    values: Mapping[int, _Value],
) -> Iterator[tuple[int, frozenset[int]]]:
    """(index of an allocation, ids of the values that live when it is fullest), for
    those with a trace.
    """
    for trace in messages_of(module.proto, fields, _TRACES):
        shared: dict[
            int, int
        ] = {}  # a value that lies in another's memory -> that other one
        users: dict[int, int] = {}
        size = 0
        most = -1
        peak = frozenset[int]()
        for event in messages_of(module.proto, trace, 1):
            kind = number_of(event, 1)
            value = number_of(event, 2)
            if kind == _SHARE:
                shared[value] = shared.get(number_of(event, 5), number_of(event, 5))
            owner = shared.get(value, value)
            users[owner] = users.get(owner, 0) + (-1 if kind == _FREE else 1)
            if kind == _FREE and users[owner] <= 0:
                size -= values.get(owner, (None, 0))[1]
                del users[owner]
            elif kind == _ALLOC:
                size += values.get(owner, (None, 0))[1]
                if size > most:
                    most = size
                    peak = frozenset(users)
        yield number_of(trace, 3), peak


def _buffers(
    module: Module,
    allocation: list[Entry],
    kind: BufferKind,
    values: Mapping[int, _Value],
    live: frozenset[int] | None,
) -> Iterator[Buffer]:
    """What lies in one allocation at the peak; of one that is not shared the largest
    value, which the others overwrite.
    """
    assigned = [
        (number_of(message, 1), number_of(message, 3))
        for message in messages_of(module.proto, allocation, 9)
    ]
    if live is not None:
        chosen = [(value, size) for value, size in assigned if value in live]
    elif kind is BufferKind.TEMPORARY:
        chosen = assigned
    else:
        chosen = [
            (
                max(assigned, key=lambda pair: pair[1])[0] if assigned else -1,
                number_of(allocation, 2),
            )
        ]
    for value, size in chosen:
        maker = values.get(value, (None, 0))[0]
        place = location_of(maker) if maker is not None else None
        yield Buffer(
            kind=kind,
            name=maker.name if maker is not None else "",
            opcode=maker.opcode if maker is not None else "",
            shape=str(maker.shape)
            if maker is not None and not maker.shape.is_tuple
            else "",
            bytes=size,
            file=place.file.rpartition("/")[2] if place else "",
            line=place.line if place else 0,
            op_name=place.op_name if place else "",
        )
