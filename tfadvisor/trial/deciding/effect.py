"""How two forms of a program differ by their runs' step times: a ratio, its interval, and how surprising it is.

Runs are compared on a logarithmic scale, in two ways. All with all: Mann and Whitney's test, which one disturbed run cannot move
far. Round by round: the forms of one round ran one after the other, so what slows the machine for minutes cancels. The
narrower interval is taken, and the smaller p-value counts twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log, sqrt

import msgspec

from tfadvisor.comparison.side import middle_of
from tfadvisor.statistics.distributions import t_quantile, t_tail
from tfadvisor.statistics.mann_whitney import p_above, shift, smallest_p, surely_above
from tfadvisor.trial.deciding.deviation import deviation_of

FLOOR = 0.01
"""Runs of one program are taken to differ by at least so much, as a standard deviation of the logarithm."""
CONFIDENCE = 0.95
"""Of the interval."""
FEW = 0.001
"""Where the rank test cannot reach this, it has too few runs."""
_TAIL = (1 - CONFIDENCE) / 2
_FEWEST_RANKED = 5
_EIGHTY_PERCENT = 0.2

Pairs = Sequence[tuple[float, float]]
"""Step times of the old and of the new form in each round that has both."""


class Effect(msgspec.Struct, frozen=True):
    """New step time over old: below 1 is quicker."""

    ratio: float
    """A median: of all pairs (Hodges and Lehmann), or of the rounds'."""
    low: float
    high: float
    p: float
    """Probability of such a gain between two forms that are alike."""


def effect_of(base: Sequence[float], new: Sequence[float], rounds: Pairs = ()) -> Effect:
    """From step times, at least two of each, all positive."""
    everything = _all_with_all([log(one) for one in base], [log(one) for one in new])
    if len(rounds) < 3:
        return everything
    by_round = _round_by_round([log(after / before) for before, after in rounds])
    narrower = min(everything, by_round, key=lambda one: one.high / one.low)
    return msgspec.structs.replace(narrower, p=min(1.0, 2 * min(everything.p, by_round.p)))


def _all_with_all(before: Sequence[float], after: Sequence[float]) -> Effect:
    """From logarithms. Where so few runs cannot reach any small p-value by their ranks, Student's test with a floor under the
    spread, and all runs must lie on one side: a spread that is small by chance makes no winner."""
    middle = shift(before, after)
    sigma, freedom = spread_of_runs((before, after))
    error = sigma * sqrt(1 / len(before) + 1 / len(after))
    if smallest_p(len(before), len(after)) > FEW:
        gain = sum(before) / len(before) - sum(after) / len(after)
        p = t_tail(gain / error, freedom) if max(after) < min(before) else 1.0
    else:
        p = p_above(after, before)
    low, high = surely_above(before, after, _TAIL), surely_above(after, before, _TAIL)
    if low is None or high is None or len(after) < _FEWEST_RANKED:
        reach = t_quantile(_TAIL, freedom) * error
        return Effect(exp(middle), exp(middle - reach), exp(middle + reach), p)
    return Effect(exp(middle), exp(min(low, middle - FLOOR / 2)), exp(max(-high, middle + FLOOR / 2)), p)


def _round_by_round(changes: Sequence[float]) -> Effect:
    """From the logarithm of each round's ratio, by Student's test; each of few rounds must show a gain."""
    found = deviation_of([changes])
    error = max(found.sigma, FLOOR * sqrt(2)) / sqrt(len(changes))
    freedom = len(changes) - 1
    mean, middle = sum(changes) / len(changes), middle_of(changes)
    reach = t_quantile(_TAIL, freedom) * error
    p = t_tail(-mean / error, freedom) if max(changes) < 0 or len(changes) > _FEWEST_RANKED else 1.0
    return Effect(exp(middle), exp(min(middle, mean) - reach), exp(max(middle, mean) + reach), p)


def spread_of_runs(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """(standard deviation, degrees of freedom) of logarithms around their groups' means; with the floor it counts as known."""
    found = deviation_of(groups)
    return (found.sigma, found.freedom) if found.sigma > FLOOR else (FLOOR, inf if not found.freedom else found.freedom)


def smallest_seen(effect: Effect, base: Sequence[float], new: Sequence[float], level: float) -> float:
    """The gain that so many runs would have shown four times in five, by the width of their interval; a share of step time."""
    freedom = max(len(base) + len(new) - 2, 1)
    error = (log(effect.high) - log(effect.low)) / 2 / t_quantile(_TAIL, freedom)
    return 1 - exp(-(t_quantile(level / 2, freedom) + t_quantile(_EIGHTY_PERCENT, freedom)) * error)
