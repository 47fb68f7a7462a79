"""How full device memory is, how it is cut up, and what is allocated while steps run."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import accelerators, gpus, needs_steps, of_counted_time
from tfadvisor.timeline.host.costs import HostCost
from tfadvisor.timeline.host.memory import DeviceMemory
from tfadvisor.units import Unit

_ROOM = 0.9
"""The share of memory to fill: a step needs more now and then."""
_LEAST_FACTOR, _MOST_FACTOR = 1.5, 16


def _allocators(question: Question) -> list[DeviceMemory]:
    found = [one for host in question.run.hosts for one in host.evidence.memory]
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
    hosts = [host for host in question.run.hosts if host.evidence.memory]
    steps = sum(int(host.steps.steady().sum()) for host in hosts)
    return sum(one.allocations for host in hosts for one in host.evidence.memory) / max(steps, 1)


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
    return sum(host.evidence.calls.memory_calls for host in question.run.hosts) / max(steps, 1)


@metric(
    "memory_call_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which no device works while a thread is inside cudaMalloc, cudaFree or their kin.",
)
def memory_call_fraction(question: Question) -> float:
    """0 when the framework's own allocator serves the steps."""
    needs_steps(question.run)
    hosts = {id(host): host for host, _ in accelerators(question.run)}.values()
    return min(of_counted_time(hosts, lambda host: host.costs[HostCost.ALLOCATING]), 1.0)


@metric(
    "memory_pool_fraction",
    unit=Unit.FRACTION,
    about="What the allocator of the fullest GPU could give out in all, over the memory that the GPU has.",
)
def memory_pool_fraction(question: Question) -> float:
    """JAX takes 0.75 by default, XLA_PYTHON_CLIENT_MEM_FRACTION of it otherwise."""
    sizes = [device.properties.get("memory_size") for _, device in gpus(question.run)]
    known = [float(one) for one in sizes if isinstance(one, int | float) and one > 0]
    if not known:
        raise MetricAbsent("the trace does not say how much memory the GPU has")
    return min(memory_capacity_bytes(question) / max(known), 1.0)


@fact(
    "batch_factor", about="How many times larger the batch could be, as far as memory goes: 90 % of it over the peak."
)
def batch_factor(question: Question) -> str:
    """`3`. A lower bound, since parameters do not grow with the batch; absent below 1.5."""
    times = _ROOM / max(peak_memory_fraction(question), 1e-6)
    if times < _LEAST_FACTOR:
        raise MetricAbsent("memory has no room for a batch half as large again")
    return "1.5" if times < 2 else str(int(min(times, _MOST_FACTOR)))
