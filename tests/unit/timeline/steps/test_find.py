"""Steps from markers, and which of them count."""

from __future__ import annotations

import pytest
from support.trace_builder import trace

from tfadvisor.errors import UsageError
from tfadvisor.timeline.timeline_parts import StepKind, Steps, StepSource
from tfadvisor.vocabulary import TimeClass

PS = 1_000_000


def periods(steps: Steps) -> list[float]:
    return ((steps.ends - steps.starts) / PS).tolist()


def test_a_period_runs_from_start_to_start() -> None:
    """Markers of 60 every 100: two whole periods; the third has no successor and its
    gap is unknown.
    """
    steps = (
        trace().steps(3, period=100, span=60).busy("GPU:0", (0, 250)).timeline().steps
    )

    assert periods(steps) == [100, 100, 60]
    assert steps.kinds == (StepKind.STEADY, StepKind.STEADY, StepKind.CUT_OFF)
    assert (steps.source, steps.confidence) == (StepSource.MARKER, 1.0)


def test_the_last_step_counts_where_markers_leave_no_gap() -> None:
    steps = trace().steps(3, period=100).busy("GPU:0", (0, 250)).timeline().steps

    assert periods(steps) == [100, 100, 100]
    assert set(steps.kinds) == {StepKind.STEADY}


def test_a_single_step_counts_with_its_own_span() -> None:
    steps = trace().step(10, 70).busy("GPU:0", (20, 60)).timeline().steps

    assert periods(steps) == [60]
    assert steps.kinds == (StepKind.STEADY,)


def test_keras_marks_without_root_level() -> None:
    builder = trace().busy("GPU:0", (0, 300))
    for number in range(3):
        builder.call(
            "Profiled batch", number * 100, number * 100 + 100, step_num=number
        )

    steps = builder.timeline().steps

    assert steps.names == ("Profiled batch 0", "Profiled batch 1", "Profiled batch 2")


def test_an_epoch_marker_gives_way_to_the_steps_inside_it() -> None:
    builder = trace().call("epoch", 0, 400, step_num=0, _r=1).busy("GPU:0", (0, 400))

    steps = builder.steps(4, period=100, span=98).timeline().steps

    assert steps.names[0].startswith("train")
    assert len(steps) == 4


def test_of_two_markers_the_one_with_most_time_is_the_step() -> None:
    builder = trace().busy("GPU:0", (0, 400)).steps(4, period=100, span=80)
    for number in range(4):
        builder.call(
            "save", number * 100 + 90, number * 100 + 95, step_num=number, _r=1
        )

    assert builder.timeline().steps.names[0] == "train 0"


def test_first_steps_that_compile_are_set_aside() -> None:
    builder = (
        trace()
        .busy("GPU:0", *((t + 80, t + 100) for t in (0, 100, 200, 300)))
        .steps(4, period=100)
    )

    steps = builder.call("backend_compile", 5, 70).timeline().steps

    assert steps.kinds[0] is StepKind.COMPILING
    assert set(steps.kinds[1:]) == {StepKind.STEADY}


def test_compilation_in_every_step_is_the_programs_fault_and_counts() -> None:
    builder = (
        trace()
        .busy("GPU:0", *((t + 80, t + 100) for t in (0, 100, 200, 300)))
        .steps(4, period=100)
    )
    for at in (5, 105, 205, 305):
        builder.call("backend_compile", at, at + 65)

    assert set(builder.timeline().steps.kinds) == {StepKind.STEADY}


def test_a_slow_first_step_is_warm_up() -> None:
    builder = trace().busy("GPU:0", (0, 700))
    for start, end in ((0, 300), (300, 400), (400, 500), (500, 600)):
        builder.step(start, end)

    assert builder.timeline().steps.kinds[0] is StepKind.WARM_UP


def test_the_steps_line_of_a_tpu_is_a_marker() -> None:
    builder = trace()
    for index in range(3):
        builder.on_line(
            "/device:TPU:0", "Steps", str(index), index * 100, index * 100 + 100
        )
        builder.on_line(
            "/device:TPU:0", "XLA Ops", "fusion.1", index * 100, index * 100 + 50
        )

    steps = builder.timeline().steps

    assert periods(steps) == [100, 100, 100]
    assert steps.source is StepSource.MARKER


def test_saved_step_lines_of_two_devices_that_do_not_overlap_are_two_steps() -> None:
    """The time between two GPUs' steps is no period."""
    builder = trace()
    for device, name, start in (("GPU:4", "1", 0), ("GPU:6", "2", 5000)):
        builder.on_line(f"/device:{device}", "Steps", name, start, start + 100)
        builder.busy(device, (start + 10, start + 90))

    timeline = builder.timeline()

    assert periods(timeline.steps) == [100, 100]
    assert timeline.takes_part.tolist() == [[True, False], [False, True]]


def test_a_device_that_ran_the_same_step_at_another_time_is_not_idle() -> None:
    """TensorFlow 2.4 saved step 0 of GPU 4 from 0 to 100 and that of GPU 6 from 5,000
    to 5,100: it worked as much.
    """
    builder = trace()
    for device, start in (("GPU:4", 0), ("GPU:6", 5000)):
        builder.on_line(f"/device:{device}", "Steps", "0", start, start + 100)
        builder.busy(device, (start + 10, start + 90))

    timeline = builder.timeline()

    assert periods(timeline.steps) == [100, 100]
    assert timeline.takes_part.tolist() == [[True, False], [False, True]]
    assert timeline.breakdown[:, :, TimeClass.COMPUTE].tolist() == [
        [80 * PS, 0],
        [0, 80 * PS],
    ]


def test_periods_of_saved_step_lines_that_interleave_do_not_overlap() -> None:
    """GPU 4 steps from 0 and from 200, GPU 6 from 120 to 180 in between: no instant
    belongs to two steps.
    """
    builder = trace()
    for device, starts in (("GPU:4", (0, 200)), ("GPU:6", (120,))):
        for start in starts:
            length = 100 if device == "GPU:4" else 60
            builder.on_line(
                f"/device:{device}", "Steps", str(start), start, start + length
            )
            builder.busy(device, (start + 10, start + 50))

    timeline = builder.timeline()

    assert (timeline.steps.starts / PS).tolist() == [0, 120, 200]
    assert periods(timeline.steps) == [120, 60, 100]
    assert timeline.takes_part.tolist() == [[True, False, True], [False, True, False]]


def test_steps_are_placed_where_the_device_ran_them_when_the_host_runs_ahead() -> None:
    """Ten dispatches in 100 µs, each with 1,000 µs of work: a step takes 1,000 µs, not
    10.
    """
    builder = trace().thread("python")
    for index in range(10):
        builder.step(index * 10, index * 10 + 9)
        start = 20 + index * 1000
        builder.kernel(
            "GPU:0", "k", start, start + 1000, launched=(index * 10 + 1, index * 10 + 5)
        )

    timeline = builder.timeline()

    assert periods(timeline.steps) == [1000] * 10
    assert timeline.breakdown[0, 1].tolist()[:1] == [1000 * PS]
    assert "host is more than a step ahead" in timeline.steps.about


def test_a_host_in_step_with_the_device_keeps_its_markers() -> None:
    builder = trace()
    for index in range(4):
        at = index * 100
        builder.step(at, at + 100).kernel(
            "GPU:0", "k", at + 20, at + 90, launched=(at + 5, at + 10)
        )

    assert periods(builder.timeline().steps) == [100] * 4


def test_a_range_of_steps_can_be_chosen() -> None:
    timeline = (
        trace().steps(5, period=100).busy("GPU:0", (0, 500)).timeline(chosen=(1, 3))
    )

    assert [kind is StepKind.STEADY for kind in timeline.steps.kinds] == [
        False,
        True,
        True,
        False,
        False,
    ]


def test_a_range_outside_the_trace_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="the trace has 5 steps"):
        trace().steps(5, period=100).busy("GPU:0", (0, 500)).timeline(chosen=(7, 9))


def test_lines_with_the_same_id_are_one_thread() -> None:
    """The profiler may cut a thread's events into several lines of one id; markers of
    both count.
    """
    from tfadvisor.trace import messages

    builder = (
        trace()
        .step(0, 100)
        .thread("python again")
        .step(100, 200)
        .busy("GPU:0", (0, 200))
    )
    space = messages.XSpace.FromString(builder.bytes())
    for line in space.planes[0].lines:
        line.id = 7
    builder._spaces["host"] = space

    assert periods(builder.timeline().steps) == [100, 100]
