"""How much of a step goes into things that the compiled program does and could do better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfadvisor.metrics.kernels.kinds import hottest_ops
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


def unfused_attention(question: Question) -> list[HotOp]:
    """Parts of attention that is not one fused kernel. Raises MetricAbsent as patterns_of."""
    return _named(question, patterns_of(question).attention)


def gathered_copies(question: Question) -> list[HotOp]:
    """Kernels that only move the result of an all-gather. Raises MetricAbsent as patterns_of."""
    return _named(question, patterns_of(question).gathered_copies)


def products_of_one_operand(question: Question) -> list[HotOp]:
    """Products that multiply the same matrix along the same dimension. Raises MetricAbsent as patterns_of."""
    return _named(question, patterns_of(question).one_operand)


@metric(unit=Unit.US, better=Better.NEITHER)
def one_operand_us(question: Question) -> float:
    """Mean length of the products in one_operand_fraction. Short products do not fill the device."""
    found = products_of_one_operand(question)
    if not found:
        raise MetricAbsent("no two products of the hottest program share an operand")
    return sum(one.total_ps for one in found) / sum(one.count for one in found) / 1e6
