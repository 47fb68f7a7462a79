"""What was recorded of the thread that drives the steps."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.causes import RunAccount
from tfadvisor.causes.account import BeforeSteps
from tfadvisor.metrics import Settings
from tfadvisor.timeline.host_timeline import RecordedEvents


def two_steps() -> TraceBuilder:
    """Steps of 100 µs, each with a frame and two other events of its thread beside the
    marker; another thread has more.
    """
    builder = trace()
    for at in (0, 100):
        builder.step(at, at + 100).call("$train.py:4 step", at + 1, at + 90).call(
            "PjitFunction(step)", at + 2, at + 5
        )
        builder.call("ParseArguments", at + 3, at + 4).busy("GPU:0", (at + 10, at + 40))
        builder.thread("other").call("$loader.py:9 load", at + 1, at + 9).call(
            "work", at + 2, at + 3
        ).thread("python")
    return builder


def test_frames_and_other_events_of_the_driving_thread() -> None:
    (host,) = two_steps().build().hosts

    assert host.capture.events == RecordedEvents(frames=2, others=6)


def test_they_cost_a_fifth_and_one_us_each() -> None:
    """2 x 0.2 + 6 x 1 of 200 µs."""
    assert two_steps().measure().value("tracer_fraction") == pytest.approx(6.4 / 200)


def test_what_lies_outside_of_counted_steps_is_no_cost() -> None:
    builder = two_steps().call("$train.py:1 main", 250, 300)
    (host,) = builder.build().hosts

    assert host.capture.events == RecordedEvents(frames=2, others=6)


def test_many_frames_tell_how_fast_the_machine_records() -> None:
    """A frame begins or ends every 0.2 µs, so that one costs 1 µs: 100 of them take
    half of the step, and one other event 1 µs.
    """
    builder = trace().step(0, 200).busy("GPU:0", (190, 200))
    for number in range(100):
        builder.call("$m.py:585 get", number * 0.4, number * 0.4 + 0.2)
    metrics = builder.build()
    (host,) = metrics.hosts

    assert host.capture.events == RecordedEvents(100, 1, frame_gap_ps=200_000)
    assert builder.measure().value("tracer_fraction") == pytest.approx(101 / 200)


def test_recording_takes_no_more_than_the_time_without_work() -> None:
    """The GPU works for 199 of 200 µs, whatever was recorded meanwhile."""
    builder = trace().step(0, 200).busy("GPU:0", (1, 200))
    for at in range(100):
        builder.call("work", at, at + 1)

    assert builder.measure().value("tracer_fraction") == pytest.approx(1 / 200)


def test_three_quarters_of_an_update_are_the_recording() -> None:
    """Of 40 µs, and 2 µs for the marker and the update."""
    builder = trace().step(0, 200).busy("GPU:0", (100, 150))
    builder.call("command_buffer::update", 10, 50)

    assert builder.measure().value("tracer_fraction") == pytest.approx(32 / 200)


@pytest.mark.parametrize(
    ("works_from", "share"),
    [(100, 0.4), (180, 0.4), (40, 0.2)],
)
def test_measured_rounds_were_longer_by_no_more_than_that_time(
    works_from: int, share: float
) -> None:
    """Unrecorded rounds take 120 of 200 µs; shorter work of the GPU is not recording,
    but another batch.
    """
    builder = trace()
    for at in (0, 200):
        builder.step(at, at + 200).busy("GPU:0", (at + works_from, at + 200))
    account = RunAccount(
        1.0, "first step", 1.0, (), 100, 0.0, BeforeSteps(0.0, ()), step_ms=0.12
    )

    found = builder.measure(Settings(account=account)).value("tracer_fraction")

    assert found == pytest.approx(share)
