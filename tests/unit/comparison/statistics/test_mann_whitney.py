"""Mann and Whitney's test against printed tables and by counting."""

from __future__ import annotations

from itertools import combinations
from math import comb

import pytest

from tfadvisor.comparison.statistics.ranks import (
    p_above,
    shift,
    smallest_p,
    surely_above,
    ways,
)


@pytest.mark.parametrize(
    ("n", "m", "critical"),
    [(3, 3, 0), (4, 4, 1), (5, 5, 4), (6, 6, 7), (8, 8, 15), (10, 5, 11), (10, 10, 27)],
)
def test_critical_values_are_those_of_the_printed_table(
    n: int, m: int, critical: int
) -> None:
    """One-sided 5%: the largest U whose probability (from below) is no more."""
    below = [sum(ways(n, m)[: u + 1]) / comb(n + m, m) for u in range(n * m + 1)]

    assert max(u for u, p in enumerate(below) if p <= 0.05) == critical


def test_orders_are_counted_for_two_and_two() -> None:
    """Of the six orders, U is 0, 1, 2, 2, 3 and 4."""
    assert ways(2, 2) == (1, 1, 2, 1, 1)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (4, 3), (10, 5), (12, 12)])
def test_all_orders_are_counted_and_both_ends_alike(n: int, m: int) -> None:
    assert sum(ways(n, m)) == comb(n + m, m)
    assert ways(n, m) == ways(n, m)[::-1]


def test_the_probability_is_the_share_of_orders_at_least_as_extreme() -> None:
    base, new = [1.0, 4.0, 6.0, 8.0, 2.5], [5.0, 9.0, 7.5]
    values = base + new
    won = sum(one > other for one in new for other in base)
    splits = [
        (set(chosen), set(values) - set(chosen)) for chosen in combinations(values, 3)
    ]
    as_extreme = sum(
        sum(one > other for one in new_ for other in base_) >= won
        for new_, base_ in splits
    )

    assert p_above(base, new) == pytest.approx(as_extreme / len(splits))


def test_fully_apart_is_the_smallest_probability() -> None:
    assert p_above([1, 2, 3], [4, 5, 6]) == pytest.approx(1 / 20) == smallest_p(3, 3)
    assert p_above([4, 5, 6], [1, 2, 3]) == pytest.approx(1)


def test_all_ties_say_nothing() -> None:
    assert p_above([5.0] * 6, [5.0] * 4) > 0.5


def test_many_runs_use_the_normal_approximation() -> None:
    """60 against 60, every new run above every base run but shifted by half the range:
    far beyond any level.
    """
    base, new = list(range(60)), [value + 30 for value in range(60)]

    assert p_above(base, new) < 1e-6
    assert p_above(base, base) == pytest.approx(0.5, abs=0.02)


def test_the_smallest_probability() -> None:
    """Against ten: one of 11 with one run, of 66 with two, of 286 with three."""
    assert [smallest_p(10, m) for m in (1, 2, 3)] == pytest.approx(
        [1 / 11, 1 / 66, 1 / 286]
    )


def test_the_shift_is_the_middle_difference() -> None:
    assert shift([1, 2, 3], [11, 12, 13]) == 10


def test_the_surely_exceeded_shift_is_significant_and_no_larger_one_is() -> None:
    base, new, level = [1.0, 2.2, 3.1, 4.7, 5.9, 6.3], [9.0, 10.4, 12.5, 11.1], 0.05
    sure = surely_above(base, new, level)
    assert sure is not None

    assert p_above(base, [one - sure + 1e-9 for one in new]) <= level
    assert p_above(base, [one - sure - 1e-9 for one in new]) > level


def test_too_few_runs_are_sure_of_nothing() -> None:
    assert surely_above([1.0, 2.0], [9.0], 0.01) is None


def test_half_a_win_is_rounded_towards_no_difference() -> None:
    """4 beats all of 1, 2, 3; 3 beats two and ties one: U is 5.5, taken as 5. Of the
    ten orders two have a U of 5 or 6.
    """
    assert p_above([1, 2, 3], [3, 4]) == pytest.approx(2 / 10)


@pytest.mark.parametrize(
    ("n", "m", "exact"), [(50, 40, True), (50, 41, False), (41, 50, False)]
)
def test_up_to_2000_pairs_orders_are_counted(
    n: int, m: int, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tfadvisor.comparison.statistics.ranks.normal_tail", lambda _: -1.0
    )

    assert (p_above(range(n), range(m)) > 0) is exact


def test_the_normal_approximation_with_continuity_correction() -> None:
    """50 against 50, 30 of them above all: U 1,500, mean 1,250, spread √(2,500 · 101 /
    12) = 145.06; z is 249.5 / 145.06.

    The normal tail beyond 1.7200 is 0.042716 in printed tables.
    """
    assert p_above([0] * 50, [1] * 30 + [-1] * 20) == pytest.approx(0.042716, rel=1e-3)


def test_a_level_that_is_just_reached_is_reached() -> None:
    """One of the 66 orders of ten and two."""
    assert surely_above(list(range(10)), [20, 21], 1 / 66) is not None
    assert surely_above(list(range(10)), [20, 21], 1 / 67) is None


@pytest.mark.parametrize(
    ("level", "bound"), [(0.05, 8), (0.1, 9), (0.15, 9), (0.2, 10)]
)
def test_the_bound_is_the_difference_at_its_rank(level: float, bound: float) -> None:
    """Differences 8 9 10 10 11 12 14 15 16; of 20 orders U is 0, 1, 2 in 1, 1, 2 of
    them, so 1/20 drops none, 2/20 one.
    """
    assert surely_above([1, 2, 3], [11, 13, 17], level) == bound


def test_beyond_2000_pairs_the_bound_is_that_of_the_normal_approximation() -> None:
    """50 against 50: mean 1,250, spread 145.06; 1.6449 of them below the mean, less
    half, is 1,010.9, so 1,010 of the 2,500 differences may lie at or below it.

    Counted exactly, a U of at most 1,010 has 4.94% and one of at most 1,011 5.01%.
    """
    base = [100.0 * number for number in range(50)]
    new = [number + 0.5 for number in range(50)]
    ordered = sorted(after - before for after in new for before in base)

    assert surely_above(base, new, 0.05) == ordered[1010]


def test_thousands_of_runs_are_no_work() -> None:
    """A million pairs: counting their orders would take hours."""
    assert surely_above([0.0] * 1000, [1.0] * 1000, 0.05) == 1.0
