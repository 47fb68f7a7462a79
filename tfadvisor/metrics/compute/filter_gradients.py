"""Gradients of filters that take many times as long as their convolutions, by the names that TensorFlow's tapes give."""

from __future__ import annotations

import re

from tfadvisor.metrics.compute.largest import compute_fraction_of
from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_FILTER_GRADIENT = re.compile(r"(?:^|/)gradient_tape/(.+)/\w*BackpropFilter(?:V2)?(?:_\d+)?(?::|$)")
_USUAL = 8
"""A filter's gradient has as many operations as the convolution. In healthy programs it takes one to four times as long."""


@once
def _dear(question: Question) -> list[Part]:
    """Those gradients that take more than eight times their convolutions, the largest first. Raises MetricAbsent."""
    parts = compute_parts(question.run).parts
    gradients = [(one, found.group(1)) for one in parts if (found := _FILTER_GRADIENT.search(one.name))]
    if not gradients:
        raise MetricAbsent("the trace names no gradient of a convolution's filter")
    forward: dict[str, int] = {}
    for one in parts:
        if one.path is not None and not one.path.is_gradient:
            forward[_plain(one.name)] = forward.get(_plain(one.name), 0) + one.total_ps
    return [one for one, of in gradients if 0 < _USUAL * forward.get(of, 0) < one.total_ps]


def _plain(name: str) -> str:
    return name.removeprefix("StatefulPartitionedCall/").partition(":")[0]


@metric(unit=Unit.FRACTION, better=Better.LESS)
def dear_filter_gradient_fraction(question: Question) -> float:
    """Share of step time in gradients of filters that take more than eight times as long as their convolutions."""
    return compute_fraction_of(question, _dear(question))


@fact
def dear_filter_gradient(question: Question) -> str:
    """The costliest of these: `gradient_tape/blur/depthwise/DepthwiseConv2dNativeBackpropFilter`."""
    found = _dear(question)
    if not found:
        raise MetricAbsent("no filter's gradient takes far longer than its convolution")
    return found[0].name.partition(":")[0]
