"""How full device memory is, how it is cut up, and what is allocated while
steps run.
"""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import (
    accelerated,
    an_accelerator,
    gpus,
    known_steps,
    spent,
)
from tfadvisor.timeline.host import DeviceMemory, HostCost
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, Scatter


def _allocators(question: Question) -> list[DeviceMemory]:
    found = [
        allocator for host in question.run.hosts for allocator in host.evidence.memory
    ]
    if not found:
        raise MetricAbsent("no device allocator left events in this trace")
    return found


@metric
def peak_memory_fraction(question: Question) -> float:
    """Largest number of bytes in use over the bytes that the device's allocator could
    give out, on the fullest device.
    """
    return min(
        max(
            allocator.peak_bytes / allocator.capacity_bytes
            for allocator in _allocators(question)
        ),
        1.0,
    )


@metric(unit=Unit.BYTES)
def peak_memory_bytes(question: Question) -> float:
    """Largest number of bytes in use on the fullest device, from allocator events."""
    return float(
        max(
            _allocators(question),
            key=lambda allocator: allocator.peak_bytes / allocator.capacity_bytes,
        ).peak_bytes
    )


@metric(unit=Unit.BYTES, better=Better.MORE)
def memory_capacity_bytes(question: Question) -> float:
    """Bytes that the allocator of the fullest device could give out in all. This is
    less than the device's memory where the framework took only a part of it.
    """
    return float(
        max(
            _allocators(question),
            key=lambda allocator: allocator.peak_bytes / allocator.capacity_bytes,
        ).capacity_bytes
    )


@metric(unit=Unit.COUNT, needs=(known_steps, an_accelerator), scatter=Scatter.COUNTED)
def memory_calls_per_step(question: Question) -> float:
    """Number of calls of cudaMalloc, cudaFree and the like per step. Each call waits
    until the device has finished all its work; the framework's own allocator needs
    none.
    """
    steps = sum(host.steps.steady_count for host in question.run.hosts)
    return sum(host.evidence.calls.memory_calls for host in question.run.hosts) / max(
        steps,
        1,
    )


@metric(needs=(known_steps,))
def memory_call_fraction(question: Question) -> float:
    """Share of step time in which no device works while a thread is inside cudaMalloc,
    cudaFree or the like.
    """
    return min(spent(accelerated(question.run), HostCost.ALLOCATING), 1.0)


@metric(better=Better.NEITHER)
def memory_pool_fraction(question: Question) -> float:
    """Bytes that the allocator of the fullest GPU could give out in all, over the GPU's
    memory. JAX takes 0.75 by default, and otherwise XLA_PYTHON_CLIENT_MEM_FRACTION.
    """
    sizes = [device.properties.get("memory_size") for _, device in gpus(question.run)]
    known = [
        float(size) for size in sizes if isinstance(size, int | float) and size > 0
    ]
    if not known:
        raise MetricAbsent("the trace does not say how much memory the GPU has")
    return min(memory_capacity_bytes(question) / max(known), 1.0)
