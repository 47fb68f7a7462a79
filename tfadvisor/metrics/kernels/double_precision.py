"""Work in 64-bit floats, which networks hardly ever need."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import first_device_ops, known_where
from tfadvisor.metrics.kernels.kinds import of_step_time
from tfadvisor.metrics.kernels.precision import fp64_kernel_share, unknown_precision_share
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import share
from tfadvisor.timeline.names.kernels import short_name
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.timeline.summary.op_in_program import OpTrait
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, TimeClass


def _double(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: OpTrait.DOUBLE in known.traits)


@metric(unit=Unit.FRACTION, better=Better.LESS)
def double_precision_fraction(question: Question) -> float:
    """Share of step time in which the first device runs ops on 64-bit floats, from the trace's HLO or, without it, on a
    GPU from the kernels' names.
    """
    found = first_device_ops(question)
    if any(one.known is not None for one in found.ops):
        return of_step_time(question, _double(question), found)
    of_all = fp64_kernel_share(question) * (1 - unknown_precision_share(question))
    return of_all * share(question, TimeClass.COMPUTE)


@fact
def double_precision_op(question: Question) -> str:
    """The op on 64-bit floats that takes most time: `dot.3`."""
    double = _double(question)
    if not double:
        raise MetricAbsent("no op computes in 64-bit floats")
    return short_name(double[0].name())
