"""How long steps take, how much they differ, and what lies between them."""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import median
from tfadvisor.metrics.needs import known_steps
from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import counted_hosts, needs_steps, periods_ms
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.units import PS_PER_MS, Unit
from tfadvisor.vocabulary import Better, Scatter


@metric(unit=Unit.MS, needs=(known_steps,), better=Better.LESS)
def step_time_ms(question: Question) -> float:
    """Median period of the counted steps, from the start of one to the start of the next."""
    return float(median(periods_ms(question.run)))


@metric(unit=Unit.COUNT, needs=(known_steps,), better=Better.MORE, scatter=Scatter.COUNTED)
def steps_counted(question: Question) -> float:
    """Number of steps that count, on the host that has fewest: whole steps that neither compile for the first time nor
    warm up.
    """
    return float(min(int(host.steps.steady().sum()) for host in counted_hosts(question.run)))


@metric(unit=Unit.FRACTION, needs=(known_steps,), better=Better.LESS)
def step_time_spread(question: Question) -> float:
    """Median deviation of the step times from their median, as a share of the median. Needs three steps."""
    periods = periods_ms(question.run)
    if len(periods) < 3:
        raise MetricAbsent(f"{len(periods)} steps say nothing about their spread")
    middle = float(median(periods))
    if not middle:
        raise MetricAbsent("most steps of this trace have no length")
    return float(median(np.abs(periods - middle)) / middle)


@metric(unit=Unit.MS, needs=(known_steps,), better=Better.LESS)
def inter_step_gap_ms(question: Question) -> float:
    """Mean time around a boundary between two counted steps in which no device of the host works: from the last device
    event before the boundary to the first after it.
    """
    return float(np.mean(_gaps(question))) / PS_PER_MS


@metric(unit=Unit.FRACTION, needs=(known_steps,), better=Better.LESS)
def inter_step_gap_fraction(question: Question) -> float:
    """Mean time without device work around a step boundary, as a share of the mean step time."""
    gaps = _gaps(question)
    return min(float(np.mean(gaps)) / PS_PER_MS / float(np.mean(periods_ms(question.run))), 1.0)


def _gaps(question: Question) -> Int64Array:
    needs_steps(question.run)
    found = np.concatenate([host.device_time.gaps for host in question.run.hosts])
    if not len(found):
        raise MetricAbsent("the trace does not hold two counted steps with device work on both sides")
    return found
