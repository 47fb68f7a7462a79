"""Which of several markers are the steps: every bound just below and just above, times
in µs.
"""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.timeline_parts import Steps, StepSource

PS = 1_000_000


def starts(steps: Steps) -> list[float]:
    return (steps.starts / PS).tolist()


def epochs(*spans: tuple[float, float]) -> TraceBuilder:
    """Outer markers, one after the other, and a device that computes all the time."""
    builder = trace().busy("GPU:0", (0, 1000))
    for number, (start, end) in enumerate(spans):
        builder.call("epoch", start, end, step_num=number, _r=1)
    return builder


def inside(builder: TraceBuilder, *spans: tuple[float, float]) -> str:
    """The name of the first step where these markers lie among the others."""
    for number, (start, end) in enumerate(spans):
        builder.call("inner", start, end, step_num=number, _r=1)
    return builder.timeline().steps.names[0]


@pytest.mark.parametrize(("length", "chosen"), [(50, "inner 0"), (49, "epoch 0")])
def test_markers_divide_another_where_they_fill_half_of_it(
    length: float, chosen: str
) -> None:
    """Four of 50 and 49 in an epoch of 400."""
    assert (
        inside(epochs((0, 400)), *((at, at + length) for at in (0, 100, 200, 300)))
        == chosen
    )


@pytest.mark.parametrize(("within", "chosen"), [(4, "inner 0"), (3, "epoch 0")])
def test_four_of_five_must_lie_within(within: int, chosen: str) -> None:
    """Of five markers of 70 µs in a row some lie behind the epoch of 400: together they
    fill 350 of it at most.
    """
    spans = [(at, at + 70) for at in (0, 100, 200, 300)[:within]]
    spans += [(at, at + 70) for at in (500, 600)[: 5 - within]]

    assert inside(epochs((0, 400)), *spans) == chosen


@pytest.mark.parametrize(("end", "chosen"), [(400, "inner 0"), (401, "epoch 0")])
def test_a_marker_that_ends_with_its_epoch_lies_within(end: float, chosen: str) -> None:
    """Two of three are not four of five."""
    assert inside(epochs((0, 400)), (0, 100), (150, 250), (300, end)) == chosen


@pytest.mark.parametrize(("start", "chosen"), [(100, "inner 0"), (99, "epoch 0")])
def test_a_marker_that_begins_before_the_first_epoch_is_not_within(
    start: float, chosen: str
) -> None:
    assert inside(epochs((100, 400)), (start, 190), (200, 290), (300, 390)) == chosen


def test_as_many_markers_as_epochs_divide_nothing() -> None:
    assert inside(epochs((0, 200), (200, 400)), (0, 190), (200, 390)) == "epoch 0"
    assert (
        inside(epochs((0, 200), (200, 400)), (0, 100), (100, 190), (200, 390))
        == "inner 0"
    )


def test_markers_on_another_thread_divide_nothing() -> None:
    builder = epochs((0, 400)).thread("other")

    assert inside(builder, *((at, at + 90) for at in (0, 100, 200, 300))) == "epoch 0"


def test_of_two_markers_inside_an_epoch_the_one_with_most_time_is_the_step() -> None:
    """Halves of 180 in an epoch of 400, and four of 210 together, two of which lie in
    no half.
    """
    builder = epochs((0, 400))
    for number, at in enumerate((0, 200)):
        builder.call("half", at, at + 180, step_num=number, _r=1)

    assert inside(builder, (0, 60), (150, 210), (210, 270), (370, 400)) == "half 0"


def test_markers_inside_markers_inside_an_epoch_are_the_steps() -> None:
    """Quarters of 85 fill more than half of the halves of 180."""
    builder = epochs((0, 400))
    for number, at in enumerate((0, 200)):
        builder.call("half", at, at + 180, step_num=number, _r=1)

    assert inside(builder, *((at, at + 85) for at in (0, 90, 200, 290))) == "inner 0"


def test_markers_are_told_apart_by_thread_and_name() -> None:
    """Three threads and two names: only the first thread's `b` takes 300 µs, and its
    three are the steps.
    """
    builder = trace().thread("first").call("a", 0, 1)
    for number, at in enumerate((100, 200, 300)):
        builder.call("b", at, at + 100, step_num=number, _r=1)
    for thread, name, at in (
        ("second", "b", 410),
        ("second", "a", 420),
        ("third", "a", 430),
        ("third", "b", 440),
    ):
        builder.thread(thread).call(name, at, at + 5, step_num=7, _r=1)

    steps = builder.timeline().steps

    assert (steps.names, steps.thread) == (("b 0", "b 1", "b 2"), 0)
    assert starts(steps) == [100, 200, 300]


def test_the_thread_of_the_steps_is_the_one_that_marks_them() -> None:
    builder = (
        trace()
        .busy("GPU:0", (0, 400))
        .call("PjitFunction(f)", 0, 400)
        .thread("marker")
        .steps(3, period=100)
    )

    assert builder.timeline().steps.thread == 1


def step_lines(
    builder: TraceBuilder, **spans: list[tuple[str, float, float]]
) -> TraceBuilder:
    """`Steps` lines of TPUs, named tpu0, tpu1 …, each with these named steps."""
    for device, steps in spans.items():
        for name, start, end in steps:
            builder.on_line(f"/device:TPU:{device[3:]}", "Steps", name, start, end)
            builder.on_line(
                f"/device:TPU:{device[3:]}",
                "XLA Ops",
                "fusion.1",
                start,
                max(start + 1, end - 1),
            )
    return builder


def test_the_line_with_most_steps_is_the_one_to_go_by() -> None:
    """TPU 1 saved three steps from 0 on, TPU 0 two that overlap them."""
    builder = step_lines(
        trace(),
        tpu0=[("7", 50, 150), ("8", 150, 250)],
        tpu1=[("1", 0, 100), ("2", 100, 200), ("3", 200, 300)],
    )

    steps = builder.timeline().steps

    assert starts(steps) == [0, 100, 200]
    assert steps.source is StepSource.MARKER


def test_steps_without_length_on_a_device_line_are_none() -> None:
    builder = step_lines(
        trace(), tpu0=[("1", 0, 100), ("2", 100, 100), ("3", 200, 300)]
    )

    assert starts(builder.timeline().steps) == [0, 200]


def test_a_devices_own_line_is_told_from_one_that_a_viewer_drew() -> None:
    """The device's own comes before calls that repeat, the drawn one after them."""
    own = trace().busy("TPU:0", (0, 1)).on_line("/device:TPU:0", "Steps", "0", 0, 50)
    own.on_line("/device:TPU:0", "Steps", "1", 50, 100).on_line(
        "/device:TPU:0", "XLA Ops", "fusion.1", 0, 100
    )
    drawn = (
        trace()
        .busy("GPU:0", (0, 100))
        .drawn_line("/device:GPU:0", "Steps", ("0", 0, 50), ("1", 50, 100))
    )
    for at in (0, 20, 40, 60):
        own.call("train", at, at + 15, tf_function_call="notTraced-nonXla")

    assert own.timeline().steps.about == "marker 'device step'"
    assert drawn.timeline().steps.about == "marker 'viewer step'"
    for at in (0, 20, 40, 60):
        drawn.call("train", at, at + 15, tf_function_call="notTraced-nonXla")
    assert drawn.timeline().steps.about == "calls of train"


def test_a_line_that_was_drawn_around_nothing_marks_no_steps() -> None:
    builder = (
        trace()
        .busy("GPU:0", (0, 100))
        .drawn_line("/device:GPU:0", "Steps", ("0", 50, 50))
    )

    assert builder.timeline().steps.source is StepSource.WHOLE_TRACE


def test_only_lines_of_devices_called_steps_mark_steps() -> None:
    builder = (
        trace()
        .on_line("/host:CPU", "Steps", "1", 0, 100)
        .on_line("/device:TPU:0", "Other", "2", 0, 100)
    )

    assert (
        builder.on_line("/device:TPU:0", "XLA Ops", "f", 0, 50).timeline().steps.source
        is StepSource.WHOLE_TRACE
    )


def test_a_device_step_that_touches_another_devices_is_a_step_of_its_own() -> None:
    """TPU 1's step 2 begins as TPU 0's first ends, and its step 3 a µs before TPU 0's
    second does.
    """
    builder = step_lines(
        trace(), tpu0=[("0", 0, 100), ("1", 300, 400), ("4", 600, 700)]
    )

    step_lines(builder, tpu1=[("2", 100, 200), ("3", 399, 500)])

    assert starts(builder.timeline().steps) == [0, 100, 300, 600]


def test_the_third_device_is_compared_with_the_first_two() -> None:
    """TPU 2's step lies in the time of TPU 1's, which lies apart from TPU 0's; its
    other one lies apart from both.
    """
    builder = step_lines(
        trace(), tpu0=[("0", 0, 100), ("1", 300, 400), ("4", 600, 700)]
    )
    step_lines(
        builder,
        tpu1=[("2", 120, 200), ("3", 420, 500)],
        tpu2=[("9", 150, 180), ("3", 510, 520)],
    )

    assert starts(builder.timeline().steps) == [0, 120, 300, 420, 510, 600]


def test_the_last_device_step_ends_where_it_ends_whoever_ran_it() -> None:
    """TPU 1's step 2 from 500 to 560 is the last; TPU 0's last one ends at 400, before
    the pause.
    """
    builder = step_lines(
        trace(), tpu0=[("0", 0, 100), ("1", 300, 400)], tpu1=[("2", 500, 560)]
    )

    steps = builder.timeline().steps

    assert starts(steps) == [0, 300, 500]
    assert (steps.ends / PS).tolist() == [300, 400, 560]
