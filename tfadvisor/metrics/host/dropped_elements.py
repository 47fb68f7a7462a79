"""Elements that the input pipeline works on and then throws away."""

from __future__ import annotations

from typing import NamedTuple

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.timeline.host.input_pipeline import InputPipeline, InputStage
from tfadvisor.timeline.names.input_pipeline import asking_stage, drops_elements, maps_elements
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_FEWEST = 20
"""A map works some elements ahead of what is asked of it, so fewer than this tell nothing."""


class _Dropping(NamedTuple):
    """A stage that keeps some of the elements that the map before it makes."""

    stage: InputStage
    mapped: InputStage
    made: int
    """Elements that the map was given."""

    @property
    def share(self) -> float:
        """Of the made elements, those thrown away."""
        return max(1 - self.stage.calls / self.made, 0.0)


@metric(unit=Unit.FRACTION, better=Better.LESS)
def input_dropped_share(question: Question) -> float:
    """Share of the elements that a map of the tf.data pipeline works on and that a shard or filter right behind it throws
    away, by the number of calls in the counted steps; 0 where none does.
    """
    found = _droppings(question)
    return max((one.share for one in found), default=0.0)


@fact
def input_dropping_stage(question: Question) -> str:
    """The stage in input_dropped_share: `Shard keeps 350 of the 1,398 elements of ParallelMap`."""
    found = _droppings(question)
    if not found:
        raise MetricAbsent("no stage throws away what a map has worked on")
    most = max(found, key=lambda one: one.share)
    return f"{most.stage.kind} keeps {most.stage.calls:,} of the {most.made:,} elements of {most.mapped.kind}"


def _droppings(question: Question) -> list[_Dropping]:
    """Of all hosts. Raises MetricAbsent without a tf.data pipeline."""
    pipelines = [one.evidence.pipeline for one in counted_hosts(question.run) if one.evidence.pipeline is not None]
    if not pipelines:
        raise MetricAbsent("the trace holds no tf.data pipeline")
    return [found for pipeline in pipelines for found in _of(pipeline)]


def _of(pipeline: InputPipeline) -> list[_Dropping]:
    by_path = {one.path: one for one in pipeline.stages}
    found = []
    for mapped in pipeline.stages:
        behind = by_path.get(asking_stage(mapped.path))
        if behind is None or not drops_elements(behind.kind) or not maps_elements(mapped.kind):
            continue
        given = [one.calls for one in pipeline.stages if asking_stage(one.path) == mapped.path]
        made = max(given, default=mapped.calls)
        if made >= _FEWEST and behind.calls:
            found.append(_Dropping(behind, mapped, made))
    return found
