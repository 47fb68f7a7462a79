"""Protobuf's wire format for many messages of one shape at once: a row a message, a column a byte.

A row's bytes are those that are kept; so fields of different length, and fields that only some rows have, need no loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from tfadvisor.protobuf import SIZED, VARINT

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfadvisor.timeline.intervals import BoolArray, Int64Array

    UInt8Matrix: TypeAlias = "npt.NDArray[np.uint8]"
    BoolMatrix: TypeAlias = "npt.NDArray[np.bool_]"

_MORE = 0x80


class Rows(msgspec.Struct, frozen=True):
    """Bytes of each row, and which of them count."""

    data: UInt8Matrix
    keep: BoolMatrix

    def lengths(self) -> Int64Array:
        """Bytes that count, by row."""
        return np.asarray(self.keep.sum(axis=1), np.int64)

    def flat(self) -> bytes:
        """All rows, one after the other."""
        return self.data[self.keep].tobytes()


def constant(rows: int, data: bytes) -> Rows:
    """The same bytes in every row."""
    shape = (rows, len(data))
    return Rows(np.broadcast_to(np.frombuffer(data, np.uint8), shape), np.ones(shape, np.bool_))


def varints(values: Int64Array) -> Rows:
    """Numbers that are not negative, seven bits a byte."""
    number = values.astype(np.uint64)
    width = max((int(number.max(initial=0)).bit_length() + 6) // 7, 1)
    shifted = number[:, None] >> (np.arange(width, dtype=np.uint64) * np.uint64(7))
    keep = shifted > 0
    keep[:, 0] = True
    data = (shifted & np.uint64(_MORE - 1)).astype(np.uint8)
    data[:, :-1][keep[:, 1:]] |= np.uint8(_MORE)
    return Rows(data, keep)


def doubles(values: npt.NDArray[np.float64]) -> Rows:
    """Eight bytes a number."""
    data = values.astype("<f8").reshape(-1, 1).view(np.uint8)
    return Rows(data, np.ones(data.shape, np.bool_))


def fixed_64(values: Int64Array) -> Rows:
    """Eight bytes a number that is not negative."""
    data = values.astype("<u8").reshape(-1, 1).view(np.uint8)
    return Rows(data, np.ones(data.shape, np.bool_))


def joined(*parts: Rows) -> Rows:
    """Each row's parts one after the other."""
    return Rows(
        np.concatenate([one.data for one in parts], axis=1), np.concatenate([one.keep for one in parts], axis=1)
    )


def field(number: int, kind: int, content: Rows) -> Rows:
    """A field of each row's message; kind SIZED puts the length before the content."""
    rows = len(content.data)
    head = constant(rows, tag(number, kind))
    return joined(head, varints(content.lengths()), content) if kind == SIZED else joined(head, content)


def only(content: Rows, rows: BoolArray) -> Rows:
    """The content where it is wanted, nothing in the other rows."""
    return Rows(content.data, content.keep & rows[:, None])


def tag(number: int, kind: int) -> bytes:
    """The head of a field."""
    return varint(number << 3 | kind)


def varint(value: int) -> bytes:
    """One number that is not negative."""
    out = bytearray()
    while value >= _MORE:
        out.append(value & (_MORE - 1) | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field_number: int, value: int) -> bytes:
    """One field with a number that is not negative."""
    return tag(field_number, VARINT) + varint(value)


def sized(field_number: int, content: bytes) -> bytes:
    """One field with a message or text."""
    return tag(field_number, SIZED) + varint(len(content)) + content


def text(field_number: int, content: str) -> bytes:
    """One field with text. NUL, which ends texts in the tools that read them, is written as its picture."""
    return sized(field_number, content.replace("\0", "\u2400").encode("utf-8", "replace"))
