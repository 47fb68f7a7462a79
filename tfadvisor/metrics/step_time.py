"""Where the step's time goes: one metric a class of the breakdown, the steps
themselves, and the time between them.
"""

from __future__ import annotations

import math

import numpy as np

from tfadvisor.arrays import Int64Array, median
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import (
    a_device,
    accelerated,
    an_accelerator,
    counted_hosts,
    counted_ps,
    known_steps,
    needs_own_launches,
    periods_ms,
    share,
    spent,
)
from tfadvisor.timeline.host import HostCost
from tfadvisor.timeline.summary import HostSummary
from tfadvisor.units import PS_PER_MS, Unit, counted
from tfadvisor.vocabulary import Better, Scatter, TimeClass

_CLASSES = {
    TimeClass.INPUT: (
        "no device works and the step waits for, or prepares, its next batch"
    ),
    TimeClass.HOST: (
        "no device works and the driving thread runs Python that neither loads, "
        "dispatches nor compiles"
    ),
    TimeClass.LAUNCH: (
        "no device works while the host dispatches ops, programs or kernels"
    ),
    TimeClass.COMPILE: (
        "no device works while the step traces, compiles or autotunes; first steps, "
        "which compile once, do not count"
    ),
    TimeClass.TRANSFER: "a device only copies",
    TimeClass.COMPUTE: "a device computes",
    TimeClass.IDLE: "no device works and the trace does not say why",
}
"""As in `Share of step time in which …`."""


def _register(time_class: TimeClass, about: str) -> None:
    def fraction(question: Question) -> float:
        if time_class is TimeClass.LAUNCH:
            needs_own_launches(question.run)
        return share(question, time_class)

    fraction.__name__ = time_class.metric
    fraction.__doc__ = (
        f"Share of step time in which {about}. This is the breakdown class "
        f"`{time_class.label}`."
    )
    better = Better.MORE if time_class is TimeClass.COMPUTE else Better.LESS
    metric(needs=(a_device,), better=better)(fraction)


for _class, _about in _CLASSES.items():
    _register(_class, _about)


@metric(needs=(a_device,), better=Better.MORE)
def device_busy_fraction(question: Question) -> float:
    """Share of step time in which a device computes, communicates or copies; a mean
    over the devices.
    """
    return math.fsum(
        share(question, time_class)
        for time_class in (TimeClass.COMPUTE, TimeClass.COLLECTIVE, TimeClass.TRANSFER)
    )


# How long steps take, how much they differ, and what lies between them.


@metric(unit=Unit.MS, needs=(known_steps,))
def step_time_ms(question: Question) -> float:
    """Median period of the counted steps, from the start of one to the start of the
    next.
    """
    return float(median(periods_ms(question.run)))


@metric(
    unit=Unit.COUNT, needs=(known_steps,), better=Better.MORE, scatter=Scatter.COUNTED
)
def steps_counted(question: Question) -> float:
    """Number of steps that count, on the host that has fewest: whole steps that neither
    compile for the first time nor warm up.
    """
    return float(min(host.steps.steady_count for host in counted_hosts(question.run)))


@metric(needs=(known_steps,))
def step_time_spread(question: Question) -> float:
    """Median deviation of the step times from their median, as a share of the median.
    Needs three steps.
    """
    periods = periods_ms(question.run)
    if len(periods) < 3:
        raise MetricAbsent(f"{len(periods)} steps say nothing about their spread")
    middle = float(median(periods))
    if not middle:
        raise MetricAbsent("most steps of this trace have no length")
    return float(median(np.abs(periods - middle)) / middle)


@metric(unit=Unit.MS, needs=(known_steps,))
def inter_step_gap_ms(question: Question) -> float:
    """Mean time around a boundary between two counted steps in which no device of the
    host works: from the last device event before the boundary to the first after it.
    """
    return float(np.mean(_gaps(question))) / PS_PER_MS


@metric(needs=(known_steps,))
def inter_step_gap_fraction(question: Question) -> float:
    """Mean time without device work around a step boundary, as a share of the mean step
    time.
    """
    gaps = _gaps(question)
    return min(
        float(np.mean(gaps)) / PS_PER_MS / float(np.mean(periods_ms(question.run))),
        1.0,
    )


def _gaps(question: Question) -> Int64Array:
    known_steps(question.run)
    found = np.concatenate([host.device_time.gaps for host in question.run.hosts])
    if not len(found):
        raise MetricAbsent(
            "the trace does not hold two counted steps with device work on both sides"
        )
    return found


# What makes the device run dry between steps although nothing loads, computes or
# compiles on the host.


_HALF = 0.5


def _steps(hosts: list[HostSummary]) -> int:
    return max(sum(host.steps.steady_count for host in hosts), 1)


def _driven(question: Question) -> list[HostSummary]:
    """The hosts whose driving thread is known. Raises MetricAbsent when there
    are none.
    """
    known_steps(question.run)
    found = [host for host in counted_hosts(question.run) if host.steps.thread >= 0]
    if not found:
        raise MetricAbsent("no host thread drives the steps")
    return found


@metric(unit=Unit.COUNT)
def waits_per_step(question: Question) -> float:
    """Number of times per step that the driving thread blocks until something else is
    done: block_until_ready, reading a value, a full queue of dispatches. Uninterrupted
    waits count as one.
    """
    hosts = _driven(question)
    return sum(host.evidence.calls.waits for host in hosts) / _steps(hosts)


@fact
def waits_in_few_steps(question: Question) -> str:
    """How often the driving thread blocks, and in how many of the counted steps, where
    these are less than half: `801 times in 5 of 150 steps`.
    """
    hosts = _driven(question)
    steps = _steps(hosts)
    waiting = sum(host.evidence.calls.waiting_steps for host in hosts)
    if not 0 < waiting < _HALF * steps:
        raise MetricAbsent(f"the host waits in {waiting:,} of {steps:,} steps")
    waits = sum(host.evidence.calls.waits for host in hosts)
    times = counted(f"{waits:,}", "time", "times")
    return f"{times} in {waiting:,} of {steps:,} steps"


@metric(needs=(a_device,))
def turnaround_fraction(question: Question) -> float:
    """Share of step time without device work around step boundaries that input, Python
    and compilation do not explain: from the device's end over the waiting host to the
    next launch; or, where it is more, that in which the host waits although no device
    works, as while it reads values inside the step. A host that dispatches ahead has
    none.
    """
    explained = math.fsum(
        share(question, time_class)
        for time_class in (TimeClass.INPUT, TimeClass.HOST, TimeClass.COMPILE)
    )
    left = share(question, TimeClass.LAUNCH) + share(question, TimeClass.IDLE)
    waits = spent(counted_hosts(question.run), HostCost.WAITING_IDLE)
    return min(max(inter_step_gap_fraction(question) - explained, waits, 0.0), left)


@metric(unit=Unit.COUNT, needs=(known_steps, an_accelerator))
def loss_scaling_ops_per_step(question: Question) -> float:
    """Number of TensorFlow ops of a dynamic loss scale per step, known by their names:
    tests of the gradients, and branches on them on the host.
    """
    hosts = accelerated(question.run)
    return sum(host.evidence.calls.loss_scaling for host in hosts) / _steps(hosts)


# What it costs that the devices of a host work one after the other instead of together.

_BUSY = [TimeClass.COMPUTE, TimeClass.COLLECTIVE, TimeClass.TRANSFER]


@metric(needs=(known_steps,))
def taking_turns_fraction(question: Question) -> float:
    """Share by which a step would be shorter if the devices of a host did all their
    work at the same time, on the host where it is most. It is 0 when all devices work
    whenever one does.
    """
    several = [
        host
        for host in counted_hosts(question.run)
        if len(host.devices) > 1 and counted_ps(host)
    ]
    if not several:
        raise MetricAbsent("no host of this run has several active devices")
    return max(_turns(host) for host in several)


def _turns(host: HostSummary) -> float:
    """(when any device works - each one's even part of the work) / step time."""
    works = int(host.breakdown[:, host.steps.steady()][:, :, _BUSY].sum())
    if not works or not host.device_time.concurrency:
        return 0.0
    return max(
        works / host.device_time.concurrency - works / len(host.devices),
        0.0,
    ) / counted_ps(host)
