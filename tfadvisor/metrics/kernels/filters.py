"""Convolutions with filters so long that a product in the frequency domain does less."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import known_ops, known_where
from tfadvisor.metrics.kernels.kinds import name_of, of_step_time
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.units import Unit

_LONG_FILTER = 256
"""Elements from which on a product in the frequency domain is faster by far: its work grows with the logarithm."""


def _long_filters(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: known.filter_length >= _LONG_FILTER)


@metric(
    "long_filter_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in convolutions with filters of 256 elements and more in one dimension, by the trace's HLO.",
)
def long_filter_fraction(question: Question) -> float:
    """The filters' gradients included."""
    return of_step_time(question, _long_filters(question), known_ops(question))


@metric("long_filter_elements", unit=Unit.COUNT, about="Length of the costliest of these filters.")
def long_filter_elements(question: Question) -> float:
    """In its longest dimension."""
    found = _long_filters(question)
    known = found[0].known if found else None
    if known is None:
        raise MetricAbsent("no convolution has a filter of 256 elements or more")
    return float(known.filter_length)


@fact("long_filter_op", about="The costliest convolution with such a filter.")
def long_filter_op(question: Question) -> str:
    """`convolution.3`."""
    return name_of(_long_filters(question))
