"""Tables of the report: ops, and the machines."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.metrics.steady import device_steps
from tfadvisor.report.model import GpuInfo, MachineInfo, Op
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.kernels import kernel_kind
from tfadvisor.timeline.names.op_path import op_name
from tfadvisor.timeline.program_ops import InProgram
from tfadvisor.timeline.run.run_summary import RunSummary
from tfadvisor.timeline.summary.device import OpTable
from tfadvisor.trace.counters import Counted, Gpu
from tfadvisor.units import PS_PER_MS
from tfadvisor.vocabulary import DeviceKind

_MOST, _READ = 300, 4
"""Rows of the table; so many times as many are read of each device, as rows of one op may have several paths."""


class _Key(NamedTuple):
    """What rows of several devices have in common that are about the same op; "" for what a row does not have."""

    kind: DeviceClass
    op: str
    kernel: str
    module: str
    path: str = ""
    """The framework's name of the op, where the HLO names none."""

    def in_program(self) -> tuple[str, str]:
        """The same for all kernels, copies and memsets of one op of one program."""
        return self.op or self.kernel, self.module


def run_ops(run: RunSummary, most: int = _MOST) -> tuple[Op, ...]:
    """The hottest; the same op of several devices or hosts is one row."""
    time: dict[_Key, int] = {}
    count: dict[_Key, int] = {}
    launched: dict[_Key, dict[str, Any]] = {}
    for device in (device for host in run.hosts for device in (*host.devices, *host.copying)):
        table = device.ops_by_path
        for row in np.argsort(-table.total_ps, kind="stable")[: _READ * most].tolist():
            key = _key(table, row)
            time[key] = time.get(key, 0) + int(table.total_ps[row])
            count[key] = count.get(key, 0) + int(table.count[row])
            if key not in launched and (launch := device.launch_of(table, row)) is not None:
                launched[key] = {**msgspec.structs.asdict(launch), "launch_ways": int(table.ways[row])}
    total, steps = max(sum(time.values()), 1), max(device_steps(run), 1)
    known = _known(run)
    is_gpu = any(device.kind is DeviceKind.GPU for host in run.hosts for device in host.devices)
    return tuple(
        replace(
            _op(key, time[key] / total, time[key] / steps, count[key] / steps, known.get(key.in_program()), is_gpu),
            **launched.get(key, {}),
        )
        for key in sorted(time, key=lambda one: -time[one])[:most]
    )


def _key(table: OpTable, row: int) -> _Key:
    op = table.names[table.op[row]] if table.op[row] >= 0 else ""
    module = table.names[table.module[row]] if table.module[row] >= 0 else ""
    path = op_name(table.names[table.path[row]]) if not op and table.path[row] >= 0 else ""
    return _Key(DeviceClass(int(table.kind[row])), op, table.names[table.name[row]], module, path)


def _known(run: RunSummary) -> dict[tuple[str, str], InProgram]:
    """What the HLO says of the rows of the device that each host's HLO is about; other devices run the same programs."""
    return {
        _key(host.program_device.ops, row).in_program(): one.known
        for host in run.hosts
        if host.program is not None
        for one in host.program.hot_ops.ops
        if one.known is not None
        for row in one.rows
    }


def _op(key: _Key, share: float, ps: float, count: float, known: InProgram | None, is_gpu: bool) -> Op:
    precision = kernel_kind(key.kernel).precision.value if is_gpu and key.kind is DeviceClass.COMPUTE else None
    return Op(
        op=key.op or (key.path if known is None else "") or None,
        kernel=key.kernel,
        module=key.module or None,
        kind=key.kind.name.lower(),
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


# The recorded machines, for the report.


def machine_infos(run: RunSummary) -> tuple[MachineInfo, ...]:
    """Of the hosts whose counters can be used."""
    return tuple(_machine(one.host, one.counted) for one in run.counters if one.counted is not None)


def _machine(host: str, counted: Counted) -> MachineInfo:
    told = counted.settings
    return MachineInfo(
        host=host,
        cores=told.cores,
        allowed_cores=told.allowed_cores,
        quota_cores=told.quota_cores,
        memory_bytes=None if told.memory_bytes is None else int(told.memory_bytes),
        versions=told.versions,
        variables=told.variables,
        threads=told.threads,
        gpus=tuple(map(_gpu, counted.gpus)),
    )


def _gpu(told: Gpu) -> GpuInfo:
    return GpuInfo(**msgspec.structs.asdict(told))
