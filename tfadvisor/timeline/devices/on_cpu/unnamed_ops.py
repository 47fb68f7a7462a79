"""When a CPU runs XLA programs whose ops the trace does not name, wholly (JAX 0.4.30, 0.6) or in part (JAX 0.4.38).

XLA's CPU runtime runs a program on the thread that calls it, inside `…Executable::ExecuteHelper`, or on a thread of its
client, in a region of the thread pool. Runtimes with thunks wait there for the program's completion, once a run.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import is_in
from tfadvisor.timeline.host.dispatches import calls_that_execute
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array, Intervals, difference, union
from tfadvisor.timeline.model import COLUMNS, DeviceOps
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.host import is_end_mark
from tfadvisor.timeline.names.programs import (
    ANY_PROGRAM,
    awaits_program,
    bounds_pool_work,
    program_of_call,
    runs_program,
    starts_pool_work,
)


class UnnamedOps(msgspec.Struct, frozen=True):
    """Stretches of programs without a named op, by start. call: position of the jitted call that brought it on, or -1."""

    start: Int64Array
    end: Int64Array
    position: Int64Array
    """Of the event that shows the run, whose thread it is on."""
    call: Int64Array


_NONE = UnnamedOps(*(np.empty(0, np.int64) for _ in range(4)))


def with_unnamed_ops(ops: DeviceOps, threads: Threads, unnamed: UnnamedOps) -> DeviceOps:
    """The ops with the stretches without a named one among them: each bears its program's name as its own."""
    count = len(unnamed.start)
    if not count:
        return ops
    programs = [
        program_of_call(threads.names[threads.row[one]]) if one >= 0 else ANY_PROGRAM for one in unnamed.call.tolist()
    ]
    names = tuple(dict.fromkeys(programs))
    name = np.array([names.index(one) for one in programs], np.int32) + np.int32(len(ops.names))
    nothing = np.full(count, -1, np.int32)
    added = DeviceOps(
        start=unnamed.start,
        end=unnamed.end,
        kind=np.full(count, DeviceClass.COMPUTE, np.int8),
        stream=threads.thread_of(unnamed.position),
        name=name,
        op=nothing,
        module=name,
        program=nothing,
        path=nothing,
        bytes=np.full(count, -1, np.int64),
        meeting=np.full(count, -1, np.int64),
        memory=np.zeros(count, np.int8),
        launch=unnamed.call.astype(np.int32),
        callers=ops.callers,
        names=(),
        program_ids=(),
    )
    return _merged(ops, added, ops.names + names)


def unnamed_ops(threads: Threads, thunks: Int64Array) -> UnnamedOps:
    """Where programs run and no op tells which. thunks: positions of the ops that have a name.

    Where the trace names ops and marks how long the asynchronous ones take, nothing is missing.
    """
    if len(thunks) and len(threads.named(is_end_mark)):
        return _NONE
    position, start, end = _runs(threads)
    if not len(position):
        return _NONE
    call = _calls(threads, position, start)
    if not len(thunks):
        return UnnamedOps(start, end, position, call)
    waits = threads.start[position]
    named = union(threads.start[thunks], threads.end[thunks])
    pieces = [
        difference(Intervals(waits[[run]], end[[run]]), named.clip(int(waits[run]), int(end[run])))
        for run in range(len(position))
    ]
    counts = np.array([len(piece) for piece in pieces], np.int64)
    return UnnamedOps(
        np.concatenate([piece.starts for piece in pieces]),
        np.concatenate([piece.ends for piece in pieces]),
        np.repeat(position, counts),
        np.repeat(call, counts),
    )


def _runs(threads: Threads) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(position of the event that shows it, start, end) of each run of a program, by start."""
    position = threads.named(awaits_program)
    helpers = threads.named(runs_program)
    start = threads.start[helpers]
    if len(position):
        start = _begins(threads, position, helpers)
    else:
        position = helpers
    order = np.argsort(start, kind="stable")
    return position[order], start[order], threads.end[position[order]]


def _begins(threads: Threads, waits: Int64Array, helpers: Int64Array) -> Int64Array:
    """Start of the run that each wait ends: of the work that its thread has taken from the pool, or of the call around it."""
    opens = np.concatenate([threads.named(starts_pool_work), helpers])
    bounds = np.sort(np.concatenate([threads.named(bounds_pool_work), helpers, waits]))
    latest = bounds[np.maximum(np.searchsorted(bounds, waits) - 1, 0)]
    inside = (latest < waits) & (threads.thread_of(latest) == threads.thread_of(waits)) & is_in(latest, opens)
    inside &= ~is_in(latest, helpers) | (threads.end[latest] >= threads.end[waits])
    return np.where(inside, threads.start[latest], threads.start[waits])


def _calls(threads: Threads, position: Int64Array, start: Int64Array) -> Int64Array:
    """The jitted call of each run, by start: runs begin in the order of their calls, the last ones at the end of the trace.

    -1 for all where a run would begin before its call, as where several threads call.
    """
    calls = calls_that_execute(threads)[: len(position)]
    early = len(position) - len(calls)
    if not len(calls) or (threads.start[calls] > start[early:]).any():
        return np.full(len(position), -1, np.int64)
    return np.concatenate([np.full(early, -1, np.int64), calls])


def _merged(one: DeviceOps, other: DeviceOps, names: tuple[str, ...]) -> DeviceOps:
    """Both, in order of start."""
    order = np.argsort(np.concatenate([one.start, other.start]), kind="stable")
    columns = {name: np.concatenate([getattr(one, name), getattr(other, name)])[order] for name in COLUMNS}
    return DeviceOps(**columns, callers=one.callers, names=names, program_ids=one.program_ids)
