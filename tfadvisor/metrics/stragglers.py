"""Who comes last to the collectives, what it does meanwhile, and which replica or op is
uneven.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from tfadvisor.arrays import BoolArray, Int64Array, distinct
from tfadvisor.metrics.collectives import NONE_COUNTED, known_meetings
from tfadvisor.metrics.devices import device_skew_fraction
from tfadvisor.metrics.layers import OpKey, keys_of, name_with_place
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import (
    counted_hosts,
    hosts_of_several,
    hosts_with_work,
    known_steps,
    several_hosts,
)
from tfadvisor.tallies import added_up
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.run import Meetings, RunSummary
from tfadvisor.timeline.summary import DeviceSummary, HostSummary
from tfadvisor.units import PS_PER_MS, percent
from tfadvisor.vocabulary import TimeClass

_SAME_ONE = 0.6
"""From this share of the waiting on, waiting for one and the same is no coincidence."""
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
    """Arrivals at the counted meetings, of hosts or of one host's devices; ps, shape
    (meetings, parties).

    latest: the party that is late by most time in all. step_ps: the summed length of
    the steps.
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


def _lateness(
    arrival: Int64Array,
    counted: BoolArray,
    step_ps: int,
) -> Lateness | None:
    """Of the counted meetings; None without any, or without a step to set them
    against.
    """
    if not counted.any() or not step_ps:
        return None
    chosen = arrival[counted]
    return Lateness(
        chosen,
        int((chosen - chosen.min(axis=1, keepdims=True)).sum(axis=0).argmax()),
        step_ps,
    )


@once
def host_lateness(question: Question) -> tuple[Lateness, list[HostSummary]]:
    """Of the hosts that communicate. Raises MetricAbsent when there is one or none."""
    meetings = known_meetings(question)
    members = sorted(set(meetings.host.tolist()))
    if len(members) < 2:
        raise MetricAbsent("the run has a single host that communicates")
    hosts = [question.run.hosts[index] for index in members]
    arrival = meetings.host_arrival()
    known = {id(host) for host in counted_hosts(question.run)}
    for index, host in zip(
        members,
        hosts,
        strict=True,
    ):  # by the first host's steps that tell
        counted = host.steps.counts(
            meetings.step[:, meetings.host.tolist().index(index)]
        )
        if id(host) in known:
            late = _lateness(arrival, counted, _shared_ps(question, meetings, index))
        else:
            late = None
        if late is not None:
            return late, hosts
    raise MetricAbsent(NONE_COUNTED)


@once
def device_lateness(
    question: Question,
) -> tuple[Lateness, HostSummary, list[DeviceSummary]]:
    """Of the devices of the host on which one of them keeps the others waiting
    longest.
    """
    meetings = known_meetings(question)
    several = np.flatnonzero(np.bincount(meetings.host) > 1).tolist()
    if not several:
        raise MetricAbsent("no host of this run has several devices that communicate")
    found: list[tuple[Lateness, HostSummary, list[DeviceSummary]]] = []
    for index in several:
        host = question.run.hosts[index]
        members = np.flatnonzero(meetings.host == index)
        counted = host.steps.counts(meetings.step[:, members[0]])
        late = _lateness(
            meetings.start[:, members],
            counted,
            _shared_ps(question, meetings, index),
        )
        if late is not None:
            found.append(
                (
                    late,
                    host,
                    [
                        host.devices[device]
                        for device in meetings.device[members].tolist()
                    ],
                )
            )
    if not found:
        raise MetricAbsent(NONE_COUNTED)
    return max(
        found,
        key=lambda candidate: int(candidate[0].lost().sum()) / candidate[0].step_ps,
    )


@once
def _shared_window(run: RunSummary) -> tuple[int, int]:
    """First and last instant that the traces of all members hold, ps on the first one's
    clock.
    """
    hosts = run.hosts
    offsets = [offset or 0 for offset in run.meetings.clocks.offset_ps]
    members = distinct(run.meetings.host).tolist()
    lo = max(hosts[member].capture.window[0] - offsets[member] for member in members)
    hi = min(hosts[member].capture.window[1] - offsets[member] for member in members)
    return lo, hi


def _shared_ps(
    question: Question,
    meetings: Meetings,
    index: int,
) -> int:
    """Summed length of a host's counted steps of which the traces of all members hold
    the middle.

    Hosts may be recorded for different lengths, and nothing is known of a step that
    another one's trace lacks.
    """
    lo, hi = _shared_window(question.run)
    steps = question.run.hosts[index].steps
    middle = (steps.starts + steps.ends) // 2 - (meetings.clocks.offset_ps[index] or 0)
    shared = steps.steady() & (middle >= lo) & (middle <= hi)
    return int((steps.ends - steps.starts)[shared].sum())


@metric(needs=(known_steps, several_hosts))
def host_skew_fraction(question: Question) -> float:
    """Time that the first host waits in collectives for the last one to arrive, as a
    share of step time. Without collectives between hosts: the difference in device
    compute time per step between the busiest and the least busy host.
    """
    try:
        late, _ = host_lateness(question)
    except MetricAbsent:
        return _compute_difference(hosts_with_work(question.run))
    return min(int(late.spread().sum()) / late.step_ps, 1.0)


def _compute_difference(hosts: list[HostSummary]) -> float:
    compute = []
    period = []
    for host in hosts:
        time = host.breakdown[host.counted]
        compute.append(float(time[:, TimeClass.COMPUTE].mean()))
        period.append(float(time.sum(axis=1).mean()))
    return min(float((max(compute) - min(compute)) / np.mean(period)), 1.0)


@metric(needs=(known_steps,))
def late_host_fraction(question: Question) -> float:
    """Time that the first host waits in collectives that the same host always reaches
    last, as a share of step time: what the step would save if that host were on time.
    It is 0 when hosts take turns (late_host_share below 0.6).
    """
    return _persistent(host_lateness(question)[0])


@metric(needs=(known_steps,))
def late_device_fraction(question: Question) -> float:
    """Time that the first device of a host waits in collectives that the same device
    always reaches last, as a share of step time. It is 0 when devices take turns
    (late_device_share below 0.6).
    """
    return _persistent(device_lateness(question)[0])


@metric
def uneven_work_fraction(question: Question) -> float:
    """Share of step time that uneven devices cost: late_device_fraction, or
    device_skew_fraction where devices do not communicate.
    """
    try:
        return late_device_fraction(question)
    except MetricAbsent:
        return device_skew_fraction(question)


def _persistent(late: Lateness) -> float:
    if late.share() >= _SAME_ONE:
        return min(int(late.lost().sum()) / late.step_ps, 1.0)
    return 0.0


@fact(needs=(known_steps,))
def late_host(question: Question) -> str:
    """The host that the others wait for most in collectives."""
    late, hosts = host_lateness(question)
    return hosts[late.latest].host


@fact(needs=(known_steps,))
def late_device(question: Question) -> str:
    """The device that the others of its host wait for most in collectives, with the
    host's name where there are several: `GPU:3`.
    """
    late, host, devices = device_lateness(question)
    name = devices[late.latest].name
    return f"{name} of {host.host}" if len(question.run.hosts) > 1 else name


@fact
def late_host_reason(question: Question) -> str:
    """What the late host spends more time on than the others: `loading input 62% of its
    step time, the others 1.0%`.
    """
    mine, theirs, top = _excess(question)
    return (
        f"{_DOING[top]} {percent(float(mine[top]))} of its step time, the others "
        f"{percent(float(theirs[top]))}"
    )


@fact
def late_host_class(question: Question) -> str:
    """The class of step time of which the late host has more than the others: input,
    compute, host, launch, compile, transfer or idle.
    """
    return _excess(question)[2].label


@fact
def late_host_frame(question: Question) -> str:
    """The call of the late host's training loop that takes most of its extra time:
    `load_batch (train.py:25)`.
    """
    top = _excess(question)[2]
    late, hosts = host_lateness(question)
    frames = hosts[late.latest].evidence.frames
    if top is TimeClass.INPUT:
        frames = tuple(frame for frame in frames if frame.input_ps > frame.host_ps)
    if top not in (TimeClass.INPUT, TimeClass.HOST) or not frames:
        raise MetricAbsent("no Python frame of the late host explains it")
    return max(frames, key=lambda frame: frame.input_ps + frame.host_ps).place()


@once
def _excess(question: Question) -> tuple[np.ndarray, np.ndarray, TimeClass]:
    """(the late host's share of step time by class, the others' mean, the class with
    the largest difference).
    """
    known_steps(question.run)
    late, hosts = host_lateness(question)
    shares = np.stack([_shares(host) for host in hosts])
    mine = shares[late.latest]
    theirs = np.delete(shares, late.latest, axis=0).mean(axis=0)
    more = mine - theirs
    more[TimeClass.COLLECTIVE] = -1
    return mine, theirs, TimeClass(int(np.argmax(more)))


def _shares(host: HostSummary) -> np.ndarray:
    """Share of the counted step time by TimeClass."""
    time = host.breakdown[host.counted].sum(axis=0)
    return np.asarray(time / max(int(time.sum()), 1))


# The op that one device of a host runs and the others do not, or hardly.

_MUCH_MORE = 2
"""So many times as long as on the others, an op is the busiest device's own."""


@fact(needs=(known_steps,))
def uneven_op(question: Question) -> str:
    """The op with the largest difference between the device that computes most and the
    others of its host, where it takes twice as long there: `conditional.5, 66.0 ms a
    step on CPU:0 and 0 ms on the others`.
    """
    most = max(
        (_most_different(host) for host in hosts_of_several(question.run)),
        key=lambda difference: difference.more_ms,
    )
    if most.key is None:
        raise MetricAbsent(
            "no op takes twice as long on the device that computes most as on the "
            "others"
        )
    here = f"{most.here_ms:.3g} ms a step on {most.device}"
    there = f"{most.here_ms - most.more_ms:.3g} ms on the others"
    return f"{name_with_place(question.run, most.key)}, {here} and {there}"


class _Different(NamedTuple):
    """more_ms: a step, above the mean of the others."""

    more_ms: float
    here_ms: float
    device: str
    key: OpKey | None


def _most_different(host: HostSummary) -> _Different:
    steps = max(host.steps.steady_count, 1)
    times = [_time_by_op(device) for device in host.devices]
    top = int(np.argmax([sum(time.values()) for time in times]))
    others = [time for index, time in enumerate(times) if index != top]
    most = _Different(0.0, 0.0, host.devices[top].name, None)
    for key, here in times[top].items():
        there = sum(other.get(key, 0) for other in others) / len(others)
        more_ms = (here - there) / steps / PS_PER_MS
        if more_ms > most.more_ms and here > _MUCH_MORE * there:
            most = _Different(more_ms, here / steps / PS_PER_MS, most.device, key)
    return most


def _time_by_op(device: DeviceSummary) -> dict[OpKey, int]:
    """Summed time of each compute op, ps."""
    table = device.ops_by_path
    rows = table.of_class(DeviceClass.COMPUTE)
    return added_up(
        zip(keys_of(table, rows), table.total_ps[rows].tolist(), strict=True)
    )
