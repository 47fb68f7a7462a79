"""Python frames that outlive the one in which they begin. Times in ms."""

from __future__ import annotations

import numpy as np
import pytest
from support.trace_builder import trace

from tfadvisor.timeline.host.crossing_frames import without_crossings
from tfadvisor.timeline.host.threads import host_threads

MS = 1_000_000_000


def mended(*spans: tuple[float, float]) -> list[float]:
    """Ends of the frames, given as (start, end)."""
    start, end = (np.array(part) * MS for part in zip(*spans, strict=True))
    ends = without_crossings(
        start.astype(np.int64), end.astype(np.int64), np.ones(len(spans), np.bool_)
    )
    return (ends / MS).tolist()


def test_frames_that_nest_stay_as_they_are() -> None:
    assert mended((0, 100), (10, 50), (20, 50), (50, 100), (100, 120)) == [
        100,
        50,
        50,
        100,
        120,
    ]


@pytest.mark.parametrize(
    ("end", "ends"), [(31, [10, 31]), (30, [20, 20]), (21, [20, 20])]
)
def test_what_mostly_lies_behind_the_earlier_frame_was_not_called_by_it(
    end: float, ends: list[float]
) -> None:
    """The second begins at 10, the first ends at 20: 11, 10 and 1 ms of the second lie
    behind, 10 in it.
    """
    assert mended((0, 90), (1, 20), (10, end)) == [90, *ends]


def test_what_begins_with_the_recording_had_ended_where_another_outlives_it() -> None:
    """A coroutine went on at 90: the tracer lets it begin with the recording, around
    most of the loop.
    """
    assert mended((0, 90), (0, 60), (5, 100), (10, 50)) == [5, 5, 100, 50]


def test_frames_left_open_at_the_beginning_end_where_the_loop_begins() -> None:
    """Three that a coroutine left, then the training loop from 5 to 1000 and a call in
    it.
    """
    assert mended((0, 120), (0, 110), (0, 100), (5, 1000), (300, 400)) == [
        5,
        5,
        5,
        1000,
        400,
    ]


def test_the_first_long_frame_of_a_thread_that_began_later_does_not_begin_with_the_recording() -> (
    None
):
    """A short frame comes first, so most of the third counts, which lies in the
    second.
    """
    assert mended((0, 0.5), (1, 20), (10, 21)) == [0.5, 20, 20]


def test_frames_below_a_millisecond_are_left_alone() -> None:
    assert mended((0, 0.9), (0.5, 3)) == [0.9, 3]


def test_other_events_than_frames_are_left_alone() -> None:
    start, end = np.array([0, 10 * MS]), np.array([20 * MS, 50 * MS])

    assert (
        without_crossings(start, end, np.array([True, False])).tolist() == end.tolist()
    )


def test_a_hosts_threads_come_with_frames_that_nest() -> None:
    """The other thread has the same frame and is not touched. In µs: 1 to 20,000 and
    10,000 to 90,000.
    """
    builder = (
        trace()
        .call("$a.py:1 a", 0, 95_000)
        .call("$tensorstore list", 1, 20_000)
        .call("$train.py:4 train", 10_000, 90_000)
    )
    builder.thread("other").call("$tensorstore list", 0, 20_000)
    threads = host_threads(builder.decode())

    assert (threads.end / MS).tolist() == [95, 10, 90, 20]


def test_frames_that_are_named_and_never_called_mend_nothing() -> None:
    """A host plane without events, whose metadata names a frame."""
    builder = trace().call("$train.py:4 train", 0, 1)
    builder.files()
    del builder._spaces["host"].planes[0].lines[0].events[:]

    assert len(host_threads(builder.decode())) == 0
