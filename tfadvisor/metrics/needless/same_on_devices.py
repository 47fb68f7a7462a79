"""What every device of a run computes alike."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import known_ops
from tfadvisor.metrics.kernels.kinds import of_step_time
from tfadvisor.metrics.kernels.patterns import patterns_of_any_device
from tfadvisor.metrics.registry import Question, metric
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better


@metric(unit=Unit.COUNT, better=Better.LESS)
def devices_computing_the_same(question: Question) -> float:
    """Number of devices that run the hottest program with the same inputs, where nothing in it tells them apart, from the
    trace's HLO; 1 where each may compute something else.
    """
    return float(patterns_of_any_device(question).equal_partitions)


@metric(unit=Unit.FRACTION, better=Better.LESS)
def same_work_fraction(question: Question) -> float:
    """Share of step time in which a device computes what the other devices compute too: of the hottest program's compute
    all but what one device's share would be.
    """
    patterns = patterns_of_any_device(question)
    ops = known_ops(question)
    mine = [one for one in ops.ops if one.module == patterns.module]
    return of_step_time(question, mine, ops) * (1 - 1 / patterns.equal_partitions)
