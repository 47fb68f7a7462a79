"""The decoder on the wire format: compiled passes in order, long lines split over
threads.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from tfadvisor.arrays import constant, distinct
from tfadvisor.trace import _wire
from tfadvisor.trace.bounds import Counts
from tfadvisor.trace.columns import (
    LONGEST,
    LONGEST_NAME,
    Events,
    HostTrace,
    Int32Array,
    Int64Array,
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
from tfadvisor.trace.source import LARGE, Progress, Source, damaged

if TYPE_CHECKING:
    import numpy.typing as npt

_EVENTS_A_CHUNK = 1 << 16
_WORTH_GIVING_BACK = 1 << 18
"""Bytes of a chunk; of smaller ones, which many short lines make, the search for what
must stay costs more.
"""
_DENSE_LIMIT = 1 << 22


def decode(
    source: Source,
    selection: Selection,
    progress: Progress | None = None,
) -> HostTrace:
    """One file. Raises TraceError, with the byte position, when the bytes are no
    XSpace.
    """
    try:
        return _decode(source, selection, progress)
    except _wire.WireError as error:
        raise damaged(source, error.position, error.reason) from error


class _RawPlane(msgspec.Struct, frozen=True):
    """A plane after the first pass: ranges are rows of (field, from, to); scanned maps
    are rows of scan_metadata.
    """

    id: int
    name: str
    lines: Int64Array
    stats: Int64Array
    stat_names: dict[int, str]
    event_metadata: _Metadata


class _Metadata(msgspec.Struct, frozen=True):
    """Map entries by ascending key: names, display names, and where each message's
    bytes lie: (from, to) of its values, those of entry i from first[i] on."""

    keys: Int64Array
    names: tuple[str, ...]
    display_names: tuple[str, ...]
    ranges: Int64Array
    first: Int64Array


def _decode(
    source: Source,
    selection: Selection,
    progress: Progress | None,
) -> HostTrace:
    buf = source.buffer
    counts = Counts(source.place, source.size)
    space = _wire.scan_space(buf)
    counts.add("planes", int((space[:, 0] == 1).sum()))
    counts.add("texts", int((space[:, 0] != 1).sum()))
    raw = [
        _scan_plane(buf, lo, hi, counts)
        for lo, hi in space[space[:, 0] == 1][:, 1:].tolist()
    ]
    planes = tuple(
        Plane(
            p.name,
            p.id,
            _named_stats(buf, _wire.read_stats(buf, p.stats), p.stat_names),
        )
        for p in raw
    )

    names, ranges, row_base = _names(raw)
    want = wanted(
        selection,
        [name for plane in raw for name in plane.stat_names.values()],
    )
    bits = want.row_bits(names.name)

    if raw:
        line_ranges = np.concatenate([plane.lines for plane in raw])
    else:
        line_ranges = np.empty((0, 3), np.int64)
    headers, chunks = _wire.scan_lines(
        buf,
        np.ascontiguousarray(line_ranges),
        _EVENTS_A_CHUNK,
    )
    counts.add("events", int(headers[:, 7].sum()))
    line_plane = np.repeat(
        np.arange(len(raw), dtype=np.int32),
        [len(plane.lines) for plane in raw],
    )
    origin = origin_of(headers[:, 1], session_start_ns(planes))
    lines = Lines(
        line_plane,
        headers[:, 0].copy(),
        tuple(_text(buf, lo, hi) for lo, hi in headers[:, 3:5].tolist()),
        tuple(_text(buf, lo, hi) for lo, hi in headers[:, 5:7].tolist()),
        headers[:, 1].copy(),
        headers[:, 2].copy(),
        np.concatenate([[0], np.cumsum(headers[:, 7])]).astype(np.int64),
    )
    keys = [
        _plane_key(plane.event_metadata.keys, base, plane.stat_names, want, bits)
        for plane, base in zip(raw, row_base, strict=True)
    ]
    base_ps = line_base_ps(lines.timestamp_ns, origin)
    slots = len(want.slots)
    work = _Work(source, keys, lines, base_ps, chunks, len(names), slots, progress)
    work.run()
    stats = _stat_columns(buf, work, want, raw)
    return HostTrace(
        path=source.place,
        hostnames=_texts(buf, space, 4),
        errors=_texts(buf, space, 2),
        warnings=_texts(buf, space, 3),
        planes=planes,
        lines=lines,
        events=Events(work.start_ps, work.duration_ps, work.row),
        names=names,
        stats=stats,
        details=_details(
            buf,
            names.plane,
            ranges,
            work.exemplar,
            [p.stat_names for p in raw],
        ),
        origin_ns=origin,
    )


def _scan_plane(
    buf: memoryview,
    lo: int,
    hi: int,
    counts: Counts,
) -> _RawPlane:
    plane_id, children = _wire.scan_plane(buf, lo, hi)
    field = children[:, 0]
    counts.add("lines", int(np.count_nonzero(field == 3)))
    counts.add("names", int(np.count_nonzero(field >= 4)))
    name = children[field == 2]
    events = _wire.scan_metadata(buf, np.ascontiguousarray(children[field == 4]))
    _wire.check_event_metadata(buf, events)
    stats = _merged(
        buf,
        _wire.scan_metadata(buf, np.ascontiguousarray(children[field == 5])),
    )
    return _RawPlane(
        plane_id,
        _text(buf, int(name[-1, 1]), int(name[-1, 2])) if len(name) else "",
        np.ascontiguousarray(children[field == 3]),
        np.ascontiguousarray(children[field == 6]),
        dict(zip(stats.keys.tolist(), stats.names, strict=True)),
        _merged(buf, events),
    )


def _merged(buf: memoryview, scanned: Int64Array) -> _Metadata:
    """Rows of scan_metadata -> one entry a key: the last entry of a key wins, several
    values of an entry merge.
    """
    order = np.argsort(scanned[:, 0], kind="stable")
    key = scanned[order, 0]
    if (key[1:] > key[:-1]).all():  # one value a key, as profilers write them
        rows = scanned[order]
        names, display = (
            list(_wire.texts_of(buf, rows, column, LONGEST)) for column in (1, 3)
        )
        for texts, column in ((names, 1), (display, 3)):
            for one in np.flatnonzero(
                rows[:, column + 1] - rows[:, column] > LONGEST_NAME
            ).tolist():
                texts[one] = _text(buf, *rows[one, column : column + 2].tolist())
        return _Metadata(
            key,
            tuple(names),
            tuple(display),
            rows[:, 5:7],
            np.arange(len(rows), dtype=np.int64),
        )
    by_key: dict[int, tuple[int, list[list[int]]]] = {}
    for item in scanned.tolist():
        key = item[0]
        entry = item[8]
        known = by_key.get(key)
        if known is not None and known[0] == entry:
            known[1].append(item)
        else:
            by_key[key] = (entry, [item])
    keys = sorted(by_key)
    named = []
    shown_as = []
    ranges: list[list[int]] = []
    first = []
    for key in keys:
        values = by_key[key][1]
        name = next((v for v in reversed(values) if v[7] & 1), None)
        shown = next((v for v in reversed(values) if v[7] & 2), None)
        named.append(_text(buf, name[1], name[2]) if name else "")
        shown_as.append(_text(buf, shown[3], shown[4]) if shown else "")
        first.append(len(ranges))
        ranges += [v[5:7] for v in values]
    return _Metadata(
        np.array(keys, np.int64),
        tuple(named),
        tuple(shown_as),
        np.array(ranges, np.int64),
        np.array(first, np.int64),
    )


class _Ranges(msgspec.Struct, frozen=True):
    """Where the messages of each row lie: (from, to) in rows first[row] .. first[row +
    1].
    """

    bounds: Int64Array
    first: Int64Array


def _names(raw: list[_RawPlane]) -> tuple[Names, _Ranges, list[int]]:
    """All planes' event metadata in one table, the ranges of each row's message, and
    the first row of each plane.
    """
    names = [""]
    display = [""]
    bounds: list[Int64Array] = [np.empty((0, 2), np.int64)]
    first: list[Int64Array] = [np.zeros(1, np.int64)]
    base = []
    ranges = 0
    for plane in raw:
        base.append(len(names))
        names += plane.event_metadata.names
        display += plane.event_metadata.display_names
        bounds.append(plane.event_metadata.ranges)
        first.append(plane.event_metadata.first + ranges)
        ranges += len(plane.event_metadata.ranges)
    first.append(np.array([ranges], np.int64))
    rows = [1, *(len(plane.event_metadata.keys) for plane in raw)]
    plane_of = np.repeat(np.arange(-1, len(raw), dtype=np.int32), rows)
    ids = np.concatenate(
        [np.zeros(1, np.int64), *(plane.event_metadata.keys for plane in raw)]
    )
    return (
        Names(plane_of, ids, tuple(names), tuple(display)),
        _Ranges(np.concatenate(bounds), np.concatenate(first)),
        base,
    )


def _plane_key(
    row_ids: Int64Array,
    base: int,
    stat_names: dict[int, str],
    want: Wanted,
    bits: npt.NDArray[np.uint64],
) -> _wire.PlaneKey:
    slot_of = {name: slot for slot, name in enumerate(want.slots[:-1])}
    wanted_ids = sorted(id_ for id_, name in stat_names.items() if name in slot_of)
    slots = np.array([slot_of[stat_names[id_]] for id_ in wanted_ids], np.int16)
    return _wire.PlaneKey(
        row_ids,
        _dense(
            row_ids,
            np.arange(base, base + len(row_ids), dtype=np.int32),
            np.int32(0),
        ),
        base,
        np.array(wanted_ids, np.int64),
        slots,
        _dense(np.array(wanted_ids, np.int64), slots, np.int16(-1)),
        want.slot_group,
        np.ascontiguousarray(bits[base : base + len(row_ids)]),
        int(bits[0]),
        len(want.slots) - 1,
    )


def _dense(
    ids: Int64Array,
    values: npt.NDArray[Any],
    absent: Any,
) -> npt.NDArray[Any]:
    """Table such that table[id] = value; empty when the ids are negative or too far
    apart for one.
    """
    if not len(ids) or ids[0] < 0 or ids[-1] >= min(_DENSE_LIMIT, 64 * len(ids) + 4096):
        return np.empty(0, values.dtype)
    table = np.full(int(ids[-1]) + 1, absent, values.dtype)
    table[ids] = values
    return table


class _Work:
    """The event chunks, decoded by as many threads as there are processors; the result
    does not depend on the number.
    """

    def __init__(
        self,
        source: Source,
        keys: list[_wire.PlaneKey],
        lines: Lines,
        base_ps: Int64Array,
        chunks: Int64Array,
        rows: int,
        slots: int,
        progress: Progress | None,
    ) -> None:
        total = int(lines.first[-1])
        self.start_ps = np.empty(total, np.int64)
        self.duration_ps = np.empty(total, np.int64)
        self.row = np.empty(total, np.int32)
        if len(chunks):
            self.chunk_plane = lines.plane[chunks[:, 0]]
        else:
            self.chunk_plane = np.empty(0, np.int32)
        self.stats: list[_wire.StatBuffer | None] = [None] * len(chunks)
        self.tallies = np.zeros((len(chunks), slots, 4), np.int64)
        self.exemplar = np.zeros((rows, 2), np.int64)
        self._source = source
        self._keys = keys
        self._lines = lines
        self._base_ps = base_ps
        self._chunks = chunks
        self._progress = progress
        self._done = 0
        self._failures: list[BaseException] = []
        self._queue: deque[int] = deque(range(len(chunks)))

    def run(self) -> None:
        """Decodes every chunk. Raises the error with the lowest position."""
        workers = min(
            len(self._chunks),
            _processors() if len(self.row) > _EVENTS_A_CHUNK else 1,
        )
        tables = [np.zeros_like(self.exemplar) for _ in range(workers)]
        threads: list[Thread] = []
        with suppress(RuntimeError):  # no memory for one more: fewer do the same
            for table in tables[1:]:
                thread = Thread(target=self._drain, args=(table,))
                thread.start()
                threads.append(thread)
        if tables:
            self._drain(tables[0])
        for thread in threads:
            thread.join()
        if self._failures:
            raise min(self._failures, key=lambda error: getattr(error, "position", 0))
        for table in tables:
            better = (table[:, 1] > 0) & (
                (self.exemplar[:, 1] == 0) | (table[:, 0] < self.exemplar[:, 0])
            )
            self.exemplar[better] = table[better]

    def _until(self, index: int) -> int:
        """Where the events of a chunk end at the latest: a chunk's own bound is its
        line's.
        """
        line, _, hi = self._chunks[index, :3].tolist()
        if index + 1 < len(self._chunks):
            following = self._chunks[index + 1, :2].tolist()
        else:
            following = (-1, 0)
        return int(following[1] if following[0] == line else hi)

    def _give_back(self, index: int, exemplar: Int64Array) -> None:
        """The file's memory behind a chunk, unless it has texts: these are read when
        all chunks are decoded.
        """
        lo = int(self._chunks[index, 1])
        until = self._until(index)
        spans = (self.tallies[index, :, 1] & _SPANS).any()
        if (
            self._source.pages is not None
            and until - lo >= _WORTH_GIVING_BACK
            and not spans
        ):
            kept = (exemplar[:, 0] >= lo) & (exemplar[:, 0] < until)
            self._source.give_back(lo, until, exemplar[kept])

    def _drain(self, exemplar: Int64Array) -> None:
        while True:
            try:
                index = self._queue.popleft()
            except IndexError:
                return
            line, lo, hi, first, count = self._chunks[index].tolist()
            try:
                stats = _wire.decode_chunk(
                    self._source.buffer,
                    self._keys[int(self._lines.plane[line])],
                    lo,
                    hi,
                    count,
                    int(self._base_ps[line]),
                    int(self._lines.first[line]) + first,
                    self.start_ps,
                    self.duration_ps,
                    self.row,
                    exemplar,
                )
            except (_wire.WireError, MemoryError) as error:
                self._failures.append(error)
                self._queue.clear()
                return
            stats.tally(self.tallies[index])
            self.stats[index] = stats
            self._give_back(index, exemplar)
            self._done += count
            if self._progress is not None:
                self._progress(self._done, len(self.row))


def _processors() -> int:
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _stat_columns(
    buf: memoryview,
    work: _Work,
    want: Wanted,
    raw: list[_RawPlane],
) -> dict[str, StatColumn]:
    """Each slot's stats of all chunks, in columns no wider than their values. The
    chunks' buffers are freed on the way.
    """
    tallies = work.tallies
    counts = tallies[:, :, 0]
    into = _wire.StatColumns(len(want.slots))
    columns: dict[int, _Slot] = {}
    for slot in np.flatnonzero(counts.any(axis=0)).tolist():
        seen = tallies[counts[:, slot] > 0, slot]
        columns[slot] = _slot(
            int(seen[:, 0].sum()),
            int(np.bitwise_or.reduce(seen[:, 1])),
            seen[:, 2].min(),
            seen[:, 3].max(),
        )
        into.give(
            slot,
            columns[slot].event,
            columns[slot].value,
            columns[slot].kind,
            columns[slot].length,
        )
    for index, stats in enumerate(work.stats):
        if stats is not None:
            stats.into(into)
            work.stats[index] = None
    found = {}
    for slot, column in columns.items():
        if column.kinds >> Kind.REF & 1:
            plane = np.repeat(work.chunk_plane, counts[:, slot])
        else:
            plane = None
        found[want.slots[slot]] = _column(buf, column, plane, raw)
    return found


class _Slot(msgspec.Struct, frozen=True):
    """Room for one stat's values. kind and length: None where all are of one kind, or
    none is a text.
    """

    event: Int32Array
    value: Int32Array | Int64Array
    kind: npt.NDArray[np.uint8] | None
    length: Int64Array | None
    kinds: int


_SPANS = 1 << Kind.TEXT | 1 << Kind.BYTES | 1 << Kind.COMPRESSED
_COUNTS = 1 << Kind.INT | 1 << Kind.UINT
_INT32 = np.iinfo(np.int32)


def _slot(
    size: int,
    kinds: int,
    least: int,
    most: int,
) -> _Slot:
    narrow = not kinds & ~_COUNTS and least >= _INT32.min and most <= _INT32.max
    value: Int32Array | Int64Array = (
        np.empty(size, np.int32) if narrow else np.empty(size, np.int64)
    )
    return _Slot(
        np.empty(size, np.int32),
        value,
        None if not kinds & (kinds - 1) else np.empty(size, np.uint8),
        np.empty(size, np.int64) if kinds & _SPANS else None,
        kinds,
    )


def _column(
    buf: memoryview,
    slot: _Slot,
    plane: Int32Array | None,
    raw: list[_RawPlane],
) -> StatColumn:
    """plane: of each value, where some are references into their plane's names."""
    value = slot.value
    kind = slot.kind
    if kind is None:
        alone = slot.kinds.bit_length() - 1
        as_text = Kind.TEXT if alone in (Kind.REF, Kind.COMPRESSED) else alone
        kind = constant(alone, len(value), np.uint8)
        final = constant(as_text, len(value), np.uint8)
    else:
        final = kind.copy()
        final[(kind == Kind.REF.value) | (kind == Kind.COMPRESSED.value)] = Kind.TEXT
    pools: list[tuple[Int64Array, list[str]]] = []
    places: list[npt.NDArray[np.bool_]] = []
    for span_kind, to_text in (
        (Kind.TEXT, text_of),
        (Kind.BYTES, text_of),
        (Kind.COMPRESSED, inflated_text),
    ):
        mask = kind == span_kind if slot.kinds >> span_kind & 1 else None
        if mask is not None and slot.length is not None:
            at = np.ascontiguousarray(value[mask])
            size = np.ascontiguousarray(slot.length[mask])
            interned, first = _wire.intern_spans(buf, at, size)
            spans = zip(at[first].tolist(), size[first].tolist(), strict=True)
            pools.append(
                (
                    interned.astype(np.int64),
                    [to_text(bytes(buf[lo : lo + min(n, LONGEST)])) for lo, n in spans],
                )
            )
            places.append(mask)
    for index, owner in enumerate(raw if plane is not None else []):
        mask = (kind == Kind.REF.value) & (plane == index)
        if mask.any():
            ids = value[mask]
            known = distinct(ids)
            pools.append(
                (
                    np.searchsorted(known, ids),
                    [owner.stat_names.get(id_, "") for id_ in known.tolist()],
                )
            )
            places.append(mask)
    moved, texts = shared_texts(pools)
    for mask, codes in zip(places, moved, strict=True):
        value[mask] = codes
    return StatColumn(slot.event, final, value, texts)


def _details(
    buf: memoryview,
    plane: Int32Array,
    ranges: _Ranges,
    exemplar: Int64Array,
    stat_names: list[dict[int, str]],
) -> _BufferDetails:
    """On the bytes themselves, of large files on a copy of what can be asked for: their
    events fill most of the memory.
    """
    if len(buf) < LARGE:
        return _BufferDetails(buf, plane, ranges, exemplar, stat_names)
    asked = np.concatenate([ranges.bounds, exemplar])
    kept = memoryview(b"".join(buf[lo:hi] for lo, hi in asked.tolist())).toreadonly()
    ends = np.cumsum(asked[:, 1] - asked[:, 0])
    moved = np.stack([ends - (asked[:, 1] - asked[:, 0]), ends], axis=1)
    known = len(ranges.bounds)
    return _BufferDetails(
        kept,
        plane,
        _Ranges(moved[:known], ranges.first),
        moved[known:],
        stat_names,
    )


class _BufferDetails(msgspec.Struct, frozen=True):
    buf: memoryview
    plane: Int32Array
    ranges: _Ranges
    exemplar: Int64Array
    stat_names: list[dict[int, str]]

    def metadata_stats(self, row: int) -> dict[str, Value]:
        """Stats of the event metadata."""
        mine = self.ranges.bounds[
            self.ranges.first[row] : self.ranges.first[row + 1]
        ].tolist()
        found = [
            stat for lo, hi in mine for stat in _wire.message_stats(self.buf, lo, hi, 5)
        ]
        if found:
            return _named_stats(self.buf, found, self.stat_names[int(self.plane[row])])
        return {}

    def exemplar_stats(self, row: int) -> dict[str, Value]:
        """Stats of the name's first event in the file."""
        lo, hi = self.exemplar[row].tolist()
        found = _wire.message_stats(self.buf, lo, hi, 4) if row else []
        if found:
            return _named_stats(self.buf, found, self.stat_names[int(self.plane[row])])
        return {}


def _named_stats(
    buf: memoryview,
    stats: list[tuple[int, int, int, int]],
    names: dict[int, str],
) -> dict[str, Value]:
    """Stats as Python values by name; a later one of the same name wins."""
    out: dict[str, Value] = {}
    for stat_id, kind, value, length in stats:
        name = names.get(stat_id, "")
        if kind == Kind.TEXT:
            out[name] = _text(buf, value, value + length)
        elif kind == Kind.COMPRESSED:
            out[name] = inflated_text(bytes(buf[value : value + length]))
        elif kind == Kind.BYTES:
            out[name] = bytes(buf[value : value + length])
        elif kind == Kind.REF:
            out[name] = names.get(value, "")
        else:
            out[name] = python_value(kind, value)
    return out


def _text(
    buf: memoryview,
    lo: int,
    hi: int,
) -> str:
    return text_of(bytes(buf[lo : min(hi, lo + LONGEST)]))


def _texts(
    buf: memoryview,
    space: Int64Array,
    field: int,
) -> tuple[str, ...]:
    return tuple(
        _text(buf, lo, hi) for lo, hi in space[space[:, 0] == field][:, 1:].tolist()
    )
