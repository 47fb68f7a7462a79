"""Differences of all pairs of rows, as in `x[:, None] - y[None]`: by the HLO, or by the sums that a gradient tape adds."""

from __future__ import annotations

from tfadvisor.metrics.compute.parts import Part, with_gradients
from tfadvisor.metrics.kernels.first_device import known_where
from tfadvisor.metrics.registry import Question
from tfadvisor.metrics.remember import once
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.timeline.summary.op_in_program import InProgram, OpTrait

_SUMS = frozenset(("Sum", "Sum_1"))
"""What a tape adds to the gradient of an elementwise op, one for each operand that is repeated along an axis."""
_TAPE = "gradient_tape/"
_WITH_BOTH = frozenset("Sub Add AddV2 Mul SquaredDifference RealDiv Div Maximum Minimum Neg Sum".split())
"""Types of ops on two operands, and of what their gradients are made of."""


def _line(known: InProgram) -> tuple[str, int]:
    return known.file, known.line


def differences_in_hlo(question: Question) -> list[HotOp]:
    """Ops that make differences of all pairs, and what else their lines do with them, without products. Raises MetricAbsent
    without HLO.
    """
    found = known_where(question, lambda known: OpTrait.PAIRS in known.traits)
    lines = {_line(one.known) for one in found if one.known is not None and one.known.file}
    return known_where(
        question, lambda known: OpTrait.PAIRS in known.traits or (_line(known) in lines and not known.products)
    )


@once
def differences_in_tape(question: Question) -> tuple[Part, ...]:
    """The op with both operands repeated that takes most, with its gradients, the largest first. Raises MetricAbsent where
    no gradient tape's ops are named.
    """
    parts = [one for one in with_gradients(question) if one.op_type in _WITH_BOTH]
    sums: dict[str, set[str]] = {}
    for one in parts:
        op, _, last = one.name.rpartition("/")
        if last in _SUMS and op.startswith(_TAPE):
            sums.setdefault(op.removeprefix(_TAPE), set()).add(last)
    both = {op for op, found in sums.items() if found == _SUMS}
    inside: dict[str, list[Part]] = {}
    for one in parts:
        of = one.name.removeprefix(_TAPE)
        op = of if of in both else of.rpartition("/")[0]
        if op in both:
            inside.setdefault(op, []).append(one)
    return tuple(max(inside.values(), key=lambda ops: sum(one.total_ps for one in ops), default=[]))
