"""Tests on ranks: Mann and Whitney's, exact for the numbers that a gate sees, and
Holm's correction for many.

It assumes nothing about how runs scatter, only that base and new runs scatter alike;
for that, record them in turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import comb, sqrt

from tfadvisor.comparison.statistics.distributions import normal_quantile, normal_tail

_EXACT_UP_TO = 2000


def p_above(
    base: Sequence[float],
    new: Sequence[float],
) -> float:
    """Probability of a U at least this large when both come from one distribution. Ties
    count half.

    Exact without ties (and, a little too careful, with them) for n · m up to 2,000;
    beyond, the normal approximation with continuity correction.
    """
    doubled = 0
    for value in new:
        for other in base:
            doubled += (value > other) + (value >= other)

    n = len(base)
    m = len(new)
    if n * m > _EXACT_UP_TO:
        beyond = doubled / 2 - n * m / 2 - 0.5
        return normal_tail(beyond / _spread_of_u(n, m))

    u = doubled // 2  # half a win is rounded down, towards "no difference"
    as_large = sum(ways(n, m)[u:])
    return as_large / comb(n + m, m)


def _spread_of_u(n: int, m: int) -> float:
    return sqrt(n * m * (n + m + 1) / 12)


def smallest_p(n: int, m: int) -> float:
    """What the test gives when every new run is above every base run: 1 over the number
    of ways to pick them.
    """
    return 1 / comb(n + m, m)


@lru_cache(maxsize=64)
def ways(
    n: int,
    m: int,
) -> tuple[int, ...]:
    """In how many orders of n and m different values U is 0, 1, … n·m: the coefficients
    of the Gaussian binomial.

    Product over i = 1…m of (1 - q^(n+i)) / (1 - q^i).
    """
    size = n * m + 1
    counts = [1] + [0] * (size - 1)
    for i in range(1, m + 1):
        for at in range(size - 1, n + i - 1, -1):
            counts[at] -= counts[at - n - i]
        for at in range(i, size):
            counts[at] += counts[at - i]
    return tuple(counts)


def shift(
    base: Sequence[float],
    new: Sequence[float],
) -> float:
    """By how much the new runs lie above the base: the median of all differences
    (Hodges and Lehmann).
    """
    return middle_of(_differences(base, new))


def middle_of(values: Sequence[float]) -> float:
    """The median; of an even number, the mean of the middle two."""
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2


def _differences(
    base: Sequence[float],
    new: Sequence[float],
) -> list[float]:
    return [value - other for value in new for other in base]


def surely_above(
    base: Sequence[float],
    new: Sequence[float],
    level: float,
) -> float | None:
    """The shift that the new runs exceed at this level: the test's lower confidence
    bound. Exact for n · m up to 2,000, as `p_above`.

    None when so few runs cannot tell at this level.
    """
    n = len(base)
    m = len(new)
    if smallest_p(n, m) > level:
        return None
    differences = _differences(base, new)
    if n * m > _EXACT_UP_TO:
        below = normal_quantile(level) * _spread_of_u(n, m)
        rank = int(n * m / 2 - 0.5 - below)
        return sorted(differences)[max(rank, 0)]
    return bound_at(
        level,
        differences,
        ways(n, m),
        comb(n + m, m),
    )


def bound_at(
    level: float,
    values: Sequence[float],
    counts: Sequence[int],
    total: int,
) -> float:
    """The value by the largest rank up to which no more than the level lies. counts: of
    the total, by rank.
    """
    ordered = sorted(values)
    below = 0
    for rank, count in enumerate(counts):
        below += count
        if below / total > level:
            return ordered[max(rank - 1, 0)]
    return ordered[-1]


# Holm's procedure with weights: several questions, one promised rate of false alarms.


def levels(
    p_values: Mapping[str, float],
    weights: Mapping[str, float],
    rate: float,
) -> dict[str, float]:
    """The level at which each p-value is judged; a value at or below its level is
    significant.

    Sorted by p over weight, each is allowed its weight's share of what is still open,
    until one is above its level. The probability that any of several true null
    hypotheses is rejected stays at or below the rate, whatever they share (Holm 1979,
    section 3). Equal weights give the usual rate / (m - i).
    """
    by_weight = {name: p / weights[name] for name, p in p_values.items()}
    order = sorted(by_weight, key=lambda name: (by_weight[name], name))
    open_weight = sum(weights[name] for name in order)

    found: dict[str, float] = {}
    stopped = False
    for name in order:
        level = rate * weights[name] / open_weight
        found[name] = level
        stopped = stopped or p_values[name] > level
        if not stopped:
            open_weight -= weights[name]
    return found


def first_level(
    name: str,
    weights: Mapping[str, float],
    rate: float,
) -> float:
    """The strictest level that Holm's procedure may ask of this question: the one
    before anything is known.
    """
    return rate * weights[name] / sum(weights.values())
