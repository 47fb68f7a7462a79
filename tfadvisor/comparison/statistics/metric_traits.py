"""What a metric's numbers are like: which way is worse, how they scatter between runs of one program, and their floor."""

from __future__ import annotations

from math import log

import msgspec

from tfadvisor.comparison.side import Traits
from tfadvisor.vocabulary import Better, Scatter

_WORSE = {Better.LESS: "up", Better.MORE: "down", Better.NEITHER: "both"}
_EXACT = 0.001
"""Spread that is believed of what does not scatter: changes from about 0.5% on are then seen at any level in use."""


class Nature(msgspec.Struct, frozen=True):
    """How a metric is judged.

    worse: up, down or both. exact: the same in every run of an unchanged program but for rounding. by_factor: changes are
    factors (times, rates) rather than differences. floor: no two runs are nearer than this, relative to the value;
    absolute_floor: the same in the metric's unit, for values near 0. assumed: the spread between runs while too few are
    known, relative (by_factor) or in the metric's unit.
    """

    worse: str
    exact: bool
    by_factor: bool
    floor: float
    absolute_floor: float
    assumed: float

    def scaled(self, value: float) -> float:
        """The scale on which runs scatter evenly: logarithms of factors."""
        return log(value) if self.by_factor else value

    def floor_at(self, centre: float) -> float:
        """The smallest spread that is believed, on the scale."""
        return self.floor if self.by_factor else max(self.floor * abs(centre), self.absolute_floor)


def nature_of(unit: str, traits: Traits, worse: str | None = None) -> Nature:
    """What a metric declares about itself, as numbers. worse: what the configuration says instead."""
    worse = worse or _WORSE[traits.better]
    if traits.scatter is Scatter.FACTOR:
        return Nature(worse, False, True, 0.01, 0.0, 0.10)
    if traits.scatter is Scatter.SHARE:
        return Nature(worse, False, False, 0.01, 0.005, 0.05)
    exact = traits.scatter is Scatter.EXACT
    if unit == "fraction":
        return Nature(worse, exact, False, _EXACT, 0.001, 0.0)
    return Nature(worse, exact, False, _EXACT, 16.0 if unit == "bytes" else 0.002, 1.0)
