"""When an asynchronous thunk of XLA's CPU runtime is done: it returns at once, and the trace marks its end late.

The thread that finishes such a thunk goes on with the thunks that waited for it before it writes the `end: name` mark,
so the mark may come as late as the end of a collective that they lead to. Work that leads up to the mark without a pause
is therefore taken for what came after the thunk. And as the runs of one program follow each other on a device, a mark
that is written when the next run has begun tells nothing: its thunk ended with the rest of its own run at the latest.
"""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import distinct, ranks, true_at
from tfadvisor.timeline.devices.stats_of_events import value_at
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.host import is_end_mark
from tfadvisor.xplane.columns import HostTrace

_PAUSE_PS = 250_000_000
"""Between one thunk and the next of a chain, and between the last of it and the mark. Recorded: up to 190 µs where four
devices share two cores, some 10 µs otherwise."""
_NEVER = np.iinfo(np.int64).max


def thunk_ends(trace: HostTrace, threads: Threads, thunks: Int64Array) -> Int64Array:
    """End of each thunk, ps. thunks: positions of one device's, ascending."""
    if not len(thunks):
        return np.empty(0, np.int64)
    return _within_own_run(trace, threads, thunks, _ends_by_marks(trace, threads, thunks))


def _within_own_run(trace: HostTrace, threads: Threads, thunks: Int64Array, end: Int64Array) -> Int64Array:
    """The same ends, but those after the start of the program's next run: these are moved to where the rest of their own
    run ended. Thunks without a run id keep theirs.
    """
    run, program = _runs(trace, threads, thunks)
    known = true_at(run >= 0)
    if not len(known):
        return end
    run = ranks(run[known])
    following = _start_of_following(run, program[known], threads.start[thunks[known]])
    late = end[known] > following[run]
    last = np.zeros(len(following), np.int64)
    np.maximum.at(last, run, np.where(late, threads.end[thunks[known]], end[known]))
    out = end.copy()
    out[known[late]] = np.minimum(last, following)[run][late]
    return np.maximum(out, threads.end[thunks])


def _runs(trace: HostTrace, threads: Threads, thunks: Int64Array) -> tuple[Int64Array, Int64Array]:
    """(number of the run, -1 without one; number of the XLA module) of each thunk. No two modules share a run."""
    where, run_id = threads.integers(trace.stat(stats.RUN_ID))
    event, code = trace.stat(stats.HLO_MODULE).codes()
    named = threads.positions(event)
    run = value_at(where, ranks(run_id), thunks, -1)
    module = value_at(named[named >= 0], code[named >= 0], thunks, -1)
    return np.where(run >= 0, (module + 1) * len(threads) + run, -1), module


def _start_of_following(run: Int64Array, module: Int64Array, start: Int64Array) -> Int64Array:
    """When the module's next run begins, ps, shape (runs,); far in the future for its last."""
    runs = int(run.max()) + 1
    first, module_of = np.full(runs, _NEVER), np.zeros(runs, np.int64)
    np.minimum.at(first, run, start)
    module_of[run] = module
    order = np.lexsort((first, module_of))
    followed = np.append(module_of[order][1:] == module_of[order][:-1], False)
    out = np.full(runs, _NEVER)
    out[order[:-1]] = np.where(followed[:-1], first[order][1:], _NEVER)
    return out


def _ends_by_marks(trace: HostTrace, threads: Threads, thunks: Int64Array) -> Int64Array:
    """End of each thunk by its mark, ps; without one, the end of its event."""
    end = threads.end[thunks].copy()
    own, mark = _marks(trace, threads, thunks)
    if not len(own):
        return end
    start, thread = threads.start[thunks], threads.thread_of(thunks)
    marked_at, marking_thread = threads.start[mark], threads.thread_of(mark)
    done = marked_at.copy()
    for one in distinct(marking_thread).tolist():
        mine = true_at(marking_thread == one)
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
    chosen = threads.bear(marks, is_end_mark)
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
    return true_at(linked), marks[mark[linked]]
