"""How much runs of one form differ."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import msgspec


class Deviation(msgspec.Struct, frozen=True):
    """Of runs around the mean of their own group."""

    sigma: float
    """The standard deviation, 0 where no group has two runs."""
    freedom: float
    """Its degrees of freedom."""


def deviation_of(groups: Sequence[Sequence[float]]) -> Deviation:
    """Groups may lie at different levels; they scatter alike."""
    squares = [(value - sum(group) / len(group)) ** 2 for group in groups if len(group) > 1 for value in group]
    freedom = len(squares) - sum(len(group) > 1 for group in groups)
    return Deviation(sqrt(sum(squares) / freedom), freedom) if squares else Deviation(0.0, 0.0)
