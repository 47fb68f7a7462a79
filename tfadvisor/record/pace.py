"""What a recorded window says about the program's steps."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import quantiles

import msgspec

from tfadvisor.report.model import Report

_COMPILES = 0.05
_FEWEST = 3


class Pace(msgspec.Struct, frozen=True):
    """The steps of a window."""

    count: int
    """On the host that has most."""
    median_ms: float
    undisturbed_ms: float
    """What a quarter of the steps stay below: other programs on the machine move it least."""
    compiles: bool
    """The steps compile, so the program has not settled."""

    @property
    def steady(self) -> bool:
        """Whether there is a rhythm that can be recorded."""
        return self.count >= _FEWEST and not self.compiles


def pace_of(report: Report) -> Pace | None:
    """None where no step was found."""
    times = report.steps.time_ms
    if times is None or report.steps.source == "whole-trace" or not report.steps.each:
        return None
    each = [step.duration_ms for step in report.steps.each]
    lower = quantiles(each, n=4)[0] if len(each) > 1 else each[0]
    compiling = sum(step.breakdown.get("compile", 0.0) for step in report.steps.each) / len(each)
    return Pace(report.steps.count, times.median, lower, compiling > _COMPILES)


def tracer_cost(without: Sequence[Pace], with_tracer: Sequence[Pace]) -> float:
    """What the Python tracer adds to a step, as a share of it, by the quickest window of each; 0 where scatter hides it."""
    quickest = min(one.undisturbed_ms for one in with_tracer), min(one.undisturbed_ms for one in without)
    return max(0.0, quickest[0] / quickest[1] - 1)
