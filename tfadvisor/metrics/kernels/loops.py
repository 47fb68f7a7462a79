"""Loops of a compiled program that work row by row or copy slices, and loops that were unrolled."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import count_per_step, known_ops, known_where
from tfadvisor.metrics.kernels.kinds import OpKind, kind_of
from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import share
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.timeline.summary.op_in_program import OpTrait
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, TimeClass


def _looped(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: OpTrait.IN_LOOP in known.traits)


def looped_scatters(question: Question) -> list[HotOp]:
    """Updates of single rows inside while loops. Raises MetricAbsent without HLO."""
    return [one for one in _looped(question) if one.known is not None and OpTrait.SCATTERS in one.known.traits]


def looped_slice_copies(question: Question) -> list[HotOp]:
    """Kernels that copy slices inside while loops that also multiply matrices. Raises MetricAbsent without HLO."""
    looped = _looped(question)
    if not any(kind_of(one) is OpKind.MATRIX for one in looped):
        return []
    return [one for one in looped if kind_of(one) is OpKind.UPDATE]


@metric(unit=Unit.COUNT, better=Better.LESS)
def looped_updates_per_step(question: Question) -> float:
    """Number of updates of single rows per step that a while loop on the first device makes one after the other:
    scatters that became loops, from the trace's HLO.
    """
    return count_per_step(question, looped_scatters(question))


def scatter_loop_share(question: Question) -> float:
    """Share of step time in looped_scatters: their kernels, and the launches between kernels in proportion to their number.
    Raises MetricAbsent without HLO.
    """
    found, updates = known_ops(question), looped_scatters(question)
    time = sum(one.total_ps for one in updates) / found.compute_ps
    number = sum(one.count for one in updates) / sum(one.count for one in found.ops)
    launching = share(question, TimeClass.LAUNCH) + share(question, TimeClass.IDLE)
    return min(time, 1.0) * share(question, TimeClass.COMPUTE) + number * launching


def unrolled_ops(question: Question) -> list[HotOp]:
    """Ops that hold a hundred copies or more of one line's operation. Raises MetricAbsent without HLO."""
    return known_where(question, lambda known: known.unrolled is not None)


@metric(unit=Unit.COUNT, better=Better.LESS)
def unrolled_copies(question: Question) -> float:
    """Number of copies of one line's operation in the hottest unrolled op. Gradients add copies, so this exceeds the
    number of turns of the loop.
    """
    found = unrolled_ops(question)
    known = found[0].known if found else None
    if known is None or known.unrolled is None:
        raise MetricAbsent("no op holds a hundred copies of one line's operation")
    return float(known.unrolled.copies)
