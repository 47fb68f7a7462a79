"""Convolutions with filters so long that a product in the frequency domain does less."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import known_ops, known_where
from tfadvisor.metrics.kernels.kinds import name_of, of_step_time
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_LONG_FILTER = 256
"""From so many elements a product in the frequency domain is faster by far: its work grows with the logarithm."""


def _long_filters(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: known.filter_length >= _LONG_FILTER)


@metric(unit=Unit.FRACTION, better=Better.LESS)
def long_filter_fraction(question: Question) -> float:
    """Share of step time in convolutions whose filters have 256 elements or more in one dimension, including the
    filters' gradients, from the trace's HLO.
    """
    return of_step_time(question, _long_filters(question), known_ops(question))


@metric(unit=Unit.COUNT, better=Better.NEITHER)
def long_filter_elements(question: Question) -> float:
    """Length of the costliest long filter in its longest dimension."""
    found = _long_filters(question)
    known = found[0].known if found else None
    if known is None:
        raise MetricAbsent("no convolution has a filter of 256 elements or more")
    return float(known.filter_length)


@fact
def long_filter_op(question: Question) -> str:
    """The costliest convolution with a filter of 256 elements or more: `convolution.3`."""
    return name_of(_long_filters(question))
