"""Metrics that each step of a training updates: the program's own, and those of Keras
that compare all predictions with each of many thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.metrics.layers import (
    ComputedOp,
    compute_fraction_of,
    compute_parts,
    known_by_hlo,
)
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import device_steps
from tfadvisor.tallies import listed
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.trace.noted_ops import OpLine
from tfadvisor.units import Unit

if TYPE_CHECKING:
    from tfadvisor.timeline import InProgram

_OF_LINE = 0.1
"""Of the time of a line: an op that takes so much tells how often the line runs."""
_COMPARES = frozenset({"Tile", "LogicalAnd"})
"""Ops with which Keras compares each prediction with each threshold, where these are
not evenly spaced: both are there, outside of all layers.
"""
_COUNTS = _COMPARES | frozenset({"Cast", "Greater", "LogicalNot", "Mul", "Sum"})
_OF_METRICS = "/keras/src/metrics/"
"""Part of the paths of Keras' files of metrics."""


class Updates(msgspec.Struct, frozen=True):
    """Ops that the methods of metrics make."""

    parts: tuple[ComputedOp, ...]
    line: OpLine
    """On which most of their time lies; of a metric of Keras, that makes it."""
    name: str
    """Of the metric: its class in the program, `keras.metrics.AUC`."""
    of_line: tuple[ComputedOp, ...] = ()
    thresholds: str = ""
    """That a metric of Keras is given, as the program writes them."""

    @property
    def total_ps(self) -> int:
        """Of all of its ops."""
        return sum(part.total_ps for part in self.parts)


@once
def _updates(question: Question) -> Updates:
    """The program's own, or those of Keras, whichever take more. Raises
    MetricAbsent.
    """
    computed = compute_parts(question.run).parts
    if not any(part.path is not None and part.path.is_gradient for part in computed):
        raise MetricAbsent("no op is of a gradient, so no step is known to train")
    found = _own(question, computed), _of_keras(question, computed)
    known = [each for each in found if each is not None]
    if not known:
        raise MetricAbsent("no op is known to be of update_state or result of a metric")
    return max(known, key=lambda each: each.total_ps)


def _own(question: Question, computed: Sequence[ComputedOp]) -> Updates | None:
    source = question.settings.source
    lines = dict(_lines_of_metrics(question, computed))
    if not lines or source is None:
        return None
    most = max(lines, key=lambda at: sum(part.total_ps for part in lines[at]))
    every = tuple(part for parts in lines.values() for part in parts)
    name = source.metric_class(most.file, most.line)
    return Updates(every, most, name, tuple(lines[most]))


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


def _of_keras(question: Question, computed: Sequence[ComputedOp]) -> Updates | None:
    """Ops of a metric of Keras that the source gives its thresholds."""
    source = question.settings.source
    made = None if source is None else source.metric_with_thresholds
    parts = () if made is None else _comparing(question, computed)
    if made is None or not parts:
        return None
    at = OpLine(made.file, made.line, made.function)
    return Updates(parts, at, made.metric, thresholds=made.given)


def _comparing(
    question: Question, computed: Sequence[ComputedOp]
) -> tuple[ComputedOp, ...]:
    """Those of Keras' files, where HLO has them; else those by their types outside of
    all layers, that one line makes, or none of the program's.
    """
    hlo = known_by_hlo(question.run)
    of_files = [part for part in computed if _is_of_metrics(part, hlo)]
    if of_files:
        return tuple(of_files)
    noted = question.run.op_lines
    plain = (part for part in computed if _is_plain(part))
    by_line = listed((noted.line_of(part.name, part.op_type), part) for part in plain)
    for parts in by_line.values():
        if {part.op_type for part in parts} >= _COMPARES:
            return tuple(parts)
    return ()


def _is_of_metrics(part: ComputedOp, hlo: Mapping[tuple[str, str], InProgram]) -> bool:
    known = hlo.get((part.name, part.module))
    location = None if known is None else known.location
    frames = () if location is None else location.frames
    return any(_OF_METRICS in frame.file for frame in frames)


def _is_plain(part: ComputedOp) -> bool:
    path = part.path
    is_outside = path is not None and not path.layer and not path.is_gradient
    return is_outside and part.op_type in _COUNTS


@metric
def metric_update_fraction(question: Question) -> float:
    """Share of step time in ops that by the noted lines are made in update_state or
    result of the program's own metrics, or with which a metric of Keras compares
    predictions with thresholds that the source gives it, in a trace whose steps take
    gradients, too.
    """
    return compute_fraction_of(question, _updates(question).parts)


@metric(unit=Unit.COUNT)
def metric_updates_per_step(question: Question) -> float:
    """How often per step the line runs that takes most of it: more than once where
    several metrics of the program's own compute the same.
    """
    updates = _updates(question)
    if updates.thresholds:
        raise MetricAbsent("the metric is one of Keras")
    total = sum(part.total_ps for part in updates.of_line)
    by_type = listed((part.op_type, part.count) for part in updates.of_line)
    time = listed((part.op_type, part.total_ps) for part in updates.of_line)
    counts = [
        sum(by_type[kind]) for kind in by_type if sum(time[kind]) >= _OF_LINE * total
    ]
    return min(counts) / device_steps(question.run)


@fact
def metric_update_line(question: Question) -> str:
    """The line on which most of it lies: `update_state (train.py:24)`; of a metric of
    Keras the line that makes it.
    """
    at = _updates(question).line
    return place_in_words(at.file, at.line, at.function)


@fact
def metric_update_class(question: Question) -> str:
    """The class of that line: `TopKMetric`; that metric of Keras."""
    return _updates(question).name


@fact
def metric_update_ops(question: Question) -> str:
    """The types of ops that take most of it: `RandomUniform, TopKV2`."""
    time = listed((part.op_type, part.total_ps) for part in _updates(question).parts)
    return ", ".join(sorted(time, key=lambda kind: -sum(time[kind]))[:3])


@fact
def metric_thresholds(question: Question) -> str:
    """The thresholds that a metric of Keras is given and compares all predictions with,
    one by one, as the program writes them: `cutoffs`.
    """
    updates = _updates(question)
    if not updates.thresholds:
        raise MetricAbsent("the metric is given no thresholds")
    return updates.thresholds
