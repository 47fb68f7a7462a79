"""How far a metric moved, how surprising that is and what could be seen, on numbers
worked out on paper.
"""

from __future__ import annotations

from math import inf, log

import pytest
from msgspec.structs import replace

from tfadvisor.comparison.gate.surprise import (
    Sample,
    Surprise,
    limit_on_scale,
    on_scale,
    turned,
)
from tfadvisor.comparison.statistics.spread import Nature, predict

PLAIN = Nature(
    worse="up",
    exact=False,
    by_factor=False,
    floor=0.0,
    absolute_floor=0.1,
    assumed=10.0,
)
FACTOR = replace(PLAIN, by_factor=True)
TEN = tuple(float(value) for value in range(10))


def evidence(
    base: tuple[float, ...],
    *new: float,
    nature: Nature = PLAIN,
    level: float = 0.02,
    **known: bool,
) -> Surprise:
    return Surprise(Sample((base,), new, 0.0, known.get("both", False)), nature, level)


def test_one_run_is_judged_by_its_distance_from_the_middle() -> None:
    one = evidence((2.0, 3.0, 4.0, 5.0, 6.0), 7.0)

    assert (one.by_ranks, one.distance) == (False, pytest.approx(3.0))
    assert evidence((2.0, 3.0, 4.0, 5.0, 6.0), 1.0).distance == pytest.approx(-3.0)


def test_several_runs_are_judged_by_ranks_where_those_can_reach_the_level() -> None:
    """Ten and two have 66 orders."""
    assert evidence(TEN, 20.0, 22.0, level=1 / 66).by_ranks
    assert not evidence(TEN, 20.0, 22.0, level=1 / 67).by_ranks
    assert not evidence(TEN, 20.0, level=0.5).by_ranks
    assert not evidence(TEN, 20.0, 22.0, nature=replace(PLAIN, exact=True)).by_ranks
    assert not evidence(TEN, 20.0, 22.0, both=True).by_ranks


def test_ranks_are_those_of_the_present_level() -> None:
    """Of ten old runs and three at the present level only the three are compared: one
    of ten orders of three and two.
    """
    sample = Sample((TEN, (100.0, 101.0, 102.0)), (111.0, 113.0), 0.0, False)
    several = Surprise(sample, PLAIN, 0.1)

    assert several.by_ranks
    assert several.p() == pytest.approx(1 / 10)
    assert several.distance == 11.0  # differences 9 10 11 11 12 13


def test_several_runs_shift_by_the_middle_difference() -> None:
    """Differences of 20 and 30 from 0 … 9 are 11 … 20 and 21 … 30; of 10 and 20 from 1,
    2, 9 they are 1 8 9 11 18 19.
    """
    assert evidence(TEN, 20.0, 30.0).distance == 20.5
    assert evidence((1.0, 2.0, 9.0), 10.0, 20.0, level=0.1).distance == 10.0


def test_what_ranks_reach_is_the_shift_less_what_is_sure() -> None:
    """Of [1, 2, 3] against [11, 13, 17] the middle difference is 11; at 10% 9 are sure;
    1% is below 1 of 20 orders.
    """
    several = evidence((1.0, 2.0, 3.0), 11.0, 13.0, 17.0, level=0.05)

    assert several.distance == 11.0
    assert several.reach(0.1) == 2.0
    assert several.reach(0.01) == inf
    assert several.p() == 1 / 20


def test_either_way_counts_double() -> None:
    """Below the middle as far as above it, at half the level each."""
    up, both = evidence(TEN, 30.0), evidence(TEN, 30.0, both=True)
    down = evidence(TEN, -21.0, both=True)

    assert (both.distance, down.distance) == (25.5, 25.5)
    assert both.p() == pytest.approx(2 * up.p()) == pytest.approx(down.p())
    assert both.reach(0.02) == pytest.approx(up.reach(0.01))
    assert evidence(TEN, 4.5, both=True).p() == 1.0


def test_half_of_the_rate_is_for_times_that_fall_out_of_line() -> None:
    """A time that is as rare as one in a hundred by its scatter counts as one in fifty;
    a count as what it is.
    """
    exact = replace(PLAIN, exact=True)
    by_scatter, by_count = predict((TEN,), PLAIN), predict((TEN,), exact)
    rare, counted = by_scatter.reach(0.01, 0.0), by_count.reach(0.01, 0.0)

    assert evidence(TEN, 4.5 + rare).p() == pytest.approx(0.02)
    assert evidence(TEN, 4.5 - rare).p_better() == pytest.approx(0.02)
    assert evidence(TEN, 4.5 + counted, nature=exact).p() == pytest.approx(0.01)
    assert evidence(TEN, 20.0).reach(0.02) == pytest.approx(rare)
    assert evidence(TEN, 20.0, nature=exact).reach(0.01) == pytest.approx(counted)
    assert evidence(TEN, -20.0).p() == evidence(TEN, 30.0).p_better() == 1.0


def test_runs_are_few_until_there_are_five() -> None:
    """Ranks need no spread."""
    assert evidence(TEN[:4], 20.0).few
    assert not evidence(TEN[:5], 20.0).few
    assert not evidence(TEN[:4], 20.0, 21.0, 22.0, 23.0, level=0.05).few


def test_the_measurements_own_error_widens_what_is_expected() -> None:
    sure, unsure = (
        Surprise(Sample((TEN,), (20.0,), error, False), PLAIN, 0.01)
        for error in (0.0, 50.0)
    )

    assert unsure.p() > 10 * sure.p()
    assert unsure.reach(0.01) > 3 * sure.reach(0.01)


def test_values_are_turned_so_that_more_is_worse() -> None:
    assert turned([1, -2], "down") == (-1, 2)
    assert turned([1, -2], "up") == turned([1, -2], "both") == (1, -2)


def test_factors_are_on_a_logarithmic_scale_and_nothing_at_its_far_end() -> None:
    assert on_scale([1.0, 10.0, 0.0], FACTOR) == [0.0, log(10), log(1e-12)]
    assert on_scale([1.0, -10.0, 0.0], PLAIN) == [1.0, -10.0, 0.0]


@pytest.mark.parametrize(
    ("limit", "change", "centre", "worse", "by_factor", "expected"),
    [
        (0.1, None, 50.0, "up", True, log(1.1)),
        (0.1, None, 50.0, "both", True, log(1.1)),
        (0.1, None, 50.0, "down", True, -log(0.9)),  # from 50 to 45
        (
            1.0,
            None,
            50.0,
            "down",
            True,
            -log(1e-9),
        ),  # all of it: as far as the scale goes
        (None, 5.0, 50.0, "up", True, log(1.1)),
        (None, 5.0, 50.0, "down", True, -log(0.9)),
        (None, 50.0, 50.0, "down", True, -log(1e-9)),
        (0.1, None, 50.0, "up", False, 5.0),
        (0.1, None, -50.0, "down", False, 5.0),
        (0.1, 2.0, 50.0, "up", False, 2.0),
        (0.1, 7.0, 50.0, "up", False, 5.0),
        (None, 5.0, 50.0, "up", False, 5.0),
        (None, 5.0, 50.0, "down", False, 5.0),
    ],
)
def test_a_limit_is_a_distance_on_the_metrics_scale(
    limit: float | None,
    change: float | None,
    centre: float,
    worse: str,
    by_factor: bool,
    expected: float,
) -> None:
    nature = replace(PLAIN, worse=worse, by_factor=by_factor)

    assert limit_on_scale(limit, change, centre, nature) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("base", "new", "clear"),
    [
        ((1.0, 1.0, 1.0, 1.0, 1.0), 1.3, True),
        ((1.0, 1.0, 1.0, 1.0, 1.0), 1.2, False),
        ((1.0, 1.1, 1.2, 1.3, 1.4), 2.0, True),
        ((1.0, 1.1, 1.2, 1.3, 1.4), 1.9, False),
        ((1.0, 2.0, 3.0, 4.0, 5.0), 10.5, True),
        ((1.0, 2.0, 3.0, 4.0, 5.0), 9.5, False),
        ((1.0, 1.0, 1.0, 1.0), 9.0, False),
    ],
)
def test_far_above_all_runs_is_clear_however_they_scatter(
    base: tuple[float, ...], new: float, clear: bool
) -> None:
    """A quarter more than the longest, and as far above it as that is above the
    shortest (1.4 x 1.4 = 1.96), or twice as long; of five runs or more."""
    found = evidence(
        tuple(on_scale(base, FACTOR)), *on_scale([new], FACTOR), nature=FACTOR
    )

    assert found.is_clear is clear


def test_a_quarter_above_all_runs_is_far_whatever_their_spread() -> None:
    """6.2 and 6.3 beside 1 to 5, and beside four runs, which are too few."""
    scattered = tuple(on_scale((1.0, 2.0, 3.0, 4.0, 5.0), FACTOR))
    near, far = (
        evidence(scattered, *on_scale([new], FACTOR), nature=FACTOR)
        for new in (6.2, 6.3)
    )
    few = evidence(scattered[:4], *on_scale([9.0], FACTOR), nature=FACTOR)

    assert (near.is_far, far.is_far, far.is_clear, few.is_far) == (
        False,
        True,
        False,
        False,
    )
