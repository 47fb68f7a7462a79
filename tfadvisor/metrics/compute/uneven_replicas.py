"""Replicas of one step on one device plane: whether they compute the same."""

from __future__ import annotations

from tfadvisor.metrics.compute.parts import Part, compute_fraction_of, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.units import Unit, percent
from tfadvisor.vocabulary import Better

_SETS_LOAD = ("MatMul", "Conv", "Pool", "BatchNorm", "Attention", "Einsum")
"""Parts of the types of ops that all replicas run alike, on batches whose size tells the load."""


@once
def _by_replica(question: Question) -> dict[int, list[Part]]:
    """The ops that the load shows in, of every replica. Raises MetricAbsent where there are no replicas by name."""
    found = [one for one in compute_parts(question.run).parts if one.path is not None]
    numbers = {one.path.replica for one in found if one.path is not None}
    if len(numbers) < 2:
        raise MetricAbsent("the ops' names tell no replicas apart")
    sets_load = [one for one in found if any(word in one.op_type for word in _SETS_LOAD)]
    return {
        number: [one for one in sets_load if one.path is not None and one.path.replica == number]
        for number in sorted(numbers)
    }


def _times(question: Question) -> dict[int, int]:
    times = {number: sum(one.total_ps for one in parts) for number, parts in _by_replica(question).items()}
    if not all(times.values()):
        raise MetricAbsent("not every replica runs products or convolutions")
    return times


@metric(unit=Unit.FRACTION, better=Better.LESS)
def uneven_replica_fraction(question: Question) -> float:
    """Share of step time that the busiest replica's products, convolutions and pools take more than the replicas' mean,
    by the names of TensorFlow's ops (`replica_1/…`).
    """
    times = _times(question)
    mean = sum(times.values()) / len(times)
    busiest = max(times, key=lambda number: times[number])
    surplus = (times[busiest] - mean) / times[busiest]
    return compute_fraction_of(question, _by_replica(question)[busiest]) * surplus


@fact
def busiest_replica(question: Question) -> str:
    """The replica whose ops take most time, with its share of all replicas' time: `replica 0, 75%`."""
    times = _times(question)
    number = max(times, key=lambda one: times[one])
    return f"replica {number}, {percent(times[number] / sum(times.values()))} of all replicas' time"
