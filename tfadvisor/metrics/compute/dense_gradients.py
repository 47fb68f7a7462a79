"""Gradients of embedding tables made dense, so that each step updates the whole table."""

from __future__ import annotations

from tfadvisor.metrics.compute.largest import compute_fraction_of
from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.timeline.names.op_path import is_optimizer
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_MAKES_DENSE = frozenset(("UnsortedSegmentSum", "_FusedUnsortedSegmentSum"))
_GATHERS = ("Gather", "ResourceGather")


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
    return one.path is not None and (one.path.is_gradient or is_optimizer(one.layer))


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


@fact
def dense_gradient_op(question: Question) -> str:
    """The op that takes most time to make a table's gradient dense: `adam/UnsortedSegmentSum`."""
    dense = _made_dense(question)
    if not dense:
        raise MetricAbsent("no gradient of looked-up rows is made dense")
    return dense[0].name
