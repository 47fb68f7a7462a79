"""Communication between devices: how often, how long, how much of it is exposed, and against the ideal."""

from __future__ import annotations

import re

from tfadvisor.lean_numpy import distinct, is_in
from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import class_shares, device_steps, in_windows, needs_steps, ps_per_step
from tfadvisor.timeline.classes import DeviceClass
from tfadvisor.timeline.intervals import union
from tfadvisor.timeline.model import Device, TimeClass
from tfadvisor.timeline.run_timeline import HostTimeline
from tfadvisor.units import PS_PER_MS, Unit

_ALL_REDUCE = re.compile(r"all_?-?reduce|psum|pmean", re.IGNORECASE)
_FLOAT32_BYTES = 4


def _communicating(question: Question) -> list[tuple[HostTimeline, Device]]:
    """Active devices of a run with several. Raises MetricAbsent when the run has one device or never communicates."""
    needs_steps(question.run)
    found = [(host, device) for host in question.run.hosts for device in host.active_devices()]
    if any(len(device.collective) for _, device in found):
        return found
    if len(found) < 2:
        raise MetricAbsent("the run used a single device and no collective")
    raise MetricAbsent("no device's trace holds a collective")


@metric("collectives_per_step", unit=Unit.COUNT, about="Collectives a step and device.")
def collectives_per_step(question: Question) -> float:
    """A mean over the devices."""
    total = 0
    for host, device in _communicating(question):
        total += int(((device.ops.kind == DeviceClass.COLLECTIVE) & in_windows(host, device.ops.start)).sum())
    return total / max(device_steps(question.run), 1)


@metric(
    "exposed_collective_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which a device only communicates: collectives that no computation hides.",
)
def exposed_collective_fraction(question: Question) -> float:
    """Breakdown class `collective`."""
    _communicating(question)
    return class_shares(question.run)[TimeClass.COLLECTIVE]


@metric(
    "allreduce_ms_per_step",
    unit=Unit.MS,
    about="Time a step and device in which an AllReduce runs, waiting for other devices included.",
)
def allreduce_ms_per_step(question: Question) -> float:
    """Absent when no collective is an AllReduce."""
    sets = []
    for host, device in _communicating(question):
        rows = [row for row in distinct(device.ops.name).tolist() if _ALL_REDUCE.search(device.ops.names[row])]
        mine = is_in(device.ops.name, rows) & (device.ops.kind == DeviceClass.COLLECTIVE)
        sets.append((host, union(device.ops.start[mine], device.ops.end[mine])))
    if not any(len(one) for _, one in sets):
        raise MetricAbsent("no collective of this trace is an AllReduce")
    return ps_per_step(question.run, sets) / PS_PER_MS


@metric(
    "allreduce_ideal_ms",
    unit=Unit.MS,
    about="Model parameters times 4 bytes over the bandwidth between devices: what an AllReduce of fp32 gradients takes at "
    "best.",
)
def allreduce_ideal_ms(question: Question) -> float:
    """Needs the number of parameters and the bandwidth from the user."""
    parameters, bandwidth = question.settings.parameters, question.settings.bandwidth_gb_s
    if parameters is None:
        raise MetricAbsent("the number of model parameters is not known: give it with --params")
    if bandwidth is None:
        raise MetricAbsent("the bandwidth between devices is not known: give it with --bandwidth")
    return parameters * _FLOAT32_BYTES / (bandwidth * 1e9) * 1e3


@metric(
    "allreduce_efficiency",
    unit=Unit.FRACTION,
    about="allreduce_ideal_ms over allreduce_ms_per_step.",
)
def allreduce_efficiency(question: Question) -> float:
    """1 is ideal; above 1 the gradients are smaller than fp32 or not all reduced."""
    return allreduce_ideal_ms(question) / allreduce_ms_per_step(question)
