"""The op that takes much of the step and is far from both limits of its device,
whatever it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.metrics.kinds import OpKind, generic_products, kind_of
from tfadvisor.metrics.limits import BoundedOp, bounded_ops
from tfadvisor.metrics.precision import product_kind
from tfadvisor.metrics.products import misaligned_products
from tfadvisor.metrics.programs import unrolled_ops
from tfadvisor.metrics.rates import Rates, rates_of
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.printable import short_kernel
from tfadvisor.timeline.names.kernels import Precision, precision_of_type
from tfadvisor.timeline.summary import TINY_PS, HotOp
from tfadvisor.units import PS_PER_S, Unit, rate
from tfadvisor.vocabulary import Better

if TYPE_CHECKING:
    from tfadvisor.timeline import InProgram

_LARGE = 0.1
"""An op that takes a smaller share of the step is not worth a word; TensorFlow's guide
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
    def seconds(self) -> float:
        """Of one execution, a mean."""
        return self.op.total_ps / PS_PER_S / max(self.op.count, 1)


@once
def _far(question: Question) -> list[FarOp]:
    """The largest first. Raises MetricAbsent where limits are not known."""
    named = {_name(limited): limited for limited in bounded_ops(question.run).ops}
    told = {
        (elsewhere.op, elsewhere.kernel, elsewhere.module)
        for elsewhere in _told_elsewhere(question)
    }
    found: list[FarOp] = []
    for host in counted_hosts(question.run):
        if host.program is None:
            continue
        rates = rates_of(question.run, host)
        for op in host.program.hot_ops.ops:
            bounded = named.pop((op.op or op.kernel, op.module), None)
            if bounded is None or (op.op, op.kernel, op.module) in told:
                continue
            if _is_far(bounded, op) and op.known is not None:
                found.append(FarOp(op, op.known, bounded.fraction, rates))
    return sorted(found, key=lambda far: -far.fraction)


def _name(bounded: BoundedOp) -> tuple[str, str]:
    _, op, kernel, module = bounded.key
    return op or kernel, module


def _is_far(bounded: BoundedOp, op: HotOp) -> bool:
    if bounded.bound is None or bounded.bound.least >= _FAR:
        return False
    is_tiny = op.total_ps < TINY_PS * op.count
    return bounded.fraction >= _LARGE and not is_tiny


def _told_elsewhere(question: Question) -> Iterable[HotOp]:
    """Ops whose time other rules claim, with a cure of their own."""
    selections: tuple[Callable[[Question], list[HotOp]], ...] = (
        generic_products,
        misaligned_products,
        unrolled_ops,
    )
    for select in selections:
        try:
            yield from select(question)
        except MetricAbsent:
            continue
    for host in counted_hosts(question.run):
        rates = rates_of(question.run, host)
        for op in host.program.hot_ops.ops if host.program is not None else ():
            if kind_of(op) in _ELSEWHERE or _leaves_units_idle(op, rates):
                yield op


def _leaves_units_idle(op: HotOp, rates: Rates) -> bool:
    """Whether it multiplies narrow numbers beside idle Tensor Cores."""
    multiplied = precision_of_type(op.known.multiplied if op.known else "")
    kind = product_kind(op.kernel, multiplied, rates.rounds)
    is_wide = kind.precision in (Precision.FP32, Precision.FP64)
    return kind.is_matrix and kind.tensor_cores is False and not is_wide


def _first(question: Question) -> FarOp:
    found = _far(question)
    if not found:
        raise MetricAbsent("no large op is far from both limits of its device")
    return found[0]


@metric(
    unit=Unit.FRACTION,
    better=Better.LESS,
)
def far_op_fraction(question: Question) -> float:
    """Share of step time in the largest op that reaches less than a tenth of both its
    device's memory bandwidth and its peak, by the bytes and operations that the trace's
    HLO tells. Ops below a tenth of the step, or shorter than 20 µs, do not count, nor
    those that other metrics single out: products in plain loops, on odd sides or beside
    idle Tensor Cores, layout conversions, cumulative sums, unrolled loops.
    """
    found = _far(question)
    return found[0].fraction if found else 0.0


@fact
def far_op(question: Question) -> str:
    """The op of far_op_fraction with its line where the HLO tells it:
    `input_scatter_fusion (train.py:42)`.
    """
    op = _first(question).op
    return op.place() or short_kernel(op.name())


@fact
def far_op_does(question: Question) -> str:
    """What it computes: `scatter-add of 400,000 values into f32[24]`."""
    does = _first(question).known.does
    if not does:
        raise MetricAbsent("the trace holds no HLO of this op")
    return does


@fact
def far_op_path(question: Question) -> str:
    """The framework's path to it: `jit(step)/segment_sum/scatter-add`."""
    path = _first(question).known.op_name
    if not path:
        raise MetricAbsent("the trace's HLO does not name the path to this op")
    return path


@fact
def far_op_speed(question: Question) -> str:
    """How fast it is, beside what its device can do: `3.60 MB/s of 300 GB/s`, with its
    operations where it does any.
    """
    far = _first(question)
    moved = rate(far.known.cost.bytes / far.seconds, "B")
    words = f"{moved} of {rate(far.rates.peaks.bytes_per_s or 0.0, 'B')}"
    least = far.rates.arithmetic_s(far.op)
    if not least:
        return words
    done = far.known.cost.flops / far.seconds
    peak = far.known.cost.flops / least
    return f"{words} and {rate(done, 'FLOP')} of {rate(peak, 'FLOP')}"


@metric(
    unit=Unit.COUNT,
    better=Better.NEITHER,
)
def far_op_values_per_place(question: Question) -> float:
    """Of a scatter that is the op of far_op_fraction, how many values it puts for each
    place that it has: many meet in one place, and wait for each other there. 0 where
    that op is no scatter, or there is none.
    """
    found = _far(question)
    if not found or found[0].known.scattered is None:
        return 0.0
    values, places = found[0].known.scattered
    return values / places
