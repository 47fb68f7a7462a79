"""One side of a comparison: a report reduced to what can be set against another run,
ops by comparable names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from math import sqrt
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from tfadvisor.advice.findings import Finding
from tfadvisor.comparison.statistics.ranks import middle_of
from tfadvisor.report import Op, Report, StepInfo
from tfadvisor.vocabulary import CLASS_OF_WORK, TIME_CLASSES, Better, Scatter, TimeClass

Text: TypeAlias = Annotated[str, Meta(max_length=4000)]
Number: TypeAlias = Annotated[float, Meta(gt=-1e30, lt=1e30)]
Count: TypeAlias = Annotated[int, Meta(ge=0, lt=1 << 53)]
"""What is kept in baselines, whose files come from elsewhere."""


class Traits(msgspec.Struct, frozen=True):
    """What a metric declares about itself, by which changes are judged."""

    better: Better
    scatter: Scatter


class KnownFinding(msgspec.Struct, frozen=True, array_like=True):
    """A finding of the report, for one line of text."""

    rule_id: Text
    category: Text
    title: Text
    place: Text
    """`file:line in op`, "" when unknown."""
    severity: Text
    claims: Text = ""
    """The classes of step time that it is about, joined by spaces."""
    takes: Number | None = None
    """The share of step time that it is about, 0..1; None where not known."""

    def same_cause(
        self,
        other: KnownFinding,
        alike: Collection[str] = (),
    ) -> bool:
        """Whether both are about the same time of the step, whatever rules found them:
        the same classes, the same place where both know one, shares that differ by less
        than a factor of two. alike: classes that are not compared with each other.
        """
        if self.rule_id == other.rule_id:
            return True
        if self.takes is None or other.takes is None:
            return False

        mine = set(self.claims.split())
        others = set(other.claims.split())
        both_alike = mine & set(alike) and others & set(alike)
        if not mine & others and not both_alike:
            return False

        if self.place and other.place:
            line = self.place.split(" in ")[0]
            if line != other.place.split(" in ")[0]:
                return False

        smaller = min(self.takes, other.takes)
        return max(self.takes, other.takes) < 2 * smaller


class Side(msgspec.Struct, frozen=True):
    """A run. Standard errors come from its own steps and say nothing about how much
    runs differ.
    """

    name: str
    """Of the run."""
    steps: int
    """How many counted."""
    mean_ms: float
    """Mean time of a step, ms."""
    median_ms: float
    """Median time of a step, ms."""
    median_error_ms: float | None
    """Standard error of the median, ms; None with fewer than three steps."""
    class_ms: Mapping[str, float]
    """Time of each class, ms a step; adds up to mean_ms."""
    class_error_ms: Mapping[str, float | None]
    """Standard errors of these, ms; None with fewer than three steps."""
    ops: tuple[Op, ...]
    """The report's, their modules without the number that a program has in one run."""
    rest_ms: Mapping[str, float]
    """Device work of the ops that are not in `ops`, by class, ms a step."""
    metrics: Mapping[str, float]
    """By name; those that the trace cannot give are left out."""
    units: Mapping[str, str]
    """Of the metrics, by name."""
    traits: Mapping[str, Traits]
    """Of the metrics, by name."""
    findings: tuple[KnownFinding, ...]
    """All but those about the capture."""


def class_of(kind: str) -> str:
    """The class of step time of a kind of device work; of one that another version
    named, transfer.
    """
    return CLASS_OF_WORK.get(kind, TimeClass.TRANSFER).label


def side_of(report: Report) -> Side | None:
    """The report's side; None when its trace holds no step to compare."""
    times = report.steps.time_ms
    if times is None or times.mean <= 0 or not any(report.breakdown.values()):
        return None

    each = report.steps.each
    class_ms = {}
    class_error_ms = {}
    for name in TIME_CLASSES:
        class_ms[name] = report.breakdown.get(name, 0.0) * times.mean
        class_error_ms[name] = _class_error(each, name)

    metrics = {}
    units = {}
    traits = {}
    for name, metric in report.metrics.items():
        if metric.value is not None:
            metrics[name] = metric.value
            units[name] = metric.unit
            traits[name] = Traits(metric.better, metric.scatter)

    advice = [finding for finding in report.findings if finding.category != "capture"]
    return Side(
        name=report.run.name,
        steps=report.steps.count,
        mean_ms=times.mean,
        median_ms=times.median,
        median_error_ms=error_of_median([step.duration_ms for step in each]),
        class_ms=class_ms,
        class_error_ms=class_error_ms,
        ops=tuple(_comparable(op) for op in report.ops),
        rest_ms={"compute": _unlisted_ms(report.ops)},
        metrics=metrics,
        units=units,
        traits=traits,
        findings=tuple(found_of(finding) for finding in advice),
    )


def _comparable(op: Op) -> Op:
    if not op.module:
        return op
    return replace(op, module=without_program_number(op.module))


def hottest(
    side_ops: Sequence[Op],
    rest_ms: Mapping[str, float],
    most: int,
) -> tuple[tuple[Op, ...], dict[str, float]]:
    """The ops that take most time, and the time of all others by class."""
    ordered = sorted(side_ops, key=lambda op: -op.ms_per_step)
    rest = dict(rest_ms)
    for op in ordered[most:]:
        name = class_of(op.kind)
        rest[name] = rest.get(name, 0.0) + op.ms_per_step
    return tuple(ordered[:most]), rest


def error_of_median(values: Sequence[float]) -> float | None:
    """Standard error of the median: 1.2533 s / √n with s from the median deviation.
    None for fewer than three.
    """
    if len(values) < 3:
        return None
    middle = middle_of(values)
    away = [abs(value - middle) for value in values]
    spread = 1.4826 * middle_of(away)
    return 1.2533 * spread / sqrt(len(values))


def _class_error(
    each: Sequence[StepInfo],
    name: str,
) -> float | None:
    """Standard error of a class's mean time a step, ms."""
    values = [step.duration_ms * step.breakdown.get(name, 0.0) for step in each]
    if len(values) < 3:
        return None
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values)
    variance = squares / (len(values) - 1)
    return sqrt(variance / len(values))


def _unlisted_ms(ops: Sequence[Op]) -> float:
    """Device work a step that the report's table leaves out: shares are of all device
    time.
    """
    listed = sum(op.ms_per_step for op in ops)
    share = sum(op.share for op in ops)
    if 0 < share < 1 - 1e-9:
        return listed / share * (1.0 - share)
    return 0.0


def found_of(finding: Finding) -> KnownFinding:
    """The finding as a baseline keeps it."""
    return KnownFinding(
        rule_id=finding.rule_id,
        category=finding.category,
        title=finding.title,
        place=_place_of(finding),
        severity=finding.severity.value,
        claims=" ".join(finding.claims),
        takes=finding.takes,
    )


def _place_of(finding: Finding) -> str:
    if not finding.locations:
        return ""
    first = finding.locations[0]
    place = first.file if first.line is None else f"{first.file}:{first.line}"
    return f"{place} in {first.op}" if first.op else place


# Names of ops without what compilers and frameworks count up: `fusion.12` and
# `fusion.7` have the same stem.

_COUNTED = re.compile(r"^(?:\d+[._]|\d*(?:tamer|enolc|denolc|knus)\.)+")
"""Read backwards: `.2.remat`."""
_PROGRAM = re.compile(r"\(\d+\)$")
_NUMBER = re.compile(r"\d+")


def stem(name: str) -> str:
    """`wrapped_add.2.remat` -> `wrapped_add`, `model_1/dense_2/MatMul:MatMul` ->
    `model/dense/MatMul:MatMul`.
    """
    path, colon, kind = name.partition(":")
    parts = [_without_count(part) for part in path.split("/")]
    return "/".join(parts) + colon + kind


def _without_count(part: str) -> str:
    backwards = _COUNTED.sub("", part[::-1])
    return backwards[::-1] or part


def numbers(name: str) -> tuple[int, ...]:
    """The numbers in a name, in order: compilers and frameworks count up in the order
    of the program.
    """
    return tuple(int(number[:18]) for number in _NUMBER.findall(name))


def without_program_number(module: str) -> str:
    """`jit_train_step(1234)` -> `jit_train_step`."""
    return _PROGRAM.sub("", module)
