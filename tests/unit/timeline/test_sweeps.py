"""The compiled passes against their definition in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfadvisor.timeline import sweeps, sweeps_twin

compiled = pytest.importorskip("tfadvisor.timeline._sweeps")

spans = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 9)).map(lambda s: (s[0], s[0] + s[1])),
    max_size=12,
)
times = st.lists(st.integers(-3, 60), max_size=12).map(
    lambda some: np.array(some, np.int64)
)


def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([a for a, _ in pairs], np.int64), np.array(
        [b for _, b in pairs], np.int64
    )


def a_set(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return sweeps_twin.united(*columns(pairs))


def nested(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return columns(sorted(pairs, key=lambda one: (one[0], -one[1])))


def listed(arrays: object) -> list[list[int]]:
    return [one.tolist() for one in arrays]  # type: ignore[attr-defined]


@given(spans)
def test_union(pairs) -> None:
    assert listed(sweeps.united(*columns(pairs))) == listed(
        sweeps_twin.united(*columns(pairs))
    )


def test_a_set_is_its_own_union_without_a_copy() -> None:
    starts, ends = np.array([1, 5, 9]), np.array([4, 8, 12])

    assert compiled.united(starts, ends)[0] is starts


@given(spans, spans)
def test_algebra_of_two_sets(one, other) -> None:
    four = (*a_set(one), *a_set(other))

    for name in ("merged", "common", "without"):
        assert listed(getattr(compiled, name)(*four)) == listed(
            getattr(sweeps_twin, name)(*four)
        ), name


@given(spans, times)
def test_covered_time_and_membership(pairs, asked) -> None:
    for order in (asked, np.sort(asked)):
        assert (
            compiled.reached(a_set(pairs)[0], order).tolist()
            == sweeps_twin.reached(a_set(pairs)[0], order).tolist()
        )
        inside = compiled.contains(*a_set(pairs), order)
        assert inside.tolist() == sweeps_twin.contains(*a_set(pairs), order).tolist()


@given(spans, spans, st.lists(st.booleans(), min_size=3, max_size=3))
def test_stretches_that_meet_a_set(pairs, stretches, working) -> None:
    lo, hi = columns([(a, b + 1) for a, b in stretches])
    who = np.arange(len(lo), dtype=np.int32) % 3
    works = np.array(working, np.uint8)
    asked = (lo, hi, who, works, *a_set(pairs))

    assert compiled.met(*asked).tolist() == sweeps_twin.met(*asked).tolist()


@given(spans, times)
def test_covered_time_of_windows(pairs, asked) -> None:
    middle = len(asked) // 2
    lo, hi = (
        np.minimum(asked[:middle], asked[middle : 2 * middle]),
        np.maximum(asked[:middle], asked[middle : 2 * middle]),
    )

    assert (
        compiled.within(*a_set(pairs), lo, hi).tolist()
        == sweeps_twin.within(*a_set(pairs), lo, hi).tolist()
    )


@given(spans, times, times)
def test_time_within_windows_that_ascend(pairs, lo, hi) -> None:
    count = min(len(lo), len(hi))
    lo, hi = np.sort(lo[:count]), np.sort(hi[:count])

    assert (
        compiled.within(*a_set(pairs), lo, hi).tolist()
        == sweeps_twin.within(*a_set(pairs), lo, hi).tolist()
    )


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=20))
def test_the_wanted_event_around_each(rows) -> None:
    """Each lies in one of those before it, or in none."""
    wanted = np.array([row[0] for row in rows], np.bool_)
    parent = np.array(
        [at - 1 - row[1] if row[1] < at else -1 for at, row in enumerate(rows)],
        np.int64,
    )

    assert (
        compiled.enclosing(wanted, parent).tolist()
        == sweeps_twin.enclosing(wanted, parent).tolist()
    )


@given(spans)
def test_parents_of_calls_that_nest_or_cross(pairs) -> None:
    assert (
        sweeps.parents(*nested(pairs)).tolist()
        == sweeps_twin.parents(*nested(pairs)).tolist()
    )


@given(spans)
def test_innermost_of_calls_that_nest_or_cross(pairs) -> None:
    long = [(a, b) for a, b in pairs if b > a]

    assert listed(sweeps.innermost(*nested(long))) == listed(
        sweeps_twin.innermost(*nested(long))
    )


def test_calls_that_cross_too_often_are_left_to_the_twin() -> None:
    """Each of 100 calls outlives all before it, so each passes all open ones."""
    starts = np.arange(100, dtype=np.int64)

    assert compiled.parents(starts, starts + 1000) is None
    assert sweeps.parents(starts, starts + 1000).tolist() == [-1, *range(99)]


@given(st.lists(st.integers(0, 30), max_size=20), times)
def test_places(numbers, asked) -> None:
    for kind in (np.int32, np.int64):
        ordered = np.sort(np.array(numbers, kind))
        assert (
            compiled.places(ordered, asked).tolist()
            == sweeps_twin.places(ordered, asked).tolist()
        )


events = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(-1, 2), st.integers(0, 9), st.booleans()),
    max_size=30,
)


@given(events)
def test_groups_of_events_that_are_alike(rows) -> None:
    one = np.array([row[0] for row in rows], np.int32)
    other = np.array([row[1] for row in rows], np.int32)
    starts = np.arange(len(rows), dtype=np.int64)
    ends = starts + np.array([row[2] for row in rows], np.int64)
    chosen = np.array([row[3] for row in rows], np.uint8)
    constant = np.broadcast_to(np.int32(-1), len(rows))

    for keys in ((one,), (one, other), (one, constant, other)):
        found = compiled.alike(keys, starts, ends, chosen, 5)
        assert listed(found) == listed(sweeps_twin.alike(keys, starts, ends, chosen, 5))


def test_more_groups_than_the_first_table_holds() -> None:
    """3,000 different rows, twice each: every group has two events, the later
    one last.
    """
    rows = np.tile(np.arange(3_000, dtype=np.int32), 2)
    starts = np.arange(6_000, dtype=np.int64)

    last, count, total, _ = compiled.alike(
        (rows,), starts, starts + 7, np.ones(6_000, np.uint8), 5
    )

    assert last.tolist() == list(range(3_000, 6_000))
    assert set(count.tolist()) == {2}
    assert set(total.tolist()) == {14}
