"""Which event is innermost at each instant of one thread, and who encloses whom, without walking a stack.

Events of a thread nest: a call begins after its caller and ends before it. Where a trace breaks that (events that only
overlap), the one that began later counts as the inner one until either ends.
"""

from __future__ import annotations

import numpy as np

from tfadvisor.timeline.intervals import Int64Array


def parents(starts: Int64Array, ends: Int64Array) -> Int64Array:
    """Index of the innermost event that encloses each event, -1 for outermost ones.

    Events must be sorted by start, longer ones first among equal starts.

    The depth of an event is how many started before it and have not ended by its start. Its parent is the latest event
    before it whose depth is one less.
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
    """How many earlier events are still open at each start; an event that ends there is closed.

    An event without length counts as one picosecond long, so that it never closes before it began.
    """
    ended = np.searchsorted(np.sort(np.maximum(ends, starts + 1)), starts, side="right")
    return np.asarray(np.maximum(np.arange(len(starts), dtype=np.int64) - ended, 0), np.int64)


def innermost(starts: Int64Array, ends: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(from, to, event) of the stretches of time covered by any event, with the innermost event of each.

    Events must be sorted by start, longer ones first among equal starts, and have a positive length. Stretches come in
    order of time, neighbours of the same event joined.
    """
    n = len(starts)
    if not n:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    parent = parents(starts, ends)
    times = np.concatenate([ends, starts])
    # After an end the parent is innermost, after a start the event itself. At one instant: inner ends first, then
    # outer ends, then starts in order, so that the last boundary of the instant tells.
    event = np.concatenate([parent, np.arange(n, dtype=np.int64)])
    rank = np.concatenate([-np.arange(n, dtype=np.int64) - 1, np.arange(n, dtype=np.int64)])
    order = np.lexsort((rank, times))
    times, event = times[order], event[order]
    lo, hi, who = times[:-1], times[1:], event[:-1]
    hi = np.minimum(hi, ends[who])  # an event that was only overlapped may have ended before its inner one
    keep = (hi > lo) & (who >= 0)
    lo, hi, who = lo[keep], hi[keep], who[keep]
    if not len(who):
        return lo, hi, who
    new = np.empty(len(who), np.bool_)
    new[0] = True
    new[1:] = (who[1:] != who[:-1]) | (lo[1:] != hi[:-1])
    firsts = np.flatnonzero(new)
    lasts = np.concatenate([firsts[1:] - 1, [len(who) - 1]])
    return lo[firsts], hi[lasts], who[firsts]
