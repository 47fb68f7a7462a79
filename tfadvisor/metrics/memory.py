"""How full device memory is, how it is cut up, and what is allocated while steps run."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.units import Unit


@metric(
    "peak_memory_fraction",
    unit=Unit.FRACTION,
    about="Most bytes in use over the bytes that the device's allocator could give out; the fullest device counts.",
)
def peak_memory_fraction(question: Question) -> float:
    """From allocator events."""
    memory = [one for host in question.run.hosts for one in host.memory]
    if not memory:
        raise MetricAbsent("no device allocator left events in this trace")
    return min(max(one.peak_bytes / one.capacity_bytes for one in memory), 1.0)
