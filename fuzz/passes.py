"""The compiled passes of the decoder in its own order, on bytes alone: all that can
overrun a buffer, in a tenth of the time.

What `tfadvisor.trace.compiled_decoder` makes of their results is Python and NumPy, and is
fuzzed by the target `decoder`.
"""

from __future__ import annotations

import itertools

import numpy as np

from tfadvisor.arrays import Int64Array
from tfadvisor.trace import _wire
from tfadvisor.trace.columns import Kind

_EVENTS_A_CHUNK, _LONGEST_TEXT, _SLOTS = 30, 40, 4
"""Few events a chunk, so that small inputs have several."""
_TEXT = Kind.TEXT.value
_NO_ROWS, _NO_SLOTS = np.empty(0, np.int32), np.empty(0, np.int16)
_GROUPS = np.zeros(_SLOTS + 1, np.int16)


def decode(buf: memoryview) -> bool:
    """Whether each pass took the bytes."""
    try:
        planes = [
            _plane(buf, lo, hi)
            for field, lo, hi in _wire.scan_space(buf).tolist()
            if field == 1
        ]
        lines = [one for plane_lines, _ in planes for one in plane_lines]
        if lines:
            owner = [
                index
                for index, (plane_lines, _) in enumerate(planes)
                for _ in plane_lines
            ]
            _events(
                buf, np.array(lines, np.int64), [planes[index][1] for index in owner]
            )
    except _wire.WireError:
        return False
    return True


def _plane(buf: memoryview, lo: int, hi: int) -> tuple[list[list[int]], _wire.PlaneKey]:
    """Its lines as rows of (field, from, to), and the key that its events are decoded
    with.
    """
    children = _wire.scan_plane(buf, lo, hi)[1].tolist()
    of = {field: [one for one in children if one[0] == field] for field in (3, 4, 5, 6)}
    ids = []
    for field in (4, 5):
        found = np.empty((0, 9), np.int64)
        if of[field]:
            found = _wire.scan_metadata(buf, np.array(of[field], np.int64))
            if field == 4:
                _wire.check_event_metadata(buf, found)
            for column in (1, 3):
                _wire.texts_of(buf, found, column, _LONGEST_TEXT)
            for first, last in found[:3, 5:7].tolist():
                _wire.message_stats(buf, first, last, 5)
        ids.append(np.array(sorted(set(found[:, 0].tolist())), np.int64))
    if of[6]:
        _wire.read_stats(buf, np.array(of[6], np.int64))
    return of[3], _key(*ids)


def _key(rows: Int64Array, stats: Int64Array) -> _wire.PlaneKey:
    stats = stats[:_SLOTS]
    table = _NO_ROWS
    if len(rows) and rows[0] >= 0 and rows[-1] < 5000:
        table = np.zeros(int(rows[-1]) + 1, np.int32)
        table[rows] = np.arange(1, len(rows) + 1, dtype=np.int32)
    slots = np.arange(len(stats), dtype=np.int16)
    wanted = np.ones(len(rows), np.uint64)
    return _wire.PlaneKey(
        rows, table, 1, stats, slots, _NO_SLOTS, _GROUPS, wanted, 1, _SLOTS
    )


def _events(buf: memoryview, lines: Int64Array, keys: list[_wire.PlaneKey]) -> None:
    headers, chunks = _wire.scan_lines(buf, lines, _EVENTS_A_CHUNK)
    counts = headers[:, 7].tolist()
    first = [0, *itertools.accumulate(counts)]
    total = first[-1]
    start, duration, row = (
        np.empty(total, np.int64),
        np.empty(total, np.int64),
        np.empty(total, np.int32),
    )
    exemplar = np.zeros(
        (len(buf) + 2, 2), np.int64
    )  # a row for each name, of which there are fewer than bytes
    tally = np.zeros((_SLOTS + 1, 4), np.int64)
    for line, lo, hi, before, count in chunks.tolist():
        stats = _wire.decode_chunk(
            buf,
            keys[line],
            lo,
            hi,
            count,
            0,
            first[line] + before,
            start,
            duration,
            row,
            exemplar,
        )
        if len(stats):
            stats.tally(tally)
            if before == 0:
                _keep(stats, buf)


def _keep(stats: _wire.StatBuffer, buf: memoryview) -> None:
    """Into columns, and the texts among them made one."""
    size = len(stats)
    columns = _wire.StatColumns(_SLOTS + 1)
    kept = []
    for slot in range(_SLOTS + 1):
        value, kind, length = (
            np.zeros(size, np.int64),
            np.zeros(size, np.uint8),
            np.zeros(size, np.int64),
        )
        columns.give(slot, np.empty(size, np.int32), value, kind, length)
        kept.append((value, kind, length))
    stats.into(columns)
    for value, kind, length in kept:
        if _TEXT in bytes(kind):
            texts = kind == _TEXT
            _wire.intern_spans(buf, value[texts], length[texts])
