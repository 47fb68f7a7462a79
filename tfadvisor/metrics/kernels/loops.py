"""Loops of a compiled program that work row by row or copy slices, and loops that were unrolled."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import count_per_step, known_ops, known_where
from tfadvisor.metrics.kernels.kinds import OpKind, hottest_ops, kind_of, of_step_time, place_of
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import share
from tfadvisor.timeline.op_in_program import OpTrait
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, TimeClass


def _looped(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: OpTrait.IN_LOOP in known.traits)


def _scattering(ops: list[HotOp]) -> list[HotOp]:
    return [one for one in ops if one.known is not None and OpTrait.SCATTERS in one.known.traits]


@metric(unit=Unit.COUNT, better=Better.LESS)
def looped_updates_per_step(question: Question) -> float:
    """Number of updates of single rows per step that a while loop on the first device makes one after the other:
    scatters that became loops, from the trace's HLO.
    """
    return count_per_step(question, _scattering(_looped(question)))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def looped_slice_copy_fraction(question: Question) -> float:
    """Share of step time in kernels that copy slices into or out of larger buffers inside while loops that also
    multiply matrices, as in a scan over layers; from the trace's HLO.
    """
    hottest_ops(question)
    looped = _looped(question)
    if not any(kind_of(one) is OpKind.MATRIX for one in looped):
        return 0.0
    return of_step_time(question, [one for one in looped if kind_of(one) is OpKind.UPDATE])


@metric(unit=Unit.FRACTION, better=Better.LESS)
def scatter_loop_fraction(question: Question) -> float:
    """Share of step time in while loops that scatter row by row: their kernels, and the launches between them in
    proportion to their number.
    """
    found, looped = known_ops(question), _looped(question)
    if not _scattering(looped):
        return 0.0
    time = sum(one.total_ps for one in looped) / found.compute_ps
    number = sum(one.count for one in looped) / sum(one.count for one in found.ops)
    launching = share(question, TimeClass.LAUNCH) + share(question, TimeClass.IDLE)
    return min(time, 1.0) * share(question, TimeClass.COMPUTE) + number * launching


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def looped_matrix_free_share(question: Question) -> float:
    """Share of the time of the hottest ops inside while loops spent outside matrix products, from the trace's HLO. It
    is small in a scan over layers or over the time steps of a recurrent network.
    """
    looped = _looped(question)
    total = sum(one.total_ps for one in looped)
    if not total:
        raise MetricAbsent("no while loop runs any of the hottest ops")
    return 1 - sum(one.total_ps for one in looped if kind_of(one) is OpKind.MATRIX) / total


@metric(unit=Unit.FRACTION, better=Better.LESS)
def looped_row_product_share(question: Question) -> float:
    """Share of the time of the hottest ops inside while loops spent multiplying single rows by matrices, from the
    trace's HLO. It is large in a loop that takes one example after the other.
    """
    looped = _looped(question)
    total = sum(one.total_ps for one in looped)
    if not total:
        raise MetricAbsent("no while loop runs any of the hottest ops")
    return sum(one.total_ps for one in looped if _multiplies_rows(one)) / total


def _multiplies_rows(one: HotOp) -> bool:
    sizes = one.known.products if one.known is not None else ()
    return bool(sizes) and all(size.batch == 1 and min(size.m, size.n) == 1 for size in sizes)


@fact
def scatter_loop_place(question: Question) -> str:
    """The costliest update inside a loop that scatters row by row, with its place in the user's program:
    `loop_dynamic_update_slice_fusion (model.py:42)`.
    """
    return place_of(_scattering(_looped(question)))


def _unrolled(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: known.unrolled is not None)


@metric(unit=Unit.FRACTION, better=Better.LESS)
def unrolled_fraction(question: Question) -> float:
    """Share of step time in ops that hold a hundred copies or more of one line's operation, from the trace's HLO: a
    Python loop that was unrolled.
    """
    return of_step_time(question, _unrolled(question), known_ops(question))


@metric(unit=Unit.COUNT, better=Better.LESS)
def unrolled_copies(question: Question) -> float:
    """Number of copies of one line's operation in the hottest unrolled op. Gradients add copies, so this exceeds the
    number of turns of the loop.
    """
    found = _unrolled(question)
    known = found[0].known if found else None
    if known is None or known.unrolled is None:
        raise MetricAbsent("no op holds a hundred copies of one line's operation")
    return float(known.unrolled.copies)


@fact
def unrolled_place(question: Question) -> str:
    """The hottest unrolled op, with the line that was unrolled: `copy_fusion (model.py:42)`."""
    for one in _unrolled(question):
        if one.known is not None and one.known.unrolled is not None and one.known.unrolled.file:
            return f"{one.name()} ({one.known.unrolled.file}:{one.known.unrolled.line})"
    raise MetricAbsent("no line of the program is known to be unrolled")
