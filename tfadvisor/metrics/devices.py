"""How evenly devices and hosts share the work, who is late, and how full device memory is."""

from __future__ import annotations

import numpy as np

from tfadvisor.metrics.collectives import counted_meetings, known_meetings
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import counted_ps, needs_steps
from tfadvisor.timeline.host_summary import HostSummary
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.model import TimeClass
from tfadvisor.units import Unit, percent

_CLASS_WORDS = {
    TimeClass.COMPUTE: "computing",
    TimeClass.TRANSFER: "copying",
    TimeClass.COMPILE: "compiling",
    TimeClass.INPUT: "loading input",
    TimeClass.LAUNCH: "dispatching",
    TimeClass.HOST: "running Python",
    TimeClass.IDLE: "idle",
}


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
        if len(host.devices) > 1:
            steady = host.steps.steady()
            compute = host.breakdown[:, steady, TimeClass.COMPUTE]
            spread += int((compute.max(axis=0) - compute.min(axis=0)).sum())
            time += counted_ps(host)
    if not time:
        raise MetricAbsent("no host of this run has several active devices")
    return spread / time


@metric(
    "host_skew_fraction",
    unit=Unit.FRACTION,
    about="How long the first host waits in collectives for the last one to arrive, as a share of step time. Without "
    "collectives between hosts: the difference in device compute time a step between the busiest and the least busy host.",
)
def host_skew_fraction(question: Question) -> float:
    """Only for runs of several hosts with device work."""
    needs_steps(question.run)
    working = [host for host in question.run.hosts if host.devices and counted_ps(host)]
    if len(working) < 2:
        raise MetricAbsent("the run has a single host with device work")
    meetings = question.run.meetings
    if len(meetings) and len(set(meetings.host.tolist())) > 1:
        arrival, counted = _arrivals(question)
        spread = (arrival.max(axis=1) - arrival.min(axis=1))[counted]
        return min(int(spread.sum()) / float(np.mean([counted_ps(host) for host in working])), 1.0)
    means = []
    for host in working:
        counted_steps = host.takes_part & host.steps.steady()[None, :]
        if counted_steps.any():
            time = host.breakdown[counted_steps]
            means.append((float(time[:, TimeClass.COMPUTE].mean()), float(time.sum(axis=1).mean())))
    compute, period = zip(*means, strict=True)
    return float((max(compute) - min(compute)) / np.mean(period))


def _arrivals(question: Question) -> tuple[Int64Array, np.ndarray]:
    """(arrival of each host that communicates, shape (meetings, hosts), which meetings begin in a counted step)."""
    meetings = known_meetings(question)
    counted = counted_meetings(question.run.hosts[int(meetings.host[0])], meetings, 0)
    return meetings.host_arrival(len(question.run.hosts)), counted


def _latest_host(question: Question) -> tuple[HostSummary, float, list[HostSummary]]:
    """(the host that is late by most time, its share of the meetings at which it came last, the other hosts)."""
    arrival, counted = _arrivals(question)
    if arrival.shape[1] < 2:
        raise MetricAbsent("the run has a single host that communicates")
    if not counted.any():
        raise MetricAbsent("no collective begins in a counted step")
    arrival = arrival[counted]
    late = arrival - arrival.min(axis=1, keepdims=True)
    which = int(np.argmax(late.sum(axis=0)))
    spread = late.max(axis=1)
    weight = float(spread.sum())
    share = float(spread[late.argmax(axis=1) == which].sum()) / weight if weight else 0.0
    taking_part = sorted(set(question.run.meetings.host.tolist()))
    hosts = [question.run.hosts[index] for index in taking_part]
    return hosts[which], share, hosts[:which] + hosts[which + 1 :]


@metric(
    "late_host_share",
    unit=Unit.FRACTION,
    about="Share of the time that hosts wait for each other in collectives that is waiting for one and the same host.",
)
def late_host_share(question: Question) -> float:
    """Near 1 for a straggler; 1 over the number of hosts where they take turns."""
    needs_steps(question.run)
    return _latest_host(question)[1]


@fact("late_host", about="The host for which the others wait most in collectives.")
def late_host(question: Question) -> str:
    """Its name."""
    needs_steps(question.run)
    return _latest_host(question)[0].host


@fact("late_host_reason", about="What the late host does more than the others, with the call of its loop where known.")
def late_host_reason(question: Question) -> str:
    """`loading input 62 % of its step time, the others 1.0 %: load_batch (train.py:25)`."""
    needs_steps(question.run)
    late, _, others = _latest_host(question)
    mine, theirs = _shares(late), np.mean([_shares(host) for host in others], axis=0)
    excess = mine - theirs
    excess[[TimeClass.COLLECTIVE]] = -1
    top = TimeClass(int(np.argmax(excess)))
    words = (
        f"{_CLASS_WORDS[top]} {percent(float(mine[top]))} of its step time, the others {percent(float(theirs[top]))}"
    )
    frames = [one for one in late.frames if (one.input_ps if top is TimeClass.INPUT else one.host_ps)]
    if top in (TimeClass.INPUT, TimeClass.HOST) and frames:
        return f"{words}: {max(frames, key=lambda one: one.input_ps + one.host_ps).place()}"
    return words


def _shares(host: HostSummary) -> np.ndarray:
    """Share of the counted step time by TimeClass."""
    time = host.breakdown[host.takes_part & host.steps.steady()[None, :]].sum(axis=0)
    return np.asarray(time / max(int(time.sum()), 1))


@fact("busiest_device", about="The device that computes most, where a host has several.")
def busiest_device(question: Question) -> str:
    """`GPU:0 computes 8.1 ms a step, the others 5.0 ms on average`."""
    needs_steps(question.run)
    found = [host for host in question.run.hosts if len(host.devices) > 1]
    if not found:
        raise MetricAbsent("no host of this run has several active devices")
    host = max(found, key=lambda one: float(np.ptp(_compute_ms(one))))
    compute = _compute_ms(host)
    top = int(np.argmax(compute))
    rest = float(np.delete(compute, top).mean())
    name = host.devices[top].name
    where = f"{name} of {host.host}" if len(question.run.hosts) > 1 else name
    return f"{where} computes {compute[top]:.3g} ms a step, the others {rest:.3g} ms on average"


def _compute_ms(host: HostSummary) -> np.ndarray:
    steady = host.steps.steady()
    return np.asarray(host.breakdown[:, steady, TimeClass.COMPUTE].mean(axis=1) / 1e9)


@metric(
    "device_concurrency_fraction",
    unit=Unit.FRACTION,
    about="Device work of a host over the time in which any of its devices works, times the number of devices: 1 when all "
    "work at once, 1/n when n devices take turns.",
)
def device_concurrency_fraction(question: Question) -> float:
    """Of the host where it is least."""
    needs_steps(question.run)
    found = [host.concurrency / len(host.devices) for host in question.run.hosts if len(host.devices) > 1]
    if not found:
        raise MetricAbsent("no host of this run has several active devices")
    return min(found)


@metric(
    "launch_stagger_fraction",
    unit=Unit.FRACTION,
    about="How much later a step begins on the last device of a host than on the first, as a share of step time.",
)
def launch_stagger_fraction(question: Question) -> float:
    """Host threads that contend launch to one device after the other; mean over the counted steps."""
    needs_steps(question.run)
    spread = time = 0
    for host in question.run.hosts:
        if len(host.devices) > 1:
            first = np.stack([device.first_start for device in host.devices])[:, host.steps.steady()]
            complete = (first >= 0).all(axis=0)
            spread += int((first.max(axis=0) - first.min(axis=0))[complete].sum())
            time += int((host.steps.ends - host.steps.starts)[host.steps.steady()][complete].sum())
    if not time:
        raise MetricAbsent("no host of this run has several devices that work in the same step")
    return spread / time
