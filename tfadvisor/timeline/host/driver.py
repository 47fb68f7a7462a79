"""What the thread that drives the steps does at each instant, and what other threads do
that it may wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tfadvisor.arrays import BoolArray, Int8Array, Int64Array, is_in, true_at
from tfadvisor.timeline.host.dispatches import (
    called_functions,
    calls_that_wait,
    dispatches,
    eager_dispatch,
    eager_elsewhere,
    eager_pauses,
    eager_runs,
)
from tfadvisor.timeline.host.input_pipeline import made_batches
from tfadvisor.timeline.host.loop_frames import calls_before_dispatches
from tfadvisor.timeline.host.thread_layout import Thread
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import (
    EMPTY,
    Intervals,
    difference,
    innermost,
    intersection,
    union,
    union_of,
    union_where,
)
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.frames import (
    calls_no_python,
    is_users_frame,
    takes_result,
    waits_for_others,
    waits_or_sleeps,
)
from tfadvisor.timeline.names.host_events import (
    is_eager_function,
    is_python_op,
    op_writes,
    reads_array,
    runs_python,
)
from tfadvisor.timeline.names.program_calls import serves_requests
from tfadvisor.timeline.timeline_parts import HostActivity, Pending, Steps
from tfadvisor.trace.columns import HostTrace
from tfadvisor.vocabulary import TimeClass

_COMPILING_SHARE = 0.2
"""A dispatch that spends at least this share compiling is a cache miss; all of it is
the price of compilation.
"""
_LARGE_COPY_PS = 100_000_000
"""In so long, 100 µs, a thread copies about a megabyte: who reads a value meanwhile
waits for copying.
"""
_LONG_CALL_PS = 1_000_000_000
"""1 ms: calls of loaders that go through items one by one take microseconds."""

_INPUT = 1
_COMPILE = 2
_LAUNCH = 3
_WAIT = 4
_WAIT_FOR_THREADS = 5
_IN_CALL = 6
_STATE = {
    HostClass.INPUT: _INPUT,
    HostClass.GET_NEXT: _INPUT,
    HostClass.DATASET: _INPUT,
    HostClass.COMPILE: _COMPILE,
    HostClass.LAUNCH: _LAUNCH,
    HostClass.EAGER_OP: _LAUNCH,
    HostClass.PROCESS: _LAUNCH,
    HostClass.OP: _LAUNCH,
    HostClass.CONTROL_OP: _LAUNCH,
    HostClass.RUN_EAGER: _LAUNCH,
    HostClass.WAIT: _WAIT,
}


def host_activity(
    trace: HostTrace,
    threads: Threads,
    steps: Steps,
    pipeline: BoolArray,
) -> HostActivity:
    """What the driving thread does; where it waits, what other threads do that it may
    be waiting for.
    """
    pending = _pending(threads, steps.thread, pipeline)
    step_python = _of_step(threads, pipeline, runs_python)
    writing = _of_step(threads, pipeline, op_writes)
    if steps.thread < 0:
        return HostActivity(pending=pending, step_python=step_python, writing=writing)
    made = made_batches(threads, steps)
    thread = threads.threads[steps.thread]
    serves = serves_requests(called_functions(threads))
    loading = calls_before_dispatches(threads, steps)
    state, starts, ends = _states(trace, threads, thread, loading, serves)
    lo, hi, who = innermost(starts, ends)
    of = state[who]
    del state, who
    codes = (_INPUT, _COMPILE, _LAUNCH, _WAIT, _WAIT_FOR_THREADS, _IN_CALL)
    held = {code: union_where(lo, hi, of == code) for code in codes}
    del lo, hi, of
    known = union(starts, ends)
    pauses, between_ops = eager_pauses(threads, thread, steps)
    without_input = difference(held[_IN_CALL], pending.input)
    launch = union_of(held[_LAUNCH], without_input, difference(pauses, known))
    present = Intervals(
        threads.start[thread.lo : thread.lo + 1],
        threads.end[thread.lo : thread.hi].max(keepdims=True),
    )
    batch_python = difference(made, union_of(known, launch))
    behind_loader = intersection(
        difference(present, union_of(_recorded(threads, thread), launch)),
        _python_of_loaders(threads, thread, loading),
    )
    calls = calls_that_wait(threads)
    calls = calls[thread.holds(calls)]
    locked_out = intersection(
        threads.when(calls),
        pending.pipeline_python,
    )
    locked_out = intersection(locked_out, held[_WAIT])
    return HostActivity(
        copy=_copies(threads, thread, launch, held[_WAIT]),
        compile=held[_COMPILE],
        input=union_of(held[_INPUT], batch_python, locked_out, behind_loader),
        launch=launch,
        wait=union_of(
            difference(held[_WAIT], locked_out),
            held[_WAIT_FOR_THREADS],
            difference(held[_IN_CALL], without_input),
        ),
        wait_for_threads=EMPTY if serves else held[_WAIT_FOR_THREADS],
        present=present,
        pending=pending,
        step_python=step_python,
        writing=writing,
        behind_loader=behind_loader,
        batch_python=batch_python,
        eager=eager_dispatch(threads, thread, between_ops),
        eager_elsewhere=eager_elsewhere(threads, steps),
    )


def _recorded(threads: Threads, thread: Thread) -> Intervals:
    """Where a thread is in any event, but for markers around what it dispatches."""
    mine = slice(thread.lo, thread.hi)
    start, end = threads.start[mine], threads.end[mine]
    begun = threads.start[dispatches(threads, thread)]
    holds = np.searchsorted(begun, end) > np.searchsorted(begun, start)
    telling = ~(holds & (threads.kind[mine] == HostClass.OTHER.value))
    return union(start[telling], end[telling])


def _python_of_loaders(
    threads: Threads, driver: Thread, loading: Int64Array
) -> Intervals:
    """When threads run Python of the program from which the driving one takes what they
    have made, in the calls that load; none where it takes nothing. What waits or sleeps
    lets others run, and so does what takes long without Python, as NumPy on a batch.
    """
    taken = threads.named(takes_result)
    taken = taken[driver.holds(taken)]
    if not threads.when(loading).contains(threads.start[taken]).any():
        return EMPTY
    frames, waits = threads.named(is_users_frame), threads.named(waits_or_sleeps)
    calls = threads.named(calls_no_python)
    calls = calls[threads.lengths(calls) >= _LONG_CALL_PS]
    following = np.append(threads.start[1:], 0)[calls]
    is_last = np.isin(calls + 1, [thread.hi for thread in threads.threads])
    calls_none = is_last | (following >= threads.end[calls])
    waits = np.union1d(waits, calls[calls_none])
    return union_of(
        *(
            difference(
                threads.when(frames[thread.holds(frames)]),
                threads.when(waits[thread.holds(waits)]),
            )
            for thread in threads.threads
            if thread.index != driver.index
        )
    )


def waits_for_threads(threads: Threads, thread: Thread) -> Int64Array:
    """Positions of the calls in which a thread waits for other threads or processes, as
    a server does for requests.
    """
    waits = threads.of(thread, HostClass.WAIT)
    return waits[threads.bear(waits, waits_for_others)]


def _copies(
    threads: Threads,
    thread: Thread,
    launch: Intervals,
    wait: Intervals,
) -> Intervals:
    """Where the thread's dispatches copy, or wait for another thread that copies for
    long; and where it reads an array for which one does: all of that reading is
    copying."""
    every = threads.everywhere(HostClass.COPY)
    if not len(every):
        return EMPTY
    own = threads.of(thread, HostClass.COPY)
    long = every[threads.lengths(every) >= _LARGE_COPY_PS]
    reads = threads.of(thread, HostClass.WAIT)
    reads = reads[threads.bear(reads, reads_array)]
    lo = threads.start[reads]
    hi = threads.end[reads]
    begun = np.sort(threads.start[long])
    large = np.searchsorted(begun, hi) > np.searchsorted(begun, lo)
    awaited = threads.when(long)
    own_or_awaited = union_of(threads.when(own), awaited)
    return union_of(
        intersection(own_or_awaited, launch),
        intersection(union(lo[large], hi[large]), wait),
    )


def _states(
    trace: HostTrace,
    threads: Threads,
    thread: Thread,
    loading: Int64Array,
    serves: bool,
) -> tuple[Int8Array, Int64Array, Int64Array]:
    """(state, start, end) of a thread's known events, sorted for nesting. loading:
    positions of calls that load.

    A dispatch inside loading or compiling belongs to it. A dispatch that mostly
    compiles is compiling throughout.
    """
    table = np.zeros(128, np.int8)
    for kind, code in _STATE.items():
        table[kind] = code
    state_of = table[threads.kind[thread.lo : thread.hi]].astype(np.int8)
    _mark_function_calls(trace, threads, thread, state_of)
    calls = threads.of(thread, HostClass.EAGER_OP)
    calls = calls[threads.bear(calls, is_eager_function)]
    state_of[calls - thread.lo] = (
        _IN_CALL  # executor threads do the work: dispatch, or the wait for a batch
    )
    waits = eager_runs(threads).waits
    state_of[waits[thread.holds(waits)] - thread.lo] = _WAIT
    others = waits_for_threads(threads, thread)
    state_of[others - thread.lo] = _WAIT_FOR_THREADS
    state_of[loading - thread.lo] = _INPUT
    asking = true_at(state_of == _INPUT) + thread.lo
    awaited = threads.when(asking).contains(threads.start[others])
    state_of[others[awaited] - thread.lo] = _INPUT
    if serves:  # its requests are no input that it could have loaded ahead
        state_of[others - thread.lo] = _WAIT_FOR_THREADS
    known = true_at(
        (state_of > 0)
        & (threads.end[thread.lo : thread.hi] > threads.start[thread.lo : thread.hi])
    )
    state = state_of[known]
    starts = threads.start[known + thread.lo]
    ends = threads.end[known + thread.lo]

    compiling = union(starts[state == _COMPILE], ends[state == _COMPILE])
    if len(compiling):
        share = compiling.within(starts, ends) / (ends - starts)
        state[is_in(state, (_LAUNCH, _IN_CALL)) & (share >= _COMPILING_SHARE)] = (
            _COMPILE
        )
        compiling = union(starts[state == _COMPILE], ends[state == _COMPILE])
    owned = compiling.contains(starts) | union(
        starts[state == _INPUT],
        ends[state == _INPUT],
    ).contains(starts)
    keep = ~(is_in(state, (_LAUNCH, _IN_CALL)) & owned)
    state = state[keep]
    starts = starts[keep]
    ends = ends[keep]

    wait_starts, wait_ends = _awaited(trace, threads, thread)
    if (
        not len(wait_starts)
        and ((starts[1:] > starts[:-1]) | (ends[1:] <= ends[:-1])).all()
    ):
        return (
            state,
            starts,
            ends,
            # as a thread's events mostly are: only a frame that was cut may be out of
            # order
        )
    state = np.concatenate([state, np.full(len(wait_starts), _WAIT, np.int8)])
    starts = np.concatenate([starts, wait_starts])
    ends = np.concatenate([ends, wait_ends])
    order = np.lexsort((-ends, starts))
    return state[order], starts[order], ends[order]


def _mark_function_calls(
    trace: HostTrace,
    threads: Threads,
    thread: Thread,
    state: Int8Array,
) -> None:
    """A call of a tf.function is dispatch, or compilation when its `tf_function_call`
    says that it was traced.
    """
    column = trace.stat(stats.TF_FUNCTION_CALL)
    event, code = column.codes()
    position = threads.positions(event)
    mine = thread.holds(position)
    traced = np.array(
        [text.startswith(stats.TRACED) for text in column.texts] or [False],
        np.bool_,
    )
    state[position[mine] - thread.lo] = np.where(traced[code[mine]], _COMPILE, _LAUNCH)


def _awaited(
    trace: HostTrace,
    threads: Threads,
    thread: Thread,
) -> tuple[Int64Array, Int64Array]:
    """Waits that the trace marks at both ends: an `Await` that produces an id and a
    later one that consumes it.
    """
    produced_at, produced = _waits_with_id(trace, threads, thread, stats.PRODUCER_ID)
    consumed_at, consumed = _waits_with_id(trace, threads, thread, stats.CONSUMER_ID)
    _, first, second = np.intersect1d(produced, consumed, return_indices=True)
    begin = threads.start[produced_at[first]]
    finish = threads.end[consumed_at[second]]
    keep = finish > begin
    return begin[keep], finish[keep]


def _waits_with_id(
    trace: HostTrace,
    threads: Threads,
    thread: Thread,
    stat: str,
) -> tuple[Int64Array, Int64Array]:
    """(position, id) of a thread's waits that bear one."""
    position, number = threads.integers(trace.stat(stat))
    mine = (
        (position >= thread.lo)
        & (position < thread.hi)
        & (threads.kind[position] == HostClass.WAIT.value)
    )
    return position[mine], number[mine]


def _pending(
    threads: Threads,
    driver: int,
    pipeline: BoolArray,
) -> Pending:
    """What the threads other than the driving one do."""
    beside = ~pipeline
    if driver >= 0:
        beside[threads.threads[driver].lo : threads.threads[driver].hi] = False

    compiling = threads.covered(beside, HostClass.COMPILE)
    waiting = difference(threads.covered(beside, HostClass.GET_NEXT), compiling)
    launching = threads.covered(
        beside,
        HostClass.LAUNCH,
        HostClass.PROCESS,
        HostClass.OP,
        HostClass.CONTROL_OP,
        HostClass.EAGER_OP,
    )
    python = threads.named(is_python_op)
    python = python[(threads.kind[python] == HostClass.OP.value) & pipeline[python]]
    running_python = threads.when(python)
    return Pending(
        compile=compiling,
        input=waiting,
        launch=difference(launching, union_of(compiling, waiting)),
        copy=threads.covered(beside, HostClass.COPY),
        pipeline_python=running_python,
    )


def _of_step(
    threads: Threads, pipeline: BoolArray, wanted: Callable[[str], bool]
) -> Intervals:
    """Where events of a wanted name run that are no work of the input pipeline, on any
    thread.
    """
    found = threads.named(wanted)
    found = found[~pipeline[found]]
    return threads.when(found)


def host_classes_of_time(activity: HostActivity) -> Mapping[TimeClass, Intervals]:
    """Disjoint sets of instants for COMPILE, INPUT, LAUNCH and HOST, waits already
    handed to what they wait for; beside them TRANSFER, when the host copies for a
    device, which may lie in LAUNCH.

    Host or dispatch time during which the input pipeline runs Python is input: Python's
    lock lets only one of the two run, and the driving thread is the one that waits.
    Python that the compiled step calls, and an op that writes a file, are host work,
    whoever runs them. Host time during which another thread runs the step op by op is
    dispatch. What a wait for other threads of the program waits for is the program's
    own work, whatever they do, unless they compile, dispatch or load; a server waits
    for requests.
    """
    pending = activity.pending
    own = union_of(activity.compile, activity.input, activity.launch, activity.wait)
    elsewhere = union_of(pending.compile, pending.input, pending.launch)
    host = union_of(
        difference(activity.present, own),
        difference(activity.wait_for_threads, elsewhere),
    )
    called = difference(
        union_of(activity.step_python, activity.writing),
        union_of(activity.compile, activity.input),
    )
    launch = difference(activity.launch, called)
    host = union_of(host, called)
    locked_out = intersection(union_of(launch, host), pending.pipeline_python)
    own_input = union_of(activity.input, locked_out)
    own_launch = difference(launch, locked_out)
    host = difference(host, locked_out)
    own_launch = union_of(own_launch, intersection(host, activity.eager_elsewhere))
    host = difference(host, activity.eager_elsewhere)
    busy_elsewhere = union_of(activity.compile, own_input, own_launch, host)
    return {
        TimeClass.COMPILE: union_of(
            activity.compile,
            difference(pending.compile, busy_elsewhere),
        ),
        TimeClass.INPUT: union_of(own_input, difference(pending.input, busy_elsewhere)),
        TimeClass.LAUNCH: union_of(
            own_launch,
            difference(pending.launch, busy_elsewhere),
        ),
        TimeClass.HOST: host,
        TimeClass.TRANSFER: union_of(
            activity.copy,
            difference(pending.copy, busy_elsewhere),
        ),
    }
