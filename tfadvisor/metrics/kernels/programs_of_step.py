"""Which compiled program a step runs again and again beside another."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.metrics.registry import MetricAbsent, Question
from tfadvisor.metrics.remember import once
from tfadvisor.metrics.steady import needs_device
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.summary.device import OpTable

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
def repeated_program(question: Question) -> StepProgram:
    """The program that runs at least twice as often as another of the step's and takes most compute time of such, on the
    first device. Raises MetricAbsent when there is none, or ops do not name their program.
    """
    large = [one for one in _programs(question) if one.share >= _LARGE]
    rarest = min((one.per_step for one in large), default=0.0)
    often = [one for one in large if one.per_step >= _OFTEN * rarest and len(large) > 1]
    if not often:
        raise MetricAbsent("no program of the step runs much more often than another")
    return max(often, key=lambda one: one.share)


def _programs(question: Question) -> list[StepProgram]:
    needs_device(question.run)
    host = next(host for host in question.run.hosts if host.devices)
    table = host.devices[0].ops
    rows = table.of_class(DeviceClass.COMPUTE)
    total = int(table.total_ps[rows].sum())
    rows = rows[table.module[rows] >= 0]
    if not len(rows) or not total:
        raise MetricAbsent("the trace does not say which compiled program an op belongs to")
    steps = max(int((host.takes_part[0] & host.steps.steady()).sum()), 1)
    return [
        _program(table, rows[table.module[rows] == one], steps, total)
        for one in sorted(set(table.module[rows].tolist()))
    ]


def _program(table: OpTable, rows: np.ndarray, steps: int, total: int) -> StepProgram:
    """An op outside loops runs once a run of its program: most ops do, so their median count is how often that ran."""
    runs = float(np.sort(table.count[rows])[len(rows) // 2])
    return StepProgram(table.names[int(table.module[rows[0]])], runs / steps, int(table.total_ps[rows].sum()) / total)
