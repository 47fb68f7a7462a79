"""Threads that make batches while the loop waits, on traces that can be worked out on paper. Times in µs."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.losses.activities import BatchMakers


def waiting(wait: float = 600) -> TraceBuilder:
    """Three steps of 1,000 µs whose loop waits this long for its batch, then computes to the end."""
    builder = trace().call("$train.py:1 main", 0, 3000)
    for at in range(0, 3000, 1000):
        builder.step(at, at + 1000).call("load_batch", at, at + wait).busy("GPU:0", (at + wait, at + 1000))
    return builder


def with_worker(builder: TraceBuilder, name: str, busy: float, function: str = "$data.py:39 read") -> TraceBuilder:
    """A thread that is in a function of the user's for the first so many µs of each step, for all else in a library's."""
    builder.thread(name)
    for at in range(0, 3000, 1000):
        builder.call("$pool.py:9 worker", at, at + 1000).call(function, at, at + busy)
    return builder


def makers(builder: TraceBuilder) -> BatchMakers:
    (host,) = builder.build().hosts
    return host.evidence.makers


def test_two_threads_of_one_function_are_counted_and_the_function_named() -> None:
    """They are in it for 600 and 400 of 600 µs of waiting; a third, with 200, has other work."""
    builder = with_worker(with_worker(waiting(), "a", 600), "b", 400)
    builder = with_worker(builder, "c", 200, "$data.py:7 log")

    assert makers(builder) == BatchMakers(2, "read (data.py:39)")


@pytest.mark.parametrize(("busy", "threads"), [(300, 1), (299, 0)])
def test_half_of_the_wait_is_enough(busy: float, threads: int) -> None:
    assert makers(with_worker(waiting(), "a", busy)).threads == threads


@pytest.mark.parametrize(("wait", "threads"), [(50, 1), (49, 0)])
def test_a_twentieth_of_the_steps_is_worth_a_look(wait: float, threads: int) -> None:
    assert makers(with_worker(waiting(wait), "a", 600)).threads == threads


def test_the_innermost_function_of_the_users_is_named() -> None:
    builder = with_worker(waiting(), "a", 600)
    for at in range(0, 3000, 1000):
        builder.call("$data.py:60 decode", at + 100, at + 500)

    assert makers(builder).place == "decode (data.py:60)"


def test_the_loops_own_functions_and_threads_without_any_make_no_batches() -> None:
    builder = waiting().thread("a")
    for at in range(0, 3000, 1000):
        builder.call("$pool.py:9 worker", at, at + 1000).call("fill", at, at + 900)

    assert makers(builder) == BatchMakers()


def test_a_loading_function_that_waits_for_a_thread_waits_for_input() -> None:
    """And not for work of the program's own: 600 of 1,000 µs."""
    builder = waiting()
    for at in range(0, 3000, 1000):
        builder.call("$data.py:3 get_batch", at, at + 600).call("$threading.py:9 wait", at, at + 600)
    metrics = with_worker(with_worker(builder, "a", 600), "b", 600).measure()

    assert metrics.value("input_bound_fraction") == pytest.approx(0.6)
    assert metrics.fact("batch_making_place") == "read (data.py:39)"
