"""The GPUs as their driver saw them while the trace was recorded."""

from __future__ import annotations

import math
from collections.abc import Callable

from tfadvisor.machine.file import Gpu
from tfadvisor.metrics.machine.counted import known_counters, of_hosts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better


@metric(unit=Unit.FRACTION, needs=(known_counters,), better=Better.MORE)
def gpu_utilization_fraction(question: Question) -> float:
    """Share of the time in which a kernel of any process ran on a GPU, as NVIDIA's driver counts it; a mean over the GPUs of
    the machines. device_busy_fraction says it of the steps.
    """
    found = _told(question, lambda gpu: gpu.utilization)
    return math.fsum(found) / len(found)


@metric(unit=Unit.FRACTION, needs=(known_counters,), better=Better.MORE)
def gpu_clock_fraction(question: Question) -> float:
    """Clock of a GPU's multiprocessors over the highest that they can have, of the slowest of those that worked."""
    return min(
        _told(
            question,
            lambda gpu: (
                gpu.clock_mhz / gpu.highest_clock_mhz
                if gpu.utilization and gpu.clock_mhz is not None and gpu.highest_clock_mhz
                else None
            ),
        )
    )


@fact(needs=(known_counters,))
def gpu_slowed_by(question: Question) -> str:
    """Faults by which the driver held a GPU's clock down: heat, power brake, hardware slowdown. A power limit that is reached
    is none.
    """
    found = sorted({reason for one in of_hosts(question) for gpu in one.gpus for reason in gpu.slowed_by})
    if not found:
        raise MetricAbsent("no driver told that it holds a GPU's clock down")
    return " and ".join(found)


def _told(question: Question, ask: Callable[[Gpu], float | None]) -> list[float]:
    """Of the GPUs that can answer. Raises MetricAbsent where none can."""
    found = [value for one in of_hosts(question) for gpu in one.gpus if (value := ask(gpu)) is not None]
    if not found:
        raise MetricAbsent("no driver of a GPU told it during the recording")
    return found
