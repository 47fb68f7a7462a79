"""What TensorFlow's step counts and compares outside of all layers, gradients and optimizers, as metrics do."""

from __future__ import annotations

import re

from tfadvisor.metrics.compute.largest import compute_fraction_of
from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_COMPARES = re.compile(r"(?:Greater|Less)(?:Equal)?|(?:Not)?Equal|Logical(?:And|Or|Not)")
_COUNTS = re.compile(
    r"Tile|Cast|Sum|Mean|Select(?:V2)?|Where|Bucketize|DenseBincount|Bincount|Histogram\w*|ScatterNd|"
    r"(?:Unsorted)?Segment(?:Sum|Max)(?:V2)?|TopK(?:V2)?|InTopK(?:V2)?|ArgMax|Cumsum"
)


@once
def _counting(question: Question) -> list[Part]:
    """The largest first. Raises MetricAbsent where no layer is named."""
    parts = compute_parts(question.run).parts
    if not any(one.layer for one in parts):
        raise MetricAbsent("the trace does not name the layers of ops")
    return [
        one for one in parts if _is_beside(one) and (_COMPARES.fullmatch(_type(one)) or _COUNTS.fullmatch(_type(one)))
    ]


def _is_beside(one: Part) -> bool:
    return one.path is not None and not one.layer and not one.path.is_gradient


def _type(one: Part) -> str:
    return one.op_type.removeprefix("_Mkl")


@metric(unit=Unit.FRACTION, better=Better.LESS)
def comparing_fraction(question: Question) -> float:
    """Share of step time in comparisons outside of all layers, gradients and optimizers, by the types of TensorFlow's ops."""
    return compute_fraction_of(question, [one for one in _counting(question) if _COMPARES.fullmatch(_type(one))])


@metric(unit=Unit.FRACTION, better=Better.LESS)
def counting_fraction(question: Question) -> float:
    """Share of step time in what compares, counts and sums outside of all layers, gradients and optimizers, as metrics do, by
    the types of TensorFlow's ops.
    """
    return compute_fraction_of(question, _counting(question))


@fact
def counting_ops(question: Question) -> str:
    """The types of these ops that take most: `Cast, Greater, Sum`."""
    time: dict[str, int] = {}
    for one in _counting(question):
        time[_type(one)] = time.get(_type(one), 0) + one.total_ps
    if not time:
        raise MetricAbsent("no op compares or counts outside of layers")
    return ", ".join(sorted(time, key=lambda name: (-time[name], name))[:4])
