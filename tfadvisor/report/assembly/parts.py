"""Tables of the report: ops, and the machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.metrics.layers import told_by_hlo
from tfadvisor.metrics.precision import product_kind, rounds_to_tf32
from tfadvisor.metrics.steady import device_steps
from tfadvisor.report.model import GpuInfo, MachineInfo, Op
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.kernels import Precision, kernel_kind, precision_of_type
from tfadvisor.timeline.names.op_path import op_name
from tfadvisor.timeline.program_ops import InProgram
from tfadvisor.timeline.run.run_summary import RunSummary
from tfadvisor.timeline.summary.device import OpTable
from tfadvisor.trace.counters import Counted, MachineGpu
from tfadvisor.units import PS_PER_MS
from tfadvisor.vocabulary import DeviceKind

_MOST, _READ = 300, 4
"""Rows of the table; so many times as many are read of each device, as rows of one op
may have several paths.
"""


class _Key(NamedTuple):
    """What rows of several devices have in common that are about the same op; "" for
    what a row does not have.
    """

    kind: DeviceClass
    op: str
    kernel: str
    module: str
    path: str = ""
    """The framework's name of the op, where the HLO names none."""


def run_ops(run: RunSummary, most: int = _MOST) -> tuple[Op, ...]:
    """The hottest; the same op of several devices or hosts is one row."""
    time: dict[_Key, int] = {}
    count: dict[_Key, int] = {}
    launched: dict[_Key, dict[str, Any]] = {}
    for device in (
        device for host in run.hosts for device in (*host.devices, *host.copying)
    ):
        table = device.ops_by_path
        module_of = table.module_of()
        for row in np.argsort(-table.total_ps, kind="stable")[: _READ * most].tolist():
            key = _key(table, row, module_of(row))
            time[key] = time.get(key, 0) + int(table.total_ps[row])
            count[key] = count.get(key, 0) + int(table.count[row])
            if (
                key not in launched
                and (launch := device.launch_of(table, row)) is not None
            ):
                launched[key] = {
                    **msgspec.structs.asdict(launch),
                    "launch_ways": int(table.ways[row]),
                }
    total, steps = max(sum(time.values()), 1), max(device_steps(run), 1)
    known = told_by_hlo(run)
    gpu = next(
        (
            one.properties
            for host in run.hosts
            for one in host.devices
            if one.kind is DeviceKind.GPU
        ),
        None,
    )
    found = []
    for key in sorted(time, key=lambda one: -time[one])[:most]:
        told = known.get((key.op or key.kernel, key.module))
        op = _op(key, time[key] / total, time[key] / steps, count[key] / steps, told)
        found.append(
            replace(
                op,
                **launched.get(key, {}),
                **(_arithmetic(key, told, gpu) if gpu is not None else {}),
            )
        )
    return tuple(found)


def _key(table: OpTable, row: int, module: str) -> _Key:
    op = table.names[table.op[row]] if table.op[row] >= 0 else ""
    path = (
        op_name(table.names[table.path[row]]) if not op and table.path[row] >= 0 else ""
    )
    return _Key(
        DeviceClass(int(table.kind[row])),
        op,
        table.names[table.name[row]],
        module,
        path,
    )


def _arithmetic(
    key: _Key, known: InProgram | None, gpu: Mapping[str, float | int | str]
) -> dict[str, Any]:
    """Precision of a GPU's kernel and whether it uses Tensor Cores: by its name, else
    by what the HLO says that it multiplies.
    """
    if key.kind is not DeviceClass.COMPUTE:
        return {}
    multiplies = known is not None and (
        bool(known.products) or kernel_kind(key.kernel).is_matrix
    )
    multiplied = (
        precision_of_type(known.multiplied)
        if known is not None and multiplies
        else Precision.UNKNOWN
    )
    kind = product_kind(key.kernel, multiplied, rounds_to_tf32(gpu))
    elementwise = not kind.is_matrix and kind.precision is not Precision.UNKNOWN
    return {
        "precision": kind.precision.value,
        "tensor_cores": False if elementwise else kind.tensor_cores,
    }


def _op(
    key: _Key, share: float, ps: float, count: float, known: InProgram | None
) -> Op:
    return Op(
        op=key.op or (key.path if known is None else "") or None,
        kernel=key.kernel,
        module=key.module or None,
        kind=key.kind.name.lower(),
        share=share,
        ms_per_step=ps / PS_PER_MS,
        count_per_step=count,
        precision=None,
        opcode=known.opcode if known else None,
        flops=known.flops if known else None,
        bytes=known.cost.bytes if known else None,
        file=(known.file or None) if known else None,
        line=(known.line or None) if known else None,
    )


# The recorded machines, for the report.


def machine_infos(run: RunSummary) -> tuple[MachineInfo, ...]:
    """Of the hosts whose counters can be used."""
    return tuple(
        _machine(one.host, one.counted)
        for one in run.counters
        if one.counted is not None
    )


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


def _gpu(told: MachineGpu) -> GpuInfo:
    return GpuInfo(**msgspec.structs.asdict(told))
