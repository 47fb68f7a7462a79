"""How long steps take, how much they differ, and what lies between them."""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import median
from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import counted_hosts, needs_steps, periods_ms
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.units import PS_PER_MS, Unit


@metric("step_time_ms", unit=Unit.MS, about="Median period of the counted steps, start to start.")
def step_time_ms(question: Question) -> float:
    """Milliseconds."""
    needs_steps(question.run)
    return float(median(periods_ms(question.run)))


@metric(
    "steps_counted",
    unit=Unit.COUNT,
    about="Steps that count: whole, not compiling for the first time, not warm-up; of the host that has fewest.",
)
def steps_counted(question: Question) -> float:
    """A count; hosts on which no steps can be told apart are left out."""
    needs_steps(question.run)
    return float(min(int(host.steps.steady().sum()) for host in counted_hosts(question.run)))


@metric(
    "step_time_spread",
    unit=Unit.FRACTION,
    about="Median deviation of step times from their median, as a share of it.",
)
def step_time_spread(question: Question) -> float:
    """A robust coefficient of variation; needs three steps."""
    needs_steps(question.run)
    periods = periods_ms(question.run)
    if len(periods) < 3:
        raise MetricAbsent(f"{len(periods)} steps say nothing about their spread")
    middle = float(median(periods))
    if not middle:
        raise MetricAbsent("most steps of this trace have no length")
    return float(median(np.abs(periods - middle)) / middle)


@metric(
    "inter_step_gap_ms",
    unit=Unit.MS,
    about="Mean stretch around a boundary between two counted steps in which no device of the host works.",
)
def inter_step_gap_ms(question: Question) -> float:
    """From the last device event before a boundary to the first after it; 0 where a device works across it."""
    return float(np.mean(_gaps(question))) / PS_PER_MS


@metric(
    "inter_step_gap_fraction",
    unit=Unit.FRACTION,
    about="The stretches without device work around step boundaries, as a share of step time.",
)
def inter_step_gap_fraction(question: Question) -> float:
    """Mean gap over mean period."""
    gaps = _gaps(question)
    return min(float(np.mean(gaps)) / PS_PER_MS / float(np.mean(periods_ms(question.run))), 1.0)


def _gaps(question: Question) -> Int64Array:
    needs_steps(question.run)
    found = np.concatenate([host.device_time.gaps for host in question.run.hosts])
    if not len(found):
        raise MetricAbsent("the trace does not hold two counted steps with device work on both sides")
    return found
