"""What a recorded window says about the program's steps."""

from __future__ import annotations

import msgspec

from tfadvisor.report.model import Report

_COMPILES = 0.05
_FEWEST = 3


class Pace(msgspec.Struct, frozen=True):
    """The steps of a window."""

    count: int
    """On the host that has most."""
    median_ms: float
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
    compiling = sum(step.breakdown.get("compile", 0.0) for step in report.steps.each) / len(report.steps.each)
    return Pace(report.steps.count, times.median, compiling > _COMPILES)
