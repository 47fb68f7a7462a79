"""A compiled program: a module of computations, each an ordered list of instructions,
and the Python stacks that they point into.

Opening a module finds its computations; everything else is decoded when it is asked
for. Source: `HloProto`, `HloModuleProto`, `HloComputationProto` and
`HloInstructionProto` in openxla/xla, xla/service/hlo.proto. Operands stand before the
instructions that use them. Every property of an instruction or a computation may raise
TraceError, where its bytes are damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.program.shape import NO_SHAPE, Shape, read_shape
from tfadvisor.program.wire import (
    Entry,
    Fields,
    Proto,
    entries,
    message_of,
    number_of,
    span,
    span_of,
    text,
    text_of,
)

_HLO_MODULE = 1
_MODULE_NAME = 1
_COMPUTATIONS = span(3)
_ENTRY = 6
_STACK_FRAME_INDEX = 17
"""The last fields of a HloModuleProto; the first of a HloProto."""
_COMPUTATION_NAME = 1
_INSTRUCTIONS = span(2)
_COMPUTATION_ID = 5
_ROOT = 6
"""Fields of a HloComputationProto."""
_NAME = 1
_OPCODE = 2
_SHAPE = 3
_METADATA = 7
_PARAMETER = 9
_TUPLE_INDEX = 13
_CHANNEL = 26
_TARGET = 28
_ID = 35
_OPERANDS = 36
_CALLED = 38
_BACKEND_CONFIG = 43
_ALL_REDUCE_ID = 45
"""Fields of a HloInstructionProto."""

_MOST_KEPT = 20_000
"""Instructions of a computation whose fields are kept: of more they are read anew each
time, since they take ten times the memory of their bytes."""


class Module:
    """Read-only."""

    def __init__(self, data: bytes | memoryview, place: str = "HLO") -> None:
        """data: a serialized HloProto. Raises TraceError when it is none, or has no
        entry computation.
        """
        self.proto = proto = Proto(data, place)
        fields = message_of(proto, entries(proto, 0, len(data)), _HLO_MODULE)
        found = [entry for entry in fields if entry[0] == _COMPUTATIONS]
        self.computations = tuple(
            Computation(self, proto, at, end, i) for i, (_, at, end) in enumerate(found)
        )
        self.fields: list[Entry] = [
            entry for entry in fields if entry[0] != _COMPUTATIONS
        ]
        self._by_id = {computation.id: computation for computation in self.computations}
        self._by_name: dict[str, Instruction] = {}
        self._unnamed = list(self.computations)
        self._shapes: dict[bytes, Shape] = {}
        self.entry = self.computation(number_of(self.fields, _ENTRY))

    @property
    def name(self) -> str:
        """`jit_train_step`."""
        return text_of(self.proto, self.fields, _MODULE_NAME)

    def computation(self, number: int) -> Computation:
        """The computation of an id. Raises TraceError when there is none."""
        found = self._by_id.get(number)
        if found is None:
            raise self.proto.damaged(0, f"computation {number} is missing")
        return found

    def instruction(self, name: str) -> Instruction | None:
        """The instruction of a name, in whichever computation; None when there
        is none.
        """
        while name not in self._by_name and self._unnamed:
            for instruction in self._unnamed[-1].instructions:
                self._by_name.setdefault(instruction.name, instruction)
            self._unnamed.pop()
        return self._by_name.get(name)

    def shape_at(self, lo: int, hi: int) -> Shape:
        """The shape in data[lo:hi]. Most of a module's instructions share a few, so
        each is read once.
        """
        written = bytes(self.proto.data[lo:hi])
        found = self._shapes.get(written)
        if found is None:
            self._shapes[written] = found = read_shape(self.proto, lo, hi)
        return found

    @cached_property
    def stack_frames(self) -> StackFrames:
        """The Python stacks that instructions point into."""
        return StackFrames(self.proto, *span_of(self.fields, _STACK_FRAME_INDEX))


class Computation:
    """The instructions and which of them is the result. Questions may raise
    TraceError.
    """

    __slots__ = (
        "_by_id",
        "_fields",
        "_proto",
        "id",
        "instructions",
        "module",
        "position",
    )

    def __init__(
        self,
        module: Module,
        proto: Proto,
        lo: int,
        hi: int,
        position: int,
    ) -> None:
        """position: how many computations stand before it in the module; those that it
        calls do.
        """
        self.module = module
        self._proto = proto
        self.position = position
        fields = entries(proto, lo, hi)
        self.id = number_of(fields, _COMPUTATION_ID)
        self.instructions = tuple(
            Instruction(self, proto, at, end)
            for key, at, end in fields
            if key == _INSTRUCTIONS
        )
        """In the file's order."""
        self._fields = [entry for entry in fields if entry[0] != _INSTRUCTIONS]
        self._by_id: dict[int, Instruction] | None = None

    @property
    def name(self) -> str:
        """`main.42`, `fused_computation.1`, …"""
        return text_of(self._proto, self._fields, _COMPUTATION_NAME)

    @property
    def root(self) -> Instruction:
        """The instruction whose result is the computation's."""
        root_id = number_of(self._fields, _ROOT)
        if root_id or not self.instructions:
            return self.by_id(root_id)
        return self._ids().get(0, self.instructions[-1])

    def by_id(self, number: int) -> Instruction:
        """The instruction of an id."""
        found = self._ids().get(number)
        if found is None:
            raise self._proto.damaged(
                0,
                f"computation {self.name} has no instruction {number}",
            )
        return found

    def parameters(self) -> tuple[Instruction, ...]:
        """By their number."""
        mine = [
            instruction
            for instruction in self.instructions
            if instruction.opcode == "parameter"
        ]
        return tuple(sorted(mine, key=lambda parameter: parameter.parameter_number))

    def _ids(self) -> dict[int, Instruction]:
        if self._by_id is None:
            self._by_id = {
                instruction.id: instruction for instruction in self.instructions
            }
        return self._by_id


class Instruction:
    """A place in a module's bytes. Two of the same place are the same object: a
    computation makes each one once.
    """

    __slots__ = (
        "_fields",
        "_hi",
        "_lo",
        "called",
        "called_ids",
        "computation",
        "custom_call_target",
        "id",
        "metadata_place",
        "name",
        "opcode",
        "operand_ids",
        "parameter_number",
        "proto",
        "shape",
        "shape_place",
    )
    name: str
    """Unique in its module, as trace events name it: `fusion.3`."""
    opcode: str
    """`dot`, `fusion`, `custom-call`, …"""
    id: int
    """Unique in its module."""
    shape: Shape
    """Of the result."""
    operand_ids: tuple[int, ...]
    """In order; an operand used twice is there twice."""
    called: tuple[Computation, ...]
    """A fusion's computation, a while's body and condition in this order, a
    conditional's branches, a reducer, …
    """
    called_ids: tuple[int, ...]
    """Of these."""
    custom_call_target: str
    """`__cublas$gemm`, …; "" for any other opcode."""
    parameter_number: int
    """Which argument of its computation a parameter is."""
    shape_place: tuple[int, int]
    """Where the message of its shape lies in the module's bytes; (0, 0) for none."""
    metadata_place: tuple[int, int]
    """Where the message of its OpMetadata lies; (0, 0) for none."""

    def __init__(
        self,
        computation: Computation,
        proto: Proto,
        lo: int,
        hi: int,
    ) -> None:
        """Nothing is read yet: the message lies in proto.data[lo:hi], and so does what
        its fields point into.
        """
        self.computation = computation
        self.proto = proto
        self._lo = lo
        self._hi = hi
        self._fields: list[Entry] | None = None

    def __getattr__(self, asked: str) -> Any:
        """Reads what it says when any of it is asked for the first time, and keeps it
        in its slots.
        """
        is_kept = len(self.computation.instructions) <= _MOST_KEPT
        if asked in _WORKED_OUT:
            found = _WORKED_OUT[asked](self)
            if is_kept:
                setattr(self, asked, found)
            return found
        if asked not in _SLOTS_READ:
            raise AttributeError(asked)
        read = _FIELDS.of(self.proto, self._lo, self._hi)
        if is_kept:
            (
                self.name,
                self.opcode,
                self.custom_call_target,
                self.id,
                self.parameter_number,
                self.operand_ids,
                self.called_ids,
                self.shape_place,
                self.metadata_place,
            ) = read
        else:
            self.name, self.opcode = read[:2]
        return read[_SLOTS_READ.index(asked)]

    @property
    def operands(self) -> tuple[Instruction, ...]:
        """In order. Raises TraceError when the computation has no instruction of such
        an id.
        """
        return tuple(
            self.computation.by_id(operand_id_) for operand_id_ in self.operand_ids
        )

    @property
    def op_name(self) -> str:
        """The framework's path to the operation, `jit(step)/jvp(dense)/dot_general`, or
        a parameter's argument name.
        """
        return text_of(self.proto, self.metadata, 2)

    @property
    def backend_config(self) -> str:
        """What the backend noted, usually JSON; "" without a note."""
        return text_of(self.proto, self.fields, _BACKEND_CONFIG)

    @property
    def tuple_index(self) -> int:
        """Which element of its operand a get-tuple-element is."""
        return number_of(self.fields, _TUPLE_INDEX)

    @property
    def channel_id(self) -> int:
        """Above 0 where a collective, send or recv crosses partitions."""
        return number_of(self.fields, _CHANNEL) or number_of(
            self.fields,
            _ALL_REDUCE_ID,
        )

    def config(self) -> Mapping[str, Any]:
        """The backend's note read as JSON; empty when it is none."""
        import json  # only these questions need it

        try:
            found = json.loads(self.backend_config)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def fields(self) -> list[Entry]:
        """The message's fields, for the files of this room that read a part which few
        instructions have.
        """
        if self._fields is not None:
            return self._fields
        found = entries(self.proto, self._lo, self._hi)
        if len(self.computation.instructions) <= _MOST_KEPT:
            self._fields = found
        return found

    @property
    def metadata(self) -> list[Entry]:
        """The fields of the instruction's OpMetadata."""
        return entries(self.proto, *self.metadata_place)

    @property
    def written_metadata(self) -> bytes:
        """The OpMetadata as it is written: equal for instructions that one operation of
        the user's program became.
        """
        return bytes(self.proto.data[slice(*self.metadata_place)])

    def damaged(self, reason: str) -> TraceError:
        """The error for an instruction that contradicts itself."""
        return self.proto.damaged(self._lo, f"{self.opcode} {self.name} {reason}")

    def __repr__(self) -> str:
        """`dot.3 = f32[2,10]{1,0} dot`."""
        return f"{self.name} = {self.shape} {self.opcode}"


def _shape(instruction: Instruction) -> Shape:
    lo, hi = instruction.shape_place
    return instruction.computation.module.shape_at(lo, hi) if hi else NO_SHAPE


def _called(instruction: Instruction) -> tuple[Computation, ...]:
    module = instruction.computation.module
    return tuple(map(module.computation, instruction.called_ids))


_WORKED_OUT: Mapping[str, Callable[[Instruction], Any]] = {
    "shape": _shape,
    "called": _called,
}
_SLOTS_READ = (
    "name",
    "opcode",
    "custom_call_target",
    "id",
    "parameter_number",
    "operand_ids",
    "called_ids",
    "shape_place",
    "metadata_place",
)
_FIELDS = Fields(
    (_NAME, _OPCODE, _TARGET),
    (_ID, _PARAMETER),
    (_OPERANDS, _CALLED),
    (_SHAPE, _METADATA),
)
"""What an instruction says, in the order of _SLOTS_READ."""


# The Python stacks that a module's instructions point into.

_DEEPEST = 256


_INSTALLED = ("site-packages", "dist-packages")


def is_installed(file: str) -> bool:
    """Whether a file is of an installed package, not of the user's program."""
    return any(folder in file for folder in _INSTALLED)


class Frame(msgspec.Struct, frozen=True):
    """One call of the stack: file as the trace has it, line from 1, function "" when it
    is not known.
    """

    file: str
    line: int
    function: str

    @property
    def is_installed(self) -> bool:
        """Whether the file is an installed package's, not the user's program's."""
        return is_installed(self.file)


class StackFrames:
    """The tables of one module. What an id does not lead to is left out, not an
    error.
    """

    def __init__(
        self,
        proto: Proto,
        lo: int,
        hi: int,
    ) -> None:
        """The tables' message lies in data[lo:hi]; only its entries' places are
        noted.
        """
        self._proto = proto
        fields = entries(proto, lo, hi)
        self._tables = {
            field: [entry for entry in fields if entry[0] == span(field)]
            for field in (1, 2, 3, 4)
        }
        self._read: dict[int, tuple[Frame, ...]] = {}

    def stack(self, frame_id: int) -> tuple[Frame, ...]:
        """From a frame outwards to its callers, at most 256."""
        if frame_id not in self._read:
            self._read[frame_id] = self._stack(frame_id)
        return self._read[frame_id]

    def _stack(self, frame_id: int) -> tuple[Frame, ...]:
        found: list[Frame] = []
        while len(found) < _DEEPEST:
            frame = self._message(4, frame_id)
            if not frame:
                break
            place = self._message(3, number_of(frame, 1))
            file = self._text(1, number_of(place, 1))
            function = self._text(2, number_of(place, 2))
            found.append(Frame(file, number_of(place, 3), function))
            frame_id = number_of(frame, 2)
        return tuple(found)

    def _message(self, table: int, number: int) -> list[Entry]:
        rows = self._tables[table]
        return (
            entries(self._proto, *rows[number - 1][1:])
            if 0 < number <= len(rows)
            else []
        )

    def _text(self, table: int, number: int) -> str:
        rows = self._tables[table]
        return (
            text(self._proto, *rows[number - 1][1:]) if 0 < number <= len(rows) else ""
        )
