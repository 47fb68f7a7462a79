"""When an asynchronous thunk of XLA's CPU runtime is done: it returns at once, and the trace marks its end late.

The thread that finishes such a thunk goes on with the thunks that waited for it before it writes the `end: name` mark,
so the mark may come as late as the end of a collective that they lead to. Work that leads up to the mark without a pause
is therefore taken for what came after the thunk.
"""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import distinct
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.host import is_end_mark
from tfadvisor.xplane.columns import HostTrace

_PAUSE_PS = 250_000_000
"""Between one thunk and the next of a chain, and between the last of it and the mark. Recorded: up to 190 µs where four
devices share two cores, some 10 µs otherwise."""


def thunk_ends(trace: HostTrace, threads: Threads, thunks: Int64Array) -> Int64Array:
    """End of each thunk, ps. thunks: positions, ascending."""
    end = threads.end[thunks].copy()
    own, mark = _marks(trace, threads, thunks)
    if not len(own):
        return end
    start, thread = threads.start[thunks], threads.thread_of(thunks)
    marked_at, marking_thread = threads.start[mark], threads.thread_of(mark)
    done = marked_at.copy()
    for one in distinct(marking_thread).tolist():
        mine = np.flatnonzero(marking_thread == one)
        lo, hi = np.searchsorted(thread, [one, one + 1])
        if lo == hi:
            continue
        starts, ends = start[lo:hi], np.maximum.accumulate(threads.end[thunks[lo:hi]])
        first_of_chain = np.arange(len(starts))
        first_of_chain[1:][starts[1:] - ends[:-1] <= _PAUSE_PS] = 0
        first_of_chain = np.maximum.accumulate(first_of_chain)
        last = np.searchsorted(starts, marked_at[mine], side="left") - 1
        first = np.maximum(first_of_chain[last], np.searchsorted(starts, start[own[mine]], side="right"))
        follows = (last >= 0) & (first <= last) & (marked_at[mine] - ends[last] <= _PAUSE_PS)
        done[mine[follows]] = starts[first[follows]]
    end[own] = np.maximum(end[own], done)
    return end


def _marks(trace: HostTrace, threads: Threads, thunks: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(index of a thunk, position of its end mark) of those that have one, tied by producer id."""
    marks, consumed = threads.integers(trace.stat(stats.CONSUMER_ID))
    is_mark = np.array([is_end_mark(name) for name in threads.names], np.bool_)
    chosen = is_mark[threads.row[marks]]
    marks, consumed = marks[chosen], consumed[chosen]
    producers, produced = threads.integers(trace.stat(stats.PRODUCER_ID))
    if not len(marks) or not len(producers) or not len(thunks):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.argsort(producers, kind="stable")  # by event so far, and events may lie out of order in the file
    producers, produced = producers[order], produced[order]
    place = np.minimum(np.searchsorted(producers, thunks), len(producers) - 1)
    order = np.argsort(consumed, kind="stable")
    found = np.minimum(np.searchsorted(consumed[order], produced[place]), len(order) - 1)
    mark = order[found]
    linked = (producers[place] == thunks) & (consumed[mark] == produced[place])
    linked &= threads.start[marks[mark]] >= threads.start[thunks]
    return np.flatnonzero(linked), marks[mark[linked]]
