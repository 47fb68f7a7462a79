"""How two forms of a program differ by their runs' step times: a ratio, its interval, and how surprising it is.

Runs are compared on a logarithmic scale, where a machine that is slower for a while shifts every run by the same amount.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log, sqrt

import msgspec

from tfadvisor.gate.statistics.distributions import t_quantile, t_tail
from tfadvisor.gate.statistics.mann_whitney import p_above, shift, smallest_p, surely_above
from tfadvisor.gate.statistics.spread import deviation_of

FLOOR = 0.01
"""Runs of one program are taken to differ by at least so much, as a standard deviation of the logarithm."""
CONFIDENCE = 0.95
"""Of the interval."""
FEW = 0.001
"""Where the rank test cannot reach this, it has too few runs."""
_TAIL = (1 - CONFIDENCE) / 2
_EIGHTY_PERCENT = 0.2


class Effect(msgspec.Struct, frozen=True):
    """New step time over old: below 1 is quicker."""

    ratio: float
    """The median of all pairs (Hodges and Lehmann)."""
    low: float
    high: float
    p: float
    """Probability of such a gain between two forms that are alike."""


def effect_of(base: Sequence[float], new: Sequence[float]) -> Effect:
    """From step times, at least two of each, all positive.

    Mann and Whitney's test and its interval, which one disturbed run cannot move far. Where so few runs cannot reach any small
    p-value, Student's with a floor under the spread, and all runs must lie on one side: a spread that is small by chance makes
    no winner.
    """
    before, after = [log(one) for one in base], [log(one) for one in new]
    middle = shift(before, after)
    sigma, freedom = spread_of_runs((before, after))
    error = sigma * sqrt(1 / len(base) + 1 / len(new))
    reach = t_quantile(_TAIL, freedom) * error
    low, high = surely_above(before, after, _TAIL), surely_above(after, before, _TAIL)
    if smallest_p(len(base), len(new)) > FEW:
        gain = sum(before) / len(before) - sum(after) / len(after)
        p = t_tail(gain / error, freedom) if max(after) < min(before) else 1.0
    else:
        p = p_above(after, before)
    if low is None or high is None or len(new) < 5:
        return Effect(exp(middle), exp(middle - reach), exp(middle + reach), p)
    return Effect(exp(middle), exp(min(low, middle - FLOOR / 2)), exp(max(-high, middle + FLOOR / 2)), p)


def spread_of_runs(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """(standard deviation, degrees of freedom) of logarithms around their groups' means; with the floor it counts as known."""
    found = deviation_of(groups)
    return (found.sigma, found.freedom) if found.sigma > FLOOR else (FLOOR, inf if not found.freedom else found.freedom)


def smallest_seen(base: Sequence[float], new: Sequence[float], level: float) -> float:
    """The gain, as a share of step time, that so many runs would have shown four times in five."""
    sigma, freedom = spread_of_runs([[log(one) for one in base], [log(one) for one in new]])
    error = sigma * sqrt(1 / len(base) + 1 / len(new))
    return 1 - exp(-(t_quantile(level, freedom) + t_quantile(_EIGHTY_PERCENT, freedom)) * error)
