"""The decoder on protobuf messages: the definition of what the compiled one must
return, and its fall-back.

It loops over events in Python, so it is slow; it is meant to be read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np
from google.protobuf.message import DecodeError

from tfadvisor.errors import TraceError
from tfadvisor.trace import messages
from tfadvisor.trace.bounds import Counts
from tfadvisor.trace.columns import (
    NUM_OCCURRENCES,
    Events,
    HostTrace,
    Kind,
    Lines,
    Names,
    Plane,
    Selection,
    StatColumn,
    Value,
    Wanted,
    inflated_text,
    line_base_ps,
    origin_of,
    python_value,
    session_start_ns,
    shared_texts,
    text_of,
    wanted,
)
from tfadvisor.trace.source import Source, damaged

_FIELD_KIND = {
    "double_value": Kind.DOUBLE,
    "uint64_value": Kind.UINT,
    "int64_value": Kind.INT,
    "str_value": Kind.TEXT,
    "bytes_value": Kind.BYTES,
    "ref_value": Kind.REF,
    "compressed_str_value": Kind.COMPRESSED,
}
_LARGEST_MESSAGE = (1 << 31) - 1


def decode(source: Source, selection: Selection) -> HostTrace:
    """A whole file at once. Raises TraceError when the bytes are no XSpace or are more
    than protobuf can hold.
    """
    if source.size > _LARGEST_MESSAGE:
        raise TraceError(
            source.place,
            "is larger than 2 GiB, which only the compiled decoder reads.",
            "Reinstall tfadvisor where a C compiler is at hand, or install a wheel.",
        )
    space = messages.XSpace()
    try:
        space.ParseFromString(bytes(source.buffer))
    # protobuf 3.20 wraps the one into the other.
    except (DecodeError, SystemError) as error:
        raise damaged(source, None, "the bytes are no protobuf message") from error
    return _columns(source, selection, space)


class _NameTable(NamedTuple):
    """The event metadata of all planes."""

    names: Names
    row_of: list[dict[int, int]]
    """Of each plane: its metadata ids and their rows."""
    metadata: list[Any]
    """The message of each row."""


def _columns(
    source: Source,
    selection: Selection,
    space: Any,
) -> HostTrace:
    _count(source, space)
    stat_names = [_stat_names(plane) for plane in space.planes]
    planes = tuple(
        Plane(text_of(plane.name), plane.id, _stats(plane.stats, names))
        for plane, names in zip(space.planes, stat_names, strict=True)
    )
    table = _name_table(space)
    every_name: list[str] = []
    for of_plane in stat_names:
        every_name += of_plane.values()
    want = wanted(selection, every_name)

    located = []
    for index, plane in enumerate(space.planes):
        located += [(index, line) for line in plane.lines]
    lines = _lines(located)
    origin = origin_of(lines.timestamp_ns, session_start_ns(planes))
    base_ps = line_base_ps(lines.timestamp_ns, origin)
    reading = _Reading(table, stat_names, want, int(lines.first[-1]))
    for (index, line), base in zip(located, base_ps.tolist(), strict=True):
        reading.add(index, line, base)
    return HostTrace(
        path=source.place,
        hostnames=tuple(map(text_of, space.hostnames)),
        errors=tuple(map(text_of, space.errors)),
        warnings=tuple(map(text_of, space.warnings)),
        planes=planes,
        lines=lines,
        events=Events(reading.start, reading.duration, reading.row),
        names=table.names,
        stats=reading.stats(),
        details=_MessageDetails(
            metadata=table.metadata,
            plane=table.names.plane,
            exemplars=reading.exemplars,
            stat_names=stat_names,
        ),
        origin_ns=origin,
    )


def _stat_names(plane: Any) -> dict[int, str]:
    metadata = plane.stat_metadata.items()
    return {number: text_of(entry.name) for number, entry in metadata}


def _name_table(space: Any) -> _NameTable:
    plane_of = [-1]
    ids = [0]
    names = [""]
    shown = [""]
    metadata: list[Any] = [None]
    row_of: list[dict[int, int]] = []
    for index, plane in enumerate(space.planes):
        rows = {}
        for number in sorted(plane.event_metadata):
            entry = plane.event_metadata[number]
            rows[number] = len(names)
            plane_of.append(index)
            ids.append(number)
            names.append(text_of(entry.name))
            shown.append(text_of(entry.display_name))
            metadata.append(entry)
        row_of.append(rows)
    table = Names(
        plane=np.array(plane_of, np.int32),
        id=np.array(ids, np.int64),
        name=tuple(names),
        display_name=tuple(shown),
    )
    return _NameTable(table, row_of, metadata)


def _lines(located: list[tuple[int, Any]]) -> Lines:
    """located: each line with the index of its plane."""
    lines = [line for _, line in located]
    counts = [0, *(len(line.events) for line in lines)]
    return Lines(
        plane=np.array([plane for plane, _ in located], np.int32),
        id=np.array([line.id for line in lines], np.int64),
        name=tuple(text_of(line.name) for line in lines),
        display_name=tuple(text_of(line.display_name) for line in lines),
        timestamp_ns=np.array([line.timestamp_ns for line in lines], np.int64),
        duration_ps=np.array([line.duration_ps for line in lines], np.int64),
        first=np.cumsum(np.array(counts, np.int64)),
    )


class _Reading:
    """The columns of events, filled one event after the other."""

    def __init__(
        self,
        table: _NameTable,
        stat_names: list[dict[int, str]],
        want: Wanted,
        events: int,
    ) -> None:
        self.start = np.zeros(events, np.int64)
        self.duration = np.zeros(events, np.int64)
        self.row = np.zeros(events, np.int32)
        self.exemplars: dict[int, Any] = {}
        self._table = table
        self._stat_names = stat_names
        self._bits = want.row_bits(table.names.name).tolist()
        groups = want.slot_group.tolist()
        self._group_of = dict(zip(want.slots[:-1], groups, strict=False))
        self._found: dict[str, list[_Stored]] = {name: [] for name in want.slots}
        self._event = 0

    def add(self, plane: int, line: Any, base_ps: int) -> None:
        """The events of a line, which begins at base_ps."""
        for event in line.events:
            row = self._table.row_of[plane].get(event.metadata_id, 0)
            self.start[self._event] = _wrap(base_ps + event.offset_ps)
            self.duration[self._event] = event.duration_ps
            self.row[self._event] = row
            self.exemplars.setdefault(row, (plane, event))
            self._add_stats(plane, row, event)
            self._event += 1

    def _add_stats(self, plane: int, row: int, event: Any) -> None:
        names = self._stat_names[plane]
        for stat in event.stats:
            name = names.get(stat.metadata_id, "\0absent")
            group = self._group_of.get(name)
            if group is not None and self._bits[row] >> group & 1:
                kind, value = _stored(stat, names)
                self._found[name].append((self._event, kind, value))
        if event.WhichOneof("data") == NUM_OCCURRENCES:
            count = (self._event, Kind.INT, event.num_occurrences)
            self._found[NUM_OCCURRENCES].append(count)

    def stats(self) -> dict[str, StatColumn]:
        """The columns of the stats that any event has."""
        found = self._found.items()
        return {name: _column(values) for name, values in found if values}


_Stored = tuple[int, int, int | bytes | str]
"""(event, kind, value) of a stat."""


def _count(source: Source, space: Any) -> None:
    counts = Counts(source.place, source.size)
    counts.add("planes", len(space.planes))
    counts.add("texts", len(space.hostnames) + len(space.errors) + len(space.warnings))
    for plane in space.planes:
        names = (plane.event_metadata, plane.stat_metadata, plane.stats)
        counts.add("lines", len(plane.lines))
        counts.add("names", sum(map(len, names)))
        counts.add("events", sum(len(line.events) for line in plane.lines))


def _stored(stat: Any, names: dict[int, str]) -> tuple[Kind, int | str]:
    """(kind, int64 or text): references and compressed strings become TEXT; bytes are
    read as text but keep their kind.
    """
    field = stat.WhichOneof("value")
    if field is None:
        return Kind.NONE, 0
    kind = _FIELD_KIND[field]
    value = getattr(stat, field)
    if kind == Kind.REF:
        return Kind.TEXT, names.get(_wrap(value), "")
    if kind == Kind.COMPRESSED:
        return Kind.TEXT, inflated_text(value)
    if kind in (Kind.TEXT, Kind.BYTES):
        return kind, text_of(value)
    if kind == Kind.DOUBLE:
        return kind, int(np.float64(value).view(np.int64))
    return kind, _wrap(value)


def _stats(stats: Any, names: dict[int, str]) -> dict[str, Value]:
    """Stats as Python values by name; a later one of the same name wins."""
    out: dict[str, Value] = {}
    for stat in stats:
        kind, value = _stored(stat, names)
        name = names.get(stat.metadata_id, "")
        if kind == Kind.BYTES:
            out[name] = bytes(stat.bytes_value)
        elif isinstance(value, str):
            out[name] = value
        else:
            out[name] = python_value(kind, value)
    return out


def _column(values: list[_Stored]) -> StatColumn:
    event = np.array([event for event, _, _ in values], np.int32)
    kind = np.array([kind for _, kind, _ in values], np.uint8)
    texts = [stored for _, _, stored in values if isinstance(stored, str)]
    numbers = [0 if isinstance(stored, str) else stored for _, _, stored in values]
    (codes,), pool = shared_texts([(np.arange(len(texts), dtype=np.int64), texts)])
    value = np.array(numbers, np.int64)
    value[(kind == Kind.TEXT) | (kind == Kind.BYTES)] = codes
    narrow = np.iinfo(np.int32)
    are_integers = ((kind == Kind.INT) | (kind == Kind.UINT)).all()
    if are_integers and narrow.min <= value.min() and value.max() <= narrow.max:
        return StatColumn(event, kind, value.astype(np.int32), pool)
    return StatColumn(event, kind, value, pool)


def _wrap(value: int) -> int:
    """A Python integer as the int64 with the same low 64 bits."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


class _MessageDetails(msgspec.Struct, frozen=True):
    metadata: list[Any]
    plane: Any
    exemplars: dict[int, Any]
    stat_names: list[dict[int, str]]

    def metadata_stats(self, row: int) -> dict[str, Value]:
        """Stats of the event metadata."""
        if self.metadata[row] is None:
            return {}
        return _stats(self.metadata[row].stats, self.stat_names[int(self.plane[row])])

    def exemplar_stats(self, row: int) -> dict[str, Value]:
        """Stats of the name's first event in the file."""
        if row == 0 or row not in self.exemplars:
            return {}
        plane_index, event = self.exemplars[row]
        return _stats(event.stats, self.stat_names[plane_index])
