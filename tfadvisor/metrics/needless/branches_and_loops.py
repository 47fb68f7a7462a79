"""What a compiled program computes and then throws away, computes again in each turn, or takes one example after the other."""

from __future__ import annotations

from collections.abc import Callable

from tfadvisor.metrics.kernels.first_device import known_where
from tfadvisor.metrics.registry import Question
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.timeline.summary.op_in_program import OpTrait

_BACKWARD = "transpose("


def having(trait: OpTrait) -> Callable[[Question], list[HotOp]]:
    """Selects the ops of which the HLO says this."""
    return lambda question: known_where(question, lambda known: trait in known.traits)


def loops_over_rows(question: Question) -> list[HotOp]:
    """Loops over rows with their gradients. A gradient alone does not tell whether turns need each other."""
    found = having(OpTrait.ROW_LOOP)(question)
    forward = {(one.known.file, one.known.line) for one in found if one.known and _BACKWARD not in one.known.op_name}
    return [one for one in found if one.known and (one.known.file, one.known.line) in forward]
