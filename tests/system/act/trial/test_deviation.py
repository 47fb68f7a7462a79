"""The standard deviation of runs around the mean of their group."""

from __future__ import annotations

from tfadvisor.act.trial.effect import Deviation, deviation_of


def test_two_groups_at_two_levels() -> None:
    """Around 2 and 11: 1 + 1 + 1 + 1 over two degrees of freedom."""
    assert deviation_of([[1, 3], [10, 12]]) == Deviation(2**0.5, 2)


def test_single_runs_say_nothing() -> None:
    assert deviation_of([[1], [10]]) == Deviation(0, 0)
