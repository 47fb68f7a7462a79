"""Gradients of gradients, as of a gradient penalty."""

from __future__ import annotations

import re

from tfadvisor.metrics.compute.largest import compute_fraction_of
from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_LEAST = 0.02
"""Of the compute time: gradients of gradients take about as long as what they are of, and a name alone is no proof of them."""


def _is_second(part: Part) -> bool:
    return part.path is not None and part.path.tapes > 1


@once
def _second_order(question: Question) -> tuple[Part, ...]:
    """The ops of all calls of a model through whose gradients another tape went, the largest first."""
    parts = compute_parts(question.run).parts
    if not any(one.path is not None and one.path.is_gradient for one in parts):
        raise MetricAbsent("the trace names no op of a gradient tape")
    second = [one for one in parts if _is_second(one)]
    if sum(one.total_ps for one in second) < _LEAST * sum(one.total_ps for one in parts):
        return ()
    roots = {one.layer.partition("/")[0] for one in second} - {""}
    return tuple(one for one in parts if _is_second(one) or one.layer.partition("/")[0] in roots)


@metric(unit=Unit.FRACTION, better=Better.LESS)
def second_order_fraction(question: Question) -> float:
    """Share of step time in gradients of gradients and in the calls of models that they are of, by the names that
    TensorFlow's tapes give; 0 where each tape's gradients are the last.
    """
    return compute_fraction_of(question, _second_order(question))


@fact
def second_order_layer(question: Question) -> str:
    """The layer of the gradients of gradients that take most time: `critic_2/conv2d`."""
    found = [one.layer for one in _second_order(question) if _is_second(one) and one.layer]
    if not found:
        raise MetricAbsent("no gradient is differentiated again")
    return found[0]


_EACH_OUTPUT = re.compile(r"/(?:pfor|loop_body)(?:/|$)")
"""Scopes in which tape.jacobian and tape.batch_jacobian differentiate one output after the other, vectorised or not."""


@metric(unit=Unit.FRACTION, better=Better.LESS)
def jacobian_fraction(question: Question) -> float:
    """Share of step time in whole Jacobians: in what tape.jacobian and batch_jacobian compute for each output, and in the
    gradients of that.
    """
    parts = compute_parts(question.run).parts
    if not any(one.layer for one in parts):
        raise MetricAbsent("the trace does not name the layers of ops")
    return compute_fraction_of(question, [one for one in parts if _EACH_OUTPUT.search(one.name)])
