"""Work of XLA's CPU runtime: thunks that return at once, the runs they belong to, and
time without a named op.

The thread that finishes such a thunk goes on with the thunks that waited for it before
it writes the `end: name` mark, so the mark may come as late as the end of a collective
that they lead to. Work that leads up to the mark without a pause is therefore taken for
what came after the thunk. And as the runs of one program follow each other on a device,
a mark that is written when the next run has begun tells nothing: its thunk ended with
the rest of its own run at the latest.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from tfadvisor.arrays import (
    NO_VALUES,
    Int32Array,
    Int64Array,
    constant,
    distinct,
    group_spans,
    is_in,
    order_of,
    ranks,
    true_at,
    unknown,
    zeros,
)
from tfadvisor.timeline.devices.event_stats import value_at
from tfadvisor.timeline.host.dispatches import calls_of_modules, calls_that_execute
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Intervals, difference
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.host_events import is_end_mark
from tfadvisor.timeline.names.program_calls import (
    ANY_PROGRAM,
    awaits_program,
    bounds_pool_work,
    program_of_call,
    runs_program,
    starts_pool_work,
    without_marks,
)
from tfadvisor.timeline.timeline_parts import COLUMNS, DeviceOps
from tfadvisor.trace.columns import HostTrace

_PAUSE_PS = 250_000_000
"""Between one thunk and the next of a chain, and between the last of it and the mark.
Recorded: up to 190 µs where four devices share two cores, some 10 µs otherwise."""
_NEVER = np.iinfo(np.int64).max


def thunk_ends(
    trace: HostTrace,
    threads: Threads,
    thunks: Int64Array,
) -> Int64Array:
    """End of each thunk, ps. thunks: positions of one device's, ascending."""
    if not len(thunks):
        return NO_VALUES
    return _within_own_run(
        trace,
        threads,
        thunks,
        _ends_by_marks(trace, threads, thunks),
    )


def _within_own_run(
    trace: HostTrace,
    threads: Threads,
    thunks: Int64Array,
    end: Int64Array,
) -> Int64Array:
    """The same ends, but those after the start of the program's next run: these are
    moved to where the rest of their own run ended. Thunks without a run id keep theirs.
    """
    run, program = _runs(trace, threads, thunks)
    known = true_at(run >= 0)
    if not len(known):
        return end
    run = ranks(run[known])
    following = _start_of_following(run, program[known], threads.start[thunks[known]])
    late = end[known] > following[run]
    last = zeros(following)
    np.maximum.at(last, run, np.where(late, threads.end[thunks[known]], end[known]))
    out = end.copy()
    out[known[late]] = np.minimum(last, following)[run][late]
    return np.maximum(out, threads.end[thunks])


def _runs(
    trace: HostTrace,
    threads: Threads,
    thunks: Int64Array,
) -> tuple[Int64Array, Int64Array]:
    """(number of the run, -1 without one; number of the XLA module) of each thunk. No
    two modules share a run.
    """
    where, run_id = threads.integers(trace.stat(stats.RUN_ID))
    event, code = trace.stat(stats.HLO_MODULE).codes()
    named = threads.positions(event)
    run = value_at(where, ranks(run_id), thunks, -1)
    module = value_at(named[named >= 0], code[named >= 0], thunks, -1)
    return np.where(run >= 0, (module + 1) * len(threads) + run, -1), module


def _start_of_following(
    run: Int64Array,
    module: Int64Array,
    start: Int64Array,
) -> Int64Array:
    """When the module's next run begins, ps, shape (runs,); far in the future for its
    last.
    """
    runs = int(run.max()) + 1
    first = np.full(runs, _NEVER)
    module_of = np.zeros(runs, np.int64)
    np.minimum.at(first, run, start)
    module_of[run] = module
    order = np.lexsort((first, module_of))
    followed = np.append(module_of[order][1:] == module_of[order][:-1], False)
    out = np.full(runs, _NEVER)
    out[order[:-1]] = np.where(followed[:-1], first[order][1:], _NEVER)
    return out


def _ends_by_marks(
    trace: HostTrace,
    threads: Threads,
    thunks: Int64Array,
) -> Int64Array:
    """End of each thunk by its mark, ps; without one, the end of its event."""
    end = threads.end[thunks].copy()
    own, mark = _marks(trace, threads, thunks)
    if not len(own):
        return end
    start = threads.start[thunks]
    thread = threads.thread_of(thunks)
    marked_at = threads.start[mark]
    marking_thread = threads.thread_of(mark)
    done = marked_at.copy()
    for thread_number in distinct(marking_thread).tolist():
        mine = true_at(marking_thread == thread_number)
        lo, hi = np.searchsorted(thread, [thread_number, thread_number + 1])
        if lo == hi:
            continue
        starts = start[lo:hi]
        ends = np.maximum.accumulate(threads.end[thunks[lo:hi]])
        first_of_chain = np.arange(len(starts))
        first_of_chain[1:][starts[1:] - ends[:-1] <= _PAUSE_PS] = 0
        first_of_chain = np.maximum.accumulate(first_of_chain)
        last = np.searchsorted(starts, marked_at[mine], side="left") - 1
        first = np.maximum(
            first_of_chain[last],
            np.searchsorted(starts, start[own[mine]], side="right"),
        )
        follows = (
            (last >= 0) & (first <= last) & (marked_at[mine] - ends[last] <= _PAUSE_PS)
        )
        done[mine[follows]] = starts[first[follows]]
    end[own] = np.maximum(end[own], done)
    return end


def _marks(
    trace: HostTrace,
    threads: Threads,
    thunks: Int64Array,
) -> tuple[Int64Array, Int64Array]:
    """(index of a thunk, position of its end mark) of those that have one, tied by
    producer id.
    """
    marks, consumed = threads.integers(trace.stat(stats.CONSUMER_ID))
    chosen = threads.bear(marks, is_end_mark)
    marks = marks[chosen]
    consumed = consumed[chosen]
    producers, produced = threads.integers(trace.stat(stats.PRODUCER_ID))
    if not len(marks) or not len(producers) or not len(thunks):
        return NO_VALUES, NO_VALUES
    # By event so far, and events may lie out of order in the file.
    order = order_of(producers)
    producers = producers[order]
    produced = produced[order]
    place = np.minimum(np.searchsorted(producers, thunks), len(producers) - 1)
    order = order_of(consumed)
    found = np.minimum(
        np.searchsorted(consumed[order], produced[place]),
        len(order) - 1,
    )
    mark = order[found]
    linked = (producers[place] == thunks) & (consumed[mark] == produced[place])
    linked &= threads.start[marks[mark]] >= threads.start[thunks]
    return true_at(linked), marks[mark[linked]]


# Which call of a jitted function dispatched which run of its program, where the trace
# ties neither to the other.


def calls_of_runs(
    trace: HostTrace,
    threads: Threads,
    positions: Int64Array,
    module: Int32Array,
    names: tuple[str, ...],
) -> Int32Array:
    """Position of the call that dispatched each thunk's run, -1 where unknown, of shape
    (positions,).

    Runs of one module start in the order of its calls, and no run starts before its
    call. positions: of the thunks. module: index of each thunk's module in names, -1
    without one.
    """
    where, value = threads.integers(trace.stat(stats.RUN_ID))
    if not len(where):
        return constant(-1, len(positions))
    run = value_at(where, ranks(value), positions, -1)
    start = threads.start[positions]
    end = threads.end[positions]
    launch = np.full(len(positions), -1, np.int32)
    calls_of = calls_of_modules(threads)
    known = true_at((module >= 0) & (run >= 0))
    known = known[order_of(module[known])]
    first = true_at(np.diff(module[known], prepend=-1))
    for mine in np.split(known, first[1:]) if len(known) else ():
        inverse = ranks(run[mine])
        begins, ends = group_spans(inverse, start[mine], end[mine])
        order = order_of(begins)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        name = without_marks(names[int(module[mine[0]])])
        calls = calls_of.get(name, mine[:0])
        early = runs_before_calls(threads.start[calls], begins[order], ends[order])
        if early is not None:
            call = rank[inverse] - early
            called = (call >= 0) & (call < len(calls))
            launch[mine[called]] = calls[call[called]]
    return launch


def runs_before_calls(
    calls: Int64Array,
    begins: Int64Array,
    ends: Int64Array,
) -> int | None:
    """How many of the first runs were called before the trace began. None where no
    order fits.

    calls: when the calls began. begins, ends: of the runs. Each in order, in ps.

    Where most calls begin after the run before theirs has ended, the host waits for
    each run, and the call right before a run is its own. A host that is ahead calls
    while earlier runs go on, and nothing ties a run to its call; then all surplus runs
    were called before the trace began, since a program waits for its last ones before
    it stops the trace.
    """
    if not len(calls) or not len(begins):
        return None
    soonest = max(
        0,
        int(
            (np.searchsorted(begins, calls) - np.arange(len(calls)))[
                : len(begins)
            ].max()
        ),
    )
    surplus = max(0, len(begins) - len(calls))
    if surplus <= soonest:
        return soonest if 2 * soonest <= len(begins) else None
    own = np.arange(soonest, soonest + len(calls))
    followed = own[(own > 0) & (own < len(begins))]
    waited = calls[followed - soonest] >= ends[followed - 1]
    return soonest if 2 * int(waited.sum()) > len(followed) else surplus


# When a CPU runs XLA programs whose ops the trace does not name, wholly (JAX 0.4.30,
# 0.6) or in part (JAX 0.4.38).


class UnnamedOps(msgspec.Struct, frozen=True):
    """Stretches of programs without a named op, by start. call: position of the jitted
    call that brought it on, or -1.
    """

    start: Int64Array
    end: Int64Array
    position: Int64Array
    """Of the event that shows the run, whose thread it is on."""
    call: Int64Array


_NONE = UnnamedOps(NO_VALUES, NO_VALUES, NO_VALUES, NO_VALUES)


def with_unnamed_ops(
    ops: DeviceOps,
    threads: Threads,
    unnamed: UnnamedOps,
) -> DeviceOps:
    """The ops with the stretches without a named one among them: each bears its
    program's name as its own.
    """
    count = len(unnamed.start)
    if not count:
        return ops
    programs = [
        program_of_call(threads.names[threads.row[event]])
        if event >= 0
        else ANY_PROGRAM
        for event in unnamed.call.tolist()
    ]
    names = tuple(dict.fromkeys(programs))
    name = np.array(
        [names.index(program) for program in programs], np.int32
    ) + np.int32(len(ops.names))
    nothing = np.full(count, -1, np.int32)
    added = {
        "start": unnamed.start,
        "end": unnamed.end,
        "kind": np.full(count, DeviceClass.COMPUTE, np.int8),
        "stream": threads.thread_of(unnamed.position),
        "name": name,
        "module": name,
        "bytes": np.full(count, -1, np.int64),
        "meeting": np.full(count, -1, np.int64),
        "memory": np.zeros(count, np.int8),
        "launch": unnamed.call.astype(np.int32),
    }
    order = np.argsort(np.concatenate([ops.start, unnamed.start]), kind="stable")
    columns: dict[str, Any] = {
        column: np.concatenate([getattr(ops, column), added.get(column, nothing)])[
            order
        ]
        for column in COLUMNS
    }
    return DeviceOps(
        **columns,
        callers=ops.callers,
        names=ops.names + names,
        program_ids=ops.program_ids,
    )


def unnamed_ops(threads: Threads, thunks: Int64Array) -> UnnamedOps:
    """Where programs run and no op tells which. thunks: positions of the ops that have
    a name.

    Where the trace names ops and marks how long the asynchronous ones take, nothing is
    missing.
    """
    if len(thunks) and len(threads.named(is_end_mark)):
        return _NONE
    position, start, end = _runs_unnamed_ops(threads)
    if not len(position):
        return _NONE
    call = _calls(threads, position, start)
    if not len(thunks):
        return UnnamedOps(start, end, position, call)
    waits = threads.start[position]
    named = threads.when(thunks)
    pieces = [
        difference(
            Intervals(waits[[run]], end[[run]]),
            named.clip(int(waits[run]), int(end[run])),
        )
        for run in range(len(position))
    ]
    counts = np.array([len(piece) for piece in pieces], np.int64)
    return UnnamedOps(
        np.concatenate([piece.starts for piece in pieces]),
        np.concatenate([piece.ends for piece in pieces]),
        np.repeat(position, counts),
        np.repeat(call, counts),
    )


def _runs_unnamed_ops(threads: Threads) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(position of the event that shows it, start, end) of each run of a program, by
    start.
    """
    position = threads.named(awaits_program)
    helpers = threads.named(runs_program)
    start = threads.start[helpers]
    if len(position):
        start = _begins(threads, position, helpers)
    else:
        position = helpers
    order = order_of(start)
    return position[order], start[order], threads.end[position[order]]


def _begins(
    threads: Threads,
    waits: Int64Array,
    helpers: Int64Array,
) -> Int64Array:
    """Start of the run that each wait ends: of the work that its thread has taken from
    the pool, or of the call around it.
    """
    opens = np.concatenate([threads.named(starts_pool_work), helpers])
    bounds = np.sort(np.concatenate([threads.named(bounds_pool_work), helpers, waits]))
    latest = bounds[np.maximum(np.searchsorted(bounds, waits) - 1, 0)]
    inside = (
        (latest < waits)
        & (threads.thread_of(latest) == threads.thread_of(waits))
        & is_in(latest, opens)
    )
    inside &= ~is_in(latest, helpers) | (threads.end[latest] >= threads.end[waits])
    return np.where(inside, threads.start[latest], threads.start[waits])


def _calls(
    threads: Threads,
    position: Int64Array,
    start: Int64Array,
) -> Int64Array:
    """The jitted call of each run, by start: runs begin in the order of their calls,
    the last ones at the end of the trace.

    -1 for all where a run would begin before its call, as where several threads call.
    """
    calls = calls_that_execute(threads)[: len(position)]
    early = len(position) - len(calls)
    if not len(calls) or (threads.start[calls] > start[early:]).any():
        return unknown(position)
    return np.concatenate([np.full(early, -1, np.int64), calls])
