"""The report's table of ops: what ran on the devices in the counted steps, per step and device, the hottest first."""

from __future__ import annotations

import numpy as np

from tfadvisor.metrics.steady import device_steps
from tfadvisor.report.model import OpInfo
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.kernels import kernel_kind
from tfadvisor.timeline.run.run_timeline import RunTimeline
from tfadvisor.timeline.summary.device import OpTable
from tfadvisor.timeline.summary.op_in_program import InProgram
from tfadvisor.units import PS_PER_MS

_MOST = 300
_Key = tuple[DeviceClass, str, str, str]


def run_ops(run: RunTimeline, most: int = _MOST) -> tuple[OpInfo, ...]:
    """The hottest; the same op of several devices or hosts is one row."""
    time: dict[_Key, int] = {}
    count: dict[_Key, int] = {}
    for device in (device for host in run.hosts for device in host.devices):
        for key, ps, times in _rows(device.ops, most):
            time[key] = time.get(key, 0) + ps
            count[key] = count.get(key, 0) + times
    total, steps = max(sum(time.values()), 1), max(device_steps(run), 1)
    known = _known(run)
    is_gpu = any(device.kind == "gpu" for host in run.hosts for device in host.devices)
    return tuple(
        _info(
            key, time[key] / total, time[key] / steps, count[key] / steps, known.get((key[1] or key[2], key[3])), is_gpu
        )
        for key in sorted(time, key=lambda one: -time[one])[:most]
    )


def _rows(table: OpTable, most: int) -> list[tuple[_Key, int, int]]:
    """(key, ps, count) of the rows that could be among the hottest."""
    found = []
    for row in np.argsort(-table.total_ps, kind="stable")[: 2 * most].tolist():
        op = table.names[table.op[row]] if table.op[row] >= 0 else ""
        module = table.names[table.module[row]] if table.module[row] >= 0 else ""
        key = DeviceClass(int(table.kind[row])), op, table.names[table.name[row]], module
        found.append((key, int(table.total_ps[row]), int(table.count[row])))
    return found


def _known(run: RunTimeline) -> dict[tuple[str, str], InProgram]:
    ops = [one for host in run.hosts if host.program is not None for one in host.program.hot_ops.ops]
    return {(one.name(), one.module): one.known for one in ops if one.known is not None}


def _info(key: _Key, share: float, ps: float, count: float, known: InProgram | None, is_gpu: bool) -> OpInfo:
    kind, op, kernel, module = key
    precision = kernel_kind(kernel).precision.value if is_gpu and kind is DeviceClass.COMPUTE else None
    return OpInfo(
        op=op or None,
        kernel=kernel,
        module=module or None,
        kind=kind.name.lower(),
        share=share,
        ms_per_step=ps / PS_PER_MS,
        count_per_step=count,
        precision=precision,
        opcode=known.opcode if known else None,
        flops=known.flops if known else None,
        bytes=known.cost.bytes if known else None,
        file=(known.file or None) if known else None,
        line=(known.line or None) if known else None,
    )
