"""Steps that nobody marked: by batches, by a function, by a module, or by a repeated
pattern of dispatches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import (
    BoolArray,
    Int64Array,
    distinct,
    group_spans,
    is_in,
    median,
    order_of,
    ranks,
    true_at,
    zeros,
)
from tfadvisor.timeline.devices.device_kinds import program_lines
from tfadvisor.timeline.host.dispatches import calls_of_module, dispatches, outermost
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import DeviceClass, HostClass
from tfadvisor.timeline.names.entries import without_prediction
from tfadvisor.timeline.names.host_events import (
    fills_variable,
    function_name,
    is_eager_function,
    makes_variable,
)
from tfadvisor.timeline.names.program_calls import program_name
from tfadvisor.timeline.steps.markers import grouped
from tfadvisor.timeline.steps.periodicity import (
    LEAST_CYCLES,
    Inferred,
    Period,
    find_period,
    inferred,
)
from tfadvisor.timeline.timeline_parts import Device, StepSource
from tfadvisor.timeline.windows import leading
from tfadvisor.trace.columns import HostTrace


def batches_taken(threads: Threads, driver: int) -> Inferred | None:
    """One batch a step: each time the driving thread asks tf.data for one."""
    if driver < 0:
        return None
    calls = _first_of_each_batch(threads, driver)
    if len(calls) < LEAST_CYCLES:
        return None
    return inferred(
        threads.start[calls],
        threads.end[calls],
        StepSource.HOST_LOOP,
        0.8,
        driver,
        "batches taken from the input pipeline",
    )


_LAYERS = 2
"""Calls between one batch and the next, as a rule, where each is of a layer."""


def batches_of_layered_steps(
    threads: Threads,
    functions: Inferred | None,
) -> Inferred | None:
    """A loop that takes one batch for several calls of a function steps from batch to
    batch: each layer is a function.
    """
    if functions is None:
        return functions
    batches = batches_taken(threads, functions.thread)
    if batches is None or not batches.confidence:
        return functions
    calls = np.diff(np.searchsorted(functions.starts, batches.starts))
    return batches if median(calls) >= _LAYERS else functions


def thread_that_takes_most(threads: Threads) -> int:
    """The thread that takes most batches from tf.data, -1 when none does. With replicas
    it is not the one that dispatches.
    """
    taken = [
        (len(threads.of(thread, HostClass.GET_NEXT)), -thread.index)
        for thread in threads.threads
        if not thread.is_pipeline
    ]
    most, index = max(taken, default=(0, 0))
    return -index if most else -1


def _first_of_each_batch(threads: Threads, index: int) -> Int64Array:
    """Calls that take a batch from tf.data; of several in a row, one for each replica,
    the first.
    """
    thread = threads.threads[index]
    calls = outermost(threads, threads.of(thread, HostClass.GET_NEXT))
    others = dispatches(threads, thread)
    others = others[~is_in(others, calls)]
    between = np.searchsorted(others, calls)
    return calls[np.insert(np.diff(between) > 0, 0, True)] if len(calls) else calls


# Steps as calls of a tf.function, and as iterations of a loop inside one.

_FILLS = 0.25
"""Calls of a function are steps before all else where they take at least this share of
the time from the first to the last.
"""
_TAKEN = 0.8
"""Iterations are steps where at least so many batches are taken meanwhile, for each of
them.
"""


def calls_of_tf_function(
    trace: HostTrace,
    threads: Threads,
    least: float = _FILLS,
) -> Inferred | None:
    """Calls of the tf.function that takes most time on its thread. least: of the time
    from the first to the last.
    """
    position = threads.positions(trace.stat(stats.TF_FUNCTION_CALL).event)
    position = distinct(position[position >= 0])
    if not len(position):
        position = threads.everywhere(HostClass.EAGER_OP)
        position = position[threads.bear(position, is_eager_function)]
    position = position[~threads.on_pipeline_threads(position)]
    if not len(position):
        return None
    names, code = grouped(threads.row[position], threads.names, function_name)
    trains = is_in(code, np.array(without_prediction(names)))
    position, code = position[trains], code[trains]
    thread = threads.thread_of(position)
    best: Inferred | None = None
    longest = 0
    for key in distinct(thread * len(names) + code).tolist():
        mine = outermost(threads, position[thread * len(names) + code == key])
        starts = threads.start[mine]
        ends = threads.end[mine]
        total = int((ends - starts).sum())
        fills = total >= least * int(ends[-1] - starts[0])
        if len(mine) >= LEAST_CYCLES and fills and total > longest:
            about = f"calls of {names[key % len(names)]}"
            best = inferred(
                starts,
                ends,
                StepSource.MODULE,
                0.9,
                key // len(names),
                about,
            )
            longest = total
    return best


def iterations_in_function(trace: HostTrace, threads: Threads) -> Inferred | None:
    """Iterations of a TensorFlow training loop inside one function call: `iter_num` of
    the executor's work.

    A loop over time steps of one batch looks the same; a training loop takes a batch
    from the pipeline each time.
    """
    position, iteration = threads.integers(trace.stat(stats.LOOP_ITERATION))
    id_position, step_id = threads.integers(trace.stat(stats.EXECUTOR_STEP))
    if not len(id_position):
        return None
    where = np.minimum(np.searchsorted(id_position, position), len(id_position) - 1)
    matches = id_position[where] == position
    position = position[matches]
    iteration = iteration[matches]
    run = step_id[where[matches]]
    if not len(position):
        return None
    runs, inverse = np.unique(run, return_inverse=True)
    most = zeros(runs)
    np.maximum.at(most, inverse, iteration)
    mine = (inverse == int(np.argmax(most))) & (iteration > 0)
    numbers, group = np.unique(iteration[mine], return_inverse=True)
    if len(numbers) < LEAST_CYCLES:
        return None
    starts, ends = group_spans(
        group,
        threads.start[position[mine]],
        threads.end[position[mine]],
    )
    batches = threads.start[threads.everywhere(HostClass.GET_NEXT)]
    taken = int(((batches >= starts[0]) & (batches <= ends[-1])).sum())
    if (np.diff(starts) <= 0).any() or taken < _TAKEN * len(numbers):
        return None
    about = "iterations of a loop inside one function call"
    return inferred(starts, ends, StepSource.HOST_LOOP, 0.8, -1, about)


# Steps as executions of one XLA program: on a device's line of programs, or as calls of
# the jitted function.

_MOST_OF_TIME = 0.5
_AHEAD = 0.5
"""Steps are taken from the devices' events only where more calls than this share were
over before their work began.
"""


def executions_on_device(trace: HostTrace) -> Inferred | None:
    """Executions of the program that takes most of a line of whole programs, as TPUs
    have one.
    """
    lines = trace.lines
    for line in program_lines(trace):
        part = slice(int(lines.first[line]), int(lines.first[line + 1]))
        start = trace.events.start_ps[part]
        duration = trace.events.duration_ps[part]
        row = trace.events.row[part]
        if not len(start):
            continue
        names, group = grouped(row, trace.names.name, program_name)
        totals = np.bincount(group, duration, len(names))
        top = int(np.argmax(totals))
        mine = true_at(group == top)
        mine = mine[order_of(start[mine])]
        if len(mine) >= LEAST_CYCLES and totals[top] >= _MOST_OF_TIME * totals.sum():
            about = f"executions of {names[top]}"
            return inferred(
                start[mine],
                start[mine] + duration[mine],
                StepSource.MODULE,
                0.9,
                -1,
                about,
            )
    return None


def calls_of_jitted_function(
    threads: Threads,
    devices: Sequence[Device],
    driver: int,
) -> Inferred | None:
    """Calls of the jitted function whose module takes at least half of the
    device time.
    """
    top = _main_module(devices)
    if top is None:
        return None
    calls = calls_of_module(threads, top)
    calls = calls[threads.thread_of(calls) == driver]
    if len(calls) < LEAST_CYCLES:
        return None
    about = f"calls of {threads.names[threads.row[calls[0]]]}"
    found = inferred(
        threads.start[calls],
        threads.end[calls],
        StepSource.MODULE,
        0.9,
        driver,
        about,
    )
    begun = _first_events(devices, threads.start[calls])
    if found.confidence > 0 or begun is None:
        return found
    return replace(
        found,
        confidence=inferred(
            begun,
            begun,
            StepSource.MODULE,
            0.9,
            driver,
            about,
        ).confidence,
    )


def runs_called_before(
    threads: Threads,
    devices: Sequence[Device],
    driver: int,
) -> Inferred | None:
    """Runs of that module on the busiest device, where the host had called all of them
    before the trace began.
    """
    top = _main_module(devices)
    if top is None or len(calls_of_module(threads, top)):
        return None
    ops = max(devices, key=lambda device: device.compute.length()).ops
    mine = true_at(ops.meeting >= 0)
    modules = [row for row, name in enumerate(ops.names) if name == top]
    mine = mine[is_in(ops.module[mine], modules)]
    begins, ends = group_spans(ranks(ops.meeting[mine]), ops.start[mine], ops.end[mine])
    if len(begins) < LEAST_CYCLES:
        return None
    order = order_of(begins)
    return inferred(
        begins[order],
        ends[order],
        StepSource.MODULE,
        0.8,
        driver,
        f"runs of {top}, called before the trace",
    )


def _main_module(devices: Sequence[Device]) -> str | None:
    """The one that takes at least half of the time of events that belong to any."""
    time_by_module: dict[str, int] = {}
    for device in devices:
        known = device.ops.module >= 0
        length = (device.ops.end - device.ops.start)[known]
        for module in distinct(device.ops.module[known]).tolist():
            name = device.ops.names[module]
            share = int(length[device.ops.module[known] == module].sum())
            time_by_module[name] = time_by_module.get(name, 0) + share
    top = max(time_by_module, key=time_by_module.__getitem__, default=None)
    if top is not None and time_by_module[top] >= _MOST_OF_TIME * sum(
        time_by_module.values()
    ):
        return top
    return None


def _first_events(devices: Sequence[Device], calls: Int64Array) -> Int64Array | None:
    """When the devices began with what each call dispatched, in order, but for the last
    calls if the trace ends before.

    A host that is ahead dispatches in bursts, as its queue has room; the devices then
    hold the rhythm.
    """
    begun = np.full(len(calls), np.iinfo(np.int64).max)
    for device in devices:
        ops = device.ops
        index = np.searchsorted(calls, ops.launch_start)
        known = (ops.launch_start >= 0) & (index < len(calls))
        known[known] = calls[index[known]] == ops.launch_start[known]
        np.minimum.at(begun, index[known], ops.start[known])
    begun = begun[: leading(begun < np.iinfo(np.int64).max)]
    if len(begun) < LEAST_CYCLES or (np.diff(begun) <= 0).any():
        return None
    ahead = begun[:-1] >= calls[1 : len(begun)]
    return begun if ahead.mean() > _AHEAD else None


_MOSTLY_MAKING = 0.5
"""Of the turns of a sequence, in which variables are made, and those in which nothing
else is done than to fill them: with so many of both it fills them for the first time.
"""
_MOST_FILLING = 12
"""Dispatches of such a turn."""

# Steps as a sequence that repeats: of dispatches on the driving thread, or of kernels
# on a device.


def repeated_dispatches(threads: Threads, driver: int) -> Inferred | None:
    """A repeated sequence of dispatched programs and ops on the driving thread. That
    variables are made one after the other is none.
    """
    if driver < 0:
        return None
    calls = dispatches(threads, threads.threads[driver])
    is_making = threads.bear(calls, makes_variable)
    made = threads.start[calls[is_making]]
    calls = calls[~is_making]
    if len(calls) < 4 * LEAST_CYCLES:
        return None
    starts = threads.start[calls]
    ends = threads.end[calls]
    period = find_period(threads.row[calls].astype(np.int64), starts, ends)
    if period is None or len(period.firsts) < LEAST_CYCLES:
        return None
    is_other = ~threads.bear(calls, fills_variable)
    if _only_makes(starts[period.firsts], made, period, is_other):
        return None
    lasts = np.append(period.firsts[1:] - 1, len(calls) - 1)
    about = f"a repeated sequence of {period.length} dispatches"
    return inferred(
        starts[period.firsts],
        ends[lasts],
        StepSource.LAUNCH_PATTERN,
        0.8 * period.match,
        driver,
        about,
    )


def _only_makes(
    starts: Int64Array, made: Int64Array, period: Period, is_other: BoolArray
) -> bool:
    """Whether the turns that begin at `starts` make variables, at `made`, and do
    nothing else. is_other: by dispatch, whether it does something else.
    """
    making = np.diff(np.searchsorted(made, starts)) > 0
    others = np.add.reduceat(is_other.astype(np.int64), period.firsts)[:-1]
    is_small = period.length <= _MOST_FILLING
    return is_small and bool(
        making.mean() >= _MOSTLY_MAKING and (others == 0).mean() >= _MOSTLY_MAKING
    )


def repeated_kernels(devices: Sequence[Device]) -> Inferred | None:
    """A repeated sequence of kernels on the busiest device."""
    active = [device for device in devices if device.is_active]
    if not active:
        return None
    device = max(active, key=lambda candidate: candidate.compute.length())
    kernels = true_at(device.ops.kind == DeviceClass.COMPUTE.value)
    if len(kernels) < 4 * LEAST_CYCLES:
        return None
    starts = device.ops.start[kernels]
    ends = device.ops.end[kernels]
    period = find_period(device.ops.name[kernels].astype(np.int64), starts, ends)
    if period is None or period.length < 2 or len(period.firsts) < LEAST_CYCLES:
        return None
    lasts = np.append(period.firsts[1:] - 1, len(kernels) - 1)
    about = f"a repeated sequence of {period.length} kernels"
    return inferred(
        starts[period.firsts],
        ends[lasts],
        StepSource.LAUNCH_PATTERN,
        0.7 * period.match,
        -1,
        about,
    )
