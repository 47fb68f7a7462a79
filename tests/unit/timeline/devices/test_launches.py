"""Kernels and the calls that launched them: free and busy streams, graphs."""

from __future__ import annotations

import numpy as np
import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor import arrays
from tfadvisor.timeline.devices.launches import Launches, launches_of
from tfadvisor.timeline.names.classes import DeviceClass

PS = 1_000_000
MANY = 1_000


def launches(builder: TraceBuilder) -> Launches:
    """Of all compute events of the only device."""
    (device,) = builder.timeline().devices
    return launches_of(device.ops, device.ops.kind == DeviceClass.COMPUTE, MANY)


def test_a_stream_is_busy_until_all_that_ran_on_it_has_ended() -> None:
    """`long` runs until 100, `short` beside it until 30 on the same line; `k`, launched
    by 60, still queues behind it.
    """
    builder = (
        trace()
        .kernel("GPU:0", "long", 10, 100, launched=(1, 2))
        .kernel("GPU:0", "short", 20, 30, launched=(3, 4))
    )

    found = launches(builder.kernel("GPU:0", "k", 100, 110, launched=(55, 60)))

    assert found.latency.values.tolist() == [8 * PS]


def test_a_kernel_launched_the_moment_its_stream_falls_idle_found_it_free() -> None:
    builder = trace().kernel("GPU:0", "a", 10, 20, launched=(1, 2))

    found = launches(builder.kernel("GPU:0", "b", 25, 30, launched=(15, 20)))

    assert found.latency.values.tolist() == [5 * PS, 8 * PS]


def test_other_streams_do_not_count() -> None:
    builder = trace().kernel("GPU:0", "a", 10, 90, launched=(1, 2), stream=1)

    found = launches(builder.kernel("GPU:0", "b", 25, 30, launched=(15, 20), stream=2))

    assert found.latency.values.tolist() == [5 * PS, 8 * PS]


def test_a_copy_before_a_kernel_on_its_stream_makes_it_queue() -> None:
    builder = trace().on_line(
        "/device:GPU:0", "Stream #1(Compute)", "MemcpyH2D", 10, 40
    )

    found = launches(builder.kernel("GPU:0", "k", 41, 50, launched=(15, 20)))

    assert found.latency.values.tolist() == []
    assert (found.linked, found.kernels) == (1, 1)


def test_unlinked_kernels_count_as_kernels_only() -> None:
    builder = (
        trace()
        .busy("GPU:0", (0, 5), (6, 9))
        .kernel("GPU:0", "k", 20, 30, launched=(12, 15))
    )

    found = launches(builder)

    assert found.latency.values.tolist() == [5 * PS]
    assert (found.kernels, found.linked, found.in_graphs, found.graphs) == (3, 1, 0, 0)


def test_of_a_graphs_kernels_the_first_to_start_on_any_stream_has_the_latency() -> None:
    """Launched by 12: 18 on one stream, 15 on another, both free; the rest did not wait
    for the launch.
    """
    builder = trace().call("cudaGraphLaunch_v10000", 10, 12, correlation_id=7)
    for stream, start, end in ((1, 18, 20), (1, 20, 25), (2, 15, 16)):
        builder.on_line(
            "/device:GPU:0",
            f"Stream #{stream}(Compute)",
            "node",
            start,
            end,
            correlation_id=7,
        )

    found = launches(builder)

    assert found.latency.values.tolist() == [3 * PS]
    assert (found.kernels, found.linked, found.in_graphs, found.graphs) == (3, 3, 3, 1)


def test_a_graph_that_finds_its_stream_busy_is_queued_once() -> None:
    builder = (
        trace().busy("GPU:0", (0, 50)).call("hipGraphLaunch", 10, 12, correlation_id=7)
    )
    for start, end in ((50, 55), (55, 60)):
        builder.on_line(
            "/device:GPU:0", "Stream #1(Compute)", "node", start, end, correlation_id=7
        )

    found = launches(builder)

    assert found.latency.values.tolist() == []
    assert (found.in_graphs, found.graphs) == (2, 1)


def test_only_the_chosen_events_count_but_all_keep_a_stream_busy() -> None:
    builder = (
        trace()
        .kernel("GPU:0", "a", 10, 40, launched=(1, 2))
        .kernel("GPU:0", "b", 41, 50, launched=(15, 20))
    )
    (device,) = builder.timeline().devices

    found = launches_of(device.ops, np.array([False, True]), MANY)

    assert found.latency.values.tolist() == []
    assert (found.kernels, found.linked) == (1, 1)


def test_nothing_chosen_is_nothing() -> None:
    (device,) = trace().kernel("GPU:0", "a", 10, 40, launched=(1, 2)).timeline().devices

    found = launches_of(device.ops, np.array([False]), MANY)

    assert len(found.latency) == 0
    assert (found.kernels, found.linked, found.in_graphs, found.graphs) == (0, 0, 0, 0)


def test_kernels_that_run_in_another_order_than_they_were_launched_in() -> None:
    """Two graphs of two kernels each: the second one's begin first, and the kernels of
    both come in turns.

    The first of each tells how long its launch took: 10 - 4, where the stream was free,
    and 20 - 2, where it was not. All but the very first were launched before the one
    before them was done.
    """
    builder = trace()
    for launched, number in ((1, 1), (3, 2)):
        builder.call("cuGraphLaunch", launched, launched + 1, correlation_id=number)
    for start, number in ((10, 2), (20, 1), (30, 2), (40, 1)):
        builder.on_line(
            "/device:GPU:0",
            "Stream #1(Compute)",
            "k",
            start,
            start + 9,
            correlation_id=number,
        )

    found = launches(builder)

    assert found.latency.values.tolist() == [6 * PS]
    assert (found.in_graphs, found.graphs, found.linked) == (4, 2, 4)
    assert (found.linked_ps, found.behind_ps) == (36 * PS, 27 * PS)


def test_blocks_of_events_know_what_ran_before_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A kernel that runs until 100 is busy for the events of every later block."""
    monkeypatch.setattr(arrays, "_BLOCK", 2)
    builder = trace().kernel("GPU:0", "long", 10, 100, launched=(1, 2), stream=1)
    for at in range(20, 80, 10):
        builder.kernel("GPU:0", "k", at, at + 1, launched=(at - 5, at - 4), stream=2)

    found = launches(
        builder.kernel("GPU:0", "last", 200, 203, launched=(150, 151), stream=2)
    )

    assert (found.linked_ps, found.behind_ps) == (99 * PS, 6 * PS)
    assert found.latency.values.tolist() == [4 * PS] * 6 + [8 * PS, 49 * PS]


def held(*launches: tuple[float, float]) -> list[tuple[float, float]]:
    """µs in which a device holds back work between a kernel that ends at 10 and those
    of (launched by, begins at).
    """
    builder = trace().kernel("GPU:0", "a", 5, 10, launched=(0, 1))
    for call, begin in launches:
        builder.kernel("GPU:0", "b", begin, begin + 10, launched=(call - 1, call))
    (device,) = builder.timeline().devices
    spans = zip(device.held.starts.tolist(), device.held.ends.tolist(), strict=True)
    return [(lo / PS, hi / PS) for lo, hi in spans]


def test_a_device_holds_back_what_three_calls_launched_a_millisecond_before() -> None:
    """The third call is over at 200, and 1,000 µs later, at 1,200, nothing has begun
    until 5,000.
    """
    assert held((100, 5000), (150, 5020), (200, 5040)) == [(1200, 5000)]


def test_two_calls_may_be_late_themselves() -> None:
    assert held((100, 5000), (150, 5020)) == []


def test_the_last_of_three_calls_decides() -> None:
    assert held((100, 5000), (150, 5020), (4500, 5040)) == []


def test_one_call_that_launches_a_graph_of_three_kernels_is_one_call() -> None:
    builder = trace().kernel("GPU:0", "a", 5, 10, launched=(0, 1))
    builder.call("cuGraphLaunch", 100, 110, correlation_id=9)
    for begin in (5000, 5020, 5040):
        builder.on_line(
            "/device:GPU:0",
            "Stream #1(Compute)",
            "node",
            begin,
            begin + 10,
            correlation_id=9,
        )
    (device,) = builder.timeline().devices

    assert len(device.held) == 0
