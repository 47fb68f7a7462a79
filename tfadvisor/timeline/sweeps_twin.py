"""What the compiled sweeps compute, in NumPy: their definition, and what works where
they were not built.

Sets are sorted, disjoint, half-open intervals in int64 picoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tfadvisor.arrays import AnyArray, BoolArray, Int32Array, Int64Array, UInt8Array

Pair: TypeAlias = tuple[Int64Array, Int64Array]


def united(starts: Int64Array, ends: Int64Array) -> Pair:
    """The union of intervals in any order; empty ones vanish.

    With starts and ends sorted apart, the i-th start opens a new interval exactly when
    all i intervals before it have ended, that is when it lies beyond the (i-1)-th end.
    """
    keep = ends > starts
    if not keep.all():
        starts = starts[keep]
        ends = ends[keep]
    if not len(starts):
        return starts, ends
    starts = _ascending(starts)
    ends = _ascending(ends)
    opens = np.empty(len(starts), np.bool_)
    opens[0] = True
    np.greater(starts[1:], ends[:-1], out=opens[1:])
    last = np.empty(len(starts), np.bool_)
    last[-1] = True
    last[:-1] = opens[1:]
    return starts[opens], ends[last]


def _ascending(times: Int64Array) -> Int64Array:
    """Sorted; events of one stream come in order, and to look is twenty times as fast
    as to sort.
    """
    return times if (times[1:] >= times[:-1]).all() else np.sort(times)


def merged(
    a0: Int64Array,
    a1: Int64Array,
    b0: Int64Array,
    b1: Int64Array,
) -> Pair:
    """What either of two sets covers."""
    return united(np.concatenate([a0, b0]), np.concatenate([a1, b1]))


def common(
    a0: Int64Array,
    a1: Int64Array,
    b0: Int64Array,
    b1: Int64Array,
) -> Pair:
    """What both of two sets cover: where two intervals are open at once."""
    return _swept(a0, a1, b0, b1, lambda one, other: (one > 0) & (other > 0))


def without(
    a0: Int64Array,
    a1: Int64Array,
    b0: Int64Array,
    b1: Int64Array,
) -> Pair:
    """What the first set covers and the second does not."""
    return _swept(a0, a1, b0, b1, lambda one, other: (one > 0) & (other == 0))


def _swept(
    a0: Int64Array,
    a1: Int64Array,
    b0: Int64Array,
    b1: Int64Array,
    wanted: Callable[[AnyArray, AnyArray], BoolArray],
) -> Pair:
    """Walks all boundaries in order, keeping how many intervals of each set are open;
    ends come before starts.
    """
    if not len(a0):
        return a0, a1
    times = np.concatenate([a1, b1, a0, b0])
    step_one = np.zeros(len(times), np.int8)
    step_other = np.zeros(len(times), np.int8)
    n = len(a0)
    m = len(b0)
    step_one[:n] = -1
    step_other[n : n + m] = -1
    step_one[n + m : 2 * n + m] = 1
    step_other[2 * n + m :] = 1
    order = np.argsort(times, kind="stable")
    times = times[order]
    keep = wanted(np.cumsum(step_one[order]), np.cumsum(step_other[order]))[:-1]
    return united(times[:-1][keep], times[1:][keep])


def _covered_before(
    starts: Int64Array,
    ends: Int64Array,
    times: Int64Array,
) -> Int64Array:
    """How much of a set lies before each time."""
    if not len(starts):
        return np.zeros(len(times), np.int64)
    total = np.concatenate([[0], np.cumsum(ends - starts)])
    index = np.searchsorted(starts, times, side="right")
    before = np.maximum(index - 1, 0)
    partial = np.minimum(times, ends[before]) - starts[before]
    return np.where(index > 0, total[before] + partial, 0).astype(np.int64)


def within(
    starts: Int64Array,
    ends: Int64Array,
    lo: Int64Array,
    hi: Int64Array,
) -> Int64Array:
    """How much of a set lies in each window lo <= t < hi."""
    return _covered_before(starts, ends, hi) - _covered_before(starts, ends, lo)


def reached(times: Int64Array, asked: Int64Array) -> Int64Array:
    """How many of the ascending times are no later than each asked one."""
    return np.asarray(np.searchsorted(times, asked, side="right"), np.int64)


def contains(
    starts: Int64Array,
    ends: Int64Array,
    times: Int64Array,
) -> BoolArray:
    """Whether each time lies in a set."""
    if not len(starts):
        return np.zeros(len(times), np.bool_)
    index = np.searchsorted(starts, times, side="right") - 1
    return np.asarray((index >= 0) & (times < ends[np.maximum(index, 0)]), np.bool_)


def met(
    lo: Int64Array,
    hi: Int64Array,
    who: Int32Array,
    works: UInt8Array,
    starts: Int64Array,
    ends: Int64Array,
) -> Int64Array:
    """Indexes of the stretches with an instant in a set, of those whose `who` works."""
    return np.flatnonzero((works[who] > 0) & (within(starts, ends, lo, hi) > 0))


def parents(starts: Int64Array, ends: Int64Array) -> Int64Array:
    """Index of the innermost event around each, -1 without one. Events by start, longer
    ones first among equal starts.

    The depth of an event is how many started before it and have not ended by its start.
    Its parent is the latest event before it whose depth is one less.
    """
    n = len(starts)
    if not n:
        return np.empty(0, np.int64)
    depth = _depths(starts, ends)
    index = np.arange(n, dtype=np.int64)
    stride = np.int64(n + 1)
    key = depth * stride + index
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    place = np.searchsorted(sorted_key, (depth - 1) * stride + index) - 1
    found = order[np.maximum(place, 0)]
    valid = (depth > 0) & (place >= 0) & (depth[found] == depth - 1)
    return np.where(valid, found, -1).astype(np.int64)


def _depths(starts: Int64Array, ends: Int64Array) -> Int64Array:
    """How many earlier events are still open at each start; an event that ends there is
    closed.

    An event without length counts as one picosecond long, so that it never closes
    before it began.
    """
    ended = np.searchsorted(np.sort(np.maximum(ends, starts + 1)), starts, side="right")
    return np.asarray(
        np.maximum(np.arange(len(starts), dtype=np.int64) - ended, 0),
        np.int64,
    )


def innermost(
    starts: Int64Array,
    ends: Int64Array,
) -> tuple[Int64Array, Int64Array, Int32Array]:
    """(from, to, event) of the stretches with the same innermost event. Events as for
    parents, of positive length.
    """
    n = len(starts)
    if not n:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32)
    parent = parents(starts, ends)
    times = np.concatenate([ends, starts])
    # After an end the parent is innermost, after a start the event itself. At one
    # instant: inner ends first, then outer ends, then starts in order, so that the last
    # boundary of the instant tells.
    event = np.concatenate([parent, np.arange(n, dtype=np.int64)])
    rank = np.concatenate(
        [-np.arange(n, dtype=np.int64) - 1, np.arange(n, dtype=np.int64)]
    )
    order = np.lexsort((rank, times))
    times = times[order]
    event = event[order]
    lo = times[:-1]
    hi = times[1:]
    who = event[:-1]
    hi = np.minimum(
        hi,
        ends[who],
    )  # an event that was only overlapped may have ended before its inner one
    keep = (hi > lo) & (who >= 0)
    lo = lo[keep]
    hi = hi[keep]
    who = who[keep].astype(np.int32)
    if not len(who):
        return lo, hi, who
    new = np.empty(len(who), np.bool_)
    new[0] = True
    new[1:] = (who[1:] != who[:-1]) | (lo[1:] != hi[:-1])
    firsts = np.flatnonzero(new)
    lasts = np.concatenate([firsts[1:] - 1, [len(who) - 1]])
    return lo[firsts], hi[lasts], who[firsts]


def enclosing(wanted: BoolArray, parent: Int64Array) -> Int64Array:
    """The wanted event that each event is or lies in, the innermost one; -1 without
    one. By doubling the way up.
    """
    at = np.where(wanted, np.arange(len(parent)), parent)
    climbing = np.flatnonzero((at >= 0) & ~wanted)
    while len(climbing):
        at[climbing] = at[at[climbing]]
        climbing = climbing[at[climbing] >= 0]
        climbing = climbing[~wanted[at[climbing]]]
    return at


def places(
    ordered: AnyArray,
    wanted: AnyArray,
) -> Int32Array:
    """Index of the first entry of an ascending array that equals each wanted number, -1
    without one.
    """
    if not len(ordered):
        return np.full(len(wanted), -1, np.int32)
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.where(ordered[place] == wanted, place, -1).astype(np.int32)


def alike(
    columns: tuple[Int32Array, ...],
    starts: Int64Array,
    ends: Int64Array,
    chosen: UInt8Array,
    small: int,
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Sums over the chosen events that are alike in every column: (last event, number,
    summed length, number shorter than small) of each group, in the order of their first
    events."""
    mine = np.flatnonzero(chosen)
    if not len(mine):
        return (np.empty(0, np.int64),) * 4
    order = np.lexsort([column[mine] for column in columns])
    changes = [
        column[mine][order][1:] != column[mine][order][:-1] for column in columns
    ]
    group = np.empty(len(mine), np.int64)
    group[order] = np.cumsum(np.append(0, np.logical_or.reduce(changes)))
    number = int(group.max()) + 1
    first = np.full(number, len(mine))
    last = np.zeros(number, np.int64)
    np.minimum.at(first, group, np.arange(len(mine)))
    np.maximum.at(last, group, np.arange(len(mine)))
    length = (ends - starts)[mine]
    total = np.zeros(number, np.int64)
    np.add.at(
        total,
        group,
        length,
        # np.bincount adds in doubles, which lose picoseconds above 2.5 hours of summed
        # time
    )
    count = np.bincount(group, minlength=number)
    short = np.bincount(group[length < small], minlength=number)
    by_first = np.argsort(first)
    return mine[last][by_first], count[by_first], total[by_first], short[by_first]
