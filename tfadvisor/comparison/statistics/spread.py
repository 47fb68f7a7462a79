"""How much runs of an unchanged program differ, and where the next one is expected.

Beforehand, runs are believed to differ by a prior spread, and that belief is worth so
many runs. Each further run counts beside it, so nothing jumps when there are enough of
them, and nothing a few runs show by chance is believed outright.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import msgspec

from tfadvisor.comparison.side import Traits
from tfadvisor.comparison.statistics.distributions import (
    normal_quantile,
    normal_tail,
    t_quantile,
    t_tail,
)
from tfadvisor.comparison.statistics.ranks import middle_of
from tfadvisor.vocabulary import Better, Scatter

_CLIP, _OF_CLIPPED = 1.75, 0.8632
"""Runs further than so many spreads from their centre count as if they lay there. The
mean square of normal values that are drawn in so, as a share of what it is otherwise.
"""
_WORTH = 0.5
"""Degrees of freedom a run adds. Load on a machine comes in bursts: its runs lean on
each other and have heavy tails.
"""
_ROUNDS, _ENOUGH = 100, 1e-7


class Prior(msgspec.Struct, frozen=True):
    """What is believed about a metric before any run."""

    sigma: float
    """Spread between runs, on the metric's scale."""
    worth: float
    """In degrees of freedom."""


class Estimate(msgspec.Struct, frozen=True):
    """Where runs of the unchanged program lie, on the metric's scale."""

    centre: float
    """Of the present level."""
    runs: int
    """At the present level."""
    sigma: float
    """Spread between runs, 0 where they do not differ at all."""
    freedom: float
    """Degrees of freedom of Student's t that the spread is worth."""


def blended(
    levels: Sequence[Sequence[float]],
    prior: Prior,
) -> Estimate:
    """From runs by level, the present one last, each around its own centre: levels
    differ, scatter does not.

    Centres and spread are Huber's (proposal 2) with the prior as further degrees of
    freedom: a run further out than 1.75 spreads is drawn in to there. So it counts, and
    from six runs on no single one moves the centre or hides a change, however far out
    it lies.
    """
    centres = [middle_of(level) for level in levels]
    more = sum(len(level) - 1 for level in levels)
    believed = prior.worth * prior.sigma**2
    sigma = prior.sigma
    for _ in range(_ROUNDS):
        drawn = []
        for level, centre in zip(levels, centres, strict=True):
            drawn.append([_drawn(value - centre, sigma) for value in level])
        squares = _squares(drawn) / _OF_CLIPPED

        before = sigma
        sigma = sqrt((believed + squares) / (prior.worth + more))
        moves = [_move(level, sigma) for level in drawn]
        for at, move in enumerate(moves):
            centres[at] += move

        farthest = max(abs(move) for move in moves)
        if abs(before - sigma) + farthest <= _ENOUGH * sigma:
            break

    return Estimate(
        centre=centres[-1],
        runs=len(levels[-1]),
        sigma=sigma,
        freedom=prior.worth + _WORTH * more,
    )


def counted(
    levels: Sequence[Sequence[float]],
    prior: Prior,
) -> Estimate:
    """The same for what should not differ at all: where it does, each deviating run
    counts in full, and the middle is the centre. No spread while all runs agree; a
    single one that does not makes it one of a few runs, not of two.
    """
    present = levels[-1]
    centre = middle_of(present)
    away = [_from_mean(level) for level in levels]
    farthest = max(abs(value) for level in away for value in level)
    if farthest <= prior.sigma:
        return Estimate(
            centre,
            len(present),
            sigma=0.0,
            freedom=0.0,
        )

    freedom = prior.worth + sum(len(level) - 1 for level in levels)
    squares = prior.worth * prior.sigma**2 + _squares(away)
    sigma = sqrt(squares / freedom)
    return Estimate(centre, len(present), sigma, freedom)


def _from_mean(level: Sequence[float]) -> list[float]:
    mean = sum(level) / len(level)
    return [value - mean for value in level]


def _squares(levels: Sequence[Sequence[float]]) -> float:
    return sum(value * value for level in levels for value in level)


def _drawn(away: float, sigma: float) -> float:
    return max(-_CLIP * sigma, min(_CLIP * sigma, away))


def _move(
    drawn: Sequence[float],
    sigma: float,
) -> float:
    """Newton's step of the centre: the mean of what is drawn in, over the share that is
    not.
    """
    inside = sum(abs(away) < _CLIP * sigma for away in drawn)
    return sum(drawn) / max(inside, 1)


# Where one new run of an unchanged program may lie, and how surprising a run is.

_ERROR_COUNTS = 2.0
_PRIOR_WORTH = 0.25
_EXACT_WORTH = 4.0
_USUAL = 3.0
FEWEST_RUNS = 5
"""With fewer, what was believed beforehand says more about the spread than the runs do.
"""


class Prediction(msgspec.Struct, frozen=True):
    """What runs of the unchanged program say about the next one; all on the metric's
    scale.
    """

    known: Estimate
    floor: float
    """The spread that is believed in any case."""
    few: bool
    """Whether so few runs are known that the prior says more about the spread than they
    do.
    """

    @property
    def centre(self) -> float:
        """Of the runs at the present level."""
        return self.known.centre

    def surprise(self, distance: float, error: float) -> float:
        """Probability that an unchanged program's next run lies this far beyond the
        centre, on that side.
        """
        by_floor = normal_tail(distance / self._width(self.floor, error))
        if self.known.sigma <= 0:
            return by_floor
        widths = distance / self._width(self.known.sigma, error)
        return max(by_floor, t_tail(widths, self.known.freedom))

    def reach(self, level: float, error: float) -> float:
        """How far from the centre a run must lie to be that surprising."""
        by_floor = normal_quantile(level) * self._width(self.floor, error)
        if self.known.sigma <= 0:
            return by_floor
        widths = t_quantile(level, self.known.freedom)
        return max(by_floor, widths * self._width(self.known.sigma, error))

    def usual(self, value: float) -> bool:
        """Whether a value lies within three spreads of the centre, whatever the spread
        is worth.
        """
        sigma = max(self.known.sigma, self.floor)
        away = abs(value - self.centre)
        return away <= _USUAL * self._width(sigma, error=0.0)

    def _width(self, sigma: float, error: float) -> float:
        of_runs = sigma * sigma * (1 + 1 / self.known.runs)
        of_steps = (_ERROR_COUNTS * error) ** 2
        return sqrt(of_runs + of_steps)


def predict(
    levels: Sequence[Sequence[float]],
    nature: Nature,
) -> Prediction:
    """From values on the metric's scale. levels: the present one last."""
    if nature.exact:
        floor = nature.floor_at(middle_of(levels[-1]))
        known = counted(levels, Prior(floor, _EXACT_WORTH))
        return Prediction(known, floor, few=False)

    known = blended(levels, Prior(nature.assumed, _PRIOR_WORTH))
    runs = sum(len(level) for level in levels)
    floor = nature.floor_at(known.centre)
    return Prediction(known, floor, few=runs < FEWEST_RUNS)


# What a metric's numbers are like: which way is worse, how they scatter between runs of
# one program, and their floor.

_WORSE = {Better.LESS: "up", Better.MORE: "down", Better.NEITHER: "both"}
_EXACT = 0.001
"""Spread that is believed of what does not scatter: changes from about 0.5% on are then
seen at any level in use.
"""
_EXACT_FLOOR = {"fraction": 0.001, "bytes": 16.0}


class Nature(msgspec.Struct, frozen=True):
    """How a metric is judged."""

    worse: str
    """up, down or both."""
    exact: bool
    """The same in every run of an unchanged program but for rounding."""
    by_factor: bool
    """Changes are factors (times, rates) rather than differences."""
    floor: float
    """No two runs are nearer than this, relative to the value."""
    absolute_floor: float
    """The same in the metric's unit, for values near 0."""
    assumed: float
    """The spread between runs while too few are known, relative (by_factor) or in the
    metric's unit.
    """

    def scaled(self, value: float) -> float:
        """The scale on which runs scatter evenly: logarithms of factors."""
        return log(value) if self.by_factor else value

    def floor_at(self, centre: float) -> float:
        """The smallest spread that is believed, on the scale."""
        if self.by_factor:
            return self.floor
        return max(self.floor * abs(centre), self.absolute_floor)


def nature_of(
    unit: str,
    traits: Traits,
    worse: str | None = None,
) -> Nature:
    """What a metric declares about itself, as numbers. worse: what the configuration
    says instead.
    """
    worse = worse or _WORSE[traits.better]
    if traits.scatter is Scatter.FACTOR:
        return Nature(
            worse,
            exact=False,
            by_factor=True,
            floor=0.01,
            absolute_floor=0.0,
            assumed=0.10,
        )
    if traits.scatter is Scatter.SHARE:
        return Nature(
            worse,
            exact=False,
            by_factor=False,
            floor=0.01,
            absolute_floor=0.005,
            assumed=0.05,
        )

    is_fraction = unit == "fraction"
    return Nature(
        worse,
        exact=traits.scatter is Scatter.EXACT,
        by_factor=False,
        floor=_EXACT,
        absolute_floor=_EXACT_FLOOR.get(unit, 0.002),
        assumed=0.0 if is_fraction else 1.0,
    )
