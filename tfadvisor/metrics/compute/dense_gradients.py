"""Gradients of looked-up rows that TensorFlow makes as large as their table."""

from __future__ import annotations

from tfadvisor.metrics.compute.parts import Part, named_by_tensorflow
from tfadvisor.metrics.registry import Question
from tfadvisor.timeline.names.op_path import is_optimizer

_MAKES_DENSE = frozenset(("UnsortedSegmentSum", "_FusedUnsortedSegmentSum"))
_GATHERS = ("Gather", "ResourceGather")
_SUM_OF_GRADIENTS = "AddN"
"""Adds up the gradients of one variable. It makes those of looked-up rows dense where another is dense."""


def dense_table_ops(question: Question) -> list[Part]:
    """The ops that make gradients of looked-up rows dense, then the sums of gradients where these are in one; empty without
    any. Raises MetricAbsent where the trace does not name the types of ops.
    """
    found = named_by_tensorflow(question)
    if not any(one.op_type.startswith(_GATHERS) for one in found):
        return []
    dense = [one for one in found if one.op_type in _MAKES_DENSE and _is_of_a_gradient(one)]
    summed = any(not is_optimizer(one.layer) for one in dense)
    return [*dense, *(one for one in found if summed and one.op_type == _SUM_OF_GRADIENTS)]


def _is_of_a_gradient(one: Part) -> bool:
    """A model's own segment sum is none: `model/pool/UnsortedSegmentSum`."""
    return one.path is not None and (one.path.is_gradient or is_optimizer(one.layer) or _is_in_a_sum(one))


def _is_in_a_sum(one: Part) -> bool:
    """Whether a tape made the gradient dense to add it to another: `AddN_1/UnsortedSegmentSum`."""
    layer, _, number = one.layer.partition("_")
    return layer == _SUM_OF_GRADIENTS and (not number or number.isdigit())
