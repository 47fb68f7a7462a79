"""Steps as executions of one XLA program: on a device's line of programs, or as calls of the jitted function."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import distinct, group_spans, is_in, ranks, true_at
from tfadvisor.timeline.devices.registry import program_lines
from tfadvisor.timeline.host.dispatches import calls_of_module
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.model import Device, StepSource
from tfadvisor.timeline.names.programs import program_name
from tfadvisor.timeline.steps.rhythm import LEAST_CYCLES, Inferred, inferred
from tfadvisor.timeline.steps.same_name import grouped
from tfadvisor.timeline.windows import leading
from tfadvisor.xplane.columns import HostTrace

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


def runs_called_before(threads: Threads, devices: Sequence[Device], driver: int) -> Inferred | None:
    """Runs of that module on the busiest device, where the host had called all of them before the trace began."""
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
    order = np.argsort(begins, kind="stable")
    return inferred(
        begins[order], ends[order], StepSource.MODULE, 0.8, driver, f"runs of {top}, called before the trace"
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
