"""Sketches by even ranks: what they keep, and how far their percentiles are off."""

from __future__ import annotations

import numpy as np
import pytest

from tfadvisor.timeline.sketches import distribution, percentile_of


def test_few_values_are_all_kept_in_order() -> None:
    found = distribution(np.array([3, 1, 2, 1]), most=4)

    assert (found.values.tolist(), len(found)) == ([1, 1, 2, 3], 4)
    assert percentile_of([found], 50) == 1.5


def test_without_values_there_is_no_percentile() -> None:
    with pytest.raises(ValueError, match="no value"):
        percentile_of([distribution(np.empty(0, np.int64), most=4)], 50)


@pytest.mark.parametrize("count", [257, 1_000, 1_234_567])
def test_of_many_values_percentiles_are_off_by_half_a_rank_of_the_sketch(
    count: int,
) -> None:
    """The values are their own ranks, so that an error in value is one in rank: 1 / 510
    of all at most for 256 kept.
    """
    found = distribution(np.random.default_rng(0).permutation(count), most=256)

    assert (len(found.values), found.values[0], found.values[-1]) == (256, 0, count - 1)
    for percent in (5, 50, 95, 99):
        exact = percent / 100 * (count - 1)
        assert percentile_of([found], percent) == pytest.approx(
            exact, abs=count / 510 + 1
        )


def test_a_sketch_weighs_as_many_values_as_it_stands_for() -> None:
    """900 values of 10 on one device, 100 of 20 on another: nine tenths of all are 10,
    whatever is kept of each.
    """
    many, few = (
        distribution(np.full(900, 10), most=4),
        distribution(np.full(100, 20), most=4),
    )

    assert percentile_of([many, few], 50) == 10
    assert percentile_of([many, few], 99) == 20
