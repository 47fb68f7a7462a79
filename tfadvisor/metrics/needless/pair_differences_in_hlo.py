"""Differences of all pairs of rows, where the trace has the HLO of its programs."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import known_ops, known_where
from tfadvisor.metrics.kernels.kinds import of_step_time, place_of
from tfadvisor.metrics.registry import Question, fact, metric
from tfadvisor.timeline.op_in_program import InProgram, OpTrait
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better


def _line(known: InProgram) -> tuple[str, int]:
    return known.file, known.line


def _of_pairs(question: Question) -> list[HotOp]:
    """Ops that make differences of all pairs, and what else their lines do with them, without products."""
    found = known_where(question, lambda known: OpTrait.PAIRS in known.traits)
    lines = {_line(one.known) for one in found if one.known is not None and one.known.file}
    return known_where(
        question, lambda known: OpTrait.PAIRS in known.traits or (_line(known) in lines and not known.products)
    )


@metric(unit=Unit.FRACTION, better=Better.LESS)
def pair_difference_fraction(question: Question) -> float:
    """Share of step time in lines that subtract all rows of one array from all rows of another, element by element, from the
    trace's HLO.
    """
    return of_step_time(question, _of_pairs(question), known_ops(question))


@fact
def pair_difference_place(question: Question) -> str:
    """The costliest op of such a line, with its place in the user's program: `broadcast_subtract_fusion (train.py:22)`."""
    return place_of(_of_pairs(question))
