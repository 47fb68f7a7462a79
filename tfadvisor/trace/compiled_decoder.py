"""The decoder on the wire format: compiled passes in order, long lines split over
threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from tfadvisor.arrays import (
    AnyArray,
    BoolArray,
    Int32Array,
    Int64Array,
    UInt8Array,
    constant,
    distinct,
    trues,
)
from tfadvisor.trace import _wire
from tfadvisor.trace.bounds import Counts
from tfadvisor.trace.columns import (
    LONGEST,
    LONGEST_NAME,
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
    is_plane = space[:, 0] == 1
    counts.add("planes", int(is_plane.sum()))
    counts.add("texts", int((~is_plane).sum()))
    ranges_of_planes = space[is_plane, 1:].tolist()
    raw = [_scan_plane(buf, lo, hi, counts) for lo, hi in ranges_of_planes]
    planes = tuple(_plane(buf, plane) for plane in raw)

    names, ranges, row_base = _names(raw)
    stat_names: list[str] = []
    for plane in raw:
        stat_names += plane.stat_names.values()
    want = wanted(selection, stat_names)
    bits = want.row_bits(names.name)

    headers, chunks = _scan_lines(buf, raw)
    counts.add("events", int(headers[:, 7].sum()))
    lines = _lines(buf, raw, headers)
    origin = origin_of(lines.timestamp_ns, session_start_ns(planes))
    keys = [
        _plane_key(plane.event_metadata.keys, base, plane.stat_names, want, bits)
        for plane, base in zip(raw, row_base, strict=True)
    ]
    work = _Work(
        source=source,
        keys=keys,
        lines=lines,
        base_ps=line_base_ps(lines.timestamp_ns, origin),
        chunks=chunks,
        rows=len(names),
        slots=len(want.slots),
        progress=progress,
    )
    work.run()
    names_of_stats = [plane.stat_names for plane in raw]
    return HostTrace(
        path=source.place,
        hostnames=_texts(buf, space, 4),
        errors=_texts(buf, space, 2),
        warnings=_texts(buf, space, 3),
        planes=planes,
        lines=lines,
        events=Events(work.start_ps, work.duration_ps, work.row),
        names=names,
        stats=_stat_columns(buf, work, want, raw),
        details=_details(buf, names.plane, ranges, work.exemplar, names_of_stats),
        origin_ns=origin,
    )


def _plane(buf: memoryview, raw: _RawPlane) -> Plane:
    stats = _wire.read_stats(buf, raw.stats)
    return Plane(raw.name, raw.id, _named_stats(buf, stats, raw.stat_names))


def _scan_lines(
    buf: memoryview,
    raw: list[_RawPlane],
) -> tuple[Int64Array, Int64Array]:
    """(headers, chunks of events) of the lines of all planes."""
    ranges = [np.empty((0, 3), np.int64), *(plane.lines for plane in raw)]
    return _wire.scan_lines(
        buf,
        np.ascontiguousarray(np.concatenate(ranges)),
        _EVENTS_A_CHUNK,
    )


def _lines(
    buf: memoryview,
    raw: list[_RawPlane],
    headers: Int64Array,
) -> Lines:
    number = np.arange(len(raw), dtype=np.int32)
    plane = np.repeat(number, [len(owner.lines) for owner in raw])
    names = headers[:, 3:5].tolist()
    shown = headers[:, 5:7].tolist()
    events = headers[:, 7]
    return Lines(
        plane=plane,
        id=headers[:, 0].copy(),
        name=tuple(_text(buf, lo, hi) for lo, hi in names),
        display_name=tuple(_text(buf, lo, hi) for lo, hi in shown),
        timestamp_ns=headers[:, 1].copy(),
        duration_ps=headers[:, 2].copy(),
        first=np.concatenate([[0], np.cumsum(events)]).astype(np.int64),
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
    name = ""
    for _, start, end in children[field == 2][-1:].tolist():
        name = _text(buf, start, end)
    events = _wire.scan_metadata(buf, np.ascontiguousarray(children[field == 4]))
    _wire.check_event_metadata(buf, events)
    scanned = _wire.scan_metadata(buf, np.ascontiguousarray(children[field == 5]))
    stats = _merged(buf, scanned)
    return _RawPlane(
        id=plane_id,
        name=name,
        lines=np.ascontiguousarray(children[field == 3]),
        stats=np.ascontiguousarray(children[field == 6]),
        stat_names=dict(zip(stats.keys.tolist(), stats.names, strict=True)),
        event_metadata=_merged(buf, events),
    )


def _merged(buf: memoryview, scanned: Int64Array) -> _Metadata:
    """Rows of scan_metadata -> one entry a key: the last entry of a key wins, several
    values of an entry merge.
    """
    rows = scanned[np.argsort(scanned[:, 0], kind="stable")]
    key = rows[:, 0]
    # One value a key, as profilers write them.
    if (key[1:] > key[:-1]).all():
        return _Metadata(
            keys=key.copy(),
            names=_texts_in(buf, rows, _NAME_COLUMN),
            display_names=_texts_in(buf, rows, _SHOWN_COLUMN),
            ranges=rows[:, 5:7],
            first=np.arange(len(rows), dtype=np.int64),
        )
    return _merged_one_by_one(buf, scanned)


_NAME_COLUMN = 1
_SHOWN_COLUMN = 3
"""Of scan_metadata: where a text begins; the next column is where it ends."""


def _texts_in(
    buf: memoryview,
    rows: Int64Array,
    column: int,
) -> tuple[str, ...]:
    texts = list(_wire.texts_of(buf, rows, column, LONGEST))
    start = rows[:, column]
    end = rows[:, column + 1]
    for row in np.flatnonzero(end - start > LONGEST_NAME).tolist():
        texts[row] = _text(buf, int(start[row]), int(end[row]))
    return tuple(texts)


def _merged_one_by_one(buf: memoryview, scanned: Int64Array) -> _Metadata:
    by_key: dict[int, list[list[int]]] = {}
    for value in scanned.tolist():
        key = value[0]
        entry = value[8]
        values = by_key.get(key)
        if values is None or values[0][8] != entry:
            by_key[key] = [value]
        else:
            values.append(value)
    names = []
    shown = []
    ranges: list[list[int]] = []
    first = []
    for _, values in sorted(by_key.items()):
        names.append(_last_text(buf, values, _NAME_COLUMN, 1))
        shown.append(_last_text(buf, values, _SHOWN_COLUMN, 2))
        first.append(len(ranges))
        ranges += [value[5:7] for value in values]
    return _Metadata(
        keys=np.array(sorted(by_key), np.int64),
        names=tuple(names),
        display_names=tuple(shown),
        ranges=np.array(ranges, np.int64),
        first=np.array(first, np.int64),
    )


def _last_text(
    buf: memoryview,
    values: list[list[int]],
    column: int,
    flag: int,
) -> str:
    """The text of the last value that has one, by its flag; "" where none has."""
    for value in reversed(values):
        if value[7] & flag:
            return _text(buf, value[column], value[column + 1])
    return ""


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
    ids = [np.zeros(1, np.int64)]
    bounds: list[Int64Array] = [np.empty((0, 2), np.int64)]
    first: list[Int64Array] = [np.zeros(1, np.int64)]
    base = []
    ranges = 0
    for plane in raw:
        known = plane.event_metadata
        base.append(len(names))
        names += known.names
        display += known.display_names
        ids.append(known.keys)
        bounds.append(known.ranges)
        first.append(known.first + ranges)
        ranges += len(known.ranges)
    first.append(np.array([ranges], np.int64))
    plane_of = np.arange(-1, len(raw), dtype=np.int32)
    table = Names(
        plane=np.repeat(plane_of, list(map(len, ids))),
        id=np.concatenate(ids),
        name=_same(tuple(names)),
        display_name=_same(tuple(display)),
    )
    return table, _Ranges(np.concatenate(bounds), np.concatenate(first)), base


@lru_cache(maxsize=4)
def _same(names: tuple[str, ...]) -> tuple[str, ...]:
    """The very table of an earlier host of the run, where that has the same names: what
    is known of them is found without looking at each.
    """
    return names


def _plane_key(
    row_ids: Int64Array,
    base: int,
    stat_names: dict[int, str],
    want: Wanted,
    bits: npt.NDArray[np.uint64],
) -> _wire.PlaneKey:
    slot_of = {name: slot for slot, name in enumerate(want.slots[:-1])}
    ids = sorted(number for number, name in stat_names.items() if name in slot_of)
    wanted_ids = np.array(ids, np.int64)
    slots = np.array([slot_of[stat_names[number]] for number in ids], np.int16)
    until = base + len(row_ids)
    rows = np.arange(base, until, dtype=np.int32)
    return _wire.PlaneKey(
        row_ids,
        _dense(row_ids, rows, np.int32(0)),
        base,
        wanted_ids,
        slots,
        _dense(wanted_ids, slots, np.int16(-1)),
        want.slot_group,
        np.ascontiguousarray(bits[base:until]),
        int(bits[0]),
        len(want.slots) - 1,
    )


def _dense(
    ids: Int64Array,
    values: AnyArray,
    absent: Any,
) -> AnyArray:
    """Table such that table[id] = value; empty when the ids are negative or too far
    apart for one.
    """
    room = min(_DENSE_LIMIT, 64 * len(ids) + 4096)
    if not len(ids) or ids[0] < 0 or ids[-1] >= room:
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
        workers = _processors() if len(self.row) > _EVENTS_A_CHUNK else 1
        tables = [
            np.zeros_like(self.exemplar) for _ in range(min(len(self._chunks), workers))
        ]
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
            self._take_earlier(table)

    def _take_earlier(self, exemplar: Int64Array) -> None:
        """Of each name the first of its events in the file."""
        found = exemplar[:, 1] > 0
        absent = self.exemplar[:, 1] == 0
        earlier = exemplar[:, 0] < self.exemplar[:, 0]
        better = found & (absent | earlier)
        self.exemplar[better] = exemplar[better]

    def _until(self, index: int) -> int:
        """Where the events of a chunk end at the latest: a chunk's own bound is its
        line's.
        """
        line, _, hi = self._chunks[index, :3].tolist()
        if index + 1 < len(self._chunks):
            following, start = self._chunks[index + 1, :2].tolist()
            if following == line:
                return int(start)
        return int(hi)

    def _give_back(self, index: int, exemplar: Int64Array) -> None:
        """The file's memory behind a chunk, unless it has texts: these are read when
        all chunks are decoded.
        """
        lo = int(self._chunks[index, 1])
        until = self._until(index)
        if self._source.pages is None or until - lo < _WORTH_GIVING_BACK:
            return
        if (self.tallies[index, :, 1] & _SPANS).any():
            return
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
    counts = work.tallies[:, :, 0]
    into = _wire.StatColumns(len(want.slots))
    columns: dict[int, _Slot] = {}
    for slot, seen in enumerate(_seen(work.tallies)):
        if not seen[0]:
            continue
        column = _slot(*seen)
        columns[slot] = column
        into.give(slot, column.event, column.value, column.kind, column.length)
    for index, stats in enumerate(work.stats):
        if stats is not None:
            stats.into(into)
            work.stats[index] = None
    found = {}
    for slot, column in columns.items():
        plane = None
        if column.kinds >> Kind.REF & 1:
            plane = np.repeat(work.chunk_plane, counts[:, slot])
        found[want.slots[slot]] = _column(buf, column, plane, raw)
    return found


class _Slot(msgspec.Struct, frozen=True):
    """Room for one stat's values. kind and length: None where all are of one kind, or
    none is a text.
    """

    event: Int32Array
    value: Int32Array | Int64Array
    kind: UInt8Array | None
    length: Int64Array | None
    kinds: int

    def places(self, kind: Kind) -> BoolArray | None:
        """Which values are of a kind; None where none can be."""
        if not self.kinds >> kind & 1:
            return None
        if self.kind is None:
            return trues(self.value)
        return np.asarray(self.kind == kind.value, np.bool_)

    def final_kind(self) -> UInt8Array:
        """Of each value, when references and compressed texts are texts."""
        if self.kind is None:
            alone = self.kinds.bit_length() - 1
            is_text = alone in (Kind.REF, Kind.COMPRESSED)
            return constant(Kind.TEXT if is_text else alone, len(self.value), np.uint8)
        final = self.kind.copy()
        final[self.kind == Kind.REF.value] = Kind.TEXT
        final[self.kind == Kind.COMPRESSED.value] = Kind.TEXT
        return final


_SPANS = 1 << Kind.TEXT | 1 << Kind.BYTES | 1 << Kind.COMPRESSED
_COUNTS = 1 << Kind.INT | 1 << Kind.UINT
_INT32 = np.iinfo(np.int32)


def _seen(tallies: Int64Array) -> list[list[int]]:
    """Of each slot how many there are in all chunks, a bit for each kind, the least and
    the largest, which are 0 where that is not in them.
    """
    if not len(tallies):
        return []
    columns = np.moveaxis(tallies, 2, 0)
    several = (
        columns[0].sum(axis=0),
        np.bitwise_or.reduce(columns[1], axis=0),
        columns[2].min(axis=0),
        columns[3].max(axis=0),
    )
    found: list[list[int]] = np.array(several).T.tolist()
    return found


def _slot(size: int, kinds: int, least: int, largest: int) -> _Slot:
    """As `_seen` has them."""
    fits = least >= _INT32.min and largest <= _INT32.max
    narrow = fits and not kinds & ~_COUNTS
    value: Int32Array | Int64Array = np.empty(size, np.int64)
    if narrow:
        value = np.empty(size, np.int32)
    several = bool(kinds & (kinds - 1))
    return _Slot(
        event=np.empty(size, np.int32),
        value=value,
        kind=np.empty(size, np.uint8) if several else None,
        length=np.empty(size, np.int64) if kinds & _SPANS else None,
        kinds=kinds,
    )


class _Pool(NamedTuple):
    """Texts of some values of a slot."""

    places: BoolArray
    codes: Int64Array
    """Of each of these values, into texts."""
    texts: list[str]


def _column(
    buf: memoryview,
    slot: _Slot,
    plane: Int32Array | None,
    raw: list[_RawPlane],
) -> StatColumn:
    """plane: of each value, where some are references into their plane's names."""
    pools = list(_texts_of_spans(buf, slot))
    if plane is not None:
        pools += _texts_of_references(slot, plane, raw)
    final = slot.final_kind()
    moved, texts = shared_texts([(pool.codes, pool.texts) for pool in pools])
    for pool, codes in zip(pools, moved, strict=True):
        slot.value[pool.places] = codes
    return StatColumn(slot.event, final, slot.value, texts)


def _texts_of_spans(buf: memoryview, slot: _Slot) -> Iterator[_Pool]:
    """Of values that say where in the file their text lies."""
    for kind in (Kind.TEXT, Kind.BYTES, Kind.COMPRESSED):
        places = slot.places(kind)
        if places is None or slot.length is None:
            continue
        to_text = inflated_text if kind is Kind.COMPRESSED else text_of
        at = np.ascontiguousarray(slot.value[places], np.int64)
        size = np.ascontiguousarray(slot.length[places])
        codes, first = _wire.intern_spans(buf, at, size)
        texts = []
        for lo, length in zip(at[first].tolist(), size[first].tolist(), strict=True):
            texts.append(to_text(bytes(buf[lo : lo + min(length, LONGEST)])))
        yield _Pool(places, codes.astype(np.int64), texts)


def _texts_of_references(
    slot: _Slot,
    plane: Int32Array,
    raw: list[_RawPlane],
) -> Iterator[_Pool]:
    """Of values that are ids of a name of their plane."""
    references = slot.places(Kind.REF)
    for index, owner in enumerate(raw if references is not None else ()):
        places = references & (plane == index)
        if places.any():
            ids = slot.value[places]
            known = distinct(ids)
            texts = [owner.stat_names.get(number, "") for number in known.tolist()]
            yield _Pool(places, np.searchsorted(known, ids), texts)


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
    pieces = [buf[lo:hi] for lo, hi in asked.tolist()]
    kept = memoryview(b"".join(pieces)).toreadonly()
    sizes = asked[:, 1] - asked[:, 0]
    ends = np.cumsum(sizes)
    moved = np.stack([ends - sizes, ends], axis=1)
    known = len(ranges.bounds)
    return _BufferDetails(
        buf=kept,
        plane=plane,
        ranges=_Ranges(moved[:known], ranges.first),
        exemplar=moved[known:],
        stat_names=stat_names,
    )


class _BufferDetails(msgspec.Struct, frozen=True):
    buf: memoryview
    plane: Int32Array
    ranges: _Ranges
    exemplar: Int64Array
    stat_names: list[dict[int, str]]

    def metadata_stats(self, row: int) -> dict[str, Value]:
        """Stats of the event metadata."""
        first, until = self.ranges.first[row : row + 2].tolist()
        found = []
        for lo, hi in self.ranges.bounds[first:until].tolist():
            found += _wire.message_stats(self.buf, lo, hi, 5)
        return self._named(row, found)

    def exemplar_stats(self, row: int) -> dict[str, Value]:
        """Stats of the name's first event in the file."""
        if not row:
            return {}
        lo, hi = self.exemplar[row].tolist()
        return self._named(row, _wire.message_stats(self.buf, lo, hi, 4))

    def _named(
        self,
        row: int,
        stats: list[tuple[int, int, int, int]],
    ) -> dict[str, Value]:
        if not stats:
            return {}
        names = self.stat_names[int(self.plane[row])]
        return _named_stats(self.buf, stats, names)


def _named_stats(
    buf: memoryview,
    stats: list[tuple[int, int, int, int]],
    names: dict[int, str],
) -> dict[str, Value]:
    """Stats as Python values by name; a later one of the same name wins."""
    return {
        names.get(number, ""): _value(buf, names, kind, value, length)
        for number, kind, value, length in stats
    }


def _value(
    buf: memoryview,
    names: dict[int, str],
    kind: int,
    value: int,
    length: int,
) -> Value:
    if kind == Kind.TEXT:
        return _text(buf, value, value + length)
    if kind == Kind.COMPRESSED:
        return inflated_text(bytes(buf[value : value + length]))
    if kind == Kind.BYTES:
        return bytes(buf[value : value + length])
    if kind == Kind.REF:
        return names.get(value, "")
    return python_value(kind, value)


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
    ranges = space[space[:, 0] == field, 1:].tolist()
    return tuple(_text(buf, lo, hi) for lo, hi in ranges)
