"""A distribution kept small still tells its extremes, median and percentiles."""

from __future__ import annotations

import numpy as np
import pytest

from tfadvisor.arrays import median, percentile
from tfadvisor.timeline.summary.order_statistics import kept


def test_up_to_a_hundred_thousand_values_are_kept_in_order() -> None:
    values = np.arange(100_000)[::-1].copy()

    assert kept(values).tolist() == list(range(100_000))
    assert kept(np.array([3, 1, 2, 1])).tolist() == [1, 1, 2, 3]
    assert kept(np.empty(0, np.int64)).tolist() == []


@pytest.mark.parametrize("count", [100_001, 250_000, 1_234_567])
def test_of_more_a_hundred_thousand_are_kept_at_even_ranks(count: int) -> None:
    """The values are their own ranks. Ranks are count / 100,000 apart, rounded, so no percentile moves by more."""
    few = kept(np.random.default_rng(0).permutation(count))
    apart = np.diff(few)

    assert len(few) == 100_000
    assert (few[0], few[-1]) == (0, count - 1)
    assert (apart >= (count - 1) // 99_999).all()
    assert (apart <= -(-(count - 1) // 99_999)).all()
    assert median(few) == pytest.approx((count - 1) / 2, abs=count / 100_000)
    assert percentile(few, 95) == pytest.approx(0.95 * (count - 1), abs=count / 100_000)
    assert few.dtype == np.int64
