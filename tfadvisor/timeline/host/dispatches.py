"""Calls on host threads that start programs and ops, and the thread that makes most of
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np

from tfadvisor.arrays import (
    NO_VALUES,
    BoolArray,
    Int32Array,
    Int64Array,
    blocks,
    distinct,
    falses,
    is_in,
    occurrence,
    order_of,
    ranks,
    true_at,
    trues,
    zeros,
)
from tfadvisor.tallies import added_up
from tfadvisor.timeline.host.thread_layout import Thread
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import EMPTY, Intervals, parents, union, union_of
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.frames import traces_jax
from tfadvisor.timeline.names.host_activities import called_name
from tfadvisor.timeline.names.host_events import (
    blocks_in_eager_call,
    is_eager_function,
    is_kernel_of_one_op,
    is_single_op,
    op_type,
)
from tfadvisor.timeline.names.program_calls import (
    executes,
    is_jitted,
    module_of_call,
    names_what_it_dispatches,
    runs_program,
    without_marks,
)
from tfadvisor.timeline.timeline_parts import Device, Steps, modules_of_few_ops
from tfadvisor.timeline.windows import in_counted_steps
from tfadvisor.trace.columns import HostTrace

_COMPILES = 0.2
"""Of a trace's time in other events of the compiler: with this share it is one,
whatever runs inside.
"""
_INTERPRETED = 8
"""Jitted functions and executions inside a call: with so many, Python runs what should
be compiled.
"""


@lru_cache(maxsize=4)  # the hosts of a run mostly have the same names
def _modules_called(names: tuple[str, ...]) -> tuple[Int64Array, tuple[str, ...]]:
    """(which of the modules a call of each name runs, -1 for none; the modules)."""
    modules: dict[str, int] = {}
    of_name = np.full(len(names), -1)
    for row, module in enumerate(map(module_of_call, names)):
        if module is not None:
            of_name[row] = modules.setdefault(without_marks(module), len(modules))
    return of_name, tuple(modules)


def calls_of_modules(threads: Threads) -> Mapping[str, Int64Array]:
    """Positions of the outermost calls of the jitted function that XLA compiled to each
    module, in order of time. Modules as `without_marks` has them.
    """
    of_name, modules = _modules_called(threads.names)
    if threads.called or not modules:
        return threads.called
    positions = true_at((of_name >= 0)[threads.row])
    module = of_name[threads.row[positions]]
    order = order_of(module)
    bounds = np.searchsorted(module[order], np.arange(len(modules) + 1)).tolist()
    for name, lo, hi in zip(modules, bounds, bounds[1:], strict=False):
        mine = positions[order[lo:hi]]
        threads.called[name] = outermost_of_threads(threads, mine)
    return threads.called


def outermost_of_threads(threads: Threads, calls: Int64Array) -> Int64Array:
    """Those of the positions that lie in no other one of their thread, by time."""
    thread = threads.thread_of(calls)
    found = [outermost(threads, calls[thread == index]) for index in distinct(thread)]
    joined = np.concatenate(found) if found else calls
    return joined[order_of(threads.start[joined])]


def calls_of_module(threads: Threads, module: str) -> Int64Array:
    """Those of one module."""
    return calls_of_modules(threads).get(without_marks(module), NO_VALUES)


def dispatches(threads: Threads, thread: Thread) -> Int64Array:
    """Positions of a thread's outermost dispatches that name a program or an op.

    A jitted function that Python runs, as under jax_disable_jit, dispatches nothing
    itself: what it calls does.
    """
    found = threads.dispatched.get(thread.index)
    if found is None:
        found = threads.dispatched[thread.index] = _dispatches(threads, thread)
    return found


def _dispatches(threads: Threads, thread: Thread) -> Int64Array:
    candidates = threads.of(
        thread,
        HostClass.LAUNCH,
        HostClass.EAGER_OP,
        HostClass.GET_NEXT,
    )
    named = threads.bear(candidates, names_what_it_dispatches)
    return outermost(threads, candidates[named & ~_interpreted(threads, candidates)])


def calls_that_execute(threads: Threads) -> Int64Array:
    """For each time that a CPU's client is given a program: position of the jitted call
    around it, or of the event itself.

    In order of time.
    """
    found = [NO_VALUES]
    helpers = threads.named(runs_program)
    jitted = threads.named(is_jitted)
    for thread in distinct(threads.thread_of(helpers)).tolist():
        mine = np.sort(
            np.concatenate(
                [
                    positions[threads.thread_of(positions) == thread]
                    for positions in (helpers, jitted)
                ]
            )
        )
        around = parents(threads.start[mine], threads.end[mine])
        around = mine[np.where(around >= 0, around, np.arange(len(mine)))]
        found.append(around[is_in(mine, helpers)])
    calls = np.concatenate(found)
    return calls[order_of(threads.start[calls])]


def driving_thread(threads: Threads) -> int:
    """The thread that dispatches most programs and ops, -1 when none dispatches any.
    For traces without markers.
    """
    best = -1
    most = 0
    for thread in threads.threads:
        if not thread.is_pipeline:
            calls = dispatches(threads, thread)
            total = int(threads.lengths(calls).sum())
            if total > most:
                best = thread.index
                most = total
    return best


def without_evaluations(threads: Threads) -> Threads:
    """The threads with those of JAX's tracing events as plain frames that run programs
    op by op, and compile nothing.

    Up to JAX 0.6 a gradient outside of `jit` evaluates the forward pass inside
    `trace_to_jaxpr`.
    """
    traces = threads.named(traces_jax)
    if not len(traces):
        return threads
    kind = threads.kind.copy()
    thread = threads.thread_of(traces)
    for index in distinct(thread).tolist():
        kind[_evaluations(threads, threads.threads[index], traces[thread == index])] = (
            HostClass.FRAME
        )
    return msgspec.structs.replace(threads, kind=kind, dispatched={})


def _evaluations(
    threads: Threads,
    thread: Thread,
    traces: Int64Array,
) -> Int64Array:
    """Those of a thread's tracing events that lie in one, or are one, inside which many
    programs run.
    """
    launches = threads.of(thread, HostClass.LAUNCH)
    runs = threads.start[outermost(threads, launches[threads.bear(launches, executes)])]
    starts = threads.start[traces]
    ends = threads.end[traces]
    count = np.searchsorted(runs, ends) - np.searchsorted(runs, starts)
    others = threads.of(thread, HostClass.COMPILE)
    others = others[~is_in(others, traces[count > 0])]
    compiling = threads.when(others).within(starts, ends)
    evaluates = compiling < _COMPILES * (
        ends - starts
    )  # one in which nothing runs compiles throughout
    many = evaluates & (count >= _INTERPRETED)
    return traces[evaluates & union(starts[many], ends[many]).contains(starts)]


def _interpreted(threads: Threads, candidates: Int64Array) -> BoolArray:
    """Which of a thread's launches are jitted functions inside which many others
    execute programs of their own.
    """
    jitted = threads.bear(candidates, is_jitted)
    if not jitted.any():
        return jitted
    calls = _number_inside(threads, candidates, jitted) - jitted
    executions = _number_inside(threads, candidates, threads.bear(candidates, executes))
    return jitted & (calls >= _INTERPRETED) & (executions >= _INTERPRETED)


def _number_inside(
    threads: Threads,
    positions: Int64Array,
    chosen: BoolArray,
) -> Int64Array:
    """For each position of one thread, how many of the chosen ones begin in it, itself
    included.
    """
    starts = threads.start[positions[chosen]]
    before = np.searchsorted(starts, threads.start[positions])
    return np.searchsorted(starts, threads.end[positions]) - before


def outermost(threads: Threads, positions: Int64Array) -> Int64Array:
    """The positions (ascending, of one thread) that do not lie inside an
    earlier one.
    """
    reach = np.maximum.accumulate(threads.end[positions])
    keep = trues(positions)
    keep[1:] = threads.start[positions[1:]] >= reach[:-1]
    return positions[keep]


# Ops that run one by one: their kernels, and the dispatch that a compiled function
# would not need.

_EAGER_PAUSE_PS = 1_000_000_000
"""Python between two ops of an eagerly run step that takes up to this long (1 ms) is
the dispatch of the next op: what `tf.function` or `jax.jit` removes. Longer pauses are
the program's own work."""
_EAGER_PAUSE_BESIDE_A_FUNCTION_PS = 200_000_000
"""Where one compiled function holds most of a step's dispatch, the step is compiled.
Ops that run beside it one by one leave pauses of tens of µs; what takes longer (200 µs)
is work of a callback between reads of weights."""
_STRAY_PAUSE_PS = 50_000_000_000
"""Where another program takes the core away for a moment, a pause lasts as long as the
scheduler's turn. Recorded: 4 to 32 ms. What takes longer than this (50 ms) is work of
the program that is not done in every step."""
_FEW_PAUSES = 4
"""Fewer pauses than this of one place do not tell how long they usually are."""
_MOST_OF_DISPATCH = 0.5
_EAGER_DISPATCHES = 8
"""A step with fewer dispatches than this is not run eagerly."""


def eager_dispatch(
    threads: Threads,
    thread: Thread,
    pauses: Intervals,
) -> Intervals:
    """Where TensorFlow dispatches ops by themselves, and the short pauses between two
    of them.
    """
    if not len(pauses):
        return EMPTY
    calls = threads.of(thread, HostClass.EAGER_OP)
    calls = calls[threads.bear(calls, is_single_op)]
    return union_of(pauses, threads.when(calls))


def calls_of_one_op(
    threads: Threads, steps: Steps, devices: Sequence[Device]
) -> Int64Array:
    """Positions of the driving thread's calls of JAX programs of one or two ops, as
    each operation on arrays outside of a compiled function is.
    """
    if steps.thread < 0:
        return NO_VALUES
    calls = dispatches(threads, threads.threads[steps.thread])
    if not threads.bear(calls, is_jitted).any():
        return NO_VALUES
    small = _modules_of_one_op(devices)

    def runs_one_op(name: str) -> bool:
        module = module_of_call(name)
        return module is not None and without_marks(module) in small

    return calls[threads.bear(calls, runs_one_op)]


def one_by_one(threads: Threads, steps: Steps, alone: Int64Array) -> Intervals:
    """Where these calls are, with the short pauses between two of them. alone: of
    calls_of_one_op.
    """
    if not len(alone):
        return EMPTY
    thread = threads.threads[steps.thread]
    _, pauses = eager_pauses(threads, thread, steps, alone)
    if not len(pauses):
        return EMPTY
    return union_of(pauses, threads.when(alone))


def _modules_of_one_op(devices: Sequence[Device]) -> frozenset[str]:
    """As `without_marks` has them."""
    return frozenset(
        without_marks(device.ops.names[module])
        for device in devices
        for module in modules_of_few_ops(
            device.ops.name, device.ops.module, device.ops.program
        ).tolist()
    )


def eager_elsewhere(threads: Threads, steps: Steps) -> Intervals:
    """Where other threads of Python run a step op by op, as one for each replica does:
    the driving thread waits for them.
    """
    found = EMPTY
    for thread in threads.threads:
        if (
            thread.index != steps.thread
            and not thread.is_pipeline
            and len(threads.of(thread, HostClass.EAGER_OP))
        ):
            _, between_ops = eager_pauses(threads, thread, steps)
            found = union_of(found, eager_dispatch(threads, thread, between_ops))
    return found


def eager_pauses(
    threads: Threads,
    thread: Thread,
    steps: Steps,
    alone: Int64Array | None = None,
) -> tuple[Intervals, Intervals]:
    """Short pauses between the dispatches of one eagerly run step, or of ops beside its
    compiled function.

    All of them, and those between two ops that are dispatched by themselves. alone:
    positions of these; None for TensorFlow's eager ops.
    """
    calls = dispatches(threads, thread)
    starts = threads.start[calls]
    ends = threads.end[calls]
    step = np.searchsorted(steps.starts, starts, side="right") - 1
    count = np.bincount(step[step >= 0], minlength=len(steps))
    eager = (step >= 0) & (count[np.maximum(step, 0)] >= _EAGER_DISPATCHES)
    length = np.where(step >= 0, ends - starts, 0)
    longest = zeros(steps)
    single = threads.bear(calls, is_single_op)
    if alone is not None:
        single = is_in(calls, alone)
    np.maximum.at(longest, np.maximum(step, 0), np.where(single, 0, length))
    compiled = longest >= _MOST_OF_DISPATCH * np.bincount(
        np.maximum(step, 0),
        length,
        len(steps),
    )
    limit = np.where(compiled, _EAGER_PAUSE_BESIDE_A_FUNCTION_PS, _EAGER_PAUSE_PS)[
        np.maximum(step[1:], 0)
    ]
    inside = (step[1:] == step[:-1]) & eager[1:]
    pause = starts[1:] - ends[:-1]
    stray = ~compiled[np.maximum(step[1:], 0)] & _strays(
        threads.row[calls],
        step,
        pause,
        inside,
    )
    short = inside & ((pause <= limit) | stray)
    between_ops = short & single[:-1] & single[1:]
    return union(ends[:-1][short], starts[1:][short]), union(
        ends[:-1][between_ops],
        starts[1:][between_ops],
    )


def _strays(
    row: Int32Array,
    step: Int64Array,
    pause: Int64Array,
    inside: BoolArray,
) -> BoolArray:
    """Which pauses are long although at most steps' same place, between the same two
    calls, they are short: the core was taken away, where work of the loop would come
    back. row, step: of the calls. inside: pauses within one step.
    """
    if not inside.any():
        return inside
    width = int(row.max()) + 1
    pair = ranks(row[:-1].astype(np.int64) * width + row[1:])
    of_step = ranks(step[1:]) * (int(pair.max()) + 1) + pair
    place = np.where(inside, ranks(pair * len(pair) + occurrence(of_step)), -1)
    order = np.lexsort((pause, place))
    bounds = np.searchsorted(place[order], np.arange(int(place.max()) + 2))
    count = np.diff(bounds)
    usual = pause[order[bounds[:-1] + count // 2]]
    usual = np.where(count >= _FEW_PAUSES, usual, _STRAY_PAUSE_PS)
    return (
        inside
        & (usual[np.maximum(place, 0)] <= _EAGER_PAUSE_PS)
        & (pause <= _STRAY_PAUSE_PS)
    )


def ops_run_eagerly(threads: Threads) -> Int64Array:
    """Positions of the ops that the eager runtime runs itself: up to TensorFlow 2.8
    under their own name.
    """
    if len(kernels := eager_runs(threads).kernels):
        return kernels
    found = []
    for thread in threads.threads:
        calls = threads.of(thread, HostClass.EAGER_OP)
        calls = calls[threads.bear(calls, is_single_op)]
        ops = threads.of(thread, HostClass.OP)
        found.append(ops[threads.when(calls).contains(threads.start[ops])])
    return _joined(found)


def called_functions(threads: Threads) -> frozenset[str]:
    """The compiled functions that Python calls, by name."""
    return _called_functions(threads.names, threads.borne.tobytes())


@lru_cache(maxsize=4)  # the hosts of a run mostly have the same names
def _called_functions(names: tuple[str, ...], borne: bytes) -> frozenset[str]:
    """borne: of Threads."""
    rows = true_at(np.frombuffer(borne, np.bool_)).tolist()
    called = {called_name(names[row]) for row in rows}
    return frozenset(function for function in called if function)


class EagerRuns(NamedTuple):
    """What the eager runtime runs. kernels: positions of runs of one op. calls: of the
    `EagerLocalExecute: Op` around each, which names the op. waits: of runs of functions
    that it waits for.
    """

    kernels: Int64Array
    calls: Int64Array
    waits: Int64Array


def eager_runs(threads: Threads) -> EagerRuns:
    """Runs of ops, and of functions.

    A run inside a GET_NEXT event is neither. TensorFlow 2.3 to 2.8 write no event of
    the run itself: the call around it waits for a function as long.
    """
    if not len(threads.everywhere(HostClass.RUN_EAGER)):
        return EagerRuns(_joined([]), _joined([]), calls_that_wait(threads))
    kernels = []
    calls = []
    waits = []
    for thread in threads.threads:
        runs = threads.of(thread, HostClass.RUN_EAGER)
        if not len(runs):
            continue
        around = threads.of(thread, HostClass.EAGER_OP, HostClass.GET_NEXT)
        if not len(around):
            waits.append(runs)
            continue
        place = (
            np.searchsorted(threads.start[around], threads.start[runs], side="right")
            - 1
        )
        owner = around[np.maximum(place, 0)]
        enclosed = (place >= 0) & (threads.end[owner] >= threads.end[runs])
        plain = threads.bear(owner, is_kernel_of_one_op)
        get_next = enclosed & (threads.kind[owner] == HostClass.GET_NEXT.value)
        kernels.append(runs[enclosed & plain & ~get_next])
        calls.append(owner[enclosed & plain & ~get_next])
        waits.append(runs[~(enclosed & plain) & ~get_next])
    return EagerRuns(_joined(kernels), _joined(calls), _joined(waits))


def calls_that_wait(threads: Threads) -> Int64Array:
    """Positions of the eager runtime's blocking calls of functions, inside the
    `EagerLocalExecute: __inference_…` that names each; of TensorFlow 2.3 to 2.8, which
    write no event of the run itself.
    """
    calls = threads.named(blocks_in_eager_call)
    if not len(calls) or len(threads.everywhere(HostClass.RUN_EAGER)):
        return _joined([])
    found = []
    for thread in threads.threads:
        lo, hi = np.searchsorted(calls, [thread.lo, thread.hi])
        around = threads.of(thread, HostClass.EAGER_OP)
        around = around[threads.bear(around, is_eager_function)]
        mine = calls[lo:hi]
        found.append(mine[threads.when(around).contains(threads.start[mine])])
    return _joined(found)


def _joined(parts: list[Int64Array]) -> Int64Array:
    return np.sort(np.concatenate([NO_VALUES, *parts]))


# Which framework ops run on the host: although the run has an accelerator, and in the
# input pipeline.


class HostOps(msgspec.Struct, frozen=True):
    """Ops on the host during the counted steps: time by op type, the largest
    first, ps.
    """

    total_ps: int
    by_type: tuple[tuple[str, int], ...]


def host_ops(
    trace: HostTrace,
    threads: Threads,
    steps: Steps,
    pipeline: BoolArray,
) -> HostOps:
    """Ops that launch nothing while they run, so that their time is work of the host
    and not the dispatch of a kernel.

    Ops of the input pipeline belong on the host and are left out.
    """
    ops = threads.everywhere(HostClass.OP, among=~pipeline)
    if not len(ops):
        return HostOps(0, ())
    launches, _ = threads.integers(trace.stat(stats.CORRELATION_ID))
    if not len(launches):
        return _by_type(threads, steps, ops)
    launches = np.sort(launches)
    first = np.searchsorted(launches, ops)
    following = launches[np.minimum(first, len(launches) - 1)]
    same_thread = threads.thread_of(following) == threads.thread_of(ops)
    launching = (
        (first < len(launches))
        & same_thread
        & (threads.start[following] < threads.end[ops])
    )
    return _by_type(threads, steps, ops[~launching])


def pipeline_ops(
    threads: Threads,
    steps: Steps,
    pipeline: BoolArray,
) -> HostOps:
    """Ops of the functions that tf.data maps over elements."""
    return _by_type(threads, steps, threads.everywhere(HostClass.OP, among=pipeline))


def _by_type(
    threads: Threads,
    steps: Steps,
    ops: Int64Array,
) -> HostOps:
    """Those of the ops that begin in counted steps."""
    time = zeros(threads.names)
    seen = falses(threads.names)
    for part in blocks(len(ops)):
        mine = ops[part]
        mine = mine[in_counted_steps(threads.start[mine], steps)]
        np.add.at(time, threads.row[mine], threads.lengths(mine))
        seen[threads.row[mine]] = True
    rows = zip(true_at(seen).tolist(), time[seen].tolist(), strict=True)
    named = ((threads.names[row], ps) for row, ps in rows)
    by_type = added_up((op_type(name) or name, ps) for name, ps in named)
    return HostOps(
        int(time.sum()),
        tuple(sorted(by_type.items(), key=lambda item: -item[1])),
    )
