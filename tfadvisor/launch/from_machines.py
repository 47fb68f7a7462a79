"""Settings that the machines of a run ask for, whatever its findings are."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tfadvisor.launch.setting import Suggested
from tfadvisor.report.model import Report
from tfadvisor.vocabulary import DeviceKind

_SCHEDULER = "xla_gpu_enable_latency_hiding_scheduler"
_SHARED_TUNING = "xla_gpu_shard_autotuning"


class Machines(msgspec.Struct, frozen=True):
    """What matters of a run's machines. compiled: whether XLA makes its programs, as JAX and PyTorch/XLA always have it."""

    gpus: int
    """How many GPUs worked."""
    processes: int
    """How many hosts recorded; each is a process of the program."""
    compiled: bool
    collectives: float
    """A step; 0 where the trace tells of none."""


def machines_of(report: Report) -> Machines:
    """From the report alone."""
    collectives = report.metrics.get("collectives_per_step")
    return Machines(
        sum(one.kind == DeviceKind.GPU.value for one in report.run.devices),
        len(report.run.hosts),
        report.run.framework in ("jax", "pytorch-xla"),
        (collectives.value or 0.0) if collectives is not None else 0.0,
    )


def from_machines(machines: Machines) -> Iterator[Suggested]:
    """Nothing for CPUs and TPUs: their compilers need no flag to overlap, and libtpu's flags are not recorded."""
    if machines.gpus < 2:
        return
    if machines.compiled and machines.collectives:
        yield Suggested(
            "XLA_FLAGS",
            _SCHEDULER,
            "true",
            f"{_counted(machines.collectives)} a step on {machines.gpus} GPUs: compute can run meanwhile",
            side_effect="Takes more memory, because more buffers live at once.",
        )
    if machines.processes > 1:
        if machines.compiled:
            yield Suggested(
                "XLA_FLAGS",
                _SHARED_TUNING,
                "true",
                f"{machines.processes} processes compile the same program: each tunes a part, and all start sooner",
            )
        yield Suggested(
            "NCCL_DEBUG",
            "NCCL_DEBUG",
            "WARN",
            f"{machines.processes} processes: says which link or process failed instead of hanging in silence",
        )


def _counted(collectives: float) -> str:
    return f"{collectives:g} collective{'s' if collectives != 1 else ''}"
