"""The columns of a host's threads: in order, and back to the events of the trace. Times
in µs.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor import arrays
from tfadvisor.timeline.host import thread_layout
from tfadvisor.timeline.host import threads as threads_module
from tfadvisor.timeline.host.thread_layout import without_threads
from tfadvisor.timeline.host.threads import Threads, host_threads
from tfadvisor.timeline.names.classes import HostClass

PS = 1_000_000


def named(threads: Threads) -> list[str]:
    return [threads.names[row] for row in threads.row]


def times(threads: Threads) -> list[tuple[float, float]]:
    return [
        (start / PS, end / PS)
        for start, end in zip(threads.start, threads.end, strict=True)
    ]


def test_lines_behind_each_other_are_taken_as_they_are() -> None:
    """Three events of the device come first; the host's keep no index of their own."""
    builder = (
        trace()
        .busy("GPU:0", (0, 1), (1, 2), (2, 3))
        .call("a", 0, 5)
        .call("b", 5, 9)
        .thread("other")
        .call("c", 1, 2)
    )

    threads = host_threads(builder.decode())

    assert (named(threads), times(threads)) == (
        ["a", "b", "c"],
        [(0, 5), (5, 9), (1, 2)],
    )
    assert [(one.index, one.name, one.lo, one.hi) for one in threads.threads] == [
        (0, "python", 0, 2),
        (1, "other", 2, 3),
    ]
    assert (threads.position_of, threads.first_event) == (None, 3)
    assert threads.positions(np.arange(-1, 7)).tolist() == [-1, -1, -1, -1, 0, 1, 2, -1]
    assert threads.thread_of(np.arange(3)).tolist() == [0, 0, 1]


def test_events_are_sorted_by_start_and_longer_ones_come_first() -> None:
    """The second thread is in no order; the first is left alone."""
    builder = trace().call("a", 0, 5).call("b", 5, 9).thread("other")
    builder.call("c", 40, 50).call("d", 10, 20).call("e", 40, 60).call("f", 10, 20)

    threads = host_threads(builder.decode())

    assert named(threads) == ["a", "b", "d", "f", "e", "c"]
    assert times(threads)[2:] == [(10, 20), (10, 20), (40, 60), (40, 50)]
    assert threads.positions(np.arange(7)).tolist() == [0, 1, 5, 2, 4, 3, -1]


def test_one_event_out_of_order_at_the_end_of_a_thread_is_sorted() -> None:
    """A thread begins earlier than the one before it ended, which is no disorder; its
    last event is out of order.
    """
    builder = (
        trace()
        .call("a", 50, 60)
        .thread("other")
        .call("b", 10, 15)
        .call("c", 20, 25)
        .call("d", 5, 8)
    )

    assert named(host_threads(builder.decode())) == ["a", "d", "b", "c"]


def test_host_planes_around_a_device_are_joined() -> None:
    builder = trace().call("a", 0, 5).busy("GPU:0", (0, 1), (1, 2))
    builder.on_line("/host:python-tracer", "python", "b", 7, 9)

    threads = host_threads(builder.decode())

    assert (named(threads), times(threads)) == (["a", "b"], [(0, 5), (7, 9)])
    assert threads.positions(np.arange(-1, 5)).tolist() == [-1, 0, -1, -1, 1, -1]


def test_lines_of_one_id_are_one_thread_by_the_first_name() -> None:
    builder = (
        trace()
        .call("a", 0, 5)
        .thread("again")
        .call("b", 2, 4)
        .thread("other")
        .call("c", 1, 9)
    )
    builder.files()
    for line in builder._spaces["host"].planes[0].lines[:2]:
        line.id = 7

    threads = host_threads(builder.decode())

    assert [(one.name, one.lo, one.hi) for one in threads.threads] == [
        ("python", 0, 2),
        ("other", 2, 3),
    ]
    assert named(threads) == ["a", "b", "c"]


def test_a_line_without_a_name_is_called_by_what_viewers_show() -> None:
    builder = trace().call("a", 0, 5)
    builder.files()
    (line,) = builder._spaces["host"].planes[0].lines
    line.name, line.display_name = b"", b"tf_data_private_threadpool/1"

    (thread,) = host_threads(builder.decode()).threads

    assert (thread.name, thread.is_pipeline) == ("tf_data_private_threadpool/1", True)


def test_lines_of_one_id_are_called_by_what_viewers_show_for_the_first() -> None:
    builder = trace().call("a", 0, 5).thread("again").call("b", 2, 4)
    builder.files()
    first, second = builder._spaces["host"].planes[0].lines
    first.id = second.id = 7
    first.name, first.display_name, second.name, second.display_name = (
        b"",
        b"main",
        b"",
        b"helper",
    )

    (thread,) = host_threads(builder.decode()).threads

    assert thread.name == "main"


def test_a_line_without_events_is_no_thread() -> None:
    threads = host_threads(
        trace().call("a", 0, 5).thread("idle").thread("other").call("b", 1, 2).decode()
    )

    assert [one.name for one in threads.threads] == ["python", "other"]


def test_a_trace_of_a_device_alone_has_no_thread() -> None:
    threads = host_threads(trace().busy("GPU:0", (0, 1)).decode())

    assert (threads.threads, len(threads)) == ((), 0)
    assert threads.positions(np.arange(2)).tolist() == [-1, -1]
    assert threads.on_pipeline_threads(np.empty(0, np.int64)).tolist() == []


def test_events_by_class_and_by_name() -> None:
    builder = (
        trace()
        .call("load_batch", 0, 5)
        .call("PjitFunction(f)", 5, 9)
        .thread("tf_data_private_threadpool/1")
    )
    builder.call("load_batch", 1, 2).call("backend_compile", 3, 4)

    threads = host_threads(builder.decode())

    assert threads.of(
        threads.threads[1], HostClass.INPUT, HostClass.COMPILE
    ).tolist() == [2, 3]
    assert threads.everywhere(HostClass.INPUT).tolist() == [0, 2]
    assert threads.named(lambda name: name == "load_batch").tolist() == [0, 2]
    assert threads.named(lambda name: name == "save").tolist() == []
    assert threads.on_pipeline_threads(np.array([1, 2])).tolist() == [False, True]


def test_events_that_are_only_counted_take_no_time() -> None:
    """Three loads of a batch without a place; the one behind has one."""
    builder = trace().call("load_batch", 0, 5).call("load_batch", 6, 9)
    builder.files()
    _count(builder, 3)

    threads = host_threads(builder.decode())

    assert threads.kind.tolist() == [HostClass.OTHER, HostClass.INPUT]
    assert times(threads)[1] == (6, 9)
    assert threads.start[0] == threads.end[0]


def _count(builder: TraceBuilder, times: int) -> None:
    event = builder._spaces["host"].planes[0].lines[0].events[0]
    event.num_occurrences = times


@pytest.mark.parametrize("few", [0, 4096])
def test_positions_bear_a_wanted_name_however_many_names_there_are(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many names only those at the positions are looked at, which must find the
    same.
    """
    monkeypatch.setattr(threads_module, "_FEW_NAMES", few)
    threads = host_threads(
        trace().call("read", 0, 5).call("write", 5, 9).call("read", 9, 12).decode()
    )

    def reads(name: str) -> bool:
        return name == "read"

    assert threads.bear(np.array([0, 1, 2]), reads).tolist() == [True, False, True]
    assert threads.bear(np.array([1]), reads).tolist() == [False]
    assert threads.bear(np.empty(0, np.int64), reads).tolist() == []
    assert threads.named(reads).tolist() == [0, 2]


def test_names_that_only_a_device_bears_are_no_events_of_a_thread() -> None:
    threads = host_threads(
        trace().busy("GPU:0", (0, 1), name="kernel").call("call", 0, 5).decode()
    )

    assert threads.named(lambda name: name == "kernel").tolist() == []


def test_columns_of_a_thread_beside_many_device_events_are_its_own() -> None:
    """Two calls and three kernels: a view of the calls would keep the kernels' times in
    memory as well.
    """
    threads = host_threads(
        trace()
        .busy("GPU:0", (0, 1), (1, 2), (2, 3))
        .call("a", 0, 5)
        .call("b", 5, 9)
        .decode()
    )

    assert (
        len(threads.start.base if threads.start.base is not None else threads.start)
        == 2
    )


def test_integers_come_in_order_of_position_whatever_the_order_in_the_file() -> None:
    """The later call was written first."""
    decoded = (
        trace()
        .call("later", 5, 9, correlation_id=7)
        .call("earlier", 0, 5, correlation_id=3)
        .decode()
    )

    position, value = host_threads(decoded).integers(decoded.stat("correlation_id"))

    assert position.tolist() == [0, 1]
    assert value.tolist() == [3, 7]


def test_integers_of_the_threads_and_those_elsewhere() -> None:
    """Two kernels before the threads' calls, one between them and one behind; the
    calls' own are none of these.
    """
    line = "Stream #1(Compute)", "k", 0, 1
    builder = (
        trace()
        .on_line("/device:GPU:0", *line, correlation_id=77)
        .on_line("/device:GPU:0", *line, correlation_id=78)
    )
    builder.call("a", 0, 1, correlation_id=5).on_line(
        "/device:GPU:1", *line, correlation_id=88
    )

    decoded = builder.decode()
    threads = host_threads(decoded)
    found = threads.integers(decoded.stat("correlation_id"))
    assert [one.tolist() for one in found] == [[0], [5]]
    assert threads.integers_elsewhere(decoded.stat("correlation_id")).tolist() == [
        77,
        78,
        88,
    ]

    decoded = builder.on_line(
        "/host:python-tracer", "python", "b", 7, 9, correlation_id=6
    ).decode()
    threads = host_threads(decoded)
    found = threads.integers(decoded.stat("correlation_id"))
    assert [one.tolist() for one in found] == [[0, 1], [5, 6]]
    assert threads.integers_elsewhere(decoded.stat("correlation_id")).tolist() == [
        77,
        78,
        88,
    ]


def test_of_a_stat_that_no_event_of_a_thread_bears_there_are_no_integers() -> None:
    decoded = (
        trace()
        .call("a", 0, 1)
        .busy("GPU:0", (0, 1))
        .on_line("/host:other", "python", "b", 7, 9)
        .decode()
    )

    position, value = host_threads(decoded).integers(decoded.stat("correlation_id"))

    assert (position.tolist(), value.tolist()) == ([], [])


def test_frames_that_cross_are_cut() -> None:
    """The first began with the recording, so it had ended when the second, which
    outlives it, began 10 µs later.
    """
    threads = host_threads(
        trace().call("$a.py:1 f", 0, 2000).call("$b.py:2 g", 10, 5000).decode()
    )

    assert times(threads) == [(0, 10), (10, 5000)]


def test_an_event_that_is_only_counted_is_of_no_class_even_where_no_other_is() -> None:
    builder = trace().call("load_batch", 0, 30)
    builder.files()
    _count(builder, 4)

    threads = host_threads(builder.decode())

    assert threads.everywhere(HostClass.OTHER).tolist() == [0]
    assert threads.everywhere(HostClass.INPUT).tolist() == []


def test_a_kernel_that_is_called_like_a_frame_is_on_no_thread() -> None:
    threads = host_threads(trace().busy("GPU:0", (0, 1), name="$a.py:1 f").decode())

    assert (threads.threads, len(threads)) == ((), 0)


@pytest.mark.parametrize("in_order", [True, False])
def test_a_large_trace_of_devices_goes_on_without_its_threads_events(
    monkeypatch: pytest.MonkeyPatch, in_order: bool
) -> None:
    """Two kernels before the threads' two calls and one behind: the kernels stay, and
    the threads have what they need.
    """
    monkeypatch.setattr(thread_layout, "_MANY", 2)
    calls = [("a", 2, 3), ("b", 5, 9)] if in_order else [("b", 5, 9), ("a", 2, 3)]
    builder = trace().busy("GPU:0", (10, 20), (30, 40))
    for call in calls:
        builder.call(*call)
    decoded = builder.on_line(
        "/device:GPU:1", "Stream #1(Compute)", "k", 50, 70
    ).decode()
    threads = host_threads(decoded)

    rest = without_threads(decoded, threads)

    assert rest.events.start_ps.tolist() == [10 * PS, 30 * PS, 0, 0, 50 * PS]
    assert rest.events.duration_ps.tolist() == [10 * PS, 10 * PS, 0, 0, 20 * PS]
    assert [decoded.names.name[row] for row in rest.events.row.tolist()] == [
        "some_kernel"
    ] * 2 + [""] * 2 + ["k"]
    assert (threads.start.tolist(), threads.end.tolist()) == (
        [2 * PS, 5 * PS],
        [3 * PS, 9 * PS],
    )


def test_events_of_others_between_those_of_the_threads_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(thread_layout, "_MANY", 1)
    builder = (
        trace()
        .call("a", 0, 1)
        .busy("GPU:0", (1, 2), (3, 4))
        .on_line("/host:python-tracer", "python", "b", 7, 9)
    )
    decoded = builder.decode()

    assert without_threads(decoded, host_threads(decoded)) is decoded


def test_columns_that_the_threads_share_with_the_trace_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four of five events are the threads': they look at the trace's starts and names,
    and know ends instead of lengths.
    """
    monkeypatch.setattr(thread_layout, "_MANY", 1)
    builder = (
        trace()
        .call("a", 0, 1)
        .call("b", 1, 2)
        .call("c", 2, 3)
        .call("d", 3, 4)
        .busy("GPU:0", (0, 7))
    )
    decoded = builder.decode()
    threads = host_threads(decoded)

    rest = without_threads(decoded, threads)

    assert rest.events.start_ps is decoded.events.start_ps
    assert rest.events.row is decoded.events.row
    assert rest.events.duration_ps.tolist() == [0, 0, 0, 0, 7 * PS]
    assert threads.end.tolist() == [1 * PS, 2 * PS, 3 * PS, 4 * PS]


def test_what_chosen_events_of_some_classes_cover(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dispatches at 0–5, 4–9 and 20–30, the last on another thread; the one at 40–50 is
    not chosen. Blocks of two events.
    """
    monkeypatch.setattr(arrays, "_BLOCK", 2)
    builder = (
        trace()
        .call("PjitFunction(f)", 0, 5)
        .call("other", 1, 2)
        .call("PjitFunction(f)", 4, 9)
    )
    builder.call("PjitFunction(g)", 40, 50).thread("other").call(
        "PjitFunction(f)", 20, 30
    )
    threads = host_threads(builder.decode())

    covered = threads.covered(threads.start != 40 * PS, HostClass.LAUNCH)

    assert (covered.starts.tolist(), covered.ends.tolist()) == (
        [0, 20 * PS],
        [9 * PS, 30 * PS],
    )
    assert len(threads.covered(threads.start >= 0, HostClass.COMPILE)) == 0
