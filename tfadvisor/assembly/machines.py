"""The recorded machines, for the report."""

from __future__ import annotations

import msgspec

from tfadvisor.machine.file import Counted, Gpu
from tfadvisor.report.model import GpuInfo, MachineInfo
from tfadvisor.timeline.run.run_summary import RunSummary


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
        huge_pages=told.huge_pages,
        versions=told.versions,
        variables=told.variables,
        threads=told.threads,
        file_systems=told.file_systems,
        gpus=tuple(map(_gpu, counted.gpus)),
    )


def _gpu(told: Gpu) -> GpuInfo:
    return GpuInfo(**msgspec.structs.asdict(told))
