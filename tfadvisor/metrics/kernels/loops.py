"""Loops of a compiled program that work row by row or copy slices, and loops that were unrolled."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import count_per_step, known_ops, known_where
from tfadvisor.metrics.kernels.kinds import OpKind, hottest_ops, kind_of, of_step_time, place_of
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import share
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.timeline.summary.op_in_program import OpTrait
from tfadvisor.units import Unit
from tfadvisor.vocabulary import TimeClass


def _looped(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: OpTrait.IN_LOOP in known.traits)


def _scattering(ops: list[HotOp]) -> list[HotOp]:
    return [one for one in ops if one.known is not None and OpTrait.SCATTERS in one.known.traits]


@metric(
    "looped_updates_per_step",
    unit=Unit.COUNT,
    about="Updates of single rows that a while loop does one after the other in a step: scatters that became loops.",
)
def looped_updates_per_step(question: Question) -> float:
    """By the trace's HLO; a mean over the counted steps of the first device."""
    return count_per_step(question, _scattering(_looped(question)))


@metric(
    "looped_slice_copy_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in kernels that copy slices into or out of larger buffers, inside while loops that multiply "
    "matrices too.",
)
def looped_slice_copy_fraction(question: Question) -> float:
    """By the trace's HLO; as in a scan over layers."""
    hottest_ops(question)
    looped = _looped(question)
    if not any(kind_of(one) is OpKind.MATRIX for one in looped):
        return 0.0
    return of_step_time(question, [one for one in looped if kind_of(one) is OpKind.UPDATE])


@metric(
    "scatter_loop_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in while loops that scatter row by row: their kernels, and the launches between them in "
    "proportion to their number.",
)
def scatter_loop_fraction(question: Question) -> float:
    """0 without such a loop."""
    found, looped = known_ops(question), _looped(question)
    if not _scattering(looped):
        return 0.0
    time = sum(one.total_ps for one in looped) / found.compute_ps
    number = sum(one.count for one in looped) / sum(one.count for one in found.ops)
    launching = share(question, TimeClass.LAUNCH) + share(question, TimeClass.IDLE)
    return min(time, 1.0) * share(question, TimeClass.COMPUTE) + number * launching


@metric(
    "looped_matrix_free_share",
    unit=Unit.FRACTION,
    about="Share of the time of the hottest ops inside while loops that multiplies no matrices, by the trace's HLO.",
)
def looped_matrix_free_share(question: Question) -> float:
    """Small in a scan over layers or over the time steps of a recurrent network."""
    looped = _looped(question)
    total = sum(one.total_ps for one in looped)
    if not total:
        raise MetricAbsent("no while loop runs any of the hottest ops")
    return 1 - sum(one.total_ps for one in looped if kind_of(one) is OpKind.MATRIX) / total


@metric(
    "looped_row_product_share",
    unit=Unit.FRACTION,
    about="Share of the time of the hottest ops inside while loops that multiplies single rows by matrices, by the trace's HLO.",
)
def looped_row_product_share(question: Question) -> float:
    """Large in a loop that takes one example after the other, 0 in a scan over layers or over time steps of a batch."""
    looped = _looped(question)
    total = sum(one.total_ps for one in looped)
    if not total:
        raise MetricAbsent("no while loop runs any of the hottest ops")
    return sum(one.total_ps for one in looped if _multiplies_rows(one)) / total


def _multiplies_rows(one: HotOp) -> bool:
    sizes = one.known.products if one.known is not None else ()
    return bool(sizes) and all(size.batch == 1 and min(size.m, size.n) == 1 for size in sizes)


@fact("scatter_loop_place", about="The update inside such a loop with its place in the user's program.")
def scatter_loop_place(question: Question) -> str:
    """`loop_dynamic_update_slice_fusion (model.py:42)`."""
    return place_of(_scattering(_looped(question)))


def _unrolled(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: known.unrolled is not None)


@metric(
    "unrolled_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in ops that hold a hundred and more copies of one line's operation, by the trace's HLO: a Python "
    "loop that was unrolled.",
)
def unrolled_fraction(question: Question) -> float:
    """0 where loops are loops of the compiled program."""
    return of_step_time(question, _unrolled(question), known_ops(question))


@metric(
    "unrolled_copies",
    unit=Unit.COUNT,
    about="How many copies of one line's operation the hottest of these ops holds.",
)
def unrolled_copies(question: Question) -> float:
    """Several for each turn of the loop, where gradients repeat it."""
    found = _unrolled(question)
    known = found[0].known if found else None
    if known is None or known.unrolled is None:
        raise MetricAbsent("no op holds a hundred copies of one line's operation")
    return float(known.unrolled.copies)


@fact("unrolled_place", about="The hottest of these ops with the line that was unrolled.")
def unrolled_place(question: Question) -> str:
    """`copy_fusion (model.py:42)`."""
    for one in _unrolled(question):
        if one.known is not None and one.known.unrolled is not None and one.known.unrolled.file:
            return f"{one.name()} ({one.known.unrolled.file}:{one.known.unrolled.line})"
    raise MetricAbsent("no line of the program is known to be unrolled")
