"""A step of mixed precision that runs on a CPU, by the conversions that TensorFlow's tapes differentiate."""

from __future__ import annotations

import re

from tfadvisor.metrics.compute.double_on_cpu import is_on_cpu
from tfadvisor.metrics.compute.largest import compute_fraction_of
from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.remember import once
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_OF_A_CONVERSION = re.compile(r"(?:^|/)gradient_tape/(?:.+/)?Cast(?:_\d+)?/Cast(?:_\d+)?(?::|$)")
"""The gradient of a conversion, `…/batch_normalization/Cast_5/Cast`. Labels and masks that are converted have none; the count by
which a mean's gradient divides is `…/moments/Cast`."""
_ENOUGH = 4
"""With as many such gradients a step is one of mixed precision."""
_PRODUCTS = ("MatMul", "BatchMatMul", "Conv2D", "Conv3D", "DepthwiseConv2d", "Einsum")
_ONEDNN = ("_MklNative", "_Mkl", "_Fused")


@once
def _products(question: Question) -> list[Part]:
    """Products and convolutions of a step of mixed precision, else none. Raises MetricAbsent on accelerators."""
    if not is_on_cpu(question.run):
        raise MetricAbsent("this run used an accelerator, which has units for 16 bits")
    parts = compute_parts(question.run).parts
    converted = {one.name for one in parts if _OF_A_CONVERSION.search(one.name)}
    if len(converted) < _ENOUGH:
        return []
    return [one for one in parts if _bare(one.op_type).startswith(_PRODUCTS)]


def _bare(op_type: str) -> str:
    """`_MklNativeConv2DBackpropInput` -> `Conv2DBackpropInput`."""
    start = next((one for one in _ONEDNN if op_type.startswith(one)), "")
    return op_type.removeprefix(start).removeprefix("Fused")


@metric(unit=Unit.FRACTION, better=Better.LESS)
def half_on_cpu_fraction(question: Question) -> float:
    """Share of step time in products and convolutions of a TensorFlow step of mixed precision on a CPU. 0 for a step whose
    tapes convert no floats.
    """
    return compute_fraction_of(question, _products(question))
