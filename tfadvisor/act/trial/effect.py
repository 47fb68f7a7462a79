"""How two forms of a program differ by their runs' step times: a ratio, its interval,
and how surprising it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log, sqrt

import msgspec
from msgspec.structs import replace

from tfadvisor.comparison.statistics import (
    middle_of,
    p_above,
    shift,
    smallest_p,
    surely_above,
    t_quantile,
    t_tail,
)

FLOOR = 0.01
"""Runs of one program are taken to differ by at least so much, as a standard deviation
of the logarithm.
"""
CONFIDENCE = 0.95
"""Of the interval."""
FEW = 0.001
"""Where the rank test cannot reach this, it has too few runs."""
_TAIL = (1 - CONFIDENCE) / 2
_FEWEST_RANKED = 5
_FEWEST_ROUNDS = 3
_EIGHTY_PERCENT = 0.2

Pairs = Sequence[tuple[float, float]]
"""Step times of the old and of the new form in each round that has both."""


class Deviation(msgspec.Struct, frozen=True):
    """Of runs around the mean of their own group."""

    sigma: float
    """The standard deviation, 0 where no group has two runs."""
    freedom: float
    """Its degrees of freedom."""


def deviation_of(groups: Sequence[Sequence[float]]) -> Deviation:
    """Groups may lie at different levels; they scatter alike."""
    squares: list[float] = []
    freedom = 0
    for group in groups:
        if len(group) > 1:
            mean = sum(group) / len(group)
            squares += [(value - mean) ** 2 for value in group]
            freedom += len(group) - 1
    if not squares:
        return Deviation(0.0, 0.0)
    return Deviation(sqrt(sum(squares) / freedom), freedom)


class Effect(msgspec.Struct, frozen=True):
    """New step time over old: below 1 is quicker."""

    ratio: float
    """A median: of all pairs (Hodges and Lehmann), or of the rounds'."""
    low: float
    high: float
    p: float
    """Probability of such a gain between two forms that are alike."""


def effect_of(
    base: Sequence[float],
    new: Sequence[float],
    rounds: Pairs = (),
) -> Effect:
    """From step times, at least two of each, all positive."""
    before = list(map(log, base))
    after = list(map(log, new))
    everything = _all_with_all(before, after)
    if len(rounds) < _FEWEST_ROUNDS:
        return everything

    changes = [log(new_ms / old_ms) for old_ms, new_ms in rounds]
    by_round = _round_by_round(changes)
    narrower = min(
        everything,
        by_round,
        key=lambda effect: effect.high / effect.low,
    )
    both = 2 * min(everything.p, by_round.p)
    return replace(narrower, p=min(1.0, both))


def _all_with_all(
    before: Sequence[float],
    after: Sequence[float],
) -> Effect:
    """From logarithms. Where so few runs cannot reach any small p-value by their ranks,
    Student's test with a floor under the spread, and all runs must lie on one side: a
    spread that is small by chance makes no winner."""
    middle = shift(before, after)
    spread = spread_of_runs((before, after))
    error = spread.sigma * sqrt(1 / len(before) + 1 / len(after))
    p = _p_of(
        before,
        after,
        error,
        spread.freedom,
    )

    low = surely_above(before, after, _TAIL)
    high = surely_above(after, before, _TAIL)
    if low is None or high is None or len(after) < _FEWEST_RANKED:
        reach = t_quantile(_TAIL, spread.freedom) * error
        return Effect(
            exp(middle),
            exp(middle - reach),
            exp(middle + reach),
            p,
        )

    lowest = min(low, middle - FLOOR / 2)
    highest = max(-high, middle + FLOOR / 2)
    return Effect(
        exp(middle),
        exp(lowest),
        exp(highest),
        p,
    )


def _p_of(
    before: Sequence[float],
    after: Sequence[float],
    error: float,
    freedom: float,
) -> float:
    if smallest_p(len(before), len(after)) <= FEW:
        return p_above(after, before)
    if max(after) >= min(before):
        return 1.0
    gain = sum(before) / len(before) - sum(after) / len(after)
    return t_tail(gain / error, freedom)


def _round_by_round(changes: Sequence[float]) -> Effect:
    """From the logarithm of each round's ratio, by Student's test; each of few rounds
    must show a gain.
    """
    found = deviation_of([changes])
    error = max(found.sigma, FLOOR * sqrt(2)) / sqrt(len(changes))
    freedom = len(changes) - 1
    mean, middle = sum(changes) / len(changes), middle_of(changes)

    shows = max(changes) < 0 or len(changes) > _FEWEST_RANKED
    p = t_tail(-mean / error, freedom) if shows else 1.0
    reach = t_quantile(_TAIL, freedom) * error
    lowest = min(middle, mean) - reach
    highest = max(middle, mean) + reach
    return Effect(
        exp(middle),
        exp(lowest),
        exp(highest),
        p,
    )


def spread_of_runs(groups: Sequence[Sequence[float]]) -> Deviation:
    """Of logarithms around their groups' means; with the floor it counts as known."""
    found = deviation_of(groups)
    if found.sigma > FLOOR:
        return found
    return Deviation(FLOOR, found.freedom or inf)


def smallest_seen(
    effect: Effect,
    base: Sequence[float],
    new: Sequence[float],
    level: float,
) -> float:
    """The gain that so many runs would have shown four times in five, by the width of
    their interval; a share of step time.
    """
    freedom = max(len(base) + len(new) - 2, 1)
    width = log(effect.high) - log(effect.low)
    error = width / 2 / t_quantile(_TAIL, freedom)
    found = t_quantile(level / 2, freedom)
    missed = t_quantile(_EIGHTY_PERCENT, freedom)
    return 1 - exp(-(found + missed) * error)
