"""Metrics of the program's own that each step of a training updates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tfadvisor.metrics.layers import ComputedOp, compute_fraction_of, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import device_steps
from tfadvisor.tallies import listed
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.trace.noted_ops import OpLine
from tfadvisor.units import Unit

_OF_LINE = 0.1
"""Of the time of a line: an op that takes so much tells how often the line runs."""


class Updates(msgspec.Struct, frozen=True):
    """Ops that the methods of metrics make."""

    parts: tuple[ComputedOp, ...]
    line: OpLine
    """On which most of their time lies."""
    of_line: tuple[ComputedOp, ...]


@once
def _updates(question: Question) -> Updates:
    """Raises MetricAbsent."""
    if not question.run.op_lines.ops or question.settings.source is None:
        raise MetricAbsent("no op of a tf.function is noted beside the trace")
    computed = compute_parts(question.run).parts
    if not any(part.path is not None and part.path.is_gradient for part in computed):
        raise MetricAbsent("no op is of a gradient, so no step is known to train")
    lines = dict(_lines_of_metrics(question, computed))
    if not lines:
        raise MetricAbsent("no op is noted in update_state or result of a metric")
    most = max(lines, key=lambda at: sum(part.total_ps for part in lines[at]))
    every = tuple(part for parts in lines.values() for part in parts)
    return Updates(every, most, tuple(lines[most]))


def _lines_of_metrics(
    question: Question, computed: Sequence[ComputedOp]
) -> Iterator[tuple[OpLine, list[ComputedOp]]]:
    noted, source = question.run.op_lines, question.settings.source
    placed = ((noted.line_of(part.name, part.op_type), part) for part in computed)
    for at, parts in listed(placed).items():
        if at is None or source is None:
            continue
        if source.metric_class(at.file, at.line):
            yield at, parts


@metric
def metric_update_fraction(question: Question) -> float:
    """Share of step time in ops that by the noted lines are made in update_state or
    result of the program's own metrics, in a trace whose steps take gradients, too.
    """
    return compute_fraction_of(question, _updates(question).parts)


@metric(unit=Unit.COUNT)
def metric_updates_per_step(question: Question) -> float:
    """How often per step the line runs that takes most of it: more than once where
    several metrics compute the same.
    """
    updates = _updates(question)
    total = sum(part.total_ps for part in updates.of_line)
    by_type = listed((part.op_type, part.count) for part in updates.of_line)
    time = listed((part.op_type, part.total_ps) for part in updates.of_line)
    counts = [
        sum(by_type[kind]) for kind in by_type if sum(time[kind]) >= _OF_LINE * total
    ]
    return min(counts) / device_steps(question.run)


@fact
def metric_update_line(question: Question) -> str:
    """The line on which most of it lies: `update_state (train.py:24)`."""
    at = _updates(question).line
    return place_in_words(at.file, at.line, at.function)


@fact
def metric_update_class(question: Question) -> str:
    """The class of that line: `TopKMetric`."""
    at, source = _updates(question).line, question.settings.source
    return "" if source is None else source.metric_class(at.file, at.line)


@fact
def metric_update_ops(question: Question) -> str:
    """The types of ops that take most of it: `RandomUniform, TopKV2`."""
    time = listed((part.op_type, part.total_ps) for part in _updates(question).parts)
    return ", ".join(sorted(time, key=lambda kind: -sum(time[kind]))[:3])
