"""The collectives that one device took part in, as a small table: what other devices' tables are matched with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tfadvisor.hlo.find_modules import Modules
from tfadvisor.lean_numpy import distinct, is_in
from tfadvisor.record import record
from tfadvisor.timeline.classes import DeviceClass
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.model import Device
from tfadvisor.timeline.program_collectives import collectives_by_name


@record
class CollectiveCalls:
    """One row a collective, by ascending start; shape (calls,).

    label: index into labels: the HLO op's name where the trace has it, else the kernel's. kernel: index into labels of
    the event's own name. module: index into modules, -1 without one. start, end: ps on the host's clock, waiting for
    others included. exposed_ps: how much of it no computation of the same device covers. step: the step it begins in, -1
    outside of all. key: what the devices' calls of one collective share, -1 without one. bytes: of the message on one
    device, -1 where the trace does not say. group: how many devices exchange it, 0 likewise.
    """

    label: npt.NDArray[np.int32]
    kernel: npt.NDArray[np.int32]
    module: npt.NDArray[np.int32]
    start: Int64Array
    end: Int64Array
    exposed_ps: Int64Array
    step: Int64Array
    key: Int64Array
    bytes: Int64Array
    group: Int64Array
    labels: tuple[str, ...]
    modules: tuple[str, ...]

    def __len__(self) -> int:
        """Number of collectives."""
        return len(self.start)


def collective_calls(device: Device, step: Int64Array, programs: Modules) -> CollectiveCalls:
    """step: of every event of the device. The `-done` half of an asynchronous pair is part of the call, not another."""
    ops = device.ops
    done = [row for row in distinct(ops.name[ops.kind == DeviceClass.COLLECTIVE]).tolist() if _is_done(ops.names[row])]
    mine = np.flatnonzero((ops.kind == DeviceClass.COLLECTIVE) & ~is_in(ops.name, done))
    label = np.where(ops.op[mine] >= 0, ops.op[mine], ops.name[mine])
    used = distinct(np.concatenate([label, ops.name[mine]]))
    modules = distinct(ops.module[mine])
    modules = modules[modules >= 0]
    start, end = ops.start[mine], ops.end[mine]
    module = np.where(ops.module[mine] >= 0, np.searchsorted(modules, ops.module[mine]), -1)
    names = tuple(ops.names[row] for row in used.tolist())
    module_names = tuple(ops.names[row] for row in modules.tolist())
    size, group = _sizes(np.searchsorted(used, label), module, names, module_names, programs)
    return CollectiveCalls(
        label=np.searchsorted(used, label).astype(np.int32),
        kernel=np.searchsorted(used, ops.name[mine]).astype(np.int32),
        module=module.astype(np.int32),
        start=start,
        end=end,
        exposed_ps=end - start - device.compute.within(start, end),
        step=step[mine],
        key=ops.meeting[mine],
        bytes=size,
        group=group,
        labels=names,
        modules=module_names,
    )


def _sizes(
    label: Int64Array, module: Int64Array, labels: tuple[str, ...], modules: tuple[str, ...], programs: Modules
) -> tuple[Int64Array, Int64Array]:
    """(bytes, group size) of each call, by the HLO of its module; -1 and 0 where the trace does not hold it."""
    size, group = np.full(len(label), -1, np.int64), np.zeros(len(label), np.int64)
    for index, name in enumerate(modules):
        known = collectives_by_name(programs, name)
        for used in distinct(label[module == index]).tolist():
            one = known.get(labels[used].split(" = ", 1)[0].removeprefix("%"))
            if one is not None:
                chosen = (module == index) & (label == used)
                size[chosen], group[chosen] = one.bytes, one.group_size or 0
    return size, group


def _is_done(name: str) -> bool:
    return "-done" in name.partition(" = ")[0]
