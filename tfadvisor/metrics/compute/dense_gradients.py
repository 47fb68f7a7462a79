"""Gradients of embedding tables made dense, so that each step updates the whole table."""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.metrics.compute.largest import compute_fraction_of
from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.needs import known_steps
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.metrics.steady import device_steps, shows_steps
from tfadvisor.timeline.names.op_path import is_optimizer
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_MAKES_DENSE = frozenset(("UnsortedSegmentSum", "_FusedUnsortedSegmentSum"))
_GATHERS = ("Gather", "ResourceGather")
_SUM_OF_GRADIENTS = "AddN"
"""What a tape adds up the gradients of one variable with; it makes those of looked-up rows dense where another is."""
_WHOLE_VARIABLE = ("AddN", "AssignSubVariableOp", "AssignAddVariableOp", "ResourceApply", "L2Loss")
_MAKES_NORM = frozenset(("Square", "Abs"))
_NORMS = frozenset(("Square", "Abs", "Sum"))
"""Keras' regularizers compute the norm of a variable by these, outside of any layer."""
_GRADIENTS_OF_NORMS = frozenset(("Mul", "Sign", "Tile"))
_TURNS = 8
"""An op that runs so often in a step is a loop's: a model has fewer tables that share a name."""


@once
def _made_dense(question: Question) -> tuple[Part, ...]:
    """The sums that make a table's gradient dense. Raises MetricAbsent where op types are not named."""
    found = compute_parts(question.run).parts
    if not any(one.op_type for one in found):
        raise MetricAbsent("the trace does not name the types of ops")
    if not any(one.op_type.startswith(_GATHERS) for one in found):
        return ()
    return tuple(one for one in found if one.op_type in _MAKES_DENSE and _of_table(one))


def _of_table(one: Part) -> bool:
    """Whether the sum is a gradient's or the optimizer's, and no op of the model itself."""
    return one.path is not None and (one.path.is_gradient or is_optimizer(one.layer) or _of_sum(one))


def _of_sum(one: Part) -> bool:
    """Whether a tape made the gradient dense to add it to another: `AddN_1/UnsortedSegmentSum`."""
    layer, _, number = one.layer.partition("_")
    return layer == _SUM_OF_GRADIENTS and (not number or number.isdigit())


@metric(unit=Unit.FRACTION, better=Better.LESS)
def dense_gradient_fraction(question: Question) -> float:
    """Share of step time in making gradients of looked-up rows as large as their table (UnsortedSegmentSum behind a
    gather), without the update itself.
    """
    return compute_fraction_of(question, _made_dense(question))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def dense_update_fraction(question: Question) -> float:
    """The same with all of the optimizer's ops, which then read and write the whole table and its moments; 0 where no
    gradient is made dense.
    """
    dense = _made_dense(question)
    if not dense:
        return 0.0
    updates = [one for one in compute_parts(question.run).parts if is_optimizer(one.layer) and one not in dense]
    return compute_fraction_of(question, [*dense, *updates])


@metric(unit=Unit.FRACTION, better=Better.LESS)
def dense_sum_fraction(question: Question) -> float:
    """Share of step time in sums of a table's gradients where one of them is as large as the table, and in the updates and
    norms of whole variables; 0 where the gradients of looked-up rows are added to no dense one.
    """
    dense = [one for one in _made_dense(question) if _of_sum(one) and not _in_each_turn(question, one)]
    if not dense:
        return 0.0
    parts = [one for one in compute_parts(question.run).parts if one not in dense]
    whole = [one for one in parts if one.op_type.startswith(_WHOLE_VARIABLE)]
    return compute_fraction_of(question, [*dense, *whole, *_of_norms(parts)])


@metric(unit=Unit.FRACTION, needs=(known_steps,), better=Better.LESS)
def looped_table_gradient_fraction(question: Question) -> float:
    """Share of step time in gradients as large as a table that each turn of a loop makes of the rows that it looked up, and
    adds to those of the turns before; 0 where no loop does.
    """
    dense = [one for one in _made_dense(question) if _in_each_turn(question, one)]
    if not dense:
        return 0.0
    sums = [one for one in compute_parts(question.run).parts if one.op_type == _SUM_OF_GRADIENTS]
    return compute_fraction_of(question, [*dense, *(one for one in sums if _in_each_turn(question, one))])


def _in_each_turn(question: Question, one: Part) -> bool:
    """No where the trace shows no steps: what each of them runs once then runs as often as there are steps."""
    return shows_steps(question.run) and one.count >= _TURNS * max(device_steps(question.run), 1)


def _of_norms(parts: Sequence[Part]) -> list[Part]:
    """The norms of variables and their gradients: `Square`, `gradient_tape/Mul_1`, in no layer. A program without layers
    has such products of its own; where it has no norm, none of them is a norm's."""
    outside = [one for one in parts if one.path is not None and not one.layer]
    if not any(one.op_type in _MAKES_NORM for one in outside) and not any(one.op_type == "L2Loss" for one in parts):
        return []
    return [
        one
        for one in outside
        if one.path is not None and one.op_type in (_GRADIENTS_OF_NORMS if one.path.is_gradient else _NORMS)
    ]


@fact
def dense_gradient_op(question: Question) -> str:
    """The op that takes most time to make a table's gradient dense: `adam/UnsortedSegmentSum`."""
    dense = _made_dense(question)
    if not dense:
        raise MetricAbsent("no gradient of looked-up rows is made dense")
    return dense[0].name
