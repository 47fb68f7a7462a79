"""Instants shared out among the events that run in them."""

from __future__ import annotations

import numpy as np
import pytest

from tfadvisor.timeline.attribution.exclusive import exclusive_time
from tfadvisor.timeline.intervals import Intervals, union
from tfadvisor.timeline.walks import shared


def spans(*pairs: tuple[int, int]) -> Intervals:
    return union(
        np.array([lo for lo, _ in pairs], np.int64),
        np.array([hi for _, hi in pairs], np.int64),
    )


def given(events: list[tuple[int, int, int]], instants: Intervals) -> list[int]:
    start, end, stream = (
        np.array(column, np.int64) for column in zip(*events, strict=True)
    )
    return exclusive_time(start, end, stream, instants).tolist()


def test_ops_one_after_the_other_take_what_they_last() -> None:
    assert given([(0, 30, 1), (30, 90, 1)], spans((0, 100))) == [30, 60]


def test_two_streams_share_the_instants_in_which_both_work() -> None:
    """0..20 the first alone, 20..40 both: 10 each, 40..60 the second alone."""
    assert given([(0, 40, 1), (20, 60, 2)], spans((0, 100))) == [30, 30]


def test_on_one_stream_the_inner_op_has_the_instant() -> None:
    """A loop 0..100 with ops 10..40 and 50..70 inside: 50 and 20 of it are the ops', 50
    its own.
    """
    assert given([(0, 100, 1), (10, 40, 1), (50, 70, 1)], spans((0, 100))) == [
        50,
        30,
        20,
    ]


def test_an_inner_op_on_one_stream_shares_with_the_other_stream() -> None:
    """10..40: the inner op and the other stream's get 15 each; else the outer op 70 alone."""
    assert given([(0, 100, 1), (10, 40, 1), (10, 40, 2)], spans((0, 100))) == [
        70,
        15,
        15,
    ]


def test_crossing_ops_of_one_stream_share_too() -> None:
    """0..40 and 20..60 cross, as if on two streams."""
    assert given([(0, 40, 1), (20, 60, 1)], spans((0, 100))) == [30, 30]


def test_only_the_instants_of_the_class_are_shared_out() -> None:
    """Of 0..60 the class has 10..20 and 50..80: the first op is given 10, the second
    10.
    """
    assert given([(0, 30, 1), (30, 60, 2)], spans((10, 20), (50, 80))) == [10, 10]


def test_stretches_that_no_instant_meets_get_nothing() -> None:
    assert shared(
        np.array([0, 10]), np.array([5, 20]), np.array([30]), np.array([40])
    ).tolist() == [
        0,
        0,
    ]


@pytest.mark.parametrize("seed", range(20))
def test_what_all_are_given_adds_up_to_what_any_covers(seed: int) -> None:
    """Whatever overlaps: the sum is the length of the union inside the instants, to a
    picosecond an event.
    """
    rng = np.random.default_rng(seed)
    start = np.sort(rng.integers(0, 10_000, 60))
    end = start + rng.integers(0, 900, 60)
    instants = spans((500, 3_000), (4_000, 9_000))

    spent = exclusive_time(start, end, rng.integers(0, 4, 60), instants)

    covered = int(union(start, end).within(instants.starts, instants.ends).sum())
    assert abs(int(spent.sum()) - covered) <= 60
    assert (spent >= 0).all()
