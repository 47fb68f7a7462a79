"""How much of a step goes into things that the compiled program does and could do better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfadvisor.metrics.kernels import Kind, hottest_ops, kind_of, name_of, of_step_time, place_of
from tfadvisor.metrics.once import once
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import accelerators, gpus, needs_device, share
from tfadvisor.timeline.hot_ops import HotOp, HotOps
from tfadvisor.timeline.model import TimeClass
from tfadvisor.units import Unit

if TYPE_CHECKING:
    from tfadvisor.timeline.program_patterns import ProgramPatterns


def patterns_of(question: Question) -> ProgramPatterns:
    """Of the first accelerator's hottest program. Raises MetricAbsent where the trace lacks its HLO."""
    host, _ = accelerators(question.run)[0]
    if host.patterns is None:
        raise MetricAbsent("the trace carries no HLO of the step's program")
    return host.patterns


def _named(question: Question, names: tuple[str, ...]) -> list[HotOp]:
    """The hottest ops of the hottest program that bear one of the names."""
    gpus(question.run)
    module = patterns_of(question).module
    return [one for one in hottest_ops(question).ops if one.op in names and one.module == module]


@metric(
    "unfused_attention_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in attention that is not one kernel: a batched product, a softmax of it, and a batched product "
    "with that, by the trace's HLO.",
)
def unfused_attention_fraction(question: Question) -> float:
    """0 where a fused kernel does it, or there is none."""
    return of_step_time(question, _named(question, patterns_of(question).attention))


@fact("unfused_attention_place", about="The costliest part of unfused attention with its place in the user's program.")
def unfused_attention_place(question: Question) -> str:
    """`custom-call.3 (model.py:42)`."""
    return place_of(_named(question, patterns_of(question).attention))


@metric(
    "gathered_copy_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in kernels that only move what an all-gather brought: put its parts together, transpose or "
    "copy them.",
)
def gathered_copy_fraction(question: Question) -> float:
    """By the trace's HLO."""
    return of_step_time(question, _named(question, patterns_of(question).gathered_copies))


@fact("gathered_copy_place", about="The costliest of these copies with its place in the user's program.")
def gathered_copy_place(question: Question) -> str:
    """`loop_concatenate_fusion (model.py:42)`."""
    return place_of(_named(question, patterns_of(question).gathered_copies))


@metric(
    "one_operand_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in products that multiply one and the same matrix along the same dimension, by the trace's HLO.",
)
def one_operand_fraction(question: Question) -> float:
    """Queries, keys and values of one input are such products."""
    return of_step_time(question, _named(question, patterns_of(question).one_operand))


@metric(
    "one_operand_us",
    unit=Unit.US,
    about="Mean length of the products that one_operand_fraction counts.",
)
def one_operand_us(question: Question) -> float:
    """Short ones do not fill the device."""
    found = _named(question, patterns_of(question).one_operand)
    if not found:
        raise MetricAbsent("no two products of the hottest program share an operand")
    return sum(one.total_ps for one in found) / sum(one.count for one in found) / 1e6


@fact("one_operand_ops", about="The products that multiply one and the same matrix, the costliest first.")
def one_operand_ops(question: Question) -> str:
    """`dot.1, dot.2, dot.3`."""
    found = _named(question, patterns_of(question).one_operand)
    name_of(found)
    return ", ".join(one.op for one in found[:4])


@fact("one_operand_place", about="The costliest of these products with its place in the user's program.")
def one_operand_place(question: Question) -> str:
    """`dot.1 (model.py:42)`."""
    return place_of(_named(question, patterns_of(question).one_operand))


@once
def _hot(question: Question) -> HotOps:
    """Of the first device, whatever it is."""
    needs_device(question.run)
    host = next(host for host in question.run.hosts if host.devices)
    if host.hot_ops is None or not any(one.known is not None for one in host.hot_ops.ops):
        raise MetricAbsent("the trace carries no HLO of the step's program")
    return host.hot_ops


def _looped(question: Question) -> list[HotOp]:
    return [one for one in _hot(question).ops if one.known is not None and one.known.in_loop]


def _scattering(ops: list[HotOp]) -> list[HotOp]:
    return [one for one in ops if one.known is not None and one.known.scatters]


@metric(
    "looped_updates_per_step",
    unit=Unit.COUNT,
    about="Updates of single rows that a while loop does one after the other in a step: scatters that became loops.",
)
def looped_updates_per_step(question: Question) -> float:
    """By the trace's HLO; a mean over the counted steps of the first device."""
    found = _scattering(_looped(question))
    host = next(host for host in question.run.hosts if host.devices)
    steps = int((host.takes_part[0] & host.steps.steady()).sum())
    return sum(one.count for one in found) / max(steps, 1)


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
    if not any(kind_of(one) is Kind.MATRIX for one in looped):
        return 0.0
    return of_step_time(question, [one for one in looped if kind_of(one) is Kind.UPDATE])


@metric(
    "scatter_loop_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in while loops that scatter row by row: their kernels, and the launches between them in "
    "proportion to their number.",
)
def scatter_loop_fraction(question: Question) -> float:
    """0 without such a loop."""
    found, looped = _hot(question), _looped(question)
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
    return 1 - sum(one.total_ps for one in looped if kind_of(one) is Kind.MATRIX) / total


@fact("scatter_loop_place", about="The update inside such a loop with its place in the user's program.")
def scatter_loop_place(question: Question) -> str:
    """`loop_dynamic_update_slice_fusion (model.py:42)`."""
    return place_of(_scattering(_looped(question)))


def _unrolled(question: Question) -> list[HotOp]:
    return [one for one in _hot(question).ops if one.known is not None and one.known.unrolled is not None]


@metric(
    "unrolled_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in ops that hold a hundred and more copies of one line's operation, by the trace's HLO: a Python "
    "loop that was unrolled.",
)
def unrolled_fraction(question: Question) -> float:
    """0 where loops are loops of the compiled program."""
    return of_step_time(question, _unrolled(question), _hot(question))


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
