"""Wilcoxon's test whether differences of pairs lie above 0, exact: what moves both of a
pair alike moves no difference.

It assumes that a difference of two runs of one program is as often positive as
negative, and as large. Runs that are recorded one after the other, either one first as
often, are such pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import sqrt

from tfadvisor.comparison.statistics.distributions import normal_quantile, normal_tail
from tfadvisor.comparison.statistics.ranks import bound_at, middle_of

_EXACT_UP_TO = 60


def p_above(differences: Sequence[float]) -> float:
    """Probability of ranks at least this high when the differences scatter evenly
    around 0. Ties share their ranks.

    Exact for up to 60 differences (with ties a little too careful), beyond by the
    normal approximation.
    """
    n = len(differences)
    sizes = sorted(abs(difference) for difference in differences)
    doubled = 0.0
    for difference in differences:
        counts = 0.5 if difference == 0 else float(difference > 0)
        doubled += counts * _doubled_rank(sizes, difference)

    ranks = int(doubled // 2)
    if n > _EXACT_UP_TO:
        beyond = ranks - _middle_rank(n) - 0.5
        return normal_tail(beyond / _spread_of_ranks(n))
    as_high = sum(ways(n)[ranks:])
    return as_high / 2.0**n


def _middle_rank(n: int) -> float:
    return n * (n + 1) / 4


def _spread_of_ranks(n: int) -> float:
    return sqrt(n * (n + 1) * (2 * n + 1) / 24)


def smallest_p(n: int) -> float:
    """What the test gives when every difference is above 0."""
    return 0.5**n


@lru_cache(maxsize=64)
def ways(n: int) -> tuple[int, ...]:
    """How many of the 2ⁿ choices of signs make the positive ranks 1 … n add up to 0, 1,
    … n(n + 1)/2.
    """
    counts = [1]
    for rank in range(1, n + 1):
        longer = counts + [0] * rank
        for at, number in enumerate(counts):
            longer[at + rank] += number
        counts = longer
    return tuple(counts)


def shift(differences: Sequence[float]) -> float:
    """By how much they lie above 0: the median of the means of any two (Hodges and
    Lehmann).
    """
    return middle_of(_means_of_two(differences))


def surely_above(
    differences: Sequence[float],
    level: float,
) -> float | None:
    """What they exceed at this level: the test's lower confidence bound. None when so
    few cannot tell at this level.
    """
    n = len(differences)
    if smallest_p(n) > level:
        return None
    means = _means_of_two(differences)
    if n > _EXACT_UP_TO:
        rank = _middle_rank(n) - normal_quantile(level) * _spread_of_ranks(n)
        return sorted(means)[max(int(rank), 0)]
    return bound_at(level, means, ways(n), 2**n)


def _means_of_two(values: Sequence[float]) -> list[float]:
    means = []
    for at, value in enumerate(values):
        means += [(value + other) / 2 for other in values[at:]]
    return means


def _doubled_rank(
    sizes: Sequence[float],
    value: float,
) -> int:
    """Twice the rank of a size among the sorted ones, ties in the middle: first + last
    place that it could have.
    """
    size = abs(value)
    below = sum(other < size for other in sizes)
    up_to = sum(other <= size for other in sizes)
    return below + up_to + 1
