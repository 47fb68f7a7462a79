"""Fourier transforms of lengths that libraries are slow at."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import known_ops, known_where
from tfadvisor.metrics.kernels.kinds import of_step_time, place_of
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better


def _odd(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: known.odd_fft > 0)


@metric(unit=Unit.FRACTION, better=Better.LESS)
def odd_fft_fraction(question: Question) -> float:
    """Share of step time in Fourier transforms whose length has a prime factor above 13, from the trace's HLO."""
    return of_step_time(question, _odd(question), known_ops(question))


@metric(unit=Unit.COUNT, better=Better.NEITHER)
def odd_fft_length(question: Question) -> float:
    """The length of the costliest of these transforms."""
    found = _odd(question)
    if not found or found[0].known is None:
        raise MetricAbsent("no transform's length has a prime factor above 13")
    return float(found[0].known.odd_fft)


@fact
def odd_fft_place(question: Question) -> str:
    """The costliest of these transforms, with its place in the user's program: `fft.0 (train.py:21)`."""
    return place_of(_odd(question))
