"""Elementwise ops on all pairs of rows, as in `x[:, None] - y[None]`, by the sums that a gradient tape adds for them."""

from __future__ import annotations

from tfadvisor.metrics.compute.largest import compute_fraction_of
from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_SUMS = frozenset(("Sum", "Sum_1"))
"""What a tape adds to the gradient of an elementwise op, one for each operand that is repeated along an axis."""
_TAPE = "gradient_tape/"
_WITH_BOTH = frozenset("Sub Add AddV2 Mul SquaredDifference RealDiv Div Maximum Minimum Neg Sum".split())
"""Types of ops on two operands, and of what their gradients are made of."""


@once
def _pairs(question: Question) -> tuple[tuple[str, tuple[Part, ...]], ...]:
    """(the op, its ops and those of its gradients) for each op with both operands repeated; the largest first.

    Raises MetricAbsent where no gradient tape's ops are named.
    """
    parts = [one for one in compute_parts(question.run).parts if one.op_type in _WITH_BOTH]
    sums: dict[str, set[str]] = {}
    for one in parts:
        op, _, last = one.name.rpartition("/")
        if last in _SUMS and op.startswith(_TAPE):
            sums.setdefault(op.removeprefix(_TAPE), set()).add(last)
    if not sums and not any(one.path is not None and one.path.is_gradient for one in compute_parts(question.run).parts):
        raise MetricAbsent("the trace names no op of a gradient tape")
    both = {op for op, found in sums.items() if found == _SUMS}
    inside: dict[str, list[Part]] = {}
    for one in parts:
        of = one.name.removeprefix(_TAPE)
        op = of if of in both else of.rpartition("/")[0]
        if op in both:
            inside.setdefault(op, []).append(one)
    found = [(op, tuple(ops)) for op, ops in inside.items()]
    return tuple(sorted(found, key=lambda one: -sum(part.total_ps for part in one[1])))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def pairs_of_rows_fraction(question: Question) -> float:
    """Share of step time in the elementwise op both operands of which are repeated along an axis, and in its gradients, the
    op that takes most: differences of all pairs of rows. Known by the sums that a gradient tape adds for each operand.
    """
    found = _pairs(question)
    return compute_fraction_of(question, found[0][1]) if found else 0.0


@fact
def pairs_of_rows_op(question: Question) -> str:
    """The elementwise op on all pairs of rows that takes most time with its gradients: `sub`."""
    found = _pairs(question)
    if not found:
        raise MetricAbsent("no elementwise op repeats both of its operands")
    return found[0][0]
