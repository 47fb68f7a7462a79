"""What a recorded window says about the program's steps."""

from __future__ import annotations

import re

import msgspec

from tfadvisor.report import StepsInfo
from tfadvisor.vocabulary import WHERE_THE_DEVICE_RAN

_COMPILES = 0.05
_MOST = 0.5
_FEWEST = 3
_ALIKE = 1.5
"""Steps of one loop whose lengths differ by no more than this factor."""


class Compiling(msgspec.Struct, frozen=True):
    """What the process that compiled most reported about a window."""

    share: float = 0.0
    """Of the window, 0 to 1."""
    count: int = 0
    """How many ended, without those inside of others."""


class Pace(msgspec.Struct, frozen=True):
    """The steps of a window."""

    count: int
    median_ms: float
    """Of a step."""
    compiles: bool
    """Whether the program still compiles in its steps."""
    confirmed: bool = True
    """Whether the process reported that: else it may be tracing a single program, in
    which something repeats.
    """
    about: str = ""
    """How the steps were detected."""

    @property
    def steady(self) -> bool:
        """Whether there is a rhythm of steps that do not compile."""
        return self.repeats and not self.compiles

    @property
    def repeats(self) -> bool:
        """Whether there is a rhythm, though each step may compile."""
        return self.count >= _FEWEST and self.confirmed

    def resembles(self, other: Pace) -> bool:
        """Whether they can be steps of one loop."""
        lengths = self.median_ms, other.median_ms
        as_long = max(lengths) <= _ALIKE * min(lengths)
        return as_long and _unnumbered(self.about) == _unnumbered(other.about)


def _unnumbered(about: str) -> str:
    """A program that is compiled anew may have a number, and a sequence one dispatch
    more; how they were placed may differ.
    """
    return re.sub(
        r"\d+",
        "",
        about.partition(WHERE_THE_DEVICE_RAN)[0],
    )


def pace_of(
    steps: StepsInfo,
    compiling: Compiling | None = None,
) -> Pace | None:
    """None where no step was found, or where the window lies in so few compilations
    that what repeats is theirs.

    compiling: None where nobody tells.
    """
    if steps.time_ms is None or steps.source == "whole-trace" or not steps.each:
        return None

    known = compiling or Compiling()
    few = compiling is not None and known.count < _FEWEST
    if known.share > _MOST and few:
        return None

    shares = [step.breakdown.get("compile", 0.0) for step in steps.each]
    share = sum(shares) / len(shares)
    compiles = max(share, known.share) > _COMPILES
    return Pace(
        count=steps.count,
        median_ms=steps.time_ms.median,
        compiles=compiles,
        confirmed=not (compiles and few),
        about=steps.about,
    )
