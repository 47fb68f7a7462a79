"""Perfetto's messages on the wire: tracks, interned texts, and the begins and ends of
slices.

Field numbers and meanings are those of Perfetto's protos/perfetto/trace (trace_packet,
track_descriptor, track_event, interned_data, debug_annotation).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from tfadvisor.trace.bounds import SIZED, VARINT

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfadvisor.arrays import BoolArray, Int64Array

Write = Callable[[bytes], object]

_PACKET = 1
_TIMESTAMP, _SEQUENCE, _EVENT, _INTERNED, _FLAGS, _TRACK = 8, 10, 11, 12, 13, 60
_CLEARED, _NEEDED = 1, 2
_ANNOTATIONS, _TYPE, _NAME_IID, _TRACK_UUID, _CATEGORIES = 4, 9, 10, 11, 22
_BEGIN, _END = 1, 2
_EXPLICIT = 3
_BYTES_A_PACKET = 1 << 20
_ROWS_AT_ONCE = 1 << 16
_NAMES = 2
_ARGUMENT_NAME, _ARGUMENT_TEXT = 10, 6


def process_track(
    uuid: int,
    pid: int,
    name: str,
) -> bytes:
    """A process, under which its threads stand."""
    process = number(1, pid) + text(6, name)
    return _track(uuid, sized(3, process))


def thread_track(
    uuid: int,
    pid: int,
    tid: int,
    name: str,
) -> bytes:
    """A thread of a process."""
    thread = number(1, pid) + number(2, tid) + text(5, name)
    return _track(uuid, sized(4, thread))


def named_track(
    uuid: int,
    parent: int,
    name: str,
    rank: int = 0,
    about: str = "",
) -> bytes:
    """A track by itself (parent 0) or below another one, its own children by their
    rank.
    """
    content = [
        number(5, parent) if parent else b"",
        text(2, name),
        text(14, about) if about else b"",
        number(11, _EXPLICIT),
        number(12, rank),
    ]
    return _track(uuid, b"".join(content))


def _track(uuid: int, content: bytes) -> bytes:
    track = number(1, uuid) + content
    return sized(_PACKET, sized(_TRACK, track))


class NumberedNames:
    """Names of slices in one sequence of packets, each written once and then called by
    its number.
    """

    def __init__(self, write: Write, sequence: int) -> None:
        """The first packet of the sequence says that nothing before it is known."""
        self._write = write
        self._known: dict[str, int] = {}
        self._flags = _CLEARED | _NEEDED
        self.sequence = sequence

    def number(self, content: str) -> int:
        """The number of a name."""
        if content not in self._known:
            new = len(self._known) + 1
            self._known[content] = new
            self.give([(new, content)])
        return self._known[content]

    def give(self, contents: Iterable[tuple[int, str]]) -> None:
        """Names under numbers that the caller gives."""
        entries = []
        size = 0
        for iid, content in contents:
            entry = sized(_NAMES, number(1, iid) + text(2, content))
            entries.append(entry)
            size += len(entry)
            if size > _BYTES_A_PACKET:
                self._put(b"".join(entries))
                entries = []
                size = 0
        if entries:
            self._put(b"".join(entries))

    def _put(self, interned: bytes) -> None:
        packet = number(_SEQUENCE, self.sequence)
        packet += number(_FLAGS, self._flags)
        packet += sized(_INTERNED, interned)
        self._write(sized(_PACKET, packet))
        self._flags = _NEEDED


def text_argument(name: str, content: str) -> bytes:
    """An argument of a slice."""
    annotation = text(_ARGUMENT_NAME, name) + text(_ARGUMENT_TEXT, content)
    return sized(_ANNOTATIONS, annotation)


def put_slices(
    write: Write,
    sequence: int,
    track: int,
    time_ns: Int64Array,
    opens: BoolArray,
    name: Int64Array,
    category: str = "",
    words: bytes = b"",
) -> None:
    """A packet for each begin and end, in the order given. name: of begins. words: the
    arguments of the first row.
    """
    head = number(_SEQUENCE, sequence) + number(_FLAGS, _NEEDED)
    on_track = number(_TRACK_UUID, track)
    in_category = text(_CATEGORIES, category) if category else b""

    for at in range(0, len(opens), _ROWS_AT_ONCE):
        part = slice(at, at + _ROWS_AT_ONCE)
        begins = opens[part]
        rows = len(begins)

        kinds = np.where(begins, _BEGIN, _END)
        named = field(_NAME_IID, VARINT, varints(name[part]))
        event = [
            field(_TYPE, VARINT, varints(kinds)),
            constant(rows, on_track),
            only(named, begins),
        ]
        if in_category:
            event.append(only(constant(rows, in_category), begins))
        if words and at == 0:
            is_first = np.arange(rows) == 0
            event.append(only(constant(rows, words), is_first))

        packet = joined(
            field(_TIMESTAMP, VARINT, varints(time_ns[part])),
            constant(rows, head),
            field(_EVENT, SIZED, joined(*event)),
        )
        write(field(_PACKET, SIZED, packet).flat())


# Protobuf's wire format for many messages of one shape at once: a row a message, a
# column a byte.


if TYPE_CHECKING:
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
    one_row = np.frombuffer(data, np.uint8)
    return Rows(np.broadcast_to(one_row, shape), np.ones(shape, np.bool_))


def varints(values: Int64Array) -> Rows:
    """Numbers that are not negative, seven bits a byte."""
    column = values.astype(np.uint64)
    largest = int(column.max(initial=0))
    width = max((largest.bit_length() + 6) // 7, 1)
    shifts = np.arange(width, dtype=np.uint64) * np.uint64(7)
    shifted = column[:, None] >> shifts

    keep = shifted > 0
    keep[:, 0] = True
    low_bits = shifted & np.uint64(_MORE - 1)
    data = low_bits.astype(np.uint8)
    goes_on = keep[:, 1:]
    data[:, :-1][goes_on] |= np.uint8(_MORE)
    return Rows(data, keep)


def joined(*parts: Rows) -> Rows:
    """Each row's parts one after the other."""
    data = [part.data for part in parts]
    keep = [part.keep for part in parts]
    return Rows(np.concatenate(data, axis=1), np.concatenate(keep, axis=1))


def field(
    number: int,
    kind: int,
    content: Rows,
) -> Rows:
    """A field of each row's message; kind SIZED puts the length before the content."""
    rows = len(content.data)
    head = constant(rows, tag(number, kind))
    if kind == SIZED:
        return joined(head, varints(content.lengths()), content)
    return joined(head, content)


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
    """One field with text. NUL, which ends texts in the tools that read them, is
    written as its picture.
    """
    shown = content.replace("\0", "\u2400")
    return sized(field_number, shown.encode("utf-8", "replace"))


class TrackNumbers:
    """Numbers that no two tracks of a file share, and no two processes or threads,
    which are one kind.
    """

    def __init__(self) -> None:
        """track, process: give a new number of their kind."""
        self.track = count(1).__next__
        self.process = count(1).__next__
