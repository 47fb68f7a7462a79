"""Instants shared out among the events that run in them, so that what all get adds up
to what any of them covers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfadvisor.arrays import ranks, true_at
from tfadvisor.timeline.intervals import Int64Array, Intervals, innermost, parents

if TYPE_CHECKING:
    import numpy.typing as npt

_LARGEST = 1 << 62


def exclusive_time(
    start: Int64Array,
    end: Int64Array,
    stream: npt.NDArray[Any],
    instants: Intervals,
) -> Int64Array:
    """ps of the instants that each event is given.

    On one stream (a GPU's stream, a thread) an instant belongs to the innermost event:
    the one that began last. Where n streams work at once each gets the n-th part of the
    instant. Streams whose events cross count as one stream an event.
    """
    spent = np.zeros(len(start), np.int64)
    mine = true_at(instants.within(start, end) > 0)
    if not len(mine):
        return spent
    start = start[mine]
    end = end[mine]
    stream = stream[mine]
    if (start[1:] >= end[:-1]).all():
        spent[mine] = instants.within(start, end)
        return spent
    lo, hi, who = _own_stretches(start, end, stream)
    np.add.at(spent, mine[who], shared(lo, hi, instants))
    return spent


def _own_stretches(
    start: Int64Array,
    end: Int64Array,
    stream: npt.NDArray[Any],
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(from, to, event) in which an event is the innermost of its stream. One pass:
    each stream has its own time.
    """
    rank = ranks(stream)
    first = int(start.min())
    span = int(end.max()) - int(start.min()) + 1
    everything = np.arange(len(start))
    if span * (int(rank.max()) + 1) >= _LARGEST:
        return start, end, everything
    order = np.lexsort((-end, start, rank))
    shift = rank[order] * span - first
    lo = start[order] + shift
    hi = end[order] + shift
    parent = parents(lo, hi)
    crossing = (parent >= 0) & (hi > hi[parent])
    crossed = np.zeros(int(rank.max()) + 1, np.bool_)
    crossed[rank[order[crossing]]] = True
    alone = order[crossed[rank[order]]]
    nested = ~crossed[rank[order]]
    order = order[nested]
    lo = lo[nested]
    hi = hi[nested]
    if not len(order):
        return start, end, everything
    begin, finish, who = innermost(lo, hi)
    shift = shift[nested][who]
    return (
        np.concatenate([begin - shift, start[alone]]),
        np.concatenate([finish - shift, end[alone]]),
        np.concatenate([order[who], alone]),
    )


def shared(
    lo: Int64Array,
    hi: Int64Array,
    instants: Intervals,
) -> Int64Array:
    """ps of the instants that each stretch is given: where n stretches run at once each
    gets the n-th part.
    """
    count = len(lo)
    if not count or not len(instants):
        return np.zeros(count, np.int64)
    times = np.concatenate([lo, hi])
    order = np.argsort(times, kind="stable")
    running = np.cumsum(np.where(order < count, 1, -1))[:-1]
    lengths = np.diff(instants.covered_before(times[order]))
    each = np.concatenate(
        [[0.0], np.cumsum(lengths / np.maximum(running, 1) * (running > 0))]
    )
    at = np.empty(len(times), np.int64)
    at[order] = np.arange(len(times))
    return np.asarray(np.rint(each[at[count:]] - each[at[:count]]), np.int64)
