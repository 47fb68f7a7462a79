"""Parents and innermost stretches against a stack that is walked event by event."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfadvisor.timeline.intervals import innermost, parents


@st.composite
def nested_events(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Events of a thread that nest properly, sorted as threads are."""

    def fill(lo: int, hi: int, depth: int) -> list[tuple[int, int]]:
        out, at = [], lo
        while at < hi and depth < 4 and draw(st.booleans()):
            start = draw(st.integers(at, hi - 1))
            end = draw(st.integers(start + 1, hi))
            out.append((start, end))
            out += fill(start, end, depth + 1)
            at = end
        return out

    return sorted(fill(0, 24, 0), key=lambda e: (e[0], -e[1]))


def walked_parents(events: list[tuple[int, int]]) -> list[int]:
    stack: list[int] = []
    found = []
    for index, (start, _) in enumerate(events):
        while stack and events[stack[-1]][1] <= start:
            stack.pop()
        found.append(stack[-1] if stack else -1)
        stack.append(index)
    return found


def columns(events: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([a for a, _ in events], np.int64), np.array(
        [b for _, b in events], np.int64
    )


@given(nested_events())
def test_parents_are_what_a_stack_finds(events) -> None:
    assert parents(*columns(events)).tolist() == walked_parents(events)


@given(nested_events())
def test_the_innermost_event_is_the_last_that_began_and_has_not_ended(events) -> None:
    at = {}
    for lo, hi, who in zip(*innermost(*columns(events)), strict=True):
        at.update(dict.fromkeys(range(int(lo), int(hi)), int(who)))

    for t in range(25):
        open_ = [index for index, (start, end) in enumerate(events) if start <= t < end]
        assert at.get(t) == (open_[-1] if open_ else None)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), max_size=12))
def test_events_that_only_overlap_never_break_it(raw) -> None:
    events = sorted(((a, a + n) for a, n in raw), key=lambda e: (e[0], -e[1]))
    lo, hi, who = innermost(*columns(events))

    assert (hi > lo).all()
    assert (lo[1:] >= hi[:-1]).all()
    for start, end, index in zip(lo.tolist(), hi.tolist(), who.tolist(), strict=True):
        assert events[index][0] <= start
        assert end <= events[index][1]
