"""Events of many lanes as no more rows than a drawing needs, and device memory over
time.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import (
    BoolArray,
    Int8Array,
    Int32Array,
    Int64Array,
    changes,
    order_of,
    unknown,
    zeros,
)
from tfadvisor.timeline.host.allocators import allocators, numbers_at, texts_at
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.device_events import ALLOCATION
from tfadvisor.trace.columns import HostTrace

_PIXELS = 4096
"""What begins within this part of the step is one point on a screen; where there may
be more rows, within a part of so many.
"""


class LaneRows(msgspec.Struct, frozen=True):
    """The events of one lane, any order, ps. name: index into names, -1 without one.

    call: of a host's event its place among all of the host's, of a device's that of the
    call that launched it; -1 without one. launched: whether the lane is a device's.
    """

    depth: Int32Array
    start: Int64Array
    end: Int64Array
    kind: Int8Array
    name: Int32Array
    names: tuple[str, ...]
    call: Int64Array
    launched: bool


class EventBlocks(msgspec.Struct, frozen=True):
    """One row an event or a block of events, by lane, depth and start.

    start: ps from the step's. kind: of a block the one that takes most of it. name:
    index into names, -1 for blocks and for events without one. events: how many a block
    stands for, 1 for an event itself. busy: ps in which they run, the length of an
    event. launch: of what a device ran the row of the call that launched it, -1 where
    there is no such row.
    """

    lane: Int32Array
    depth: Int32Array
    start: Int64Array
    length: Int64Array
    kind: Int8Array
    name: Int32Array
    events: Int64Array
    busy: Int64Array
    launch: Int64Array
    names: tuple[str, ...]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.start)


def event_blocks(
    lanes: Sequence[LaneRows],
    lo: int,
    span: int,
    most: int,
) -> EventBlocks:
    """lo, span: of the step, in which all events lie. most: how many rows there
    may be.
    """
    lane = np.concatenate(
        [
            np.full(len(track.start), number, np.int32)
            for number, track in enumerate(lanes)
        ]
    )
    depth, start, end, kind, name, call = (
        np.concatenate([getattr(track, column) for track in lanes])
        for column in ("depth", "start", "end", "kind", "name", "call")
    )
    order = np.lexsort((start, depth, lane))
    lane = lane[order]
    name = name[order]
    depth = depth[order]
    kind = kind[order]
    start = start[order] - lo
    end = end[order] - lo
    first = _blocks(lane, depth, start, end, most, span)
    events = np.diff(np.append(first, len(start)))
    shown, names = _shown_names(
        lane[first],
        np.where(events == 1, name[first], -1),
        [track.names for track in lanes],
    )
    launched = np.array([track.launched for track in lanes], np.bool_)[lane[first]]
    call = np.where(events == 1, call[order][first], -1)
    return EventBlocks(
        lane=lane[first],
        depth=depth[first],
        start=start[first],
        length=(np.maximum.reduceat(end, first) if len(first) else end[:0])
        - start[first],
        kind=_commonest(kind, end - start, first),
        name=shown,
        events=events,
        busy=np.add.reduceat(end - start, first) if len(first) else end[:0],
        launch=_launching_rows(call, launched),
        names=names,
    )


def _launching_rows(
    call: Int64Array,
    launched: BoolArray,
) -> Int64Array:
    """Of each row that was launched the row of that call, -1 without one."""
    found = unknown(call)
    calls = np.flatnonzero(~launched & (call >= 0))
    calls = calls[order_of(call[calls])]
    if len(calls):
        rows = np.flatnonzero(launched & (call >= 0))
        at = np.searchsorted(call[calls], call[rows])
        place = calls[np.minimum(at, len(calls) - 1)]
        found[rows] = np.where(call[place] == call[rows], place, -1)
    return found


def _shown_names(
    lane: Int32Array,
    name: Int32Array,
    names: Sequence[tuple[str, ...]],
) -> tuple[Int32Array, tuple[str, ...]]:
    """(places of the names that are drawn, those names). names: by lane."""
    place: dict[str, int] = {}
    found = [
        place.setdefault(names[of][code], len(place)) if code >= 0 else -1
        for of, code in zip(lane.tolist(), name.tolist(), strict=True)
    ]
    return np.array(found, np.int32), tuple(place)


def _blocks(
    lane: Int32Array,
    depth: Int32Array,
    start: Int64Array,
    end: Int64Array,
    most: int,
    span: int,
) -> Int64Array:
    """First row of each block; rows by lane, depth and start.

    The longest half of `most` stay by themselves. Neighbours among the rest that begin
    in the same pixel become one block, and where that leaves too many, those that begin
    in the same two pixels, four, eight.
    """
    count = len(start)
    if count <= most:
        return np.arange(count)
    length = end - start
    tall = length > np.partition(length, count - most // 2)[count - most // 2]
    alone = np.append(True, (lane[1:] != lane[:-1]) | (depth[1:] != depth[:-1])) | tall
    alone[1:] |= tall[:-1]
    pixel = max(span // max(most, _PIXELS), 1)
    while True:
        place = start // pixel
        opens = alone | changes(place)
        if int(opens.sum()) <= most or pixel > span:
            return np.flatnonzero(opens)
        pixel *= 2


def _commonest(
    kind: Int8Array,
    length: Int64Array,
    first: Int64Array,
) -> Int8Array:
    """The kind that takes most time in each block."""
    block = zeros(kind)
    block[first[1:]] = 1
    time = np.zeros((len(first), int(kind.max(initial=0)) + 1), np.int64)
    np.add.at(time, (np.cumsum(block), kind), length)
    return np.asarray(time.argmax(axis=1), np.int8)


# How much an allocator has given out over the trace, and what lives when that is most.

_POINTS = 1_000
_MOST_BLOCKS = 100


class Block(msgspec.Struct, frozen=True):
    """What one op holds at the peak. op, region, shape: "" where the event does not
    tell.
    """

    op: str
    region: str
    """output, temp, persist/dynamic, …"""
    shape: str
    bytes: int
    since_ps: int
    """Of its allocation."""


class MemoryCurve(msgspec.Struct, frozen=True):
    """One allocator. at_ps, bytes: what is given out from each instant on, the highest
    of each stretch.
    """

    allocator: str
    at_ps: Int64Array
    bytes: Int64Array
    peak_ps: int
    peak_bytes: int
    """The most in this trace."""
    highest_bytes: int
    """The most since the program began."""
    capacity_bytes: int
    live: tuple[Block, ...]
    """At the peak, the largest first."""
    unseen_bytes: int
    """At the peak, of blocks that were taken before the trace or are too many to be
    listed.
    """


def memory_curves(trace: HostTrace, threads: Threads) -> tuple[MemoryCurve, ...]:
    """By allocator of a device; empty without allocator events."""
    return tuple(
        _curve(trace, threads, name, mine) for name, mine in allocators(trace, threads)
    )


def _curve(
    trace: HostTrace,
    threads: Threads,
    name: str,
    mine: Int64Array,
) -> MemoryCurve:
    given = numbers_at(trace, threads, stats.BYTES_ALLOCATED, mine)
    rest = numbers_at(trace, threads, stats.BYTES_AVAILABLE, mine) + numbers_at(
        trace,
        threads,
        stats.BYTES_RESERVED,
        mine,
    )
    at = threads.start[mine]
    peak = int(np.argmax(given))
    points = _highest_of_stretches(given)
    live = _live(trace, threads, mine[: peak + 1])
    return MemoryCurve(
        allocator=name,
        at_ps=at[points],
        bytes=given[points],
        peak_ps=int(at[peak]),
        peak_bytes=int(given[peak]),
        highest_bytes=max(
            int(numbers_at(trace, threads, stats.PEAK_BYTES_IN_USE, mine).max()),
            int(given[peak]),
        ),
        capacity_bytes=int((given + rest).max()),
        live=tuple(live[:_MOST_BLOCKS]),
        unseen_bytes=max(
            int(given[peak]) - sum(block.bytes for block in live[:_MOST_BLOCKS]),
            0,
        ),
    )


def _highest_of_stretches(values: Int64Array) -> Int64Array:
    """Indices: of each stretch of neighbours the highest, so that no peak is lost."""
    width = -(-len(values) // _POINTS)
    starts = np.arange(0, len(values), width)
    return np.array(
        [
            start + int(np.argmax(values[start : start + width]))
            for start in starts.tolist()
        ],
        np.int64,
    )


def _live(
    trace: HostTrace,
    threads: Threads,
    until: Int64Array,
) -> list[Block]:
    """The blocks that were taken and not given back, the largest first. until: the
    events, in order of time.
    """
    address = numbers_at(trace, threads, stats.BLOCK_ADDRESS, until).tolist()
    if not any(address):
        return []
    size = numbers_at(trace, threads, stats.ALLOCATION_BYTES, until).tolist()
    takes = np.array([name == ALLOCATION for name in threads.names], np.bool_)[
        threads.row[until]
    ].tolist()
    held: dict[int, int] = {}
    for place, (pointer, taken) in enumerate(zip(address, takes, strict=True)):
        if taken:
            held[pointer] = place
        else:
            held.pop(pointer, None)
    chosen = sorted(held.values(), key=lambda place: -size[place])[:_MOST_BLOCKS]
    words = [
        texts_at(trace, threads, stat, until[chosen])
        for stat in (stats.TF_OP, stats.REGION_TYPE, stats.BLOCK_SHAPE)
    ]
    return [
        Block(op, region, shape, size[place], int(threads.start[until[place]]))
        for place, op, region, shape in zip(chosen, *words, strict=True)
    ]
