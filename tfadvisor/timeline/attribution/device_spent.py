"""What a device's own work takes of the instants of a class, op by op, and which work
it waits for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import is_in, true_at
from tfadvisor.errors import TraceError
from tfadvisor.printable import short_kernel
from tfadvisor.timeline.attribution.exclusive import exclusive_time
from tfadvisor.timeline.attribution.spent import Spent
from tfadvisor.timeline.intervals import Int64Array, Intervals, difference, intersection
from tfadvisor.timeline.names.classes import COPIES, DeviceClass
from tfadvisor.timeline.names.collective_events import CollectiveKind, collective_of
from tfadvisor.timeline.names.device_events import instruction_name
from tfadvisor.timeline.sweeps import alike
from tfadvisor.timeline.timeline_parts import Device, module_names
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.program.find_modules import Modules

_MOST = 300
"""Ops of a device that are listed one by one."""
_IN_PROGRAM = "a program's run, between its ops"
_OWN_WAIT = "kernels wait for their own copies (DMA)"
_MOST_PLACED = 20
"""Collectives and copies whose line is looked up."""
_KINDS: dict[TimeClass, tuple[DeviceClass, ...]] = {
    TimeClass.COMPUTE: (DeviceClass.COMPUTE,),
    TimeClass.COLLECTIVE: (DeviceClass.COLLECTIVE,),
    TimeClass.TRANSFER: COPIES,
}
ON_DEVICE = tuple(_KINDS)
"""The classes in which a device works."""
_COPIES = {
    DeviceClass.H2D: "host to device",
    DeviceClass.D2H: "device to host",
    DeviceClass.D2D: "within the device",
    DeviceClass.P2P: "between devices",
    DeviceClass.MEMSET: "memset",
}


def device_work(
    device: Device,
    kind: TimeClass,
    instants: Intervals,
    programs: Modules,
) -> list[Spent]:
    """The ops that take the instants, which are of a class of ON_DEVICE, those that
    take most first.
    """
    ops = device.ops
    mine = true_at(is_in(ops.kind, [one.value for one in _KINDS[kind]]))
    spent = exclusive_time(ops.start[mine], ops.end[mine], ops.stream[mine], instants)
    columns = tuple(
        np.ascontiguousarray(column[mine], np.int32)
        for column in (ops.name, ops.op, ops.module, ops.program, ops.kind, ops.path)
    )
    last, total = _summed(columns, spent)
    found = []
    module_of = module_names(ops.module, ops.program, ops.names, ops.program_ids)
    for number, (event, ps) in enumerate(
        zip(mine[last].tolist(), total.tolist(), strict=True)
    ):
        name, op, path = (
            ops.names[int(column[event])] if column[event] >= 0 else ""
            for column in (ops.name, ops.op, ops.path)
        )
        module = module_of(event)
        own = Spent(
            kind,
            path=path,
            op=op,
            kernel=name,
            module=module,
            ps=ps,
        )
        if kind is TimeClass.COMPUTE:
            found.append(own)
            continue
        file, line, function = (
            _line_of(device, programs, event, op or name)
            if number < _MOST_PLACED
            else ("", 0, "")
        )
        if kind is TimeClass.COLLECTIVE:
            activity = _collective(name, op)
        else:
            activity = _COPIES.get(DeviceClass(int(ops.kind[event])), "copy")
        found.append(
            Spent(
                kind,
                activity,
                op or instruction_name(name),
                file,
                line,
                function,
                path=path,
                op=op,
                kernel=name,
                module=module,
                ps=ps,
            )
        )
    return found


def queued_work(device: Device, instants: Intervals) -> list[Spent]:
    """What has been launched and not begun at these instants of LAUNCH, by the program
    or kernel that begins next.
    """
    ops = device.ops
    after = np.minimum(np.searchsorted(ops.start, instants.ends), max(len(ops) - 1, 0))
    if not len(ops) or not len(instants):
        return []
    named = np.where(ops.module[after] >= 0, ops.module[after], ops.name[after]).astype(
        np.int32
    )
    last, total = _summed(
        (np.ascontiguousarray(named),),
        instants.ends - instants.starts,
    )
    return [
        Spent(
            TimeClass.LAUNCH,
            "launched, not begun",
            f"before {short_kernel(ops.names[int(row)])}",
            ps=ps,
        )
        for row, ps in zip(named[last].tolist(), total.tolist(), strict=True)
    ]


def idle_itself(
    device: Device,
    kind: TimeClass,
    instants: Intervals,
) -> tuple[list[Spent], Intervals]:
    """(of INPUT the device's waits for its infeed, of IDLE what lies inside of its
    programs; the instants that are left).
    """
    spans = device.programs
    activity = _IN_PROGRAM
    detail = ""
    if kind is TimeClass.INPUT:
        spans = device.infeed
        activity = "infeed"
        detail = "the device waits for its infeed"
    left = difference(instants, spans)
    ps = instants.length() - left.length()
    return ([Spent(kind, activity, detail, ps=ps)] if ps else []), left


def own_waits(
    device: Device,
    instants: Intervals,
    programs: Modules,
) -> tuple[list[Spent], Intervals]:
    """(where kernels wait for their own copies at these instants of COMPUTE, kernel by
    kernel, the instants that are left).
    """
    waits = intersection(instants, device.awaits)
    if not len(waits):
        return [], instants
    found = device_work(device, TimeClass.COMPUTE, waits, programs)
    told = [
        replace(one, activity=_OWN_WAIT, detail=instruction_name(one.op or one.kernel))
        for one in found
    ]
    return told, difference(instants, waits)


def _summed(
    columns: tuple[np.ndarray, ...],
    spent: Int64Array,
) -> tuple[Int64Array, Int64Array]:
    """(an event, ps) of each group of events that are alike in the columns and take any
    time, the largest first.
    """
    nothing = np.zeros(len(spent), np.int64)
    last, _, total, _ = alike(
        columns,
        nothing,
        np.ascontiguousarray(spent),
        (spent > 0).view(np.uint8),
        0,
    )
    order = np.argsort(-total, kind="stable")[:_MOST]
    return last[order], total[order]


def _collective(kernel: str, op: str) -> str:
    found = collective_of(op) or collective_of(kernel) if op else collective_of(kernel)
    return (found.kind if found else CollectiveKind.OTHER).value


def _line_of(
    device: Device,
    programs: Modules,
    event: int,
    name: str,
) -> tuple[str, int, str]:
    """(file, line, function) of an op by the HLO; nothing without it, or where that
    does not tell.
    """
    ops = device.ops
    nothing = ("", 0, "")
    if not programs.keys or (ops.program[event] < 0 and ops.module[event] < 0):
        return nothing
    # Only with HLO in the trace.
    from tfadvisor.timeline.program_ops import OpsOfProgram

    module = ops.names[int(ops.module[event])] if ops.module[event] >= 0 else ""
    try:
        program = None
        if ops.program[event] >= 0:
            number = ops.program_ids[int(ops.program[event])]
            program = programs.of_program(number, module)
        else:
            named = programs.named(module)
            if len(named) == 1:
                program = named[0]
        known = OpsOfProgram.of(program).find(name)[1] if program is not None else None
    except TraceError:
        return nothing
    if known is None or known.location is None or not known.file:
        return nothing
    function = next(
        (one.function for one in known.location.frames if one.line == known.line),
        "",
    )
    return known.file, known.line, function
