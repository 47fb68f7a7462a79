"""How much of a step goes into things that the compiled program does and could do better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfadvisor.metrics.kernels.kinds import hottest_ops, name_of, of_step_time, place_of
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import accelerators, counted_hosts, gpus
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

if TYPE_CHECKING:
    from tfadvisor.timeline.summary.program_patterns import ProgramPatterns


def patterns_of(question: Question) -> ProgramPatterns:
    """Of the first accelerator's hottest program. Raises MetricAbsent where the trace lacks its HLO."""
    host, _ = accelerators(question.run)[0]
    if host.program is None or host.program.patterns is None:
        raise MetricAbsent("the trace carries no HLO of the step's program")
    return host.program.patterns


def between_products(question: Question) -> tuple[str, ...]:
    """The collectives of an accelerator's hottest program that a product waits for. Raises MetricAbsent as patterns_of."""
    return patterns_of(question).between_products


def exchanged_in_vain(question: Question) -> tuple[str, ...]:
    """The collectives that exchange what is equal on all devices already, of the hottest program on whatever device. Raises
    MetricAbsent where the trace lacks its HLO.
    """
    return patterns_of_any_device(question).equal_state


@fact
def equal_state_place(question: Question) -> str:
    """The largest collective that exchanges what is equal on all devices already, with its place in the user's program:
    `all-gather.161 (train.py:54)`.
    """
    found = patterns_of_any_device(question).equal_state_place
    if not found:
        raise MetricAbsent("no collective exchanges what is equal on all devices already")
    return found


def patterns_of_any_device(question: Question) -> ProgramPatterns:
    """Of the hottest program on whatever device. Raises MetricAbsent where the trace lacks its HLO."""
    for host in counted_hosts(question.run):
        if host.program is not None and host.program.patterns is not None:
            return host.program.patterns
    raise MetricAbsent("the trace carries no HLO of a step's program with collectives")


def _named(question: Question, names: tuple[str, ...]) -> list[HotOp]:
    """The hottest ops of the hottest program that bear one of the names."""
    gpus(question.run)
    module = patterns_of(question).module
    return [one for one in hottest_ops(question).ops if one.op in names and one.module == module]


@metric(unit=Unit.FRACTION, better=Better.LESS)
def unfused_attention_fraction(question: Question) -> float:
    """Share of step time in attention that is not one fused kernel: a batched product, a softmax of it, and a batched
    product with the result, from the trace's HLO.
    """
    return of_step_time(question, _named(question, patterns_of(question).attention))


@fact
def unfused_attention_place(question: Question) -> str:
    """The costliest part of unfused attention, with its place in the user's program: `custom-call.3 (model.py:42)`."""
    return place_of(_named(question, patterns_of(question).attention))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def gathered_copy_fraction(question: Question) -> float:
    """Share of step time in kernels that only move the result of an all-gather: they concatenate its parts, transpose
    or copy them; from the trace's HLO.
    """
    return of_step_time(question, _named(question, patterns_of(question).gathered_copies))


@fact
def gathered_copy_place(question: Question) -> str:
    """The costliest copy of an all-gather's result, with its place in the user's program: `loop_concatenate_fusion
    (model.py:42)`.
    """
    return place_of(_named(question, patterns_of(question).gathered_copies))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def one_operand_fraction(question: Question) -> float:
    """Share of step time in products that multiply the same matrix along the same dimension, from the trace's HLO.
    Queries, keys and values of one input are such products.
    """
    return of_step_time(question, _named(question, patterns_of(question).one_operand))


@metric(unit=Unit.US, better=Better.NEITHER)
def one_operand_us(question: Question) -> float:
    """Mean length of the products in one_operand_fraction. Short products do not fill the device."""
    found = _named(question, patterns_of(question).one_operand)
    if not found:
        raise MetricAbsent("no two products of the hottest program share an operand")
    return sum(one.total_ps for one in found) / sum(one.count for one in found) / 1e6


@fact
def one_operand_ops(question: Question) -> str:
    """The products that multiply the same matrix, the costliest first: `dot.1, dot.2, dot.3`."""
    found = _named(question, patterns_of(question).one_operand)
    name_of(found)
    return ", ".join(one.op for one in found[:4])


@fact
def one_operand_place(question: Question) -> str:
    """The costliest product in one_operand_fraction, with its place in the user's program: `dot.1 (model.py:42)`."""
    return place_of(_named(question, patterns_of(question).one_operand))
