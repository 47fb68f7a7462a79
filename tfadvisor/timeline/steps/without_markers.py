"""Steps that nobody marked: by batches, by a function, by a module, or by a repeated pattern of dispatches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import distinct, is_in, true_at
from tfadvisor.timeline.devices.registry import program_lines
from tfadvisor.timeline.host.dispatches import calls_of_module, dispatches, outermost
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.model import Device, StepSource
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.host import function_name, is_eager_function
from tfadvisor.timeline.names.programs import program_name
from tfadvisor.timeline.steps.markers import grouped
from tfadvisor.timeline.steps.periodicity import LEAST_CYCLES, Inferred, find_period, inferred
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


def batches_of_layered_steps(threads: Threads, functions: Inferred | None) -> Inferred | None:
    """A loop that takes one batch for several calls of a function steps from batch to batch: each layer is a function."""
    if functions is None:
        return functions
    batches = batches_taken(threads, functions.thread)
    if batches is None or not batches.confidence or len(functions.starts) < 2 * len(batches.starts):
        return functions
    return batches


def _first_of_each_batch(threads: Threads, index: int) -> Int64Array:
    """Calls that take a batch from tf.data; of several in a row, one for each replica, the first."""
    thread = threads.threads[index]
    calls = outermost(threads, threads.of(thread, HostClass.GET_NEXT))
    others = dispatches(threads, thread)
    others = others[~is_in(others, calls)]
    between = np.searchsorted(others, calls)
    return calls[np.insert(np.diff(between) > 0, 0, True)] if len(calls) else calls


# Steps as calls of a tf.function.

_FILLS = 0.25
"""Calls of a function are steps where they take at least this share of the time from the first to the last."""


def calls_of_tf_function(trace: HostTrace, threads: Threads) -> Inferred | None:
    """Calls of the tf.function that takes most time on its thread."""
    position = threads.positions(trace.stat(stats.TF_FUNCTION_CALL).event)
    position = distinct(position[position >= 0])
    if not len(position):
        position = threads.everywhere(HostClass.EAGER_OP)
        position = position[threads.bear(position, is_eager_function)]
    position = position[~threads.on_pipeline_threads(position)]
    if not len(position):
        return None
    names, code = grouped(threads.row[position], threads.names, function_name)
    thread = threads.thread_of(position)
    best: Inferred | None = None
    longest = 0
    for one in distinct(thread * len(names) + code).tolist():
        mine = outermost(threads, position[thread * len(names) + code == one])
        starts, ends = threads.start[mine], threads.end[mine]
        total = int((ends - starts).sum())
        fills = total >= _FILLS * int(ends[-1] - starts[0])
        if len(mine) >= LEAST_CYCLES and fills and total > longest:
            about = f"calls of {names[one % len(names)]}"
            best = inferred(starts, ends, StepSource.MODULE, 0.9, one // len(names), about)
            longest = total
    return best


# Steps as executions of one XLA program: on a device's line of programs, or as calls of the jitted function.

_MOST_OF_TIME = 0.5
_AHEAD = 0.5
"""Steps are taken from the devices' events only where more calls than this share were over before their work began."""


def executions_on_device(trace: HostTrace) -> Inferred | None:
    """Executions of the program that takes most of a line of whole programs, as TPUs have one."""
    lines = trace.lines
    for line in program_lines(trace):
        part = slice(int(lines.first[line]), int(lines.first[line + 1]))
        start, duration, row = trace.events.start_ps[part], trace.events.duration_ps[part], trace.events.row[part]
        if not len(start):
            continue
        names, group = grouped(row, trace.names.name, program_name)
        totals = np.bincount(group, duration, len(names))
        top = int(np.argmax(totals))
        mine = true_at(group == top)
        mine = mine[np.argsort(start[mine], kind="stable")]
        if len(mine) >= LEAST_CYCLES and totals[top] >= _MOST_OF_TIME * totals.sum():
            about = f"executions of {names[top]}"
            return inferred(start[mine], start[mine] + duration[mine], StepSource.MODULE, 0.9, -1, about)
    return None


def calls_of_jitted_function(threads: Threads, devices: Sequence[Device], driver: int) -> Inferred | None:
    """Calls of the jitted function whose module takes at least half of the device time."""
    top = _main_module(devices)
    if top is None:
        return None
    calls = calls_of_module(threads, top)
    calls = calls[threads.thread_of(calls) == driver]
    if len(calls) < LEAST_CYCLES:
        return None
    about = f"calls of {threads.names[threads.row[calls[0]]]}"
    found = inferred(threads.start[calls], threads.end[calls], StepSource.MODULE, 0.9, driver, about)
    begun = _first_events(devices, threads.start[calls])
    if found.confidence > 0 or begun is None:
        return found
    return replace(found, confidence=inferred(begun, begun, StepSource.MODULE, 0.9, driver, about).confidence)


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
    top = max(time_by_module, key=lambda name: time_by_module[name], default=None)
    return top if top is not None and time_by_module[top] >= _MOST_OF_TIME * sum(time_by_module.values()) else None


def _first_events(devices: Sequence[Device], calls: Int64Array) -> Int64Array | None:
    """When the devices began with what each call dispatched, in order, but for the last calls if the trace ends before.

    A host that is ahead dispatches in bursts, as its queue has room; the devices then hold the rhythm.
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


# Steps as a sequence of dispatches on the driving thread that repeats.


def repeated_dispatches(threads: Threads, driver: int) -> Inferred | None:
    """A repeated sequence of dispatched programs and ops on the driving thread."""
    if driver < 0:
        return None
    calls = dispatches(threads, threads.threads[driver])
    if len(calls) < 4 * LEAST_CYCLES:
        return None
    starts, ends = threads.start[calls], threads.end[calls]
    period = find_period(threads.row[calls].astype(np.int64), starts, ends)
    if period is None or len(period.firsts) < LEAST_CYCLES:
        return None
    lasts = np.append(period.firsts[1:] - 1, len(calls) - 1)
    about = f"a repeated sequence of {period.length} dispatches"
    return inferred(starts[period.firsts], ends[lasts], StepSource.LAUNCH_PATTERN, 0.8 * period.match, driver, about)
