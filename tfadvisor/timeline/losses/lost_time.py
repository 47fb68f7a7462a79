"""Which op of a device fills given instants, and the line of the program that it comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.arrays import ranks, true_at
from tfadvisor.errors import TraceError
from tfadvisor.timeline.host.threads import Thread, Threads
from tfadvisor.timeline.intervals import Intervals, difference, intersection
from tfadvisor.timeline.losses.activities import Activity, LostTime, Names, events_of_steps, main_activity
from tfadvisor.timeline.model import Device, Steps
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.trace.columns import Int32Array
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.program.find_modules import Modules


def main_device_op(device: Device, programs: Modules, instants: Intervals) -> Activity:
    """The collective or copy that fills most of these instants. Computation is never what they are about."""
    ops = device.ops
    spent = np.where(ops.kind == DeviceClass.COMPUTE.value, 0, instants.within(ops.start, ops.end))
    if not spent.any():
        return Activity("", "", "", device.name, "", "", instants.length())
    mine = true_at(spent)
    named = np.where(ops.op[mine] >= 0, ops.op[mine], ops.name[mine])
    group = ranks(named.astype(np.int64))
    time = np.zeros(int(group.max()) + 1, np.int64)
    np.add.at(time, group, spent[mine])
    top = int(np.argmax(time))
    first = int(mine[true_at(group == top)[0]])
    name = ops.names[int(ops.op[first])] if ops.op[first] >= 0 else ops.names[int(ops.name[first])]
    return Activity(name, "", _line_of(device, programs, first, name), device.name, "", "", int(time[top]))


def _line_of(device: Device, programs: Modules, event: int, name: str) -> str:
    """`all-reduce.1 (train.py:42)`, "" without HLO or where that does not tell."""
    ops = device.ops
    if not programs.keys or (ops.program[event] < 0 and ops.module[event] < 0):
        return ""
    from tfadvisor.timeline.program_ops import OpsOfProgram  # only with HLO in the trace

    try:
        module = ops.names[int(ops.module[event])] if ops.module[event] >= 0 else ""
        if ops.program[event] >= 0:
            found = [programs.of_program(ops.program_ids[int(ops.program[event])], module)]
        else:
            found = list(programs.named(module))
        known = OpsOfProgram.of(found[0]).find(name)[1] if len(found) == 1 and found[0] is not None else None
    except TraceError:
        return ""
    return f"{name} ({known.file}:{known.line})" if known is not None and known.file else ""


# The classes of lost time that are large enough to report, each with what fills most of it.

_WORTH_LOOKING = 0.1
"""Of the first device's time. Rules ask from 15 % of the mean over all devices."""
_ON_DEVICE = (TimeClass.COLLECTIVE, TimeClass.TRANSFER)


def lost_time(
    threads: Threads,
    steps: Steps,
    classes: Mapping[TimeClass, Intervals],
    devices: Sequence[Device],
    programs: Modules,
    names: Callable[[], Names],
) -> tuple[LostTime, ...]:
    """In the counted steps, the largest class first. classes: on the first device. devices: the active ones. names: what the
    threads' names say, asked for only where a class is large.
    """
    windows = steps.steady_time
    if not windows:
        return ()
    device = devices[0] if devices else None

    @cache
    def of_steps(thread: Thread) -> Int32Array:
        return events_of_steps(threads, names(), steps, thread)

    length = {kind: int(classes[kind].within(windows.starts, windows.ends).sum()) for kind in classes}
    length[TimeClass.IDLE] = windows.length() - sum(length.values())

    def of(kind: TimeClass) -> LostTime:
        instants = (
            reduce(difference, classes.values(), windows)
            if kind is TimeClass.IDLE
            else intersection(classes[kind], windows)
        )
        if kind in _ON_DEVICE and device is not None:
            activity = main_device_op(device, programs, instants)
        else:
            activity = main_activity(threads, names(), steps, instants, kind is TimeClass.HOST, of_steps)
        return LostTime(kind, length[kind], activity)

    least = max(_WORTH_LOOKING * windows.length(), 1)
    found = [of(kind) for kind, ps in length.items() if ps >= least and kind is not TimeClass.COMPUTE]
    return tuple(sorted(found, key=lambda one: -one.ps))
