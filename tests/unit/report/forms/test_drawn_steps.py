"""The median and the worst step as lanes of events; nothing is hidden without being
counted.
"""

from __future__ import annotations

import pytest
from support.pages import page_of
from support.trace_builder import TraceBuilder, trace

from tfadvisor.report.forms.page_data import DrawnStep
from tfadvisor.vocabulary import TIME_CLASSES


def three_steps() -> TraceBuilder:
    """The last one is the longest; each runs one kernel and loads its batch
    before it.
    """
    builder = trace()
    for start, end in ((0, 100), (100, 200), (200, 350)):
        builder.step(start, end).call("load_batch", start, start + 40)
        builder.kernel(
            "GPU:0", "matmul", start + 50, end, launched=(start + 41, start + 45)
        )
    return builder


def lane(step: DrawnStep, role: str) -> list[tuple[str, int, int, str]]:
    """(name, start µs, length µs, class) of the events of the first lane of a role."""
    place = [one.role for one in step.lanes].index(role)
    kinds = (*TIME_CLASSES, "wait")
    return [
        (
            step.names[step.name[row]] if step.name[row] >= 0 else "",
            int(step.start[row]) // 1000,
            int(step.length[row]) // 1000,
            kinds[step.kind[row]],
        )
        for row in range(len(step.start))
        if step.lane[row] == place
    ]


def test_the_median_and_the_worst_step_are_drawn() -> None:
    median, worst = page_of(three_steps()).drawn

    assert (median.which, median.span_ns) == ("median", 100_000)
    assert (worst.which, worst.index, worst.span_ns) == ("worst", 2, 150_000)


def test_a_single_step_is_drawn_once() -> None:
    (only,) = page_of(trace().step(0, 100).busy("GPU:0", (10, 90))).drawn

    assert only.which == "median"


def test_lanes_hold_what_the_device_and_its_driver_do() -> None:
    worst = page_of(three_steps()).drawn[1]

    assert lane(worst, "stream") == [("matmul", 50, 100, "compute")]
    assert ("load_batch", 0, 40, "input") in lane(worst, "driver")
    assert ("cuLaunchKernel", 41, 4, "launch") in lane(worst, "driver")


def test_an_instruction_is_called_by_its_name_not_by_its_whole_text() -> None:
    """As on TPUs; other names keep what looks like one."""
    builder = trace().step(0, 100)
    builder.kernel(
        "GPU:0",
        "%fusion.3 = bf16[8,128]{1,0} fusion(bf16[8] %p)",
        10,
        20,
        launched=(1, 2),
    )
    builder.kernel("GPU:0", "scale = 2", 30, 40, launched=(3, 4))

    assert [one[0] for one in lane(page_of(builder).drawn[0], "stream")] == [
        "fusion.3",
        "scale = 2",
    ]


def test_the_classes_lane_is_the_breakdown_of_the_step() -> None:
    page = page_of(three_steps())
    worst = page.drawn[1]
    spent: dict[str, int] = {}
    for _, _, length, kind in lane(worst, "classes"):
        spent[kind] = spent.get(kind, 0) + length

    step = page.report.steps.each[2]

    assert {kind: time / 150 for kind, time in spent.items()} == pytest.approx(
        {
            kind: share
            for kind, share in step.breakdown.items()
            if share and kind != "idle"
        }
    )


def test_a_device_that_does_nothing_in_a_step_bears_none_of_its_classes() -> None:
    """Two devices take turns: GPU:0 works in steps 0 and 2, GPU:1 in step 1."""
    builder = trace()
    for start, device in ((0, 0), (100, 1), (200, 0)):
        builder.step(start, start + 100).call("load_batch", start, start + 40)
        builder.kernel(
            f"GPU:{device}",
            "matmul",
            start + 50,
            start + 90,
            launched=(start + 41, start + 45),
        )
    page = page_of(builder)
    told = {}
    for step in (*page.drawn, *page.more):
        for place, one in enumerate(step.lanes):
            if one.role == "classes":
                rows = int((step.lane == place).sum())
                told[step.index, one.device] = (one.name, rows > 0)

    idle = ("does nothing in this step", False)
    assert told[0, "GPU:0"] == told[1, "GPU:1"] == ("", True)
    assert told[0, "GPU:1"] == told[1, "GPU:0"] == idle


def test_a_call_around_the_whole_step_is_named_not_drawn() -> None:
    worst = page_of(three_steps().call("$train.py:1 main", -10, 400)).drawn[1]

    driver = next(one for one in worst.lanes if one.role == "driver")

    assert "train.py:1 main" in driver.around
    assert "train.py:1 main" not in [name for name, *_ in lane(worst, "driver")]


def test_python_inside_a_known_call_belongs_to_it() -> None:
    """`time sleep` says nothing by its name; inside load_batch it is input."""
    worst = page_of(three_steps().call("$time sleep", 210, 230)).drawn[1]

    assert ("time sleep", 10, 20, "input") in lane(worst, "driver")


def test_more_events_than_can_be_drawn_become_blocks_that_keep_their_number_and_time() -> (
    None
):
    builder = trace().step(0, 300_000)
    kernels = 100_000
    builder.busy(
        "GPU:0", *((3 * index, 3 * index + 2) for index in range(kernels)), name="tiny"
    )
    (step,) = page_of(builder).drawn
    stream = [one.role for one in step.lanes].index("stream")

    mine = step.lane == stream

    assert len(step.start) <= 40_000
    assert step.events[mine].sum() == kernels
    assert step.busy[mine].sum() == kernels * 2_000
    assert (step.busy <= step.length).all()


def test_no_event_is_left_out_of_the_median_and_the_worst_step() -> None:
    """So that every zoom shows each: 10,000 kernels of 2 µs."""
    builder = trace().step(0, 100_000)
    builder.busy("GPU:0", *((3 * at, 3 * at + 2) for at in range(10_000)), name="tiny")
    (step,) = page_of(builder).drawn
    stream = [one.role for one in step.lanes].index("stream")

    assert int((step.lane == stream).sum()) == 10_000
    assert set(step.events.tolist()) == {1}


def test_a_kernel_is_tied_to_the_call_that_launched_it() -> None:
    """Each step launches its kernel from 41 to 45 µs."""
    for step in page_of(three_steps()).drawn:
        stream = [one.role for one in step.lanes].index("stream")
        (kernel,) = (step.lane == stream).nonzero()[0]
        call = step.launch[kernel]

        assert step.names[step.name[call]] == "cuLaunchKernel"
        assert (step.start[call], step.length[call]) == (41_000, 4_000)
        assert (step.launch >= 0).sum() == 1


def test_deep_stacks_are_cut_and_counted() -> None:
    builder = three_steps()
    for depth in range(30):
        builder.call(f"$deep.py:{depth} f", 205 + depth / 10, 239 - depth / 10)
    worst = page_of(builder).drawn[1]
    driver = next(one for one in worst.lanes if one.role == "driver")

    assert worst.depth.max() == 15
    assert driver.deeper > 0
    assert (
        driver.deeper + sum("deep.py" in name for name, *_ in lane(worst, "driver"))
        == 30
    )


def test_all_other_steps_are_there_when_they_are_asked_for() -> None:
    page = page_of(three_steps())

    (other,) = page.more

    assert {one.index for one in (*page.drawn, other)} == {0, 1, 2}
    assert other.which == "other"
    assert ("matmul", 50, 50, "compute") in lane(other, "stream")
