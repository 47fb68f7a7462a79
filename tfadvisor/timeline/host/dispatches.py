"""Calls on host threads that start programs and ops, and the thread that makes most of them."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.arrays import distinct, is_in
from tfadvisor.timeline.host.threads import Thread, Threads
from tfadvisor.timeline.intervals import BoolArray, Int64Array, union
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.frames import traces_jax
from tfadvisor.timeline.names.programs import (
    calls_module,
    executes,
    is_jitted,
    jitted_function,
    names_what_it_dispatches,
    runs_program,
)
from tfadvisor.timeline.nesting import parents

_COMPILES = 0.2
"""Of a trace's time in other events of the compiler: with this share it is one, whatever runs inside."""
_INTERPRETED = 8
"""Jitted functions and executions inside a call: with so many, Python runs what should be compiled."""


class _CallsModule(msgspec.Struct, frozen=True):
    """The question whether a name is that of a call of the jitted function that XLA compiled to this module."""

    module: str

    def __call__(self, name: str) -> bool:
        return calls_module(name, self.module)


def calls_of_module(threads: Threads, module: str) -> Int64Array:
    """Positions of the outermost calls of the jitted function that XLA compiled to this module, in order of time."""
    calls = threads.named(_CallsModule(module))
    found = [outermost(threads, calls[threads.thread_of(calls) == one]) for one in distinct(threads.thread_of(calls))]
    joined = np.concatenate(found) if found else calls
    return joined[np.argsort(threads.start[joined], kind="stable")]


def dispatches(threads: Threads, thread: Thread) -> Int64Array:
    """Positions of a thread's outermost dispatches that name a program or an op.

    A jitted function that Python runs, as under jax_disable_jit, dispatches nothing itself: what it calls does.
    """
    found = threads.dispatched.get(thread.index)
    if found is None:
        found = threads.dispatched[thread.index] = _dispatches(threads, thread)
    return found


def _dispatches(threads: Threads, thread: Thread) -> Int64Array:
    candidates = threads.of(thread, HostClass.LAUNCH, HostClass.EAGER_OP, HostClass.GET_NEXT)
    named = threads.bear(candidates, names_what_it_dispatches)
    return outermost(threads, candidates[named & ~_interpreted(threads, candidates)])


def calls_that_execute(threads: Threads) -> Int64Array:
    """For each time that a CPU's client is given a program: position of the jitted call around it, or of the event itself.

    In order of time.
    """
    found = [np.empty(0, np.int64)]
    helpers = threads.named(runs_program)
    jitted = threads.named(is_jitted)
    for thread in distinct(threads.thread_of(helpers)).tolist():
        mine = np.sort(np.concatenate([one[threads.thread_of(one) == thread] for one in (helpers, jitted)]))
        around = parents(threads.start[mine], threads.end[mine])
        around = mine[np.where(around >= 0, around, np.arange(len(mine)))]
        found.append(around[is_in(mine, helpers)])
    calls = np.concatenate(found)
    return calls[np.argsort(threads.start[calls], kind="stable")]


def driving_thread(threads: Threads) -> int:
    """The thread that dispatches most programs and ops, -1 when none dispatches any. For traces without markers."""
    best, most = -1, 0
    for thread in threads.threads:
        if not thread.is_pipeline:
            calls = dispatches(threads, thread)
            total = int((threads.end[calls] - threads.start[calls]).sum())
            if total > most:
                best, most = thread.index, total
    return best


def without_evaluations(threads: Threads) -> Threads:
    """The threads with those of JAX's tracing events as plain frames that run programs op by op, and compile nothing.

    Up to JAX 0.6 a gradient outside of `jit` evaluates the forward pass inside `trace_to_jaxpr`.
    """
    traces = threads.named(traces_jax)
    if not len(traces):
        return threads
    kind = threads.kind.copy()
    thread = threads.thread_of(traces)
    for index in distinct(thread).tolist():
        kind[_evaluations(threads, threads.threads[index], traces[thread == index])] = HostClass.FRAME
    return msgspec.structs.replace(threads, kind=kind, dispatched={})


def _evaluations(threads: Threads, thread: Thread, traces: Int64Array) -> Int64Array:
    """Those of a thread's tracing events that lie in one, or are one, inside which many programs run."""
    launches = threads.of(thread, HostClass.LAUNCH)
    runs = threads.start[outermost(threads, launches[threads.bear(launches, executes)])]
    starts, ends = threads.start[traces], threads.end[traces]
    count = np.searchsorted(runs, ends) - np.searchsorted(runs, starts)
    others = threads.of(thread, HostClass.COMPILE)
    others = others[~is_in(others, traces[count > 0])]
    compiling = union(threads.start[others], threads.end[others]).within(starts, ends)
    evaluates = compiling < _COMPILES * (ends - starts)  # one in which nothing runs compiles throughout
    many = evaluates & (count >= _INTERPRETED)
    return traces[evaluates & union(starts[many], ends[many]).contains(starts)]


def interpreted_function(threads: Threads, thread: Thread) -> str:
    """The jitted function that Python runs on a thread, "" when there is none."""
    candidates = threads.of(thread, HostClass.LAUNCH)
    found = candidates[_interpreted(threads, candidates)]
    return (jitted_function(threads.names[threads.row[found[0]]]) or "") if len(found) else ""


def _interpreted(threads: Threads, candidates: Int64Array) -> BoolArray:
    """Which of a thread's launches are jitted functions inside which many others execute programs of their own."""
    jitted = threads.bear(candidates, is_jitted)
    if not jitted.any():
        return jitted
    calls = _number_inside(threads, candidates, jitted) - jitted
    executions = _number_inside(threads, candidates, threads.bear(candidates, executes))
    return jitted & (calls >= _INTERPRETED) & (executions >= _INTERPRETED)


def _number_inside(threads: Threads, positions: Int64Array, chosen: BoolArray) -> Int64Array:
    """For each position of one thread, how many of the chosen ones begin in it, itself included."""
    starts = threads.start[positions[chosen]]
    before = np.searchsorted(starts, threads.start[positions])
    return np.searchsorted(starts, threads.end[positions]) - before


def outermost(threads: Threads, positions: Int64Array) -> Int64Array:
    """The positions (ascending, of one thread) that do not lie inside an earlier one."""
    reach = np.maximum.accumulate(threads.end[positions])
    keep = np.ones(len(positions), np.bool_)
    keep[1:] = threads.start[positions[1:]] >= reach[:-1]
    return positions[keep]
