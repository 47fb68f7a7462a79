"""Steps of a trace without markers: from executions of one program, from a pattern of launches, from the host's loop."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import distinct, is_in, median
from tfadvisor.timeline.devices.registry import program_lines
from tfadvisor.timeline.host.dispatches import calls_of_module, dispatches, outermost
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.model import Device, StepSource
from tfadvisor.timeline.names.classes import DeviceClass, HostClass
from tfadvisor.timeline.steps.periodicity import find_period
from tfadvisor.xplane.columns import HostTrace

if TYPE_CHECKING:
    import numpy.typing as npt

_LEAST_CYCLES = 3
_LARGEST_SPREAD = 0.35
"""Median deviation from the median period, as a share of it, beyond which cycles are no steps. Recorded training loops
stay below 0.1, unrelated calls of one helper function lie above 0.45."""
_FEW_PERIODS = 5
_AHEAD = 0.5
"""Steps are told by the devices' events only where more calls than this share were over before their work began."""
_FUNCTION_NUMBER = re.compile(r"(?:_\d+)+$")
_MODULE_NUMBER = re.compile(r"\(\d+\)$")


class Inferred(msgspec.Struct, frozen=True):
    """Where steps begin, when the last one's own work ends, and how sure that is."""

    starts: Int64Array
    ends: Int64Array
    source: StepSource
    confidence: float
    thread: int
    about: str


def inferred_steps(trace: HostTrace, threads: Threads, devices: Sequence[Device], driver: int) -> Inferred | None:
    """The first of these that gives three cycles: module executions, a launch pattern, the host's loop."""
    for attempt in (
        _device_module_line(trace),
        _jax_program(threads, devices, driver),
        _one_batch_a_step(threads, _tf_function(trace, threads)),
        _executor_loop(trace, threads),
        _batches(threads, driver),
        _batches(threads, _taker(threads)),
        _host_pattern(threads, driver),
        _device_pattern(devices),
    ):
        if attempt is not None and attempt.confidence > 0:
            return attempt
    return None


def _device_module_line(trace: HostTrace) -> Inferred | None:
    """Executions of the program that takes most of a line of whole programs, as TPUs have one."""
    lines = trace.lines
    for line in program_lines(trace):
        part = slice(int(lines.first[line]), int(lines.first[line + 1]))
        start, duration, row = trace.events.start_ps[part], trace.events.duration_ps[part], trace.events.row[part]
        if not len(start):
            continue
        names, group = _grouped(row, {used: _MODULE_NUMBER.sub("", trace.names.name[used]) for used in _distinct(row)})
        totals = np.bincount(group, duration, len(names))
        top = int(np.argmax(totals))
        mine = np.flatnonzero(group == top)
        mine = mine[np.argsort(start[mine], kind="stable")]
        if len(mine) >= _LEAST_CYCLES and totals[top] >= 0.5 * totals.sum():
            about = f"executions of {names[top]}"
            return _inferred(start[mine], start[mine] + duration[mine], StepSource.MODULE, 0.9, -1, about)
    return None


def _jax_program(threads: Threads, devices: Sequence[Device], driver: int) -> Inferred | None:
    """Calls of the jitted function whose module takes at least half of the device time."""
    time_by_module: dict[str, int] = {}
    for device in devices:
        known = device.ops.module >= 0
        length = (device.ops.end - device.ops.start)[known]
        for module in distinct(device.ops.module[known]).tolist():
            name = device.ops.names[module]
            share = int(length[device.ops.module[known] == module].sum())
            time_by_module[name] = time_by_module.get(name, 0) + share
    if not time_by_module or driver < 0:
        return None
    top = max(time_by_module, key=lambda name: time_by_module[name])
    if time_by_module[top] < 0.5 * sum(time_by_module.values()):
        return None
    calls = calls_of_module(threads, top)
    calls = calls[threads.thread_of(calls) == driver]
    if len(calls) < _LEAST_CYCLES:
        return None
    about = f"calls of {threads.names[threads.row[calls[0]]]}"
    found = _inferred(threads.start[calls], threads.end[calls], StepSource.MODULE, 0.9, driver, about)
    begun = _first_events(devices, threads.start[calls])
    if found.confidence > 0 or begun is None:
        return found
    return replace(found, confidence=_inferred(begun, begun, StepSource.MODULE, 0.9, driver, about).confidence)


def _first_events(devices: Sequence[Device], calls: Int64Array) -> Int64Array | None:
    """When the devices began with what each call dispatched, where they did so for all of them, in order.

    A host that is ahead dispatches in bursts, as its queue has room; the devices then hold the rhythm.
    """
    begun = np.full(len(calls), np.iinfo(np.int64).max)
    for device in devices:
        ops = device.ops
        index = np.searchsorted(calls, ops.launch_start)
        known = (ops.launch_start >= 0) & (index < len(calls))
        known[known] = calls[index[known]] == ops.launch_start[known]
        np.minimum.at(begun, index[known], ops.start[known])
    whole = (begun < np.iinfo(np.int64).max).all() and (np.diff(begun) > 0).all()
    ahead = begun[:-1] >= calls[1:]
    return begun if whole and ahead.mean() > _AHEAD else None


def _tf_function(trace: HostTrace, threads: Threads) -> Inferred | None:
    """Calls of the tf.function that takes most time on its thread."""
    position = threads.positions(trace.stat("tf_function_call").event)
    position = distinct(position[position >= 0])
    if not len(position):
        position = threads.everywhere(HostClass.EAGER_OP)
        function = np.array([name.startswith("EagerLocalExecute: __") for name in threads.names], np.bool_)
        position = position[function[threads.row[position]]]
    position = position[~threads.on_pipeline_threads(position)] if len(position) else position
    if not len(position):
        return None
    rows = threads.row[position]
    names, code = _grouped(rows, {row: _FUNCTION_NUMBER.sub("", threads.names[row]) for row in _distinct(rows)})
    thread = threads.thread_of(position)
    best: Inferred | None = None
    longest = 0
    for one in distinct(thread * len(names) + code).tolist():
        mine = outermost(threads, position[thread * len(names) + code == one])
        starts, ends = threads.start[mine], threads.end[mine]
        total = int((ends - starts).sum())
        fills = total >= 0.25 * int(ends[-1] - starts[0])
        if len(mine) >= _LEAST_CYCLES and fills and total > longest:
            about = f"calls of {names[one % len(names)].removeprefix('EagerLocalExecute: ')}"
            best = _inferred(starts, ends, StepSource.MODULE, 0.9, one // len(names), about)
            longest = total
    return best


def _executor_loop(trace: HostTrace, threads: Threads) -> Inferred | None:
    """Iterations of a TensorFlow training loop inside one function call: `iter_num` of the executor's work.

    A loop over time steps of one batch looks the same; a training loop takes a batch from the pipeline each time.
    """
    position, iteration = threads.integers(trace.stat("iter_num"))
    id_position, step_id = threads.integers(trace.stat("id"))
    if not len(position) or int(iteration.max()) < _LEAST_CYCLES:
        return None
    where = np.searchsorted(id_position, position)
    where = np.minimum(where, max(len(id_position) - 1, 0))
    matches = id_position[where] == position
    position, iteration, run = position[matches], iteration[matches], step_id[where[matches]]
    if not len(position):
        return None
    runs, inverse = np.unique(run, return_inverse=True)
    most = np.zeros(len(runs), np.int64)
    np.maximum.at(most, inverse, iteration)
    mine = (inverse == int(np.argmax(most))) & (iteration > 0)
    numbers, group = np.unique(iteration[mine], return_inverse=True)
    if len(numbers) < _LEAST_CYCLES:
        return None
    starts = np.full(len(numbers), np.iinfo(np.int64).max)
    ends = np.zeros(len(numbers), np.int64)
    np.minimum.at(starts, group, threads.start[position[mine]])
    np.maximum.at(ends, group, threads.end[position[mine]])
    batches = threads.start[threads.everywhere(HostClass.GET_NEXT)]
    taken = int(((batches >= starts[0]) & (batches <= ends[-1])).sum())
    if (np.diff(starts) <= 0).any() or taken < 0.8 * len(numbers):
        return None
    about = "iterations of a loop inside one function call"
    return _inferred(starts, ends, StepSource.HOST_LOOP, 0.8, -1, about)


def _batches(threads: Threads, driver: int) -> Inferred | None:
    """One batch a step: each time the driving thread asks tf.data for one."""
    if driver < 0:
        return None
    calls = _first_of_each_batch(threads, driver)
    if len(calls) < _LEAST_CYCLES:
        return None
    return _inferred(
        threads.start[calls],
        threads.end[calls],
        StepSource.HOST_LOOP,
        0.8,
        driver,
        "batches taken from the input pipeline",
    )


def _first_of_each_batch(threads: Threads, index: int) -> Int64Array:
    """Calls that take a batch from tf.data; of several in a row, one for each replica, the first."""
    thread = threads.threads[index]
    calls = outermost(threads, threads.of(thread, HostClass.GET_NEXT))
    others = dispatches(threads, thread)
    others = others[~is_in(others, calls)]
    between = np.searchsorted(others, calls)
    return calls[np.insert(np.diff(between) > 0, 0, True)] if len(calls) else calls


def _taker(threads: Threads) -> int:
    """The thread that takes most batches from tf.data, -1 when none does. With replicas it is not the one that dispatches."""
    taken = [(len(threads.of(one, HostClass.GET_NEXT)), -one.index) for one in threads.threads if not one.is_pipeline]
    most, index = max(taken, default=(0, 0))
    return -index if most else -1


def _one_batch_a_step(threads: Threads, functions: Inferred | None) -> Inferred | None:
    """A loop that takes one batch for several calls of a function steps from batch to batch: each layer is a function."""
    if functions is None or functions.thread < 0:
        return functions
    batches = _batches(threads, functions.thread)
    if batches is None or not batches.confidence or len(functions.starts) < 2 * len(batches.starts):
        return functions
    return batches


def _host_pattern(threads: Threads, driver: int) -> Inferred | None:
    """A repeated sequence of dispatched programs and ops on the driving thread."""
    if driver < 0:
        return None
    calls = dispatches(threads, threads.threads[driver])
    if len(calls) < 4 * _LEAST_CYCLES:
        return None
    starts, ends = threads.start[calls], threads.end[calls]
    period = find_period(threads.row[calls].astype(np.int64), starts, ends)
    if period is None or len(period.firsts) < _LEAST_CYCLES:
        return None
    lasts = np.append(period.firsts[1:] - 1, len(calls) - 1)
    about = f"a repeated sequence of {period.length} dispatches"
    return _inferred(starts[period.firsts], ends[lasts], StepSource.LAUNCH_PATTERN, 0.8 * period.match, driver, about)


def _device_pattern(devices: Sequence[Device]) -> Inferred | None:
    """A repeated sequence of kernels on the busiest device."""
    active = [device for device in devices if device.is_active]
    if not active:
        return None
    device = max(active, key=lambda one: one.compute.length())
    kernels = np.flatnonzero(device.ops.kind == DeviceClass.COMPUTE)
    if len(kernels) < 4 * _LEAST_CYCLES:
        return None
    starts, ends = device.ops.start[kernels], device.ops.end[kernels]
    period = find_period(device.ops.name[kernels].astype(np.int64), starts, ends)
    if period is None or period.length < 2 or len(period.firsts) < _LEAST_CYCLES:
        return None
    lasts = np.append(period.firsts[1:] - 1, len(kernels) - 1)
    about = f"a repeated sequence of {period.length} kernels"
    return _inferred(starts[period.firsts], ends[lasts], StepSource.LAUNCH_PATTERN, 0.7 * period.match, -1, about)


def _distinct(rows: npt.NDArray[np.int32]) -> list[int]:
    return [int(row) for row in distinct(rows)]


def _grouped(rows: npt.NDArray[np.int32], label: dict[int, str]) -> tuple[list[str], Int64Array]:
    """(distinct labels, index of each row's label)."""
    labels = sorted(set(label.values()))
    table = np.zeros(max(label, default=0) + 1, np.int64)
    for row, text in label.items():
        table[row] = labels.index(text)
    return labels, table[rows]


def _inferred(
    starts: Int64Array, ends: Int64Array, source: StepSource, confidence: float, thread: int, about: str
) -> Inferred:
    """Irregular cycles are less sure: the confidence falls with the spread of the periods, to 0 when there is no rhythm."""
    spread = _spread(starts)
    sure = 0.0 if spread > _LARGEST_SPREAD else confidence / (1.0 + spread)
    return Inferred(starts, ends, source, round(sure, 3), thread, about)


def _spread(starts: Int64Array) -> float:
    """How far the periods lie from the median one, as a share of it; or from their neighbours, where they slowly grow."""
    periods = np.diff(starts)
    typical = median(periods) if len(periods) else 0.0
    if typical <= 0:
        return 1.0
    away = np.abs(periods - typical)
    spread = float(np.mean(away)) if len(periods) < _FEW_PERIODS else median(away)
    if len(periods) >= _FEW_PERIODS:
        spread = min(spread, median(np.abs(np.diff(periods))))
    return spread / typical
