"""Interval algebra against a set of integers, instant by instant."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfadvisor.timeline.intervals import (
    EMPTY,
    Intervals,
    difference,
    intersection,
    union,
    union_of,
    union_where,
    within_all,
)

spans = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 8)).map(lambda s: (s[0], s[0] + s[1])),
    max_size=10,
)


def made(pairs: list[tuple[int, int]]) -> Intervals:
    return union(
        np.array([a for a, _ in pairs], np.int64),
        np.array([b for _, b in pairs], np.int64),
    )


def instants(pairs: list[tuple[int, int]]) -> set[int]:
    return {t for a, b in pairs for t in range(a, b)}


def covered(one: Intervals) -> set[int]:
    return instants(list(zip(one.starts.tolist(), one.ends.tolist(), strict=True)))


def is_canonical(one: Intervals) -> bool:
    return bool(
        (one.ends > one.starts).all() and (one.starts[1:] > one.ends[:-1]).all()
    )


@given(spans)
def test_union_covers_what_any_covers(pairs) -> None:
    one = made(pairs)

    assert covered(one) == instants(pairs)
    assert one.length() == len(instants(pairs))
    assert is_canonical(one)


@given(spans, st.integers(0, 11))
def test_union_of_some_of_the_intervals(pairs, first) -> None:
    """Those from the first on: all, some or none."""
    starts = np.array([a for a, _ in pairs], np.int64)
    ends = np.array([b for _, b in pairs], np.int64)
    one = union_where(starts, ends, np.arange(len(pairs)) >= first)

    assert covered(one) == instants(pairs[first:])
    assert is_canonical(one)


@given(spans, spans)
def test_intersection_difference_and_union_of_sets(a, b) -> None:
    one, other = made(a), made(b)

    assert covered(intersection(one, other)) == instants(a) & instants(b)
    assert covered(difference(one, other)) == instants(a) - instants(b)
    assert covered(union_of(one, other)) == instants(a) | instants(b)
    for result in (
        intersection(one, other),
        difference(one, other),
        union_of(one, other),
    ):
        assert is_canonical(result)


@given(spans, st.integers(0, 30), st.integers(1, 40))
def test_intersection_with_one_interval(pairs, lo, length) -> None:
    one, window = made(pairs), made([(lo, lo + length)])

    for result in (intersection(one, window), intersection(window, one)):
        assert covered(result) == instants(pairs) & set(range(lo, lo + length))
        assert is_canonical(result)


def test_what_one_interval_does_not_cut_shares_its_memory() -> None:
    one = made([(0, 5), (7, 9), (12, 20)])

    inside = intersection(one, made([(6, 20)]))

    assert (inside.starts.tolist(), inside.ends.tolist()) == ([7, 12], [9, 20])
    assert np.shares_memory(inside.starts, one.starts)


@given(
    spans,
    st.lists(
        st.tuples(st.integers(-5, 45), st.integers(0, 20)), min_size=1, max_size=6
    ),
)
def test_within_is_the_length_inside_each_window(pairs, windows) -> None:
    one = made(pairs)
    lo = np.array([a for a, _ in windows], np.int64)
    hi = np.array([a + n for a, n in windows], np.int64)

    expected = [len(instants(pairs) & set(range(a, a + n))) for a, n in windows]

    assert one.within(lo, hi).tolist() == expected


@given(spans, st.lists(st.integers(-5, 45), max_size=8))
def test_contains_is_membership(pairs, times) -> None:
    assert made(pairs).contains(np.array(times, np.int64)).tolist() == [
        t in instants(pairs) for t in times
    ]


def test_touching_intervals_are_one() -> None:
    assert made([(0, 5), (5, 7)]).starts.tolist() == [0]


def test_nothing_is_empty() -> None:
    assert len(made([])) == 0
    assert len(made([(3, 3)])) == 0
    assert union_of(EMPTY, EMPTY).length() == 0


def test_the_length_of_several_sets_in_a_window_is_the_sum_of_each() -> None:
    """0..30 and 20..60: the window 10..40 holds 20 of each, 50..90 holds 10."""
    sets = [
        union(np.array([0]), np.array([30])),
        union(np.array([20]), np.array([60])),
    ]

    found = within_all(sets, np.array([10, 50]), np.array([40, 90]))

    assert found.tolist() == [40, 10]
