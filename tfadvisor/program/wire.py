"""Protobuf's wire format, read in place: only the fields asked about are decoded,
everything else is stepped over.

Source: https://protobuf.dev/programming-guides/encoding. Fields of an unexpected wire
type are skipped, as protobuf does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.trace.bounds import FIXED_32, FIXED_64, SIZED, VARINT

try:
    from tfadvisor.trace import _wire

    message_entries = _wire.message_entries
    packed_numbers = _wire.packed_numbers
    compiled_fields = _wire.Fields
except (ImportError, AttributeError):  # no C compiler, or built from an older source
    message_entries = packed_numbers = compiled_fields = None  # type: ignore

Entry = tuple[int, int, int]
"""A field of a message: its key, then the number and -1, or where its bytes begin and
end.
"""

_SIGN = 1 << 63
_LONGEST_VARINT = 10
_LONGEST = 1 << 18


class Proto(msgspec.Struct, frozen=True):
    """One serialized message. place: what errors call it, the trace's path and the
    module's name.
    """

    data: bytes | memoryview
    place: str

    def damaged(self, position: int, reason: str) -> TraceError:
        """The error for bytes that are no such message."""
        where = f"{self.place}: byte {position:,} of {len(self.data):,}"
        return TraceError(
            where,
            f"{reason}. The HLO of this module is damaged.",
            "Copy or record the trace again.",
        )


def number(field: int) -> int:
    """Key of a field that holds an integer, an enum or a bool."""
    return field << 3 | VARINT


def span(field: int) -> int:
    """Key of a field that holds text, bytes, a message or packed integers."""
    return field << 3 | SIZED


def entries(
    proto: Proto,
    lo: int,
    hi: int,
) -> list[Entry]:
    """The fields of the message in data[lo:hi], in order. Raises TraceError where the
    bytes are no message.
    """
    if message_entries is not None:
        compiled = message_entries(proto.data, lo, hi)
        if compiled is not None:
            return compiled
    return entries_by_hand(proto, lo, hi)


def entries_by_hand(
    proto: Proto,
    lo: int,
    hi: int,
) -> list[Entry]:
    """As entries, in Python: what defines it, and knows what is wrong with the
    bytes.
    """
    data = proto.data
    found: list[Entry] = []
    at = lo
    while at < hi:
        key = data[at]
        at += 1
        if key & 0x80:
            key, at = varint(proto, at - 1, hi)
        kind = key & 7
        if key < 8:
            raise proto.damaged(at, "a field has the number 0")
        if kind == SIZED:
            if at < hi and data[at] < 0x80:
                size = data[at]
                at += 1
            else:
                size, at = varint(proto, at, hi)
            end = at + size
            if end > hi:
                raise proto.damaged(
                    at,
                    f"a field of {size:,} bytes ends past its message",
                )
            found.append((key, at, end))
            at = end
        elif kind == VARINT:
            value, at = varint(proto, at, hi)
            found.append((key, value, -1))
        elif kind in (FIXED_64, FIXED_32):
            end = at + (8 if kind == FIXED_64 else 4)
            if end > hi:
                raise proto.damaged(at, "a number ends past its message")
            at = end
        else:
            raise proto.damaged(at, f"a field has the unknown wire type {kind}")
    return found


def varint(
    proto: Proto,
    at: int,
    hi: int,
) -> tuple[int, int]:
    """(unsigned 64-bit value, position after it). Raises TraceError when it does not
    end before hi or is too long.
    """
    data = proto.data
    value = shift = 0
    start = at
    while at < hi:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if at - start >= _LONGEST_VARINT:
            raise proto.damaged(start, "a number has more than ten bytes")
    raise proto.damaged(start, "a number is cut off")


def signed(value: int) -> int:
    """An unsigned 64-bit value as the int64 (or int32, which is sent alike) that it
    stands for.
    """
    return value - (1 << 64) if value >= _SIGN else value


def text(
    proto: Proto,
    lo: int,
    hi: int,
) -> str:
    """UTF-8, with the replacement character where the bytes are not."""
    return str(proto.data[lo:hi], "utf-8", "replace")


def text_of(
    proto: Proto,
    fields: list[Entry],
    field: int,
) -> str:
    """A text field, "" when it is absent. The last one of several wins; what no name
    needs is cut.
    """
    lo, hi = span_of(fields, field)
    return text(proto, lo, min(hi, lo + _LONGEST))


def span_of(fields: list[Entry], field: int) -> tuple[int, int]:
    """Where a field's bytes lie, (0, 0) when it is absent. The last one of several
    wins.
    """
    wanted = span(field)
    for key, lo, hi in reversed(fields):
        if key == wanted:
            return lo, hi
    return 0, 0


def number_of(fields: list[Entry], field: int) -> int:
    """An integer field as int64, 0 when it is absent. The last one of several wins."""
    wanted = number(field)
    for key, value, _ in reversed(fields):
        if key == wanted:
            return signed(value)
    return 0


def numbers_of(
    proto: Proto,
    fields: list[Entry],
    field: int,
) -> tuple[int, ...]:
    """A repeated integer field as int64, packed or one by one."""
    single = number(field)
    packed = span(field)
    found: list[int] = []
    for key, at, end in fields:
        if key == single:
            found.append(signed(at))
        elif key == packed:
            found += _packed(proto, at, end)
    return tuple(found)


def _packed(proto: Proto, lo: int, hi: int) -> list[int]:
    if packed_numbers is not None:
        compiled = packed_numbers(proto.data, lo, hi)
        if compiled is not None:
            return compiled
    found = []
    while lo < hi:
        value, lo = varint(proto, lo, hi)
        found.append(signed(value))
    return found


def messages_of(
    proto: Proto,
    fields: list[Entry],
    field: int,
) -> list[list[Entry]]:
    """The fields of each message of a repeated field."""
    wanted = span(field)
    return [entries(proto, lo, hi) for key, lo, hi in fields if key == wanted]


def message_of(
    proto: Proto,
    fields: list[Entry],
    field: int,
) -> list[Entry]:
    """The fields of a message, empty when it is absent. The last one of several
    wins.
    """
    lo, hi = span_of(fields, field)
    return entries(proto, lo, hi)


class Fields:
    """Fields of a message, by number, that are read in one go."""

    def __init__(
        self,
        texts: Sequence[int] = (),
        numbers: Sequence[int] = (),
        lists: Sequence[int] = (),
        places: Sequence[int] = (),
    ) -> None:
        """lists: of numbers. places: of bytes, (from, to)."""
        self._asked = texts, numbers, lists, places
        self._compiled: _wire.Fields | None = None
        if compiled_fields is not None:
            self._compiled = compiled_fields(*self._asked)

    def of(self, proto: Proto, lo: int, hi: int) -> list[Any]:
        """Their values in the message in data[lo:hi], in the order in which they are
        asked for: as text_of, number_of, numbers_of and span_of. Raises TraceError
        where the bytes are no message.
        """
        if self._compiled is not None:
            found = self._compiled.read(proto.data, lo, hi)
            if found is not None:
                return found
        return self.by_hand(proto, lo, hi)

    def by_hand(self, proto: Proto, lo: int, hi: int) -> list[Any]:
        """As `of`, in Python: what defines it."""
        fields = entries(proto, lo, hi)
        texts, numbers, lists, places = self._asked
        return [
            *(text_of(proto, fields, field) for field in texts),
            *(number_of(fields, field) for field in numbers),
            *(numbers_of(proto, fields, field) for field in lists),
            *(span_of(fields, field) for field in places),
        ]
