"""Which op of a device fills given instants, and the line of the program that it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.arrays import ranks, true_at
from tfadvisor.errors import TraceError
from tfadvisor.timeline.intervals import Intervals
from tfadvisor.timeline.losses.model import Activity
from tfadvisor.timeline.model import Device
from tfadvisor.timeline.names.classes import DeviceClass

if TYPE_CHECKING:
    from tfadvisor.hlo.format.find_modules import Modules


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
    from tfadvisor.timeline.ops_of_program import OpsOfProgram  # only with HLO in the trace

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
