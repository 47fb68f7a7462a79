"""Communication between devices: how often, how long, how much of it is exposed, and against the ideal."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tfadvisor.arrays import median
from tfadvisor.metrics.collectives.ring import ring_bytes
from tfadvisor.metrics.kernels.programs import model_parameters
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import class_shares, counted_hosts, device_ps, device_steps, needs_steps
from tfadvisor.timeline.devices.collective_calls import CollectiveCalls
from tfadvisor.timeline.intervals import BoolArray, Int64Array, union
from tfadvisor.timeline.names.collectives import CollectiveKind
from tfadvisor.timeline.run.meetings import Meetings
from tfadvisor.timeline.summary.device import DeviceSummary
from tfadvisor.timeline.summary.host import HostSummary
from tfadvisor.units import PS_PER_MS, PS_PER_S, PS_PER_US, Unit
from tfadvisor.vocabulary import TimeClass

_FLOAT32_BYTES = 4
_GB = 1e9
_LEAST_SIZE_RATIO = 4.0
"""A line through message sizes is drawn only where the largest is at least this many times the smallest."""


def _communicating(question: Question) -> list[tuple[HostSummary, DeviceSummary]]:
    """Active devices of a run with several. Raises MetricAbsent when the run has one device or never communicates."""
    needs_steps(question.run)
    found = [(host, device) for host in counted_hosts(question.run) for device in host.devices]
    if any(len(device.collectives) for _, device in found):
        return found
    if len(found) < 2:
        raise MetricAbsent("the run used a single device and no collective")
    raise MetricAbsent("no device's trace holds a collective")


def _counted(host: HostSummary, calls: CollectiveCalls) -> BoolArray:
    """Which calls begin in a counted step."""
    steady = host.steps.steady()
    return np.asarray((calls.step >= 0) & steady[np.maximum(calls.step, 0)], np.bool_)


def _is_all_reduce(calls: CollectiveCalls) -> BoolArray:
    named = np.array([kind is CollectiveKind.ALL_REDUCE for kind in calls.kinds] or [False], np.bool_)
    return np.asarray(named[calls.label] | named[calls.kernel], np.bool_)


def _all_reduces(question: Question) -> Iterator[tuple[HostSummary, CollectiveCalls, BoolArray]]:
    """Of every device that calls any. Raises MetricAbsent when none does."""
    found = [(host, one.collectives, _is_all_reduce(one.collectives)) for host, one in _communicating(question)]
    if not any(chosen.any() for _, _, chosen in found):
        raise MetricAbsent("no collective of this trace is an AllReduce")
    yield from (one for one in found if one[2].any())


@metric("collectives_per_step", unit=Unit.COUNT, about="Collectives a step and device.")
def collectives_per_step(question: Question) -> float:
    """A mean over the devices."""
    total = sum(int(_counted(host, one.collectives).sum()) for host, one in _communicating(question))
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
    "collective_overlap_fraction",
    unit=Unit.FRACTION,
    about="Share of the collectives' time that computation of the same device covers.",
)
def collective_overlap_fraction(question: Question) -> float:
    """Collectives that run beside each other count one by one."""
    total = exposed = 0
    for host, device in _communicating(question):
        calls = device.collectives
        counted = _counted(host, calls)
        total += int((calls.end - calls.start)[counted].sum())
        exposed += int(calls.exposed_ps[counted].sum())
    if not total:
        raise MetricAbsent("no collective begins in a counted step")
    return 1 - exposed / total


@metric(
    "collective_wait_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which a device waits in a collective for the last device to arrive, while it computes "
    "nothing; mean over the devices. It is part of exposed_collective_fraction.",
)
def collective_wait_fraction(question: Question) -> float:
    """From collectives that all devices were seen in, clocks of hosts aligned on their ends."""
    meetings = known_meetings(question)
    found = [_waited_ps(question, meetings, member) for member in _counted_members(question, meetings)]
    time = device_ps(question.run)
    if not time or all(one is None for one in found):
        raise MetricAbsent("no collective that all devices were seen in begins in a counted step")
    return min(sum(one or 0 for one in found) / time, exposed_collective_fraction(question))


def _counted_members(question: Question, meetings: Meetings) -> list[int]:
    """The members of the hosts that sums over steps are about."""
    counted = {id(host) for host in counted_hosts(question.run)}
    hosts = meetings.host.tolist()
    return [member for member, host in enumerate(hosts) if id(question.run.hosts[host]) in counted]


def _waited_ps(question: Question, meetings: Meetings, member: int) -> int | None:
    """How long a member waits without computing in the counted steps; None when none of its meetings begins in them.

    Waits that overlap count once. Of a call it is only known when computation first leaves it bare, and for how long in
    all: waiting is what lies beyond the first and is no more than the second.
    """
    index = int(meetings.host[member])
    host, offset = question.run.hosts[index], meetings.clocks.offset_ps[index] or 0
    counted = counted_meetings(host, meetings, member)
    if not counted.any():
        return None
    lo, hi = meetings.exposed_from[:, member] + offset, (meetings.start + meetings.wait)[:, member] + offset
    steady = host.steps.steady()
    once = union(lo[counted], hi[counted]).within(host.steps.starts[steady], host.steps.ends[steady])
    each = np.clip(hi - lo, 0, meetings.exposed[:, member])
    return min(int(once.sum()), int(each[counted].sum()))


@metric(
    "exposed_transfer_fraction",
    unit=Unit.FRACTION,
    about="exposed_collective_fraction without the waiting for the last device to arrive, where that is known.",
)
def exposed_transfer_fraction(question: Question) -> float:
    """What faster links or fewer messages could save, and stragglers could not."""
    exposed = exposed_collective_fraction(question)
    try:
        return max(exposed - collective_wait_fraction(question), 0.0)
    except MetricAbsent:
        return exposed


def known_meetings(question: Question) -> Meetings:
    """The run's meetings. Raises MetricAbsent, with the reason, when there are none."""
    needs_steps(question.run)
    if not len(question.run.meetings):
        raise MetricAbsent(question.run.meetings.why)
    return question.run.meetings


def counted_meetings(host: HostSummary, meetings: Meetings, member: int) -> BoolArray:
    """Which meetings begin in a counted step of a member."""
    step = meetings.step[:, member]
    return np.asarray((step >= 0) & host.steps.steady()[np.maximum(step, 0)], np.bool_)


@metric(
    "allreduce_ms_per_step",
    unit=Unit.MS,
    about="Time a step and device in which an AllReduce runs, waiting for other devices included.",
)
def allreduce_ms_per_step(question: Question) -> float:
    """Absent when no collective is an AllReduce."""
    total = 0
    for host, calls, chosen in _all_reduces(question):
        steady = host.steps.steady()
        running = union(calls.start[chosen], calls.end[chosen])
        total += int(running.within(host.steps.starts[steady], host.steps.ends[steady]).sum())
    return total / max(device_steps(question.run), 1) / PS_PER_MS


@metric(
    "allreduce_transfer_ms_per_step",
    unit=Unit.MS,
    about="allreduce_ms_per_step without waiting: from when the last device arrives. Sum over a step's AllReduces.",
)
def allreduce_transfer_ms_per_step(question: Question) -> float:
    """Where not all devices were seen in an AllReduce, its waiting is not known and stays in."""
    meetings = known_meetings(question)
    named = np.array([kind is CollectiveKind.ALL_REDUCE for kind in meetings.kinds] or [False], np.bool_)
    chosen = named[meetings.label]
    if not chosen.any():
        raise MetricAbsent("no collective that all devices were seen in is an AllReduce")
    total = 0
    for host, calls, mine in _all_reduces(question):
        total += int((calls.end - calls.start)[mine & _counted(host, calls)].sum())
    for member in _counted_members(question, meetings):
        counted = counted_meetings(question.run.hosts[int(meetings.host[member])], meetings, member)
        total -= int(meetings.wait[counted & chosen, member].sum())
    return total / max(device_steps(question.run), 1) / PS_PER_MS


@metric(
    "allreduce_bytes_per_step",
    unit=Unit.BYTES,
    about="Bytes that a device hands to AllReduces in a step, by the shapes in the trace's HLO.",
)
def allreduce_bytes_per_step(question: Question) -> float:
    """Absent where the trace does not say how large the messages are."""
    total = 0
    for host, calls, chosen in _all_reduces(question):
        sizes = calls.bytes[chosen & _counted(host, calls)]
        if (sizes < 0).any():
            raise MetricAbsent("the trace does not say how large the messages are")
        total += int(sizes.sum())
    return total / max(device_steps(question.run), 1)


@metric(
    "allreduce_ideal_ms",
    unit=Unit.MS,
    about="Model parameters times 4 bytes over the bandwidth between devices: what an AllReduce of fp32 gradients takes at "
    "best.",
)
def allreduce_ideal_ms(question: Question) -> float:
    """Needs the bandwidth from the user, and the number of parameters where the trace does not hold it."""
    return model_parameters(question) * _FLOAT32_BYTES / (_bandwidth(question) * _GB) * 1e3


@metric(
    "allreduce_ring_ideal_ms",
    unit=Unit.MS,
    about="The bytes that the AllReduces of a step really carry, times 2(n-1)/n for n devices, over the bandwidth.",
)
def allreduce_ring_ideal_ms(question: Question) -> float:
    """Beside allreduce_ideal_ms: true bytes and type instead of parameters, and what a ring sends."""
    return _ring_bytes_per_step(question) / (_bandwidth(question) * _GB) * 1e3


@metric(
    "allreduce_efficiency",
    unit=Unit.FRACTION,
    about="allreduce_ideal_ms over allreduce_ms_per_step.",
)
def allreduce_efficiency(question: Question) -> float:
    """1 is ideal; above 1 the gradients are smaller than fp32 or not all reduced."""
    ideal, measured = allreduce_ideal_ms(question), allreduce_ms_per_step(question)
    if not measured:
        raise MetricAbsent("no AllReduce runs in a counted step")
    return ideal / measured


@metric(
    "allreduce_bus_gb_s",
    unit=Unit.GB_S,
    about="Bus bandwidth of the AllReduces: true bytes times 2(n-1)/n over their time, without waiting where that is known.",
)
def allreduce_bus_gb_s(question: Question) -> float:
    """NCCL's `busbw`, comparable with the link's own bandwidth."""
    try:
        milliseconds = allreduce_transfer_ms_per_step(question)
    except MetricAbsent:
        milliseconds = allreduce_ms_per_step(question)
    if not milliseconds:
        raise MetricAbsent("no AllReduce runs in a counted step")
    return _ring_bytes_per_step(question) / (milliseconds / 1e3) / _GB


@metric(
    "collective_message_bytes",
    unit=Unit.BYTES,
    about="Median size of the messages of the counted steps' collectives.",
)
def collective_message_bytes(question: Question) -> float:
    """By the shapes in the trace's HLO."""
    return float(median(_sizes(question)[0]))


@fact(
    "combine_threshold_bytes",
    about="All AllReduce bytes of a step: XLA's threshold that combines them into one message.",
)
def combine_threshold_bytes(question: Question) -> str:
    """`436207616`."""
    return str(math.ceil(allreduce_bytes_per_step(question)))


@metric(
    "allreduce_latency_us",
    unit=Unit.US,
    about="What an AllReduce of no size would take: α of the line α + bytes/β through the messages of the trace.",
)
def allreduce_latency_us(question: Question) -> float:
    """Least squares over the fastest call of each size; absent where sizes differ too little."""
    latency = _line(question)[0]
    if latency < 0:
        raise MetricAbsent("the messages of this trace do not lie on a line of latency and bandwidth")
    return latency / PS_PER_US


@metric(
    "allreduce_fitted_gb_s",
    unit=Unit.GB_S,
    about="What large AllReduces would reach: β of the line α + bytes/β through the messages of the trace.",
)
def allreduce_fitted_gb_s(question: Question) -> float:
    """Bytes of the message over time, without the factor of a ring."""
    slope = _line(question)[1]
    if slope <= 0:
        raise MetricAbsent("larger messages do not take longer in this trace")
    return PS_PER_S / slope / _GB


def _line(question: Question) -> tuple[float, float]:
    """(α in ps, ps per byte)."""
    sizes, times = _sizes(question)
    distinct_sizes, which = np.unique(sizes, return_inverse=True)
    if len(distinct_sizes) < 2 or distinct_sizes[-1] < _LEAST_SIZE_RATIO * max(int(distinct_sizes[0]), 1):
        raise MetricAbsent("the messages are too alike in size to tell latency from bandwidth")
    fastest = np.full(len(distinct_sizes), np.iinfo(np.int64).max)
    np.minimum.at(fastest, which, times)
    x, y = distinct_sizes.astype(np.float64), fastest.astype(np.float64)
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
    return float(y.mean() - slope * x.mean()), slope


def _sizes(question: Question) -> tuple[Int64Array, Int64Array]:
    """(bytes, ps) of the counted AllReduces of known size."""
    sizes, times = [], []
    for host, calls, chosen in _all_reduces(question):
        known = chosen & _counted(host, calls) & (calls.bytes >= 0)
        sizes.append(calls.bytes[known])
        times.append((calls.end - calls.start)[known])
    if not sum(map(len, sizes)):
        raise MetricAbsent("the trace does not say how large the messages are")
    return np.concatenate(sizes), np.concatenate(times)


def _ring_bytes_per_step(question: Question) -> float:
    total = 0.0
    for host, calls, chosen in _all_reduces(question):
        mine = chosen & _counted(host, calls)
        if (calls.bytes[mine] < 0).any() or (calls.group[mine] < 1).any():
            raise MetricAbsent("the trace does not say how large the messages are and how many devices exchange them")
        group = calls.group[mine]
        total += float(ring_bytes(CollectiveKind.ALL_REDUCE, calls.bytes[mine], group).sum())
    return total / max(device_steps(question.run), 1)


def _bandwidth(question: Question) -> float:
    if question.settings.bandwidth_gb_s is None:
        raise MetricAbsent("the bandwidth between devices is not known: give it with --bandwidth")
    return question.settings.bandwidth_gb_s
