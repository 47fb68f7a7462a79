"""Perfetto's messages: tracks, interned texts, and the begins and ends of slices.

Field numbers and meanings are those of Perfetto's protos/perfetto/trace (trace_packet, track_descriptor, track_event,
interned_data, debug_annotation).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.export.perfetto.wire import (
    Rows,
    constant,
    doubles,
    field,
    fixed_64,
    joined,
    number,
    only,
    sized,
    text,
    varints,
)
from tfadvisor.protobuf import FIXED_64, SIZED, VARINT

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfadvisor.timeline.intervals import BoolArray, Int64Array

Write = Callable[[bytes], object]

_PACKET = 1
_TIMESTAMP, _SEQUENCE, _EVENT, _INTERNED, _FLAGS, _TRACK = 8, 10, 11, 12, 13, 60
_CLEARED, _NEEDED = 1, 2
_CATEGORY_IIDS, _ANNOTATIONS, _TYPE, _NAME_IID, _TRACK_UUID, _FLOWS = 3, 4, 9, 10, 11, 47
_BEGIN, _END = 1, 2
_EXPLICIT = 3
_BYTES_A_PACKET = 1 << 20
_ROWS_AT_ONCE = 1 << 16
_CATEGORIES, _NAMES, _ARGUMENT_NAMES, _ARGUMENT_TEXTS = 1, 2, 3, 29


def process_track(uuid: int, pid: int, name: str) -> bytes:
    """A process, under which its threads stand."""
    return _track(number(1, uuid) + sized(3, number(1, pid) + text(6, name)))


def thread_track(uuid: int, pid: int, tid: int, name: str) -> bytes:
    """A thread of a process."""
    return _track(number(1, uuid) + sized(4, number(1, pid) + number(2, tid) + text(5, name)))


def named_track(uuid: int, parent: int, name: str, rank: int = 0, about: str = "") -> bytes:
    """A track by itself (parent 0) or below another one, its own children by their rank."""
    above = number(5, parent) if parent else b""
    words = text(14, about) if about else b""
    return _track(number(1, uuid) + above + text(2, name) + words + number(11, _EXPLICIT) + number(12, rank))


def _track(content: bytes) -> bytes:
    return sized(_PACKET, sized(_TRACK, content))


class Texts:
    """Texts of one sequence of packets, each written once and then called by its number."""

    def __init__(self, write: Write, sequence: int) -> None:
        """The first packet of the sequence says that nothing before it is known."""
        self._write = write
        self._sequence = sequence
        self._known: dict[tuple[int, str], int] = {}
        self._flags = _CLEARED | _NEEDED
        self.sequence = sequence

    def name(self, content: str) -> int:
        """The number of a slice's name."""
        return self._one(_NAMES, content)

    def category(self, content: str) -> int:
        """The number of a category."""
        return self._one(_CATEGORIES, content)

    def argument(self, content: str) -> int:
        """The number of an argument's name."""
        return self._one(_ARGUMENT_NAMES, content)

    def value(self, content: str) -> int:
        """The number of an argument's text."""
        return self._one(_ARGUMENT_TEXTS, content)

    def names(self, contents: Iterable[tuple[int, str]]) -> None:
        """Names of slices under numbers that the caller gives."""
        self._many(_NAMES, contents)

    def values(self, contents: Iterable[tuple[int, str]]) -> None:
        """Texts of arguments under numbers that the caller gives."""
        self._many(_ARGUMENT_TEXTS, contents)

    def _one(self, kind: int, content: str) -> int:
        known = self._known.get((kind, content))
        if known is None:
            known = self._known[kind, content] = len(self._known) + 1
            self._many(kind, [(known, content)])
        return known

    def _many(self, kind: int, contents: Iterable[tuple[int, str]]) -> None:
        entries, size = [], 0
        for iid, content in contents:
            entries.append(sized(kind, number(1, iid) + text(2, content)))
            size += len(entries[-1])
            if size > _BYTES_A_PACKET:
                self._put(b"".join(entries))
                entries, size = [], 0
        if entries:
            self._put(b"".join(entries))

    def _put(self, interned: bytes) -> None:
        head = number(_SEQUENCE, self._sequence) + number(_FLAGS, self._flags)
        self._write(sized(_PACKET, head + sized(_INTERNED, interned)))
        self._flags = _NEEDED


def text_argument(texts: Texts, name: str, content: str) -> bytes:
    """An argument of a slice, as it stands in each event that has it."""
    return sized(_ANNOTATIONS, number(1, texts.argument(name)) + number(17, texts.value(content)))


def text_arguments(name: int, values: Int64Array) -> Rows:
    """An argument for each row by the number of its text; rows with 0 have none."""
    content = joined(constant(len(values), number(1, name)), field(17, VARINT, varints(values)))
    return only(field(_ANNOTATIONS, SIZED, content), values > 0)


def number_arguments(name: int, values: npt.NDArray[np.float64]) -> Rows:
    """An argument for each row."""
    content = joined(constant(len(values), number(1, name)), field(5, FIXED_64, doubles(values)))
    return field(_ANNOTATIONS, SIZED, content)


def put_slices(
    write: Write,
    sequence: int,
    track: int,
    time_ns: Int64Array,
    opens: BoolArray,
    name: Int64Array,
    category: int = 0,
    flow: Int64Array | None = None,
    arguments: Callable[[slice], tuple[Rows, ...]] | None = None,
) -> None:
    """A packet for each begin and end, in the order given. name, flow, arguments: of begins; flow 0 for none.

    arguments: gives those of some rows.
    """
    for at in range(0, len(opens), _ROWS_AT_ONCE):
        part = slice(at, at + _ROWS_AT_ONCE)
        begins = opens[part]
        rows = len(begins)
        event = [
            field(_TYPE, VARINT, varints(np.where(begins, _BEGIN, _END))),
            constant(rows, number(_TRACK_UUID, track)),
            only(field(_NAME_IID, VARINT, varints(name[part])), begins),
        ]
        if category:
            event.append(only(constant(rows, number(_CATEGORY_IIDS, category)), begins))
        if flow is not None and flow[part].any():
            event.append(only(field(_FLOWS, FIXED_64, fixed_64(flow[part])), begins & (flow[part] > 0)))
        if arguments is not None:
            event += [only(one, begins) for one in arguments(part)]
        packet = joined(
            field(_TIMESTAMP, VARINT, varints(time_ns[part])),
            constant(rows, number(_SEQUENCE, sequence) + number(_FLAGS, _NEEDED)),
            field(_EVENT, SIZED, joined(*event)),
        )
        write(field(_PACKET, SIZED, packet).flat())
