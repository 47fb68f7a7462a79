"""Wilcoxon's test against printed tables and by counting."""

from __future__ import annotations

from itertools import product

import pytest

from tfadvisor.comparison.statistics.signed_rank import (
    p_above,
    shift,
    smallest_p,
    surely_above,
    ways,
)


@pytest.mark.parametrize(
    ("n", "critical"), [(5, 0), (6, 2), (8, 5), (10, 10), (12, 17), (20, 60)]
)
def test_critical_values_are_those_of_the_printed_table(n: int, critical: int) -> None:
    """One-sided 5%: the largest sum of ranks whose probability (from below) is
    no more.
    """
    below = [sum(ways(n)[: sum_ + 1]) / 2**n for sum_ in range(n * (n + 1) // 2 + 1)]

    assert max(sum_ for sum_, p in enumerate(below) if p <= 0.05) == critical


def test_signs_are_counted_for_three() -> None:
    """Of the eight choices of signs for ranks 1, 2, 3 one each gives 0, 1, 2, 4, 5 and
    6, and two give 3.
    """
    assert ways(3) == (1, 1, 1, 2, 1, 1, 1)


def test_the_probability_is_the_share_of_signs_at_least_as_extreme() -> None:
    sizes = [0.3, 1.1, 2.0, 2.7, 4.4, 5.0, 6.1]
    signs = (1, -1, 1, 1, -1, 1, 1)
    ranked = sum(rank for rank, sign in enumerate(signs, start=1) if sign > 0)
    all_signs = list(product((1, -1), repeat=7))
    as_high = sum(
        sum(rank for rank, sign in enumerate(one, start=1) if sign > 0) >= ranked
        for one in all_signs
    )

    assert (
        p_above([size * sign for size, sign in zip(sizes, signs, strict=True)])
        == as_high / 128
    )


def test_all_above_is_the_smallest_probability() -> None:
    assert p_above([1.0, 2.0, 3.0, 4.0]) == 1 / 16 == smallest_p(4)
    assert p_above([-1.0, -2.0, -3.0, -4.0]) == 1


def test_no_difference_says_nothing() -> None:
    assert p_above([0.0] * 8) > 0.5


def test_differences_of_one_size_share_their_ranks() -> None:
    """Sizes 1, 1, 3 have ranks 1.5, 1.5 and 3; 4.5 of them are positive, taken as 4: 4,
    5 and 6 are 3 of 8 choices.
    """
    assert p_above([1.0, -1.0, 3.0]) == 3 / 8


def test_many_differences_use_the_normal_approximation() -> None:
    """100 differences, ranks 25 and 56 … 95 positive: their sum is 3,045, the mean
    2,525.

    The spread is √(100 · 101 · 201 / 24) = 290.84, so z is 519.5 / 290.84 = 1.786; the
    tail beyond it is 0.0370.
    """
    positive = {25, *range(56, 96)}
    differences = [float(rank if rank in positive else -rank) for rank in range(1, 101)]

    assert p_above(differences) == pytest.approx(0.0370, rel=1e-2)


def test_the_shift_is_the_middle_of_means_of_two() -> None:
    """Of 1, 2, 9 these are 1, 1.5, 5, 2, 5.5, 9; the middle of the six is 3.5."""
    assert shift([1.0, 2.0, 9.0]) == 3.5


def test_the_surely_exceeded_shift_is_significant_and_no_larger_one_is() -> None:
    differences, level = [3.0, 4.2, 5.1, 6.7, 2.2, 8.9, -0.4, 7.3], 0.05
    sure = surely_above(differences, level)
    assert sure is not None

    assert p_above([one - sure + 1e-9 for one in differences]) <= level
    assert p_above([one - sure - 1e-9 for one in differences]) > level


def test_many_differences_have_a_bound_too() -> None:
    """Of 70 differences around 10 the bound lies below 10, and not by much."""
    bound = surely_above([10 + (number - 34.5) / 10 for number in range(70)], 0.01)

    assert bound is not None
    assert 9 < bound < 10


def test_too_few_differences_are_sure_of_nothing() -> None:
    """Four that are all above 0 have a probability of 1/16."""
    assert surely_above([5.0, 6.0, 7.0, 8.0], 0.05) is None
    assert surely_above([5.0, 6.0, 7.0, 8.0], 1 / 16) == 5.0
