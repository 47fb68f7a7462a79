"""What a recorded window says about the program's steps."""

from __future__ import annotations

import msgspec

from tfadvisor.report.model import Report

_COMPILES = 0.05
_MOST = 0.5
_FEWEST = 3


class Compiling(msgspec.Struct, frozen=True):
    """What the process that compiled most told of a window."""

    share: float = 0.0
    """Of the window, 0 to 1."""
    count: int = 0
    """How often a compilation began or ended, as far as the framework tells."""


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
        return self.repeats and not self.compiles

    @property
    def repeats(self) -> bool:
        """Whether there is a rhythm, though each step may compile."""
        return self.count >= _FEWEST


def pace_of(report: Report, compiling: Compiling | None = None) -> Pace | None:
    """None where no step was found, or where the window lies in so few compilations that what repeats is theirs."""
    times = report.steps.time_ms
    if times is None or report.steps.source == "whole-trace" or not report.steps.each:
        return None
    told = compiling or Compiling()
    if told.share > _MOST and told.count < 2 * _FEWEST:
        return None
    share = sum(step.breakdown.get("compile", 0.0) for step in report.steps.each) / len(report.steps.each)
    return Pace(report.steps.count, times.median, max(share, told.share) > _COMPILES)
