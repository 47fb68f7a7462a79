"""How much runs of an unchanged program differ: a robust spread, and what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import msgspec

from tfadvisor.comparison.side import middle_of

_EXPECTED = {2: 0.836, 3: 0.672, 4: 0.735, 5: 0.822, 6: 0.840, 7: 0.878, 8: 0.887, 9: 0.908, 10: 0.912}
"""Mean of 1.4826 · MAD of n normal values with spread 1: it is too small in small samples. By 10⁶ samples each."""


class Spread(msgspec.Struct, frozen=True):
    """sigma: on the metric's scale. freedom: the degrees of freedom of Student's t that it is worth. runs: it rests on."""

    sigma: float
    freedom: float
    runs: int


def spread_of(groups: Sequence[Sequence[float]]) -> Spread:
    """Median deviation of runs from the median of their own group, as a standard deviation.

    Groups are runs before and after an accepted change: levels differ, scatter does not. The median deviation is a less
    sure estimate than the standard deviation: with n = 5…20 normal values, a new value's distance over it has the tails
    (5% to 0.1%) of Student's t with 0.38 n to 0.47 n degrees of freedom, not n - 1. 0.4 n is used.
    """
    scattered = [group for group in groups if len(group) > 1]
    deviations = [abs(value - middle_of(group)) for group in scattered for value in group]
    if not deviations:
        return Spread(0.0, 0.0, 0)
    runs = len(deviations) - len(scattered) + 1
    sigma = 1.4826 * middle_of(deviations) / _expected(len(deviations) // len(scattered))
    return Spread(sigma, 0.4 * runs, runs)


def deviation_of(groups: Sequence[Sequence[float]]) -> Spread:
    """The standard deviation of runs around the mean of their own group."""
    squares = [(value - sum(group) / len(group)) ** 2 for group in groups if len(group) > 1 for value in group]
    freedom = len(squares) - sum(len(group) > 1 for group in groups)
    return Spread(sqrt(sum(squares) / freedom), freedom, freedom + 1) if squares else Spread(0.0, 0.0, 0)


def _expected(n: int) -> float:
    """For n between the tabulated ones, by 1 - 0.8 / n, which the table follows from 10 on."""
    return _EXPECTED.get(n, 1 - 0.8 / n)
