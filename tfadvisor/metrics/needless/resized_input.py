"""Pictures that the step brings to another size before its layers work on them."""

from __future__ import annotations

import re

from tfadvisor.metrics.compute.largest import compute_fraction_of
from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_RESIZE = re.compile(r"^(?:Resize(?:Bilinear|Bicubic|NearestNeighbor|Area)|ScaleAndTranslate)$")
_GRADIENT = ("Resize", "ScaleAndTranslate")


@once
def _resized(question: Question) -> tuple[Part, ...]:
    """Resizing ops without a gradient, in a step that has gradients; those of a decoder that enlarges features have one."""
    parts = compute_parts(question.run).parts
    gradients = [one for one in parts if one.path is not None and one.path.is_gradient]
    if not gradients:
        raise MetricAbsent("the trace names no op of a gradient tape")
    trained = {one.layer for one in gradients if one.op_type.startswith(_GRADIENT)}
    found = [one for one in parts if _RESIZE.match(one.op_type) and one not in gradients]
    return tuple(one for one in found if one.layer not in trained)


@metric(unit=Unit.FRACTION, better=Better.LESS)
def resized_input_fraction(question: Question) -> float:
    """Share of step time in which a training step resizes pictures that no gradient goes back to, its inputs mostly. What
    the layers behind them compute grows with the size that they make.
    """
    return compute_fraction_of(question, _resized(question))


@fact
def resized_input_op(question: Question) -> str:
    """The one that takes most time: `model/resizing/resize/ResizeBicubic`."""
    found = _resized(question)
    if not found:
        raise MetricAbsent("no op resizes inputs")
    return found[0].name
