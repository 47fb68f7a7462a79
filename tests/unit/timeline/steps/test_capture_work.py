"""What starting and stopping the profiler costs beside the steps. Times in µs."""

from __future__ import annotations

from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.host.threads import host_threads
from tfadvisor.timeline.model import Steps
from tfadvisor.timeline.steps.breakdown import capture_work_ps

WRITE = "EagerLocalExecute: WriteSummary"


def marked(builder: TraceBuilder | None = None) -> TraceBuilder:
    """Two marked steps, from 100 to 200 and from 200 to 300, on the thread that all events here are on."""
    return (builder or trace()).step(100, 200).step(200, 300)


def work_us(builder: TraceBuilder) -> tuple[float, float]:
    steps: Steps = builder.timeline().steps
    before, after = capture_work_ps(host_threads(builder.decode()), steps)
    return before / 1e6, after / 1e6


def test_the_profiler_starts_before_the_first_step_and_stops_after_the_last() -> None:
    """From 20 to the first step at 100, and from the last one's end at 300 to 450."""
    builder = trace().call("ProfilerStart", 20, 60).call("ProfilerStart", 70, 100)
    marked(builder).call("ProfilerStop", 300, 350).call("ProfilerStop", 400, 450)

    assert work_us(builder) == (80, 150)


def test_without_the_profiler_there_is_no_work_of_its_own() -> None:
    assert work_us(marked().call("ProfilerX", 310, 320)) == (0, 0)


def test_what_the_profiler_does_during_the_steps_is_not_beside_them() -> None:
    """One call within the first step, one that begins before it and ends within, one that ends after the last."""
    builder = marked(trace().call("ProfilerStart", 90, 110)).call("ProfilerStart", 150, 160)

    assert work_us(builder.call("ProfilerStop", 290, 310)) == (0, 0)


def test_what_is_written_after_the_last_step_alone_is_the_callbacks() -> None:
    assert work_us(marked().call(WRITE, 320, 330).call(WRITE, 340, 380)) == (0, 80)


def test_what_is_written_as_the_last_step_ends_comes_after_it() -> None:
    assert work_us(marked().call(WRITE, 300, 330)) == (0, 30)


def test_a_program_that_writes_in_its_steps_writes_its_own_files_afterwards_too() -> None:
    assert work_us(marked().call(WRITE, 120, 130).call(WRITE, 340, 380)) == (0, 0)


def test_steps_that_no_thread_drives_have_no_work_beside_them() -> None:
    """A trace without steps: the whole of it, and no thread."""
    builder = trace().busy("GPU:0", (0, 10)).call("ProfilerStop", 300, 350)

    assert builder.timeline().steps.thread == -1
    assert work_us(builder) == (0, 0)
