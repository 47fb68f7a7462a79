"""Tables of the report: ops, and the machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from tfadvisor.arrays import descending
from tfadvisor.metrics import device_steps
from tfadvisor.metrics.layers import known_by_hlo, tables_over_devices
from tfadvisor.metrics.precision import product_kind, rounds_to_tf32
from tfadvisor.report.model import GpuInfo, MachineInfo, Op
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.kernels import Precision, kernel_kind, precision_of_type
from tfadvisor.timeline.names.op_path import op_name
from tfadvisor.timeline.run import RunSummary
from tfadvisor.timeline.summary import DeviceSummary, OpTable
from tfadvisor.trace.counters import Counted, MachineGpu
from tfadvisor.units import PS_PER_MS
from tfadvisor.vocabulary import DeviceKind

if TYPE_CHECKING:
    from tfadvisor.timeline import InProgram

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


class _Ran:
    """How long and how often an op ran, added up over devices."""

    def __init__(self) -> None:
        self.ps = 0
        self.count = 0
        self.launch: dict[str, Any] = {}
        """How it is launched, in the fields of Op; of the first device that tells."""

    def add(
        self,
        device: DeviceSummary,
        table: OpTable,
        row: int,
    ) -> None:
        """What a row of a device's table says."""
        self.ps += int(table.total_ps[row])
        self.count += int(table.count[row])
        if self.launch:
            return
        launch = device.launch_of(table, row)
        if launch is not None:
            self.launch = msgspec.structs.asdict(launch)
            self.launch["launch_ways"] = int(table.ways[row])


def run_ops(
    run: RunSummary,
    most: int = _MOST,
) -> tuple[Op, ...]:
    """The hottest; the same op of several devices or hosts is one row."""
    ran = _ran(run, most)
    total = max(sum(added.ps for added in ran.values()), 1)
    steps = device_steps(run)
    known = known_by_hlo(run)
    gpu = _first_gpu(run)

    found = []
    hottest = sorted(ran, key=lambda key: -ran[key].ps)
    for key in hottest[:most]:
        totals = ran[key]
        hlo = known.get((key.op or key.kernel, key.module))
        op = _op(key, totals, hlo, total, steps)
        arithmetic = _arithmetic(key, hlo, gpu) if gpu is not None else {}
        found.append(replace(op, **totals.launch, **arithmetic))
    return tuple(found)


def _ran(
    run: RunSummary,
    most: int,
) -> dict[_Key, _Ran]:
    ran: dict[_Key, _Ran] = {}
    devices = (
        device for host in run.hosts for device in (*host.devices, *host.copying)
    )
    for device, table in tables_over_devices(devices, _READ * most):
        module_of = table.module_of()
        hottest = descending(device.ops_by_path.total_ps)
        for row in hottest[: _READ * most].tolist():
            key = _key(table, row, module_of(row))
            ran.setdefault(key, _Ran()).add(
                device,
                table,
                row,
            )
    return ran


def _first_gpu(run: RunSummary) -> Mapping[str, float | int | str] | None:
    """What its trace says about it; None where there is no GPU."""
    for host in run.hosts:
        for device in host.devices:
            if device.kind is DeviceKind.GPU:
                return device.properties
    return None


def _key(
    table: OpTable,
    row: int,
    module: str,
) -> _Key:
    op = ""
    path = ""
    if table.op[row] >= 0:
        op = table.names[table.op[row]]
    if not op and table.path[row] >= 0:
        path = op_name(table.names[table.path[row]])
    return _Key(
        kind=DeviceClass(int(table.kind[row])),
        op=op,
        kernel=table.names[table.name[row]],
        module=module,
        path=path,
    )


def _arithmetic(
    key: _Key,
    known: InProgram | None,
    gpu: Mapping[str, float | int | str],
) -> dict[str, Any]:
    """Precision of a GPU's kernel and whether it uses Tensor Cores: by its name, else
    by what the HLO says that it multiplies.
    """
    if key.kind is not DeviceClass.COMPUTE:
        return {}

    multiplied = Precision.UNKNOWN
    if known is not None and (known.products or kernel_kind(key.kernel).is_matrix):
        multiplied = precision_of_type(known.multiplied)

    kind = product_kind(key.kernel, multiplied, rounds_to_tf32(gpu))
    elementwise = not kind.is_matrix and kind.precision is not Precision.UNKNOWN
    return {
        "precision": kind.precision.value,
        "tensor_cores": False if elementwise else kind.tensor_cores,
    }


def _op(
    key: _Key,
    ran: _Ran,
    hlo: InProgram | None,
    total_ps: int,
    steps: int,
) -> Op:
    """total_ps: of all ops."""
    op = Op(
        op=key.op or None,
        kernel=key.kernel,
        module=key.module or None,
        kind=key.kind.name.lower(),
        share=ran.ps / total_ps,
        ms_per_step=ran.ps / steps / PS_PER_MS,
        count_per_step=ran.count / steps,
        precision=None,
        opcode=None,
        flops=None,
        bytes=None,
        file=None,
        line=None,
    )
    if hlo is None:
        return replace(op, op=key.op or key.path or None)
    return replace(
        op,
        opcode=hlo.opcode,
        flops=hlo.flops,
        bytes=hlo.cost.bytes,
        file=hlo.file or None,
        line=hlo.line or None,
        shape=hlo.shape or None,
    )


# The recorded machines, for the report.


def machine_infos(run: RunSummary) -> tuple[MachineInfo, ...]:
    """Of the hosts whose counters can be used."""
    machines = []
    for counter in run.counters:
        if counter.counted is not None:
            machines.append(_machine(counter.host, counter.counted))
    return tuple(machines)


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
