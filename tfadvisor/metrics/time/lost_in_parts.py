"""Time without device work that no class takes much of alone."""

from __future__ import annotations

import math

from tfadvisor.metrics.needs import a_device
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import share
from tfadvisor.metrics.time.lost_time import activity_of, place_in
from tfadvisor.units import Unit, percent
from tfadvisor.vocabulary import Better, TimeClass

_LOST = (TimeClass.INPUT, TimeClass.HOST, TimeClass.LAUNCH, TimeClass.COMPILE, TimeClass.IDLE)


def _largest(question: Question) -> TimeClass:
    return max(_LOST, key=lambda one: share(question, one))


@metric(unit=Unit.FRACTION, needs=(a_device,), better=Better.LESS)
def lost_fraction(question: Question) -> float:
    """Share of step time in which no device works: the breakdown classes `input`, `host`, `launch`, `compile` and `idle`."""
    return math.fsum(share(question, one) for one in _LOST)


@metric(unit=Unit.FRACTION, needs=(a_device,), better=Better.LESS)
def largest_loss_fraction(question: Question) -> float:
    """Share of step time in the largest of these classes."""
    return share(question, _largest(question))


@fact
def largest_loss(question: Question) -> str:
    """The largest of these classes, its share of step time, and what fills most of it where that is known: `launch 11%:
    save (train.py:42) on python, 60% of it`.
    """
    kind = _largest(question)
    taken = share(question, kind)
    if not taken:
        raise MetricAbsent("devices work all the time")
    try:
        return f"{kind.label} {percent(taken)}: {activity_of(question, kind)}"
    except MetricAbsent:
        return f"{kind.label} {percent(taken)}"


@fact
def largest_loss_place(question: Question) -> str:
    """The innermost function of the user's program around what fills most of that class: `save (train.py:42)`."""
    return place_in(question, _largest(question))
