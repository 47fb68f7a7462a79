"""How evenly devices and hosts share the work, and how full device memory is."""

from __future__ import annotations

import numpy as np

from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import needs_steps
from tfadvisor.timeline.model import TimeClass
from tfadvisor.units import Unit


@metric(
    "device_skew_fraction",
    unit=Unit.FRACTION,
    about="Difference in compute time between the busiest and the least busy device of a host in the same step, as a "
    "share of step time; mean over the counted steps.",
)
def device_skew_fraction(question: Question) -> float:
    """Only for hosts with several active devices."""
    needs_steps(question.run)
    spread = time = 0
    for host in question.run.hosts:
        if len(host.active_devices()) > 1:
            steady = host.steps.steady()
            compute = host.breakdown[:, steady, TimeClass.COMPUTE]
            spread += int((compute.max(axis=0) - compute.min(axis=0)).sum())
            time += int((host.steps.ends - host.steps.starts)[steady].sum())
    if not time:
        raise MetricAbsent("no host of this run has several active devices")
    return spread / time


@metric(
    "host_skew_fraction",
    unit=Unit.FRACTION,
    about="Difference in device compute time a step between the busiest and the least busy host, as a share of step time.",
)
def host_skew_fraction(question: Question) -> float:
    """Only for runs of several hosts with device work."""
    needs_steps(question.run)
    compute, period = [], []
    for host in question.run.hosts:
        counted = host.takes_part & host.steps.steady()[None, :]
        if host.active_devices() and counted.any():
            compute.append(float(host.breakdown[counted][:, TimeClass.COMPUTE].mean()))
            period.append(float(host.breakdown[counted].sum(axis=1).mean()))
    if len(compute) < 2:
        raise MetricAbsent("the run has a single host with device work")
    return (max(compute) - min(compute)) / float(np.mean(period))


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
