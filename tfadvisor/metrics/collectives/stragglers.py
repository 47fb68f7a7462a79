"""Who comes last to the collectives, again and again, and what it does while the others wait."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.metrics.collectives.cost import counted_meetings, known_meetings
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import counted_hosts, counted_ps, needs_steps
from tfadvisor.metrics.trace.devices import device_skew_fraction
from tfadvisor.timeline.intervals import BoolArray, Int64Array
from tfadvisor.timeline.run.meetings import Meetings
from tfadvisor.timeline.summary.device import DeviceSummary
from tfadvisor.timeline.summary.host import HostSummary
from tfadvisor.units import Unit, percent
from tfadvisor.vocabulary import TimeClass

_SAME_ONE = 0.6
"""From this share of the waiting on, waiting for one and the same is no coincidence."""
_NONE_COUNTED = "no collective that all devices were seen in begins in a counted step"
_DOING = {
    TimeClass.COMPUTE: "computing",
    TimeClass.TRANSFER: "copying",
    TimeClass.COMPILE: "compiling",
    TimeClass.INPUT: "loading input",
    TimeClass.LAUNCH: "dispatching",
    TimeClass.HOST: "running Python",
    TimeClass.IDLE: "idle",
}


class Lateness(msgspec.Struct, frozen=True):
    """Arrivals at the counted meetings, of hosts or of one host's devices; ps, shape (meetings, parties).

    latest: the party that is late by most time in all. step_ps: the summed length of the steps.
    """

    arrival: Int64Array
    latest: int
    step_ps: int

    def spread(self) -> Int64Array:
        """How long the first to arrive waits for the last, by meeting."""
        return np.asarray(np.ptp(self.arrival, axis=1))

    def lost(self) -> Int64Array:
        """The spread where the latest party came last, else 0."""
        return np.where(self.arrival.argmax(axis=1) == self.latest, self.spread(), 0)

    def share(self) -> float:
        """How much of all spread is waiting for the latest party."""
        return float(self.lost().sum() / max(int(self.spread().sum()), 1))


def _lateness(arrival: Int64Array, counted: BoolArray, step_ps: int) -> Lateness | None:
    """Of the counted meetings; None without any, or without a step to set them against."""
    if not counted.any() or not step_ps:
        return None
    chosen = arrival[counted]
    return Lateness(chosen, int((chosen - chosen.min(axis=1, keepdims=True)).sum(axis=0).argmax()), step_ps)


def host_lateness(question: Question) -> tuple[Lateness, list[HostSummary]]:
    """Of the hosts that communicate. Raises MetricAbsent when there is one or none."""
    meetings = known_meetings(question)
    members = sorted(set(meetings.host.tolist()))
    if len(members) < 2:
        raise MetricAbsent("the run has a single host that communicates")
    hosts = [question.run.hosts[index] for index in members]
    arrival, known = meetings.host_arrival(len(question.run.hosts)), {id(host) for host in counted_hosts(question.run)}
    for index, host in zip(members, hosts, strict=True):  # by the first host's steps that tell
        counted = counted_meetings(host, meetings, int(np.flatnonzero(meetings.host == index)[0]))
        late = _lateness(arrival, counted, _shared_ps(question, meetings, index)) if id(host) in known else None
        if late is not None:
            return late, hosts
    raise MetricAbsent(_NONE_COUNTED)


def device_lateness(question: Question) -> tuple[Lateness, HostSummary, list[DeviceSummary]]:
    """Of the devices of the host on which one of them keeps the others waiting longest."""
    meetings = known_meetings(question)
    several = [host for host in sorted(set(meetings.host.tolist())) if (meetings.host == host).sum() > 1]
    if not several:
        raise MetricAbsent("no host of this run has several devices that communicate")
    found: list[tuple[Lateness, HostSummary, list[DeviceSummary]]] = []
    for index in several:
        host, members = question.run.hosts[index], np.flatnonzero(meetings.host == index)
        counted = counted_meetings(host, meetings, int(members[0]))
        late = _lateness(meetings.start[:, members], counted, _shared_ps(question, meetings, index))
        if late is not None:
            found.append((late, host, [host.devices[one] for one in meetings.device[members].tolist()]))
    if not found:
        raise MetricAbsent(_NONE_COUNTED)
    return max(found, key=lambda one: int(one[0].lost().sum()) / one[0].step_ps)


def _shared_ps(question: Question, meetings: Meetings, index: int) -> int:
    """Summed length of a host's counted steps of which the traces of all members hold the middle.

    Hosts may be recorded for different lengths, and nothing is known of a step that another one's trace lacks.
    """
    hosts, offsets = question.run.hosts, [offset or 0 for offset in meetings.clocks.offset_ps]
    members = sorted(set(meetings.host.tolist()))
    lo = max(hosts[one].capture.window[0] - offsets[one] for one in members)
    hi = min(hosts[one].capture.window[1] - offsets[one] for one in members)
    steps = hosts[index].steps
    middle = (steps.starts + steps.ends) // 2 - offsets[index]
    shared = steps.steady() & (middle >= lo) & (middle <= hi)
    return int((steps.ends - steps.starts)[shared].sum())


@metric(
    "host_skew_fraction",
    unit=Unit.FRACTION,
    about="How long the first host waits in collectives for the last one to arrive, as a share of step time. Without "
    "collectives between hosts: the difference in device compute time a step between the busiest and the least busy host.",
)
def host_skew_fraction(question: Question) -> float:
    """Only for runs of several hosts with device work."""
    needs_steps(question.run)
    working = [host for host in counted_hosts(question.run) if host.devices and counted_ps(host)]
    if len(working) < 2:
        raise MetricAbsent("the run has a single host with device work")
    try:
        late, _ = host_lateness(question)
    except MetricAbsent:
        return _compute_difference(working)
    return min(int(late.spread().sum()) / late.step_ps, 1.0)


def _compute_difference(hosts: list[HostSummary]) -> float:
    compute, period = [], []
    for host in hosts:
        time = host.breakdown[host.takes_part & host.steps.steady()[None, :]]
        compute.append(float(time[:, TimeClass.COMPUTE].mean()))
        period.append(float(time.sum(axis=1).mean()))
    return min(float((max(compute) - min(compute)) / np.mean(period)), 1.0)


@metric(
    "late_host_share",
    unit=Unit.FRACTION,
    about="Share of the time that hosts wait for each other in collectives that is waiting for one and the same host.",
)
def late_host_share(question: Question) -> float:
    """1 for a straggler, 1 over the number of hosts where they take turns."""
    needs_steps(question.run)
    return host_lateness(question)[0].share()


@metric(
    "late_device_share",
    unit=Unit.FRACTION,
    about="Share of the time that devices of a host wait for each other in collectives that is waiting for one and the "
    "same device.",
)
def late_device_share(question: Question) -> float:
    """Of the host on which that costs most."""
    needs_steps(question.run)
    return device_lateness(question)[0].share()


@metric(
    "late_host_fraction",
    unit=Unit.FRACTION,
    about="How long the first host waits in collectives that one and the same host reaches last, as a share of step time; "
    "0 when hosts take turns (late_host_share below 0.6).",
)
def late_host_fraction(question: Question) -> float:
    """What the step would be shorter by if that host were on time."""
    needs_steps(question.run)
    return _persistent(host_lateness(question)[0])


@metric(
    "late_device_fraction",
    unit=Unit.FRACTION,
    about="How long the first device of a host waits in collectives that one and the same device reaches last, as a share "
    "of step time; 0 when devices take turns (late_device_share below 0.6).",
)
def late_device_fraction(question: Question) -> float:
    """Without collectives the device_skew_fraction says how uneven devices are."""
    needs_steps(question.run)
    return _persistent(device_lateness(question)[0])


@metric(
    "uneven_work_fraction",
    unit=Unit.FRACTION,
    about="late_device_fraction, or device_skew_fraction where devices do not communicate: what uneven devices cost.",
)
def uneven_work_fraction(question: Question) -> float:
    """Share of step time."""
    try:
        return late_device_fraction(question)
    except MetricAbsent:
        return device_skew_fraction(question)


def _persistent(late: Lateness) -> float:
    return min(int(late.lost().sum()) / late.step_ps, 1.0) if late.share() >= _SAME_ONE else 0.0


@fact("late_host", about="The host for which the others wait most in collectives.")
def late_host(question: Question) -> str:
    """Its name."""
    needs_steps(question.run)
    late, hosts = host_lateness(question)
    return hosts[late.latest].host


@fact("late_device", about="The device for which the others of its host wait most in collectives.")
def late_device(question: Question) -> str:
    """`GPU:3`, with its host's name where there are several."""
    needs_steps(question.run)
    late, host, devices = device_lateness(question)
    name = devices[late.latest].name
    return f"{name} of {host.host}" if len(question.run.hosts) > 1 else name


@fact("late_host_reason", about="What the late host does more of than the others.")
def late_host_reason(question: Question) -> str:
    """`loading input 62 % of its step time, the others 1.0 %`."""
    mine, theirs, top = _excess(question)
    return f"{_DOING[top]} {percent(float(mine[top]))} of its step time, the others {percent(float(theirs[top]))}"


@fact("late_host_class", about="The class of step time that the late host has more of than the others.")
def late_host_class(question: Question) -> str:
    """input, compute, host, launch, compile, transfer or idle."""
    return _excess(question)[2].name.lower()


@fact("late_host_frame", about="The call of the late host's training loop that takes most of what it does more of.")
def late_host_frame(question: Question) -> str:
    """`load_batch (train.py:25)`."""
    top = _excess(question)[2]
    late, hosts = host_lateness(question)
    frames = hosts[late.latest].evidence.frames
    if top is TimeClass.INPUT:
        frames = tuple(one for one in frames if one.input_ps > one.host_ps)
    if top not in (TimeClass.INPUT, TimeClass.HOST) or not frames:
        raise MetricAbsent("no Python frame of the late host explains it")
    return max(frames, key=lambda one: one.input_ps + one.host_ps).place()


def _excess(question: Question) -> tuple[np.ndarray, np.ndarray, TimeClass]:
    """(the late host's share of step time by class, the others' mean, the class with the largest difference)."""
    needs_steps(question.run)
    late, hosts = host_lateness(question)
    shares = np.stack([_shares(host) for host in hosts])
    mine, theirs = shares[late.latest], np.delete(shares, late.latest, axis=0).mean(axis=0)
    more = mine - theirs
    more[TimeClass.COLLECTIVE] = -1
    return mine, theirs, TimeClass(int(np.argmax(more)))


def _shares(host: HostSummary) -> np.ndarray:
    """Share of the counted step time by TimeClass."""
    time = host.breakdown[host.takes_part & host.steps.steady()[None, :]].sum(axis=0)
    return np.asarray(time / max(int(time.sum()), 1))
