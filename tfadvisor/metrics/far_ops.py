"""The ops of one line that take much of the step and are far from both limits of their
device, whatever they do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.metrics.kinds import OpKind, generic_products, kind_of
from tfadvisor.metrics.limits import BoundedOp, bounded_ops
from tfadvisor.metrics.needless import sorts_to
from tfadvisor.metrics.precision import product_kind
from tfadvisor.metrics.products import misaligned_products
from tfadvisor.metrics.programs import unrolled_ops
from tfadvisor.metrics.rates import Rates, rates_of
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.metrics.unchanged import same_results
from tfadvisor.printable import short_kernel
from tfadvisor.timeline.names.kernels import Precision, precision_of_type
from tfadvisor.timeline.summary import TINY_PS, HotOp
from tfadvisor.units import PS_PER_S, Unit, rate
from tfadvisor.vocabulary import Better

if TYPE_CHECKING:
    from tfadvisor.timeline import InProgram

_LARGE = 0.1
"""A line that takes a smaller share of the step is not worth a word; TensorFlow's guide
says so of gaps."""
_FAR = 0.1
"""Of what the device can do. Kernels of libraries reach half of it and more, generated
ones a quarter; on the H200 recordings no op of 20 µs and 10% of a step is below."""
_ELSEWHERE = (OpKind.LAYOUT, OpKind.CUMULATIVE)
"""Kinds whose rules claim their time."""


class FarOp(msgspec.Struct, frozen=True):
    """One op with what its device could do."""

    op: HotOp
    known: InProgram
    fraction: float
    """Of the step, 0..1."""
    rates: Rates

    @property
    def line(self) -> Hashable:
        """Common to ops that one sentence is about: those of a line of the program; of
        scatters those of as many values into as many places.
        """
        if not self.known.file:
            return _name_of(self.op)
        return self.known.file, self.known.line, self.known.scattered


@once
def _far(question: Question) -> list[list[FarOp]]:
    """By line, the one that takes most and its largest op first. Raises MetricAbsent
    where limits are not known.
    """
    lines: dict[Hashable, list[FarOp]] = {}
    for far in sorted(_far_ops(question), key=lambda far: -far.fraction):
        lines.setdefault(far.line, []).append(far)
    large = [line for line in lines.values() if _fraction(line) >= _LARGE]
    return sorted(large, key=_fraction, reverse=True)


def _fraction(line: list[FarOp]) -> float:
    return math.fsum(far.fraction for far in line)


def _far_ops(question: Question) -> Iterator[FarOp]:
    named = {_name(limited): limited for limited in bounded_ops(question.run).ops}
    told = {
        (elsewhere.op, elsewhere.kernel, elsewhere.module)
        for elsewhere in _told_elsewhere(question)
    }
    for host in counted_hosts(question.run):
        if host.program is None:
            continue
        rates = rates_of(question.run, host)
        for op in host.program.hot_ops.ops:
            bounded = named.pop(_name_of(op), None)
            if bounded is None or (op.op, op.kernel, op.module) in told:
                continue
            known = op.known
            if known is None or not (known.file or known.op_name):
                continue  # what nobody can find in a program is no advice
            if _is_far(bounded, op):
                yield FarOp(op, known, bounded.fraction, rates)


def _name_of(op: HotOp) -> tuple[str, str]:
    return op.name(), op.module


def _name(bounded: BoundedOp) -> tuple[str, str]:
    _, op, kernel, module = bounded.key
    return op or kernel, module


def _is_far(bounded: BoundedOp, op: HotOp) -> bool:
    bound = bounded.bound
    if bound is None or bound.is_open or bound.least >= _FAR:
        return False
    return op.total_ps >= TINY_PS * op.count


def _told_elsewhere(question: Question) -> Iterable[HotOp]:
    """Ops whose time other rules claim, with a cure of their own."""
    selections: tuple[Callable[[Question], list[HotOp]], ...] = (
        generic_products,
        misaligned_products,
        unrolled_ops,
        same_results,
    )
    for select in selections:
        try:
            yield from select(question)
        except MetricAbsent:
            continue
    for host in counted_hosts(question.run):
        rates = rates_of(question.run, host)
        for op in host.hot_ops:
            if kind_of(op) in _ELSEWHERE or _leaves_units_idle(op, rates):
                yield op


def _leaves_units_idle(op: HotOp, rates: Rates) -> bool:
    """Whether it multiplies narrow numbers beside idle Tensor Cores."""
    multiplied = precision_of_type(op.known.multiplied if op.known else "")
    kind = product_kind(op.kernel, multiplied, rates.rounds)
    is_wide = kind.precision in (Precision.FP32, Precision.FP64)
    return kind.is_matrix and kind.tensor_cores is False and not is_wide


def far_line(question: Question) -> list[FarOp]:
    """The ops of far_op_fraction, the largest first. Raises MetricAbsent."""
    found = _far(question)
    if not found:
        raise MetricAbsent(
            "no line with large ops is far from both limits of its device"
        )
    return found[0]


@metric
def far_op_fraction(question: Question) -> float:
    """Share of step time in ops that reach less than a tenth of both their device's
    memory bandwidth and its peak, by the bytes and operations that the trace's HLO
    tells: those of the program's line that takes most in them. Lines below a tenth of
    the step do not count, nor ops shorter than 20 µs, nor those that other metrics
    single out: products in plain loops, on odd sides or beside idle Tensor Cores,
    layout conversions, cumulative sums, unrolled loops.
    """
    return max(map(_fraction, _far(question)), default=0.0)


@fact
def far_op(question: Question) -> str:
    """The largest op of far_op_fraction with its line where the HLO tells it:
    `input_scatter_fusion (train.py:42)`.
    """
    op = far_line(question)[0].op
    return op.place() or short_kernel(op.name())


@fact
def far_ops(question: Question) -> str:
    """All ops of far_op_fraction: that one where it is alone, else `4 ops of
    train.py:42, the largest wrapped_convolution`.
    """
    first, *others = far_line(question)
    if not others:
        return far_op(question)
    where = f"{first.known.file}:{first.known.line}"
    return f"{1 + len(others)} ops of {where}, the largest {first.op.name()}"


@fact
def far_op_does(question: Question) -> str:
    """What the largest computes: `scatter-add of 400,000 values into f32[24]`."""
    does = far_line(question)[0].known.does
    if not does:
        raise MetricAbsent("the trace holds no HLO of this op")
    return does


@fact
def far_op_path(question: Question) -> str:
    """The framework's path to the largest: `jit(step)/segment_sum/scatter-add`."""
    path = far_line(question)[0].known.op_name
    if not path:
        raise MetricAbsent("the trace's HLO does not name the path to this op")
    return path


@fact
def far_op_sorts(question: Question) -> str:
    """What it sorts for, where the largest is a sort: draw (a permutation, or rows
    without replacement) or order.
    """
    known = far_line(question)[0].known
    if not known.does.startswith("sort"):
        raise MetricAbsent("the largest of these ops sorts nothing")
    return sorts_to(known.op_name)


@fact
def far_op_patches(question: Question) -> str:
    """Of the largest, where it is the gradient of a convolution whose kernel is as
    large as its stride, the kernel's size: `2 × 2`.
    """
    known = far_line(question)[0].known
    if not known.patches:
        raise MetricAbsent("the largest of these ops takes no product of patches")
    return known.patches


@fact
def far_op_speed(question: Question) -> str:
    """How fast they are together, beside what their device can do: `3.60 MB/s of 300
    GB/s`, with their operations where they do any.
    """
    line = far_line(question)
    seconds = sum(far.op.total_ps for far in line) / PS_PER_S
    bytes_moved = sum(far.known.cost.bytes * far.op.count for far in line)
    bandwidth = line[0].rates.peaks.bytes_per_s or 0.0
    words = f"{rate(bytes_moved / seconds, 'B')} of {rate(bandwidth, 'B')}"
    least = math.fsum(far.rates.arithmetic_s(far.op) * far.op.count for far in line)
    if not least:
        return words
    flops = sum(far.known.cost.flops * far.op.count for far in line)
    return (
        f"{words} and {rate(flops / seconds, 'FLOP')} of {rate(flops / least, 'FLOP')}"
    )


@metric(unit=Unit.COUNT, better=Better.NEITHER)
def far_op_values_per_place(question: Question) -> float:
    """Of scatters that are the ops of far_op_fraction, how many values they put for
    each place that they have: many meet in one place, and wait for each other there. 0
    where those ops are no scatters, or there are none.
    """
    found = _far(question)
    if not found or found[0][0].known.scattered is None:
        return 0.0
    values, places = found[0][0].known.scattered
    return values / places
