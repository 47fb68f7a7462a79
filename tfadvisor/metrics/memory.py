"""How full device memory is, how it is cut up, and what is allocated while steps run."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import accelerators, needs_steps
from tfadvisor.timeline.memory import DeviceMemory
from tfadvisor.units import Unit


def _allocators(question: Question) -> list[DeviceMemory]:
    found = [one for host in question.run.hosts for one in host.memory]
    if not found:
        raise MetricAbsent("no device allocator left events in this trace")
    return found


@metric(
    "peak_memory_fraction",
    unit=Unit.FRACTION,
    about="Most bytes in use over the bytes that the device's allocator could give out; the fullest device counts.",
)
def peak_memory_fraction(question: Question) -> float:
    """From allocator events."""
    return min(max(one.peak_bytes / one.capacity_bytes for one in _allocators(question)), 1.0)


@metric("peak_memory_bytes", unit=Unit.BYTES, about="Most bytes in use on the device that is fullest.")
def peak_memory_bytes(question: Question) -> float:
    """From allocator events."""
    return float(max(_allocators(question), key=lambda one: one.peak_bytes / one.capacity_bytes).peak_bytes)


@metric(
    "memory_capacity_bytes", unit=Unit.BYTES, about="What the allocator of the fullest device could give out in all."
)
def memory_capacity_bytes(question: Question) -> float:
    """In use and free together; less than the device has where the framework was given a part of it."""
    return float(max(_allocators(question), key=lambda one: one.peak_bytes / one.capacity_bytes).capacity_bytes)


@metric(
    "memory_fragmentation",
    unit=Unit.FRACTION,
    about="Share of free device memory that lies outside the largest free block, at its worst, as the allocator says.",
)
def memory_fragmentation(question: Question) -> float:
    """Of the worst device."""
    found = [one.fragmentation for one in _allocators(question) if one.fragmentation is not None]
    if not found:
        raise MetricAbsent("the allocator's events do not say how fragmented its memory is")
    return min(max(found), 1.0)


@metric("allocations_per_step", unit=Unit.COUNT, about="Blocks that a step takes from the device allocators of a host.")
def allocations_per_step(question: Question) -> float:
    """A mean over the counted steps of the hosts with allocator events."""
    needs_steps(question.run)
    _allocators(question)
    hosts = [host for host in question.run.hosts if host.memory]
    steps = sum(int(host.steps.steady().sum()) for host in hosts)
    return sum(one.allocations for host in hosts for one in host.memory) / max(steps, 1)


@metric(
    "memory_calls_per_step",
    unit=Unit.COUNT,
    about="Calls of cudaMalloc, cudaFree and their kin a step. Each waits until the device has done all its work.",
)
def memory_calls_per_step(question: Question) -> float:
    """0 when the framework's own allocator serves the steps, as it should."""
    needs_steps(question.run)
    accelerators(question.run)
    steps = sum(int(host.steps.steady().sum()) for host in question.run.hosts)
    return sum(host.memory_calls for host in question.run.hosts) / max(steps, 1)
