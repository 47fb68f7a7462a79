"""One instruction of a module: its parts, decoded one by one when they are asked for.

Source: `HloInstructionProto` in openxla/xla, xla/service/hlo.proto. Every property may raise TraceError, where the
instruction's bytes are damaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tfadvisor.errors import TraceError
from tfadvisor.hlo.format.shape import NO_SHAPE, Shape
from tfadvisor.hlo.format.wire import (
    Entry,
    Proto,
    entries,
    message_of,
    number_of,
    numbers_of,
    span_of,
    text,
    text_of,
    varint,
)

if TYPE_CHECKING:
    from tfadvisor.hlo.format.computation import Computation

_NAME, _OPCODE, _SHAPE, _METADATA, _PARAMETER, _TUPLE_INDEX, _CHANNEL, _TARGET, _ID = 1, 2, 3, 7, 9, 13, 26, 28, 35
_OPERANDS, _CALLED, _BACKEND_CONFIG, _ALL_REDUCE_ID = 36, 38, 43, 45


class Instruction:
    """A place in a module's bytes. Two of the same place are the same object: a computation makes each one once."""

    __slots__ = ("_fields", "_head", "_hi", "_lo", "_proto", "_shape", "computation")

    def __init__(self, computation: Computation, proto: Proto, lo: int, hi: int) -> None:
        """Nothing is read yet: the message lies in proto.data[lo:hi]."""
        self.computation = computation
        self._proto, self._lo, self._hi = proto, lo, hi
        self._head: tuple[str, str] | None = None
        self._fields: list[Entry] | None = None
        self._shape: Shape | None = None

    @property
    def name(self) -> str:
        """Unique in its module, as trace events name it: `fusion.3`."""
        return self._names()[0]

    @property
    def opcode(self) -> str:
        """`dot`, `fusion`, `custom-call`, …"""
        return self._names()[1]

    @property
    def id(self) -> int:
        """Unique in its module."""
        return number_of(self.fields, _ID)

    @property
    def shape(self) -> Shape:
        """Of the result."""
        if self._shape is None:
            lo, hi = span_of(self.fields, _SHAPE)
            self._shape = self.computation.module.shape_at(lo, hi) if hi else NO_SHAPE
        return self._shape

    @property
    def operand_ids(self) -> tuple[int, ...]:
        """In order; an operand used twice is there twice."""
        return numbers_of(self._proto, self.fields, _OPERANDS)

    @property
    def operands(self) -> tuple[Instruction, ...]:
        """In order. Raises TraceError when the computation has no instruction of such an id."""
        return tuple(self.computation.by_id(one) for one in self.operand_ids)

    @property
    def called(self) -> tuple[Computation, ...]:
        """A fusion's computation, a while's body and condition in this order, a conditional's branches, a reducer, …"""
        module = self.computation.module
        return tuple(module.computation(one) for one in numbers_of(self._proto, self.fields, _CALLED))

    @property
    def op_name(self) -> str:
        """The framework's path to the operation, `jit(step)/jvp(dense)/dot_general`, or a parameter's argument name."""
        return text_of(self._proto, self.metadata, 2)

    @property
    def custom_call_target(self) -> str:
        """`__cublas$gemm`, …; "" for any other opcode."""
        return text_of(self._proto, self.fields, _TARGET)

    @property
    def backend_config(self) -> str:
        """What the backend noted, usually JSON; "" without a note."""
        return text_of(self._proto, self.fields, _BACKEND_CONFIG)

    @property
    def parameter_number(self) -> int:
        """Which argument of its computation a parameter is."""
        return number_of(self.fields, _PARAMETER)

    @property
    def tuple_index(self) -> int:
        """Which element of its operand a get-tuple-element is."""
        return number_of(self.fields, _TUPLE_INDEX)

    @property
    def channel_id(self) -> int:
        """Above 0 where a collective, send or recv crosses partitions."""
        return number_of(self.fields, _CHANNEL) or number_of(self.fields, _ALL_REDUCE_ID)

    def config(self) -> Mapping[str, Any]:
        """The backend's note read as JSON; empty when it is none."""
        import json  # noqa: PLC0415  (only these questions need it)

        try:
            found = json.loads(self.backend_config)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def fields(self) -> list[Entry]:
        """The message's fields, for the files of this room that read a part which few instructions have."""
        if self._fields is None:
            self._fields = entries(self._proto, self._lo, self._hi)
        return self._fields

    @property
    def metadata(self) -> list[Entry]:
        """The fields of the instruction's OpMetadata."""
        return message_of(self._proto, self.fields, _METADATA)

    @property
    def written_metadata(self) -> bytes:
        """The OpMetadata as it is written: equal for instructions that one operation of the user's program became."""
        return bytes(self._proto.data[slice(*span_of(self.fields, _METADATA))])

    @property
    def proto(self) -> Proto:
        """The bytes that the fields point into."""
        return self._proto

    def damaged(self, reason: str) -> TraceError:
        """The error for an instruction that contradicts itself."""
        return self._proto.damaged(self._lo, f"{self.opcode} {self.name} {reason}")

    def __repr__(self) -> str:
        """`dot.3 = f32[2,10]{1,0} dot`."""
        return f"{self.name} = {self.shape} {self.opcode}"

    def _names(self) -> tuple[str, str]:
        if self._head is None:
            self._head = _head(self._proto, self._lo, self._hi) or (
                text_of(self._proto, self.fields, _NAME),
                text_of(self._proto, self.fields, _OPCODE),
            )
        return self._head


def _head(proto: Proto, lo: int, hi: int) -> tuple[str, str] | None:
    """Name and opcode where they are the first two fields, as XLA writes them; None where they are not.

    A module may hold 100,000 instructions, and an index by name needs no more of each than this.
    """
    data = proto.data
    found = []
    for key in (0x0A, 0x12):
        if lo + 2 > hi or data[lo] != key:
            return None
        size, lo = (data[lo + 1], lo + 2) if data[lo + 1] < 0x80 else varint(proto, lo + 1, hi)
        if lo + size > hi:
            return None
        found.append(text(proto, lo, lo + size))
        lo += size
    if lo < hi and data[lo] in (0x0A, 0x12):
        return None
    return found[0], found[1]
