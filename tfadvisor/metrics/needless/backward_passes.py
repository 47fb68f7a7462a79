"""Backward passes over the same forward pass: one for each loss of which a step asks the gradients."""

from __future__ import annotations

import re

import numpy as np

from tfadvisor.arrays import median
from tfadvisor.metrics.compute.parts import compute_fraction_of, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_ONCE_A_PASS = re.compile(
    r"^(gradient_tape/(?!.*gradient_tape/).*/(?:BiasAddGrad|Conv\wDBackpropFilter(?:V2)?))(?:_\d+)?$"
)
"""Names of the gradients of weights, which a backward pass computes once for each op: `…/Conv2DBackpropFilter_1`."""
_ENOUGH = 3
"""Such gradients from which on the number of passes is told."""


@once
def _passes(question: Question) -> dict[str, int]:
    """How often the gradient of each op's weights is computed. Raises MetricAbsent where too few such gradients are named."""
    passes: dict[str, set[str]] = {}
    parts = compute_parts(question.run).parts
    twice = {one.layer.partition("/")[0] for one in parts if one.path is not None and one.path.tapes > 1}
    for one in parts:
        found = _ONCE_A_PASS.match(one.name)
        if found and one.layer.partition("/")[0] not in twice:
            passes.setdefault(found.group(1), set()).add(one.name)  # which may run several kernels
    if len(passes) < _ENOUGH:
        raise MetricAbsent("the trace names too few gradients of weights")
    return {name: len(found) for name, found in passes.items()}


@metric(unit=Unit.COUNT, better=Better.LESS)
def backward_passes(question: Question) -> float:
    """How often a training step computes the gradients of a layer's weights for one call of the layer, in the median of the
    layers with a bias or a convolution, by the names that TensorFlow's tapes give.
    """
    return float(median(np.array(list(_passes(question).values()))))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def repeated_backward_fraction(question: Question) -> float:
    """Share of step time in backward passes beyond the first over the same call of the model."""
    passes = backward_passes(question)
    gradients = [one for one in compute_parts(question.run).parts if one.path is not None and one.path.is_gradient]
    return compute_fraction_of(question, gradients) * (1 - 1 / passes)


@fact
def repeated_backward_layer(question: Question) -> str:
    """The layer with several gradients of its weights that takes most time: `functional/conv2d_1`."""
    several = {name for name, count in _passes(question).items() if count > 1}
    for one in compute_parts(question.run).parts:
        found = _ONCE_A_PASS.match(one.name)
        if found and found.group(1) in several:
            return one.layer
    raise MetricAbsent("each gradient is computed once")
