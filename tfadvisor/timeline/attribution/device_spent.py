"""What a device's own work takes of the instants of a class, op by op, and which work
it waits for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import (
    Int32Array,
    Int64Array,
    blocks,
    descending,
    is_in,
    true_at,
    zeros,
)
from tfadvisor.errors import TraceError
from tfadvisor.printable import short_kernel
from tfadvisor.timeline.attribution.exclusive import exclusive_time
from tfadvisor.timeline.attribution.spent import QUEUED, Spent
from tfadvisor.timeline.intervals import Intervals, difference, intersection
from tfadvisor.timeline.names.classes import COPIES, DeviceClass
from tfadvisor.timeline.names.collective_events import (
    CollectiveKind,
    collective_of,
    op_collective,
)
from tfadvisor.timeline.names.device_events import instruction_name
from tfadvisor.timeline.sweeps import alike, reached
from tfadvisor.timeline.timeline_parts import (
    Device,
    DeviceOps,
    module_names,
    texts_of_rows,
)
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.program import Module, Modules

_MOST = 1_000
"""Ops of a device that are listed one by one."""
_IN_PROGRAM = "a program's run, between its ops"
_EXCHANGE = "exchange"
"""What a kernel of sends and receives does that no op names."""
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


_Place = tuple[str, int, str]
"""(file, line, function)."""
_NOWHERE = ("", 0, "")


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
    of_kind = is_in(ops.kind, [chosen.value for chosen in _KINDS[kind]])
    mine = slice(None) if of_kind.all() else true_at(of_kind)
    spent = zeros(ops)
    spent[mine] = exclusive_time(
        ops.start[mine], ops.end[mine], ops.stream[mine], instants
    )
    kinds = ops.kind.astype(np.int32)
    columns = (ops.name, ops.op, ops.module, ops.program, kinds, ops.path)
    last, total = _summed(columns, zeros(ops), spent)
    module_of = module_names(ops.module, ops.program, ops.names, ops.program_ids)
    found: list[Spent] = []
    rows = zip(
        last.tolist(),
        texts_of_rows(ops.names, ops.path[last]),
        texts_of_rows(ops.names, ops.op[last]),
        texts_of_rows(ops.names, ops.name[last]),
        total.tolist(),
        strict=True,
    )
    for event, path, op, kernel, ps in rows:
        own = Spent(
            kind, path=path, op=op, kernel=kernel, module=module_of(event), ps=ps
        )
        if kind is not TimeClass.COMPUTE:
            is_placed = len(found) < _MOST_PLACED
            own = _named(own, device, event, programs if is_placed else None)
        found.append(own)
    return found


def _named(
    own: Spent,
    device: Device,
    event: int,
    programs: Modules | None,
) -> Spent:
    """A collective or copy with what it is, and its line by the programs."""
    file, line, function = _NOWHERE
    if programs is not None:
        file, line, function = _line_of(device, programs, event, own.op or own.kernel)
    if own.kind is TimeClass.COLLECTIVE:
        activity = _collective(own.kernel, own.op)
    else:
        activity = _COPIES.get(DeviceClass(int(device.ops.kind[event])), "copy")
    return replace(
        own,
        activity=activity,
        detail=own.op or instruction_name(own.kernel),
        file=file,
        line=line,
        function=function,
    )


def queued_work(device: Device, kind: TimeClass, instants: Intervals) -> list[Spent]:
    """What has been launched and not begun at these instants of LAUNCH or IDLE, by the
    program or kernel that begins next.
    """
    ops = device.ops
    if not len(ops) or not len(instants):
        return []
    row = np.empty(len(instants), np.int32)
    for part in blocks(len(instants)):
        following = reached(ops.start, instants.ends[part] - 1)
        event = np.minimum(following, len(ops) - 1)
        module = ops.module[event]
        row[part] = np.where(module >= 0, module, ops.name[event])
    last, total = _summed((row,), instants.starts, instants.ends)
    activity = QUEUED if kind is TimeClass.IDLE else "launched, not begun"
    found = []
    for name, ps in zip(row[last].tolist(), total.tolist(), strict=True):
        detail = f"before {short_kernel(ops.names[name])}"
        found.append(Spent(kind, activity, detail, ps=ps))
    return found


def idle_itself(
    device: Device,
    kind: TimeClass,
    instants: Intervals,
) -> tuple[list[Spent], Intervals]:
    """(of INPUT the device's waits for its infeed, of IDLE what lies inside of its
    programs and what was queued meanwhile; the instants that are left).
    """
    found = []
    if kind is TimeClass.INPUT:
        inside = device.infeed
        own = Spent(kind, "infeed", "the device waits for its infeed")
    else:
        inside = device.programs
        own = Spent(kind, _IN_PROGRAM)
        found = queued_work(device, kind, intersection(instants, device.held))
        instants = difference(instants, device.held)
    left = difference(instants, inside)
    ps = instants.length() - left.length()
    return [*found, replace(own, ps=ps)] if ps else found, left


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
    found = []
    for kernel in device_work(device, TimeClass.COMPUTE, waits, programs):
        name = instruction_name(kernel.op or kernel.kernel)
        found.append(replace(kernel, activity=_OWN_WAIT, detail=name))
    return found, difference(instants, waits)


def _summed(
    columns: tuple[Int32Array, ...],
    starts: Int64Array,
    ends: Int64Array,
) -> tuple[Int64Array, Int64Array]:
    """(an event, ps) of each group of events that are alike in the columns and take any
    time, the largest first.
    """
    counted = (ends > starts).view(np.uint8)
    last, _, total, _ = alike(columns, starts, ends, counted, 0)
    order = descending(total)[:_MOST]
    return last[order], total[order]


def _collective(kernel: str, op: str) -> str:
    found = (collective_of(op) if op else None) or collective_of(kernel)
    kind = found.kind if found else CollectiveKind.OTHER
    if kind is CollectiveKind.SEND_RECV and op_collective(op or kernel) is None:
        return _EXCHANGE
    return kind.value


def _line_of(
    device: Device,
    programs: Modules,
    event: int,
    name: str,
) -> _Place:
    """(file, line, function) of an op by the HLO; nothing without it, or where that
    does not tell.
    """
    if not programs.keys:
        return _NOWHERE
    # Only with HLO in the trace.
    from tfadvisor.timeline.program_ops import OpsOfProgram

    try:
        program = _program_of(device.ops, programs, event)
        if program is None:
            return _NOWHERE
        _, known = OpsOfProgram.of(program).find(name)
    except TraceError:
        return _NOWHERE
    if known is None or known.location is None or not known.file:
        return _NOWHERE
    for frame in known.location.frames:
        if frame.line == known.line:
            return known.file, known.line, frame.function
    return known.file, known.line, ""


def _program_of(
    ops: DeviceOps,
    programs: Modules,
    event: int,
) -> Module | None:
    """The program that an op belongs to; None where the trace does not tell it, or
    names several so.
    """
    module = ops.names[int(ops.module[event])] if ops.module[event] >= 0 else ""
    if ops.program[event] >= 0:
        return programs.of_program(ops.program_ids[int(ops.program[event])], module)
    named = programs.named(module) if module else ()
    return named[0] if len(named) == 1 else None
