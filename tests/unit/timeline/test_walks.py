"""What a thread does at each instant: the walk by hand, and against its definition in
NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfadvisor.timeline import walks_twin as twin
from tfadvisor.timeline.walks_twin import (
    IS_CALL,
    IS_DOING,
    IS_FRAME,
    IS_SILENT,
    IS_STAGE,
    IS_TELLING,
    IS_USERS,
)

compiled = pytest.importorskip("tfadvisor.timeline._walks")
both = pytest.mark.parametrize("passes", [compiled, twin], ids=["compiled", "twin"])

COMPILES, OTHER = 1, 9
STEPS = [(0, 100, 90), (100, 200, 190), (200, 300, 290)]
NAMES = ("leaf", "telling", "user", "called", "dispatched", "stage", "doing")
Event = tuple[int, int, int]
"""(from, to, row)."""


def walked(
    passes: Any,
    events: list[Event],
    says: list[int],
    *,
    wanted: tuple[tuple[int, int], ...] = ((0, 300),),
    kinds: list[int] | None = None,
    feeds: list[bool] | None = None,
    shortest: int = 1,
    most: int = 99,
    gaps: bool = True,
) -> Any:
    start, end, row = (
        np.array([event[column] for event in events], np.int64) for column in range(3)
    )
    starts, ends, spans = (
        np.array(column, np.int64) for column in zip(*STEPS, strict=True)
    )
    lo, hi = (np.array([one[at] for one in wanted], np.int64) for at in (0, 1))
    return passes.chains(
        start,
        end,
        row.astype(np.int32),
        np.array(kinds or [0] * len(events), np.int8),
        np.array(feeds or [False] * len(events), np.uint8),
        np.array(says, np.uint8),
        COMPILES,
        OTHER,
        starts,
        spans,
        300,
        starts[:1],
        ends[-1:],
        lo,
        hi,
        shortest,
        most,
        gaps,
    )


def said(part: Any) -> list[tuple[int, ...]]:
    """Of each stretch: from, to, event, step, and all that its chain says."""
    lo, hi, who, event, chain, step, *columns = (column.tolist() for column in part)
    return [
        (begin, end, number, step[place], *(one[chain[place]] for one in columns))
        for begin, end, place, number in zip(lo, hi, who, event, strict=True)
    ]


def times(part: Any) -> list[tuple[int, int, int]]:
    return [stretch[:3] for stretch in said(part)]


def named(part: Any, name: str) -> list[int]:
    return [stretch[4 + NAMES.index(name)] for stretch in said(part)]


@both
def test_an_instant_is_the_innermost_events(passes: Any) -> None:
    """0..60 holds 10..30: the outer one has what is before and behind the inner one."""
    events, gaps = walked(passes, [(0, 60, 0), (10, 30, 1)], [0, 0])

    assert times(events) == [(0, 10, 0), (10, 30, 1), (30, 60, 0)]
    assert times(gaps) == [(60, 300, -1)]


@both
def test_gaps_lie_between_two_events_and_begin_in_a_step(passes: Any) -> None:
    """10..20 and 150..160: before, between and behind them; the last begins in the
    second step.
    """
    _, gaps = walked(passes, [(10, 20, 0), (150, 160, 1)], [0, 0])

    assert times(gaps) == [(0, 10, -1), (20, 150, -1), (160, 300, -1)]
    assert [stretch[3] for stretch in said(gaps)] == [0, 0, 1]
    assert named(gaps, "user") == [-1, 0, 1]
    assert named(gaps, "called") == [0, 1, -1]


@both
def test_a_chain_knows_the_user_what_it_calls_and_what_is_dispatched(
    passes: Any,
) -> None:
    """train (0) calls apply (1), which dispatches f (2), inside a runtime's own g (3)
    that dispatches too.
    """
    says = [
        IS_USERS | IS_TELLING | IS_FRAME,
        IS_TELLING,
        IS_CALL | IS_TELLING,
        IS_CALL | IS_DOING,
    ]
    events, _ = walked(
        passes, [(0, 80, 0), (10, 70, 1), (20, 60, 2), (30, 40, 3)], says
    )

    inner = [stretch[2] for stretch in said(events)].index(3)
    assert {name: named(events, name)[inner] for name in NAMES} == {
        "leaf": 3,
        "telling": 2,
        "user": 0,
        "called": 1,
        "dispatched": 2,
        "stage": -1,
        "doing": 3,
    }


@both
def test_markers_around_a_step_and_the_profilers_frames_say_nothing(
    passes: Any,
) -> None:
    """0..95 spans the first step; a frame that does so is kept, and one of the
    profiler's is not.
    """
    marker = [(0, 95, 0)]

    assert times(walked(passes, marker, [0])[0]) == []
    assert times(walked(passes, marker, [IS_FRAME])[0]) == [(0, 95, 0)]
    assert times(walked(passes, marker, [IS_FRAME | IS_SILENT])[0]) == []


@both
def test_only_stretches_with_a_part_in_a_wanted_window_are_kept_whole(
    passes: Any,
) -> None:
    """Of 0..60 around 10..30 the window 12..20 meets the inner event alone."""
    events, gaps = walked(
        passes, [(0, 60, 0), (10, 30, 1)], [0, 0], wanted=((12, 20), (100, 110))
    )

    assert times(events) == [(10, 30, 1)]
    assert times(gaps) == [(60, 300, -1)]


@both
def test_short_events_and_those_behind_the_most_are_left_out(passes: Any) -> None:
    events = [(0, 4, 0), (10, 30, 0), (40, 60, 0)]

    found, _ = walked(passes, events, [0], shortest=5, most=1)

    assert times(found) == [(10, 30, 1)]


def test_alike_chains_of_one_step_are_one_place() -> None:
    """Three calls, two of them in the first step: one chain, two places."""
    events, _ = walked(compiled, [(0, 5, 0), (10, 15, 0), (110, 115, 0)], [0])

    assert events[2].tolist() == [0, 0, 1]
    assert events[4].tolist() == [0, 0]
    assert events[5].tolist() == [0, 1]


def test_a_thread_without_gaps_may_have_events_that_cross() -> None:
    """20..60 outlives 0..40, in which it began: the walk without gaps takes it."""
    crossing = [(0, 40, 0), (20, 60, 1)]

    assert walked(compiled, crossing, [0, 0]) is None
    assert said(walked(compiled, crossing, [0, 0], gaps=False)[0]) == said(
        walked(twin, crossing, [0, 0], gaps=False)[0]
    )


@both
def test_an_event_is_counted_once_however_many_stretches_it_has(passes: Any) -> None:
    """Place 0 has 7 ps of event 5 in two stretches, place 1 has 4 of event 6, whose bit
    another device had set.
    """
    spent, count = np.zeros(2, np.int64), np.zeros(2, np.int32)
    seen = np.zeros(8, np.uint8)
    seen[6] = 4

    passes.tally(
        np.array([0, 1, 0, 1], np.int32),
        np.array([5, 6, 5, 7], np.int32),
        np.array([3, 4, 4, 0], np.int64),
        spent,
        count,
        seen,
        4,
    )

    assert spent.tolist() == [7, 4]
    assert count.tolist() == [1, 0]
    assert seen.tolist() == [0, 0, 0, 0, 0, 4, 4, 0]


bits = st.sampled_from(
    [0, IS_USERS, IS_TELLING, IS_CALL, IS_STAGE, IS_FRAME, IS_SILENT, IS_DOING]
)
events = st.lists(
    st.tuples(
        st.integers(-10, 310), st.integers(0, 120), st.integers(0, 3), st.integers(0, 2)
    ),
    max_size=14,
)
windows = st.sets(st.integers(0, 30), min_size=2, max_size=8).map(
    lambda some: [10 * one for one in sorted(some)[: len(some) // 2 * 2]]
)


@given(events, st.lists(bits, min_size=4, max_size=4), windows, st.booleans())
@settings(max_examples=300)
def test_the_walk_is_its_definition(some, says, edges, gaps: bool) -> None:
    """Whatever nests, touches or crosses."""
    ordered = sorted(some, key=lambda one: (one[0], -one[1]))
    spans = [(lo, lo + length, row) for lo, length, row, _ in ordered]
    wanted = tuple(zip(edges[::2], edges[1::2], strict=True))
    kinds = [one[3] for one in ordered]
    feeds = [one[3] == 2 for one in ordered]
    ask = {"wanted": wanted, "kinds": kinds, "feeds": feeds, "gaps": gaps}

    found = walked(compiled, spans, says, **ask)

    if found is not None:
        expected = walked(twin, spans, says, **ask)
        assert said(found[0]) == said(expected[0])
        assert said(found[1]) == said(expected[1])


streams = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 30), st.integers(0, 2)),
    min_size=1,
    max_size=14,
)


@given(streams, windows)
def test_instants_are_shared_as_their_definition_does(some, edges) -> None:
    """Events of three streams that nest, cross and work at once."""
    ordered = sorted(some, key=lambda one: (one[0], -one[1]))
    start, length, stream = (np.array(column) for column in zip(*ordered, strict=True))
    number = stream.astype(np.int32)
    lo, hi = np.array(edges[::2]), np.array(edges[1::2])

    found = compiled.own_stretches(start, start + length, number, 3)
    expected = twin.own_stretches(start, start + length, number, 3)

    assert sorted(zip(*map(np.ndarray.tolist, found), strict=True)) == sorted(
        zip(*map(np.ndarray.tolist, expected), strict=True)
    )
    assert (
        compiled.shared(*found[:2], lo, hi).tolist()
        == twin.shared(*found[:2], lo, hi).tolist()
    )
