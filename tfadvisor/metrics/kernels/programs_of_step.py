"""Which compiled programs a step runs, how often, and which share of its compute each takes."""

from __future__ import annotations

import re

import msgspec
import numpy as np

from tfadvisor.metrics.needs import known_steps
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.metrics.steady import needs_device, share
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.summary.device import OpTable
from tfadvisor.units import Unit, count, percent
from tfadvisor.vocabulary import Better, TimeClass

_EVALUATES = re.compile(
    r"(?:^|_)(?:eval|evaluate|evaluation|valid|validate|validation|val|test|predict)(?:_|\d|$)", re.IGNORECASE
)
"""Parts of the names of functions that evaluate a model."""
_LARGE = 0.02
"""A program below this share of compute is no part of the step worth comparing."""
_OFTEN = 2.0
"""A program that runs this many times as often as another is run again and again for each run of it."""


class StepProgram(msgspec.Struct, frozen=True):
    """One compiled program. per_step: how often it runs in a counted step, a mean. share: of the step's compute time."""

    name: str
    per_step: float
    share: float


@once
def _programs(question: Question) -> tuple[StepProgram, ...]:
    """Of the first device, the largest share first. Raises MetricAbsent where ops do not name their program."""
    needs_device(question.run)
    host = next(host for host in question.run.hosts if host.devices)
    table = host.devices[0].ops
    rows = table.of_class(DeviceClass.COMPUTE)
    rows = rows[table.module[rows] >= 0]
    total = int(table.total_ps[table.of_class(DeviceClass.COMPUTE)].sum())
    if not len(rows) or not total:
        raise MetricAbsent("the trace does not say which compiled program an op belongs to")
    steps = max(int((host.takes_part[0] & host.steps.steady()).sum()), 1)
    found = [_program(table, rows[table.module[rows] == one], steps, total) for one in set(table.module[rows].tolist())]
    return tuple(sorted(found, key=lambda one: (-one.share, one.name)))


def _program(table: OpTable, rows: np.ndarray, steps: int, total: int) -> StepProgram:
    """An op outside loops runs once a run of its program: most ops do, so their median count is how often that ran."""
    runs = float(np.sort(table.count[rows])[len(rows) // 2])
    return StepProgram(table.names[int(table.module[rows[0]])], runs / steps, int(table.total_ps[rows].sum()) / total)


@fact(needs=(known_steps,))
def step_programs(question: Question) -> str:
    """The compiled programs that a step runs, with how often and their shares of compute time: `jit_evaluate 12 times a
    step, 71% of compute time; jit_train_step 1 times a step, 28%
    of compute time`.
    """
    large = [one for one in _programs(question) if one.share >= _LARGE]
    if len(large) < 2:
        raise MetricAbsent("one program does nearly all of the step's compute")
    return "; ".join(
        f"{one.name} {count(one.per_step)} times a step, {percent(one.share)} of compute time" for one in large[:4]
    )


@once
def _repeated(question: Question) -> StepProgram:
    """The program that runs again and again for each run of another. Raises MetricAbsent when there is none."""
    large = [one for one in _programs(question) if one.share >= _LARGE]
    rarest = min((one.per_step for one in large), default=0.0)
    often = [one for one in large if one.per_step >= _OFTEN * rarest and len(large) > 1]
    if not often:
        raise MetricAbsent("no program of the step runs much more often than another")
    return max(often, key=lambda one: one.share)


@fact(needs=(known_steps,))
def repeated_program(question: Question) -> str:
    """The compiled program that runs at least twice as often as another of the step's and takes most compute time of
    such: `jit_evaluate`.
    """
    return _repeated(question).name


@metric(unit=Unit.COUNT, needs=(known_steps,), better=Better.NEITHER)
def repeated_program_runs_per_step(question: Question) -> float:
    """Number of times that repeated_program runs in a step."""
    return _repeated(question).per_step


@metric(unit=Unit.FRACTION, needs=(known_steps,), better=Better.NEITHER)
def repeated_program_fraction(question: Question) -> float:
    """Share of step time that repeated_program computes, in proportion to the compute time of the step's programs."""
    return _repeated(question).share * share(question, TimeClass.COMPUTE)


@fact(needs=(known_steps,))
def repeated_program_use(question: Question) -> str:
    """What repeated_program is for by its name: `evaluation`, or `unknown`."""
    return "evaluation" if _EVALUATES.search(_repeated(question).name) else "unknown"
