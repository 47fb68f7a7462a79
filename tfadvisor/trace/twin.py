"""The decoder on protobuf messages: the definition of what the compiled one must
return, and its fall-back.

It loops over events in Python, so it is slow; it is meant to be read.
"""

from __future__ import annotations

from typing import Any

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
    except (
        DecodeError,
        SystemError,
    ) as error:  # protobuf 3.20 wraps the one into the other
        raise damaged(source, None, "the bytes are no protobuf message") from error
    return _columns(source, selection, space)


def _columns(
    source: Source,
    selection: Selection,
    space: Any,
) -> HostTrace:
    _count(source, space)
    stat_names = [
        {id_: text_of(m.name) for id_, m in plane.stat_metadata.items()}
        for plane in space.planes
    ]
    planes = tuple(
        Plane(text_of(plane.name), plane.id, _stats(plane.stats, names))
        for plane, names in zip(space.planes, stat_names, strict=True)
    )
    rows = [(-1, 0, "", "")]
    row_of: list[dict[int, int]] = []
    metadata: list[Any] = [None]
    for index, plane in enumerate(space.planes):
        row_of.append({})
        for id_ in sorted(plane.event_metadata):
            entry = plane.event_metadata[id_]
            row_of[index][id_] = len(rows)
            rows.append((index, id_, text_of(entry.name), text_of(entry.display_name)))
            metadata.append(entry)
    names = Names(
        np.array([row[0] for row in rows], np.int32),
        np.array([row[1] for row in rows], np.int64),
        tuple(row[2] for row in rows),
        tuple(row[3] for row in rows),
    )
    want = wanted(selection, [name for table in stat_names for name in table.values()])
    bits = want.row_bits(names.name).tolist()

    all_lines = [
        (index, line)
        for index, plane in enumerate(space.planes)
        for line in plane.lines
    ]
    timestamps = np.array([line.timestamp_ns for _, line in all_lines], np.int64)
    origin = origin_of(timestamps, session_start_ns(planes))
    base = line_base_ps(timestamps, origin)
    counts = [len(line.events) for _, line in all_lines]
    lines = Lines(
        np.array([index for index, _ in all_lines], np.int32),
        np.array([line.id for _, line in all_lines], np.int64),
        tuple(text_of(line.name) for _, line in all_lines),
        tuple(text_of(line.display_name) for _, line in all_lines),
        timestamps,
        np.array([line.duration_ps for _, line in all_lines], np.int64),
        np.concatenate([[0], np.cumsum(np.array(counts, np.int64))]).astype(np.int64),
    )

    start = np.zeros(sum(counts), np.int64)
    duration = np.zeros(sum(counts), np.int64)
    row = np.zeros(sum(counts), np.int32)
    exemplars: dict[int, Any] = {}
    found: dict[str, list[tuple[int, int, int | bytes | str]]] = {
        name: [] for name in want.slots
    }
    slot_of = {name: slot for slot, name in enumerate(want.slots[:-1])}
    event_index = 0
    for line_index, (plane_index, line) in enumerate(all_lines):
        for event in line.events:
            start[event_index] = _wrap(int(base[line_index]) + event.offset_ps)
            duration[event_index] = event.duration_ps
            row[event_index] = this_row = row_of[plane_index].get(event.metadata_id, 0)
            exemplars.setdefault(this_row, (plane_index, event))
            for stat in event.stats:
                slot = slot_of.get(
                    stat_names[plane_index].get(stat.metadata_id, "\0absent")
                )
                if (
                    slot is not None
                    and (bits[this_row] >> int(want.slot_group[slot])) & 1
                ):
                    kind, value = _stored(stat, stat_names[plane_index])
                    found[want.slots[slot]].append((event_index, kind, value))
            if event.WhichOneof("data") == NUM_OCCURRENCES:
                found[NUM_OCCURRENCES].append(
                    (event_index, Kind.INT, event.num_occurrences)
                )
            event_index += 1
    return HostTrace(
        path=source.place,
        hostnames=tuple(map(text_of, space.hostnames)),
        errors=tuple(map(text_of, space.errors)),
        warnings=tuple(map(text_of, space.warnings)),
        planes=planes,
        lines=lines,
        events=Events(start, duration, row),
        names=names,
        stats={name: _column(values) for name, values in found.items() if values},
        details=_MessageDetails(metadata, names.plane, exemplars, stat_names),
        origin_ns=origin,
    )


def _count(source: Source, space: Any) -> None:
    counts = Counts(source.place, source.size)
    counts.add("planes", len(space.planes))
    counts.add("texts", len(space.hostnames) + len(space.errors) + len(space.warnings))
    for plane in space.planes:
        counts.add("lines", len(plane.lines))
        counts.add(
            "names",
            len(plane.event_metadata) + len(plane.stat_metadata) + len(plane.stats),
        )
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
        else:
            out[name] = value if isinstance(value, str) else python_value(kind, value)
    return out


def _column(values: list[tuple[int, int, Any]]) -> StatColumn:
    event = np.array([item[0] for item in values], np.int32)
    kind = np.array([item[1] for item in values], np.uint8)
    texts = [item[2] for item in values if isinstance(item[2], str)]
    (codes,), pool = shared_texts([(np.arange(len(texts), dtype=np.int64), texts)])
    value = np.array(
        [0 if isinstance(item[2], str) else item[2] for item in values],
        np.int64,
    )
    value[(kind == Kind.TEXT) | (kind == Kind.BYTES)] = codes
    narrow = np.iinfo(np.int32)
    if (
        ((kind == Kind.INT) | (kind == Kind.UINT)).all()
        and value.min() >= narrow.min
        and value.max() <= narrow.max
    ):
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
