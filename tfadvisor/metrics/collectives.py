"""Communication between devices: how often, how long, how much of it is exposed, and
against the ideal.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.arrays import BoolArray, Int64Array, median
from tfadvisor.metrics.programs import model_parameters
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import (
    class_shares,
    counted_hosts,
    device_ps,
    device_steps,
    known_steps,
    tpus,
)
from tfadvisor.timeline.devices import CollectiveCalls
from tfadvisor.timeline.intervals import union
from tfadvisor.timeline.names.collective_events import CollectiveKind
from tfadvisor.timeline.names.models import known_model
from tfadvisor.timeline.run import Meetings
from tfadvisor.timeline.summary import DeviceSummary, HostSummary
from tfadvisor.units import PS_PER_MS, PS_PER_US, Unit
from tfadvisor.vocabulary import Better, TimeClass

if TYPE_CHECKING:
    import numpy.typing as npt

_FLOAT32_BYTES = 4
_GB = 1e9
NONE_COUNTED = "no collective that all devices were seen in begins in a counted step"


def _communicating(question: Question) -> list[tuple[HostSummary, DeviceSummary]]:
    """Active devices of a run with several. Raises MetricAbsent when the run has one
    device or never communicates.
    """
    known_steps(question.run)
    found = [
        (host, device)
        for host in counted_hosts(question.run)
        for device in host.devices
    ]
    if any(len(device.collectives) for _, device in found):
        return found
    if len(found) < 2:
        raise MetricAbsent("the run used a single device and no collective")
    raise MetricAbsent("no device's trace holds a collective")


def _is_all_reduce(calls: CollectiveCalls) -> BoolArray:
    named = np.array(
        [kind is CollectiveKind.ALL_REDUCE for kind in calls.kinds] or [False],
        np.bool_,
    )
    return np.asarray(named[calls.label] | named[calls.kernel], np.bool_)


@once
def _all_reduces(
    question: Question,
) -> list[tuple[HostSummary, CollectiveCalls, BoolArray]]:
    """Of every device that calls any. Raises MetricAbsent when none does."""
    found = [
        (host, device.collectives, _is_all_reduce(device.collectives))
        for host, device in _communicating(question)
    ]
    if not any(chosen.any() for _, _, chosen in found):
        raise MetricAbsent("no collective of this trace is an AllReduce")
    return [calls for calls in found if calls[2].any()]


@metric(unit=Unit.COUNT)
def collectives_per_step(question: Question) -> float:
    """Number of collectives per step and device, a mean over the devices."""
    total = sum(
        int(host.steps.counts(device.collectives.step).sum())
        for host, device in _communicating(question)
    )
    return total / device_steps(question.run)


@metric
def exposed_collective_fraction(question: Question) -> float:
    """Share of step time in which a device only communicates: collectives that no
    computation hides. This is the breakdown class `collective`.
    """
    _communicating(question)
    return class_shares(question.run)[TimeClass.COLLECTIVE]


@metric(better=Better.MORE)
def collective_overlap_fraction(question: Question) -> float:
    """Share of the collectives' time during which the same device computes. Collectives
    that run side by side count one by one.
    """
    total = exposed = 0
    for host, device in _communicating(question):
        calls = device.collectives
        counted = host.steps.counts(calls.step)
        total += int((calls.end - calls.start)[counted].sum())
        exposed += int(calls.exposed_ps[counted].sum())
    if not total:
        raise MetricAbsent("no collective begins in a counted step")
    return 1 - exposed / total


@metric
def collective_wait_fraction(question: Question) -> float:
    """Share of step time in which a device waits in a collective for the last device to
    arrive and computes nothing; a mean over the devices, from collectives seen on all
    devices. It is part of exposed_collective_fraction.
    """
    time = device_ps(question.run)
    waited = _waited(question)
    if not time:
        raise MetricAbsent(NONE_COUNTED)
    return min(waited / time, exposed_collective_fraction(question))


@once
def _waited(question: Question) -> int:
    """ps of all members together. Raises MetricAbsent when no meeting begins in a
    counted step.
    """
    meetings = known_meetings(question)
    found = [
        _waited_ps(question, meetings, member)
        for member in _counted_members(question, meetings)
    ]
    if all(waited is None for waited in found):
        raise MetricAbsent(NONE_COUNTED)
    return sum(waited or 0 for waited in found)


def _counted_members(question: Question, meetings: Meetings) -> list[int]:
    """The members of the hosts that sums over steps are about."""
    counted = {id(host) for host in counted_hosts(question.run)}
    hosts = meetings.host.tolist()
    return [
        member
        for member, host in enumerate(hosts)
        if id(question.run.hosts[host]) in counted
    ]


def _waited_ps(
    question: Question,
    meetings: Meetings,
    member: int,
) -> int | None:
    """How long a member waits without computing in the counted steps; None when none of
    its meetings begins in them.

    Waits that overlap count once. Of a call it is only known when computation first
    leaves it bare, and for how long in all: waiting is what lies beyond the first and
    is no more than the second.
    """
    index = int(meetings.host[member])
    host = question.run.hosts[index]
    offset = meetings.clocks.offset_ps[index] or 0
    counted = host.steps.counts(meetings.step[:, member])
    if not counted.any():
        return None
    lo = meetings.exposed_from[:, member] + offset
    hi = meetings.start[:, member] + meetings.wait[:, member] + offset
    once = host.steps.spent_on(union(lo[counted], hi[counted]))
    each = np.clip(hi - lo, 0, meetings.exposed[:, member])
    return min(once, int(each[counted].sum()))


@metric
def exposed_transfer_fraction(question: Question) -> float:
    """exposed_collective_fraction without the wait for the last device to arrive, where
    that wait is known: what faster links or fewer messages could save.
    """
    exposed = exposed_collective_fraction(question)
    try:
        return max(exposed - collective_wait_fraction(question), 0.0)
    except MetricAbsent:
        return exposed


@once
def _untraced_partners(question: Question) -> str:
    """Where the HLO's replica groups name more devices than communicate in the trace,
    that as a clause; else "".
    """
    found = [
        (host, device.collectives)
        for host, device in _communicating(question)
        if len(device.collectives)
    ]
    sizes = [
        int(calls.group[host.steps.counts(calls.step)].max(initial=0))
        for host, calls in found
    ]
    most = max(sizes, default=0)
    if most > len(found):
        return (
            f"collectives span {most} devices, and this trace holds {len(found)} of "
            "them"
        )
    return ""


@fact
def collective_partners(question: Question) -> str:
    """Whether the wait for the last device to arrive is known, as a part of a sentence:
    `the wait for late devices not counted`, or `waiting for late devices included`,
    with the reason where the HLO names devices that are not in the trace.
    """
    if why := _untraced_partners(question):
        return f"waiting for late devices included: {why}"
    try:
        collective_wait_fraction(question)
    except MetricAbsent:
        return "waiting for late devices included"
    return "the wait for late devices not counted"


def known_meetings(question: Question) -> Meetings:
    """The run's meetings. Raises MetricAbsent, with the reason, when there are none, or
    when devices that take part are not in the trace: who of all comes last, nobody
    knows then.
    """
    known_steps(question.run)
    if (
        why := _untraced_partners(question)
        if len(question.run.meetings)
        else question.run.meetings.why
    ):
        raise MetricAbsent(why)
    return question.run.meetings


@metric(unit=Unit.MS)
def allreduce_ms_per_step(question: Question) -> float:
    """Time per step and device during which an AllReduce runs, including the wait for
    other devices.
    """
    total = 0
    for host, calls, chosen in _all_reduces(question):
        total += host.steps.spent_on(union(calls.start[chosen], calls.end[chosen]))
    return total / device_steps(question.run) / PS_PER_MS


@metric(unit=Unit.BYTES)
def allreduce_bytes_per_step(question: Question) -> float:
    """Bytes that a device hands to AllReduces in a step, from the shapes in the trace's
    HLO.
    """
    total = 0
    for host, calls, chosen in _all_reduces(question):
        sizes = calls.bytes[chosen & host.steps.counts(calls.step)]
        if (sizes < 0).any():
            raise MetricAbsent("the trace does not say how large the messages are")
        total += int(sizes.sum())
    return total / device_steps(question.run)


@metric(unit=Unit.MS, better=Better.NEITHER)
def allreduce_ideal_ms(question: Question) -> float:
    """Model parameters times 4 bytes over the bandwidth between devices: the least time
    in which fp32 gradients can be reduced. Needs `--bandwidth`.
    """
    return (
        model_parameters(question) * _FLOAT32_BYTES / (_bandwidth(question) * _GB) * 1e3
    )


@metric(unit=Unit.MS, better=Better.NEITHER)
def allreduce_ring_ideal_ms(question: Question) -> float:
    """Bytes that the AllReduces of a step really carry, times 2(n-1)/n for n devices,
    over the bandwidth: the least time that a ring needs. Needs `--bandwidth`.
    """
    return _ring_bytes_per_step(question) / (_bandwidth(question) * _GB) * 1e3


@fact
def allreduce_within_host(question: Question) -> str:
    """Whether the AllReduces are among the devices of one host alone, by their replica
    groups: yes or no.
    """
    largest = 0
    for host, calls, chosen in _all_reduces(question):
        group = calls.group[chosen & host.steps.counts(calls.step)]
        if (group < 1).any():
            raise MetricAbsent(
                "the trace does not say how many devices exchange a message"
            )
        largest = max(largest, int(group.max(initial=0)))
    if not largest:
        raise MetricAbsent("no AllReduce runs in a counted step")
    if len(question.run.hosts) == 1 and largest <= len(question.run.hosts[0].devices):
        return "yes"
    return "no"


@metric(better=Better.MORE)
def allreduce_efficiency(question: Question) -> float:
    """allreduce_ideal_ms over allreduce_ms_per_step: 1 is ideal. It exceeds 1 when
    gradients are smaller than fp32 or not all of them are reduced.
    """
    ideal = allreduce_ideal_ms(question)
    measured = allreduce_ms_per_step(question)
    if not measured:
        raise MetricAbsent("no AllReduce runs in a counted step")
    return ideal / measured


def _transfer_ms_per_step(question: Question) -> float:
    """Sum of a step's AllReduce times per device, each from the moment when the last
    device arrives. An AllReduce that was not seen on all devices keeps its wait.
    """
    meetings = known_meetings(question)
    named = np.array(
        [kind is CollectiveKind.ALL_REDUCE for kind in meetings.kinds] or [False],
        np.bool_,
    )
    chosen = named[meetings.label]
    if not chosen.any():
        raise MetricAbsent(
            "no collective that all devices were seen in is an AllReduce"
        )
    total = 0
    for host, calls, mine in _all_reduces(question):
        total += int(
            (calls.end - calls.start)[mine & host.steps.counts(calls.step)].sum()
        )
    for member in _counted_members(question, meetings):
        counted = question.run.hosts[int(meetings.host[member])].steps.counts(
            meetings.step[:, member]
        )
        total -= int(meetings.wait[counted & chosen, member].sum())
    return total / device_steps(question.run) / PS_PER_MS


@metric(unit=Unit.GB_S, better=Better.MORE)
def allreduce_bus_gb_s(question: Question) -> float:
    """Bus bandwidth of the AllReduces (NCCL's `busbw`): true bytes times 2(n-1)/n over
    their time, without the wait for other devices where that is known. Compare it with
    the link's own bandwidth. Absent where devices that take part are not in the trace.
    """
    if why := _untraced_partners(question):
        raise MetricAbsent(f"{why}: waiting for the others looks like transfer")
    try:
        milliseconds = _transfer_ms_per_step(question)
    except MetricAbsent:
        milliseconds = allreduce_ms_per_step(question)
    if not milliseconds:
        raise MetricAbsent("no AllReduce runs in a counted step")
    return _ring_bytes_per_step(question) / (milliseconds / 1e3) / _GB


@metric(better=Better.MORE)
def allreduce_nvlink_share(question: Question) -> float:
    """allreduce_bus_gb_s over what NVLink carries one way: half of what NVIDIA's data
    sheet says of the GPU.
    """
    for model in sorted(
        {device.model for host in question.run.hosts for device in host.devices}
    ):
        known = known_model(model)
        if known is not None and known.nvlink:
            return allreduce_bus_gb_s(question) / (known.nvlink / 2)
    raise MetricAbsent(
        "no data sheet says that GPUs of this model are linked by NVLink"
    )


@metric(better=Better.NEITHER)
def sparse_core_fraction(question: Question) -> float:
    """Share of step time in which sparse cores of the TPUs run ops, beside the other
    cores or alone: look-ups of embeddings, or collectives that XLA moves there."""
    known_steps(question.run)
    found = sum(device.sparse_ps for _, device in tpus(question.run))
    if not found:
        raise MetricAbsent("the trace shows no op of a sparse core")
    return found / device_ps(question.run)


@metric(unit=Unit.BYTES, better=Better.NEITHER)
def collective_message_bytes(question: Question) -> float:
    """Median size of the messages of the counted steps' AllReduces, from the shapes in
    the trace's HLO.
    """
    return float(median(_sizes(question)[0]))


@metric(unit=Unit.US, better=Better.NEITHER)
def collective_us(question: Question) -> float:
    """Median length of a collective in the counted steps, waiting for other devices
    included. One that takes less than 50 µs carries little, whatever the trace says of
    its size.
    """
    lengths = [
        (device.collectives.end - device.collectives.start)[
            host.steps.counts(device.collectives.step)
        ]
        for host, device in _communicating(question)
    ]
    together = np.concatenate(lengths)
    if not len(together):
        raise MetricAbsent("no collective begins in a counted step")
    return float(median(together)) / PS_PER_US


_LONG = 10
"""So many times as long as the median, a collective carries far more than the others,
or waits."""


@metric
def long_collective_fraction(question: Question) -> float:
    """The part of exposed_transfer_fraction in collectives that take ten times
    collective_us or longer.
    """
    return _long_share(question)[1] * exposed_transfer_fraction(question)


@fact
def long_collectives(question: Question) -> str:
    """How many collectives of a step take ten times collective_us or longer: `2 of
    400`.
    """
    long, share = _long_share(question)
    if not share:
        raise MetricAbsent("no collective takes ten times the median or longer")
    return f"{long:,.3g} of {collectives_per_step(question):,.3g}"


@once
def _long_share(question: Question) -> tuple[float, float]:
    """(how many a step and device, their share of all exposed time)."""
    least = _LONG * collective_us(question) * PS_PER_US
    number = mine = total = 0
    for host, device in _communicating(question):
        calls = device.collectives
        counted = host.steps.counts(calls.step)
        long = counted & (calls.end - calls.start >= least)
        number += int(long.sum())
        mine += int(calls.exposed_ps[long].sum())
        total += int(calls.exposed_ps[counted].sum())
    return number / device_steps(question.run), mine / max(total, 1)


@fact
def combine_threshold_bytes(question: Question) -> str:
    """Bytes of all AllReduces of a step: the threshold at which XLA combines them into
    one message.
    """
    return str(math.ceil(allreduce_bytes_per_step(question)))


def _sizes(question: Question) -> tuple[Int64Array, Int64Array]:
    """(bytes, ps) of the counted AllReduces of known size."""
    sizes = []
    times = []
    for host, calls, chosen in _all_reduces(question):
        known = chosen & host.steps.counts(calls.step) & (calls.bytes >= 0)
        sizes.append(calls.bytes[known])
        times.append((calls.end - calls.start)[known])
    if not sum(map(len, sizes)):
        raise MetricAbsent("the trace does not say how large the messages are")
    return np.concatenate(sizes), np.concatenate(times)


def _ring_bytes_per_step(question: Question) -> float:
    total = 0.0
    for host, calls, chosen in _all_reduces(question):
        mine = chosen & host.steps.counts(calls.step)
        if (calls.bytes[mine] < 0).any() or (calls.group[mine] < 1).any():
            raise MetricAbsent(
                "the trace does not say how large the messages are and how many "
                "devices exchange them"
            )
        group = calls.group[mine]
        total += float(
            ring_bytes(CollectiveKind.ALL_REDUCE, calls.bytes[mine], group).sum()
        )
    return total / device_steps(question.run)


def _bandwidth(question: Question) -> float:
    if question.settings.bandwidth_gb_s is None:
        raise MetricAbsent(
            "the bandwidth between devices is not known: give it with --bandwidth"
        )
    return question.settings.bandwidth_gb_s


# How many bytes each device of a ring sends for a message.

_GATHERING = (
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_TO_ALL,
)


def ring_bytes(
    kind: CollectiveKind,
    size: Int64Array,
    group: Int64Array,
) -> npt.NDArray[np.float64]:
    """What each of group devices sends for a whole message of size bytes
    (NVIDIA/nccl-tests, doc/PERFORMANCE.md).

    2(n-1)/n of an AllReduce, which goes round twice; (n-1)/n of what is gathered,
    scattered or exchanged by all; the whole of anything else. group: at least 1.
    """
    if kind is CollectiveKind.ALL_REDUCE:
        return np.asarray(size * 2 * (group - 1) / group)
    if kind in _GATHERING:
        return np.asarray(size * (group - 1) / group)
    return np.asarray(size, np.float64)
