"""What most programs consist of, by the names that the framework gives: products and
convolutions.
"""

from __future__ import annotations

import re

from tfadvisor.metrics.layers import ComputedOp, compute_parts
from tfadvisor.metrics.needless import bare_type
from tfadvisor.metrics.registry import Question
from tfadvisor.patterns import pattern

# Types of TensorFlow's ops without prefix and version, JAX's primitives, and HLO's
# opcodes.

PRODUCTS = pattern(r"dot|dot_general|dot-general|[Ee]insum|(?:Batch)?MatMul")
CONVOLUTIONS = pattern(
    r"convolution|conv_general_dilated|"
    r"(?:Conv\dD|DepthwiseConv2dNative)(?:Backprop\w+)?"
)


def products(question: Question) -> tuple[ComputedOp, ...]:
    """Products of matrices, the largest first. Raises MetricAbsent."""
    return _of_type(question, PRODUCTS)


def convolutions(question: Question) -> tuple[ComputedOp, ...]:
    """Convolutions and their gradients, the largest first. Raises MetricAbsent."""
    return _of_type(question, CONVOLUTIONS)


def _of_type(question: Question, types: re.Pattern[str]) -> tuple[ComputedOp, ...]:
    parts = compute_parts(question.run).parts
    return tuple(part for part in parts if is_of(part.op_type, types))


def is_of(op_type: str, types: re.Pattern[str]) -> bool:
    """Whether an op is of a kind, whatever its version. types: one of the above."""
    return types.fullmatch(bare_type(op_type)) is not None
