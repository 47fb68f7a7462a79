"""What `_walks` does, in NumPy: its definition, and what works where it was not
built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfadvisor.arrays import (
    BoolArray,
    Int8Array,
    Int32Array,
    Int64Array,
    UInt8Array,
    true_at,
)
from tfadvisor.timeline.sweeps import (
    enclosing,
    innermost,
    parents,
    reached,
    united,
    within,
    without,
)

if TYPE_CHECKING:
    from tfadvisor.timeline.sweeps_twin import Pair


IS_USERS, IS_TELLING, IS_CALL, IS_STAGE, IS_FRAME, IS_SILENT, IS_DOING = (
    1 << bit for bit in range(7)
)
"""What a name says of its events."""


def chains(
    start: Int64Array,
    end: Int64Array,
    row: Int32Array,
    kind: Int8Array,
    feeds: UInt8Array,
    meaning: UInt8Array,
    compile_kind: int,
    other_kind: int,
    step_starts: Int64Array,
    span_ends: Int64Array,
    until: int,
    counted0: Int64Array,
    counted1: Int64Array,
    wanted0: Int64Array,
    wanted1: Int64Array,
    shortest: int,
    most: int,
    gaps: bool,
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What a thread does: in its events, and in the gaps between them.

    Each is (from, to, place, event of its stretches; chain, step of each place; leaf,
    telling, user, called, dispatched, stage, doing, kind, compiles, feeds of each
    chain), as `Chains` has them. Here each event and each gap is a chain of its own;
    the event of a gap is -1.

    Events as for parents; those shorter than `shortest` are left out, and what lies
    behind the first `most`, and behind `until`. meaning: bits of a name by row.
    counted: windows in which gaps are looked for. wanted: windows within those in which
    a stretch or gap must have a part.
    """
    inside = (end > start) & (start < until) & (end > step_starts[0])
    events = true_at(inside & (end - start >= shortest))[:most]
    events = events[
        _say_something(
            start[events], end[events], meaning[row[events]], step_starts, span_ends
        )
    ]
    start, end, row = start[events], end[events], row[events]
    lo, hi, who = innermost(start, end)
    between = lo[:0], lo[:0]
    if gaps:
        covered = united(lo, hi)
        between = without(counted0, counted1, *covered)
    gap_rows = _beside(start, end, row, between)
    mine = within(wanted0, wanted1, lo, hi) > 0
    names = _names(row, parents(start, end), meaning[row], kind[events] == compile_kind)
    of_events = (
        lo[mine],
        hi[mine],
        who[mine],
        events[who[mine]].astype(np.int32),
        *_places(start, step_starts),
        *names[:-1],
        kind[events],
        names[-1],
        feeds[events] > 0,
    )
    return of_events, _gaps(
        between, gap_rows, step_starts, (wanted0, wanted1), other_kind
    )


def _say_something(
    start: Int64Array,
    end: Int64Array,
    meaning: UInt8Array,
    step_starts: Int64Array,
    span_ends: Int64Array,
) -> BoolArray:
    """Which events are no marker around a whole step, and no frame of the
    profiler's.
    """
    following = reached(step_starts, start - np.int64(1))
    following = np.minimum(following, len(step_starts) - 1)
    is_marker = start <= step_starts[following]
    is_marker &= end >= span_ends[following]
    is_marker &= meaning & (IS_FRAME | IS_CALL) == 0
    return np.asarray(~is_marker & (meaning & IS_SILENT == 0), np.bool_)


def _places(start: Int64Array, step_starts: Int64Array) -> tuple[Int32Array, ...]:
    """(chain, step) of each."""
    step = reached(step_starts, start) - 1
    return np.arange(len(start), dtype=np.int32), step.astype(np.int32)


def _names(
    row: Int32Array, parent: Int64Array, meaning: UInt8Array, compiles: BoolArray
) -> tuple[Any, ...]:
    """The seven names of each event's chain, and whether it compiles."""

    def nearest(wanted: BoolArray) -> Int32Array:
        """The row of the innermost wanted event around each, itself included."""
        if not len(row):
            return row
        found = enclosing(wanted, parent)
        return np.where(found >= 0, row[found], -1).astype(np.int32)

    def of_parent(flags: BoolArray) -> BoolArray:
        return (parent >= 0) & flags[parent] if len(flags) else flags

    def has(bit: int) -> BoolArray:
        return np.asarray(meaning & bit > 0, np.bool_)

    telling = nearest(has(IS_TELLING))
    users = has(IS_USERS)
    user = nearest(users)
    called = nearest(users | of_parent(users))
    calls = has(IS_CALL)
    outermost = calls & ~of_parent(enclosing(calls, parent) >= 0)
    return (
        row,
        np.where(telling >= 0, telling, row).astype(np.int32),
        user,
        np.where(user >= 0, called, -1).astype(np.int32),
        nearest(outermost),
        nearest(has(IS_STAGE)),
        nearest(has(IS_DOING)),
        nearest(compiles) >= 0,
    )


def _beside(
    start: Int64Array, end: Int64Array, row: Int32Array, gaps: Pair
) -> tuple[Int32Array, Int32Array]:
    """(row of the event before, of the event after) each gap, -1 for none."""
    none = np.full(len(gaps[0]), -1, np.int32)
    if not len(start) or not len(none):
        return none, none
    last = len(start) - 1
    order = np.argsort(end, kind="stable")
    before = reached(end[order], gaps[0]) - 1
    after = reached(start, gaps[1] - 1)
    ended = row[order[np.maximum(before, 0)]]
    begun = row[np.minimum(after, last)]
    return (
        np.where(before >= 0, ended, -1).astype(np.int32),
        np.where(after <= last, begun, -1).astype(np.int32),
    )


def _gaps(
    gaps: Pair,
    beside: tuple[Int32Array, Int32Array],
    step_starts: Int64Array,
    wanted: Pair,
    other_kind: int,
) -> tuple[Any, ...]:
    mine = within(*wanted, *gaps) > 0
    lo, hi = gaps[0][mine], gaps[1][mine]
    chain, step = _places(lo, step_starts)
    none = np.full(len(lo), -1, np.int32)
    no = np.zeros(len(lo), np.bool_)
    kind = np.full(len(lo), other_kind, np.int8)
    user, called = beside[0][mine], beside[1][mine]
    of_chains = (none, none, user, called, none, none, none, kind, no, no)
    return (lo, hi, chain, none, chain, step, *of_chains)


def tally(
    who: Int32Array,
    event: Int32Array,
    ps: Int64Array,
    spent: Int64Array,
    count: Int32Array,
    seen: UInt8Array,
    bit: int,
) -> None:
    """Adds each stretch's ps to its place in `spent`, and to the place in `count` each
    event that has any for the first time, by its bit in `seen`.
    """
    np.add.at(spent, who, ps)
    new = true_at((ps > 0) & (event >= 0))
    new = new[seen[event[new]] & bit == 0]
    _, first = np.unique(event[new], return_index=True)
    np.add.at(count, who[new[first]], 1)
    seen[event[new]] |= np.uint8(bit)


_LARGEST = 1 << 62


def own_stretches(
    start: Int64Array, end: Int64Array, stream: Int32Array, streams: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(from, to, event) in which an event is the innermost of its stream, a number
    below `streams`; events of a stream that cross each other are whole, behind all
    others. Each stream has a time of its own here, so that one pass is enough.
    """
    first = int(start.min())
    span = int(end.max()) - first + 1
    everything = np.arange(len(start))
    if span * streams >= _LARGEST:
        return start, end, everything
    order = np.lexsort((-end, start, stream))
    shift = stream[order].astype(np.int64) * span - first
    lo = start[order] + shift
    hi = end[order] + shift
    parent = parents(lo, hi)
    crossing = (parent >= 0) & (hi > hi[parent])
    crossed = np.zeros(streams, np.bool_)
    crossed[stream[order[crossing]]] = True
    alone = order[crossed[stream[order]]]
    nested = ~crossed[stream[order]]
    order = order[nested]
    if not len(order):
        return start, end, everything
    begin, finish, who = innermost(lo[nested], hi[nested])
    shift = shift[nested][who]
    return (
        np.concatenate([begin - shift, start[alone]]),
        np.concatenate([finish - shift, end[alone]]),
        np.concatenate([order[who], alone]),
    )


def shared(
    lo: Int64Array, hi: Int64Array, starts: Int64Array, ends: Int64Array
) -> Int64Array:
    """ps of a set of instants that each stretch is given: where n stretches run at once
    each gets the n-th part.
    """
    count = len(lo)
    if not count or not len(starts):
        return np.zeros(count, np.int64)
    times = np.concatenate([lo, hi])
    order = np.argsort(times, kind="stable")
    running = np.cumsum(np.where(order < count, 1, -1))[:-1]
    ascending = times[order]
    lengths = within(starts, ends, ascending[:-1], ascending[1:])
    each = np.concatenate(
        [[0.0], np.cumsum(lengths / np.maximum(running, 1) * (running > 0))]
    )
    at = np.empty(len(times), np.int64)
    at[order] = np.arange(len(times))
    return np.asarray(np.rint(each[at[count:]] - each[at[:count]]), np.int64)
