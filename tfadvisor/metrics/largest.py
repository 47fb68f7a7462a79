"""The layer and the source line that take most of the compute time."""

from __future__ import annotations

from collections.abc import Callable

from tfadvisor.metrics.layers import Part, compute_fraction_of, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better


def _layer(part: Part) -> str:
    return part.layer


def _line(part: Part) -> str:
    return part.line


def _largest(question: Question, key: Callable[[Part], str]) -> tuple[str, list[Part]]:
    """(its name, its ops). Raises MetricAbsent when the trace names none."""
    found = compute_parts(question.run).by(key)
    if not found:
        raise MetricAbsent("the trace names no layer or line of what the devices compute")
    return found[0][0], found[0][1]


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def largest_layer_fraction(question: Question) -> float:
    """Share of step time in the layer (scope of the framework's names) that takes most compute time, with its gradients."""
    return compute_fraction_of(question, _largest(question, _layer)[1])


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def largest_line_fraction(question: Question) -> float:
    """Share of step time that one line of the user's program computes, by the trace's HLO, the line that takes most."""
    return compute_fraction_of(question, _largest(question, _line)[1])


@fact
def largest_layer(question: Question) -> str:
    """The layer that takes most compute time: `model/conv2d`."""
    return _largest(question, _layer)[0]


@fact
def largest_line(question: Question) -> str:
    """The line of the user's program that takes most compute time: `train.py:42`."""
    return _largest(question, _line)[0]
