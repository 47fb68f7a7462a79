"""How much of a step a compiled program computes and then throws away, or takes one example after the other."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import known_ops, known_where
from tfadvisor.metrics.kernels.kinds import of_step_time, place_of
from tfadvisor.metrics.registry import Question, fact, metric
from tfadvisor.timeline.op_in_program import OpTrait
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_BACKWARD = "transpose("


def _having(question: Question, trait: OpTrait) -> list[HotOp]:
    return known_where(question, lambda known: trait in known.traits)


@metric(unit=Unit.FRACTION, better=Better.LESS)
def both_branches_fraction(question: Question) -> float:
    """Share of step time in ops whose results only one branch of a condition uses, where the program runs all branches and
    selects among their results: `lax.cond` and `lax.switch` under `jax.vmap`, from the trace's HLO.
    """
    return of_step_time(question, _having(question, OpTrait.BRANCH), known_ops(question))


@fact
def both_branches_place(question: Question) -> str:
    """The costliest op of a branch that always runs, with its place in the user's program: `call.10 (maze.py:34)`."""
    return place_of(_having(question, OpTrait.BRANCH))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def masked_loop_fraction(question: Question) -> float:
    """Share of step time in loops of a fixed number of turns that mask away what turns beyond a bound computed, from the
    trace's HLO. How many turns that are, no trace tells.
    """
    return of_step_time(question, _having(question, OpTrait.MASKED_LOOP), known_ops(question))


@fact
def masked_loop_place(question: Question) -> str:
    """The costliest op of a loop that masks turns away, with its place in the user's program: `call.4 (fly.py:64)`."""
    return place_of(_having(question, OpTrait.MASKED_LOOP))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def same_each_turn_fraction(question: Question) -> float:
    """Share of step time in ops that a loop of four turns or more runs again in each turn with the same operands, from the
    trace's HLO.
    """
    return of_step_time(question, _having(question, OpTrait.SAME_EACH_TURN), known_ops(question))


@fact
def same_each_turn_place(question: Question) -> str:
    """The costliest of these ops, with its place in the user's program: `call.8 (train.py:12)`."""
    return place_of(_having(question, OpTrait.SAME_EACH_TURN))


def _over_rows(question: Question) -> list[HotOp]:
    """Loops over rows with their gradients. A gradient alone does not tell whether turns need each other."""
    found = _having(question, OpTrait.ROW_LOOP)
    forward = {(one.known.file, one.known.line) for one in found if one.known and _BACKWARD not in one.known.op_name}
    return [one for one in found if one.known and (one.known.file, one.known.line) in forward]


@metric(unit=Unit.FRACTION, better=Better.LESS)
def row_loop_fraction(question: Question) -> float:
    """Share of step time in loops whose turns multiply single rows by matrices and need nothing of each other, with their
    gradients, from the trace's HLO: `lax.map`, or a scan over the examples of a batch.
    """
    return of_step_time(question, _over_rows(question), known_ops(question))


@fact
def row_loop_place(question: Question) -> str:
    """The costliest loop over single rows, with its place in the user's program: `call.5 (train.py:28)`."""
    return place_of(_over_rows(question))
