"""Which steps count, where they end and where they are placed: every bound just below
and just above.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.errors import UsageError
from tfadvisor.timeline.timeline_parts import StepKind, Steps, StepSource

PS = 1_000_000


def periods(steps: Steps) -> list[float]:
    return ((steps.ends - steps.starts) / PS).tolist()


@pytest.mark.parametrize(("span", "counts"), [(98, True), (97.9, False)])
def test_the_last_step_counts_where_gaps_are_at_most_2_percent(
    span: float, counts: bool
) -> None:
    """Markers of 98 and 97.9 every 100."""
    steps = (
        trace().steps(4, period=100, span=span).busy("GPU:0", (0, 350)).timeline().steps
    )

    assert steps.kinds[:3] == (StepKind.STEADY,) * 3
    assert (steps.kinds[3] is StepKind.STEADY) is counts


def test_the_middle_gap_decides() -> None:
    """Gaps of 1, 1 and 40 in periods of 100, 100 and 140: checkpoints after a step do
    not cut the last one off.
    """
    builder = trace().busy("GPU:0", (0, 400))
    for start, end in ((0, 99), (100, 199), (200, 300), (340, 439)):
        builder.step(start, end)

    steps = builder.timeline().steps

    assert periods(steps) == [100, 100, 140, 99]
    assert set(steps.kinds) == {StepKind.STEADY}


def test_a_last_marker_without_length_is_cut_off() -> None:
    with np.errstate(all="raise"):  # it compiles for no share of no time
        steps = (
            trace()
            .steps(3, period=100)
            .step(300, 300)
            .busy("GPU:0", (0, 250))
            .timeline()
            .steps
        )

    assert steps.kinds[-1] is StepKind.CUT_OFF


@pytest.mark.parametrize(
    ("first", "kind"), [(150, StepKind.STEADY), (151, StepKind.WARM_UP)]
)
def test_a_first_step_of_more_than_half_as_much_again_is_warm_up(
    first: float, kind: StepKind
) -> None:
    builder = trace().busy("GPU:0", (0, 600)).step(0, first)
    for index in range(3):
        builder.step(first + index * 100, first + index * 100 + 100)

    assert builder.timeline().steps.kinds == (kind, *[StepKind.STEADY] * 3)


@pytest.mark.parametrize(
    ("later", "kind"), [(3, StepKind.WARM_UP), (2, StepKind.STEADY)]
)
def test_warm_up_is_told_from_three_later_steps(later: int, kind: StepKind) -> None:
    builder = trace().busy("GPU:0", (0, 600)).step(0, 200)
    for index in range(later):
        builder.step(200 + index * 100, 300 + index * 100)

    assert builder.timeline().steps.kinds[0] is kind


def test_the_middle_of_the_later_steps_is_what_is_usual() -> None:
    """140 against 100, 90 and 80: half as much again as 90 would be 135."""
    builder = trace().busy("GPU:0", (0, 600))
    for start, end in ((0, 140), (140, 240), (240, 330), (330, 410)):
        builder.step(start, end)

    assert builder.timeline().steps.kinds[0] is StepKind.WARM_UP


def compiling(share: float, steps: int, of: int = 5) -> TraceBuilder:
    """Steps of 100 µs of which the first ones compile for this many."""
    builder = trace().steps(of, period=100)
    for index in range(of):
        at = index * 100
        builder.busy("GPU:0", (at + 80, at + 100))
        if index < steps:
            builder.call("backend_compile", at + 5, at + 5 + share)
    return builder


@pytest.mark.parametrize(("share", "set_apart"), [(20, True), (19, False)])
def test_a_step_that_compiles_for_a_fifth_of_its_time_is_set_apart(
    share: float, set_apart: bool
) -> None:
    kinds = compiling(share, 1).timeline().steps.kinds

    assert (kinds[0] is StepKind.COMPILING) is set_apart
    assert set(kinds[1:]) == {StepKind.STEADY}


@pytest.mark.parametrize(
    ("steps", "of", "set_apart"),
    [(2, 4, True), (2, 3, False), (3, 5, False), (3, 6, True)],
)
def test_up_to_half_of_the_steps_are_set_apart(
    steps: int, of: int, set_apart: bool
) -> None:
    """Compilation that goes on is the program's fault."""
    kinds = compiling(50, steps, of).timeline().steps.kinds

    assert (kinds[:steps] == (StepKind.COMPILING,) * steps) is set_apart
    assert set(kinds[steps:]) == {StepKind.STEADY}


def test_after_compiling_steps_the_first_may_still_warm_up() -> None:
    builder = trace().busy("GPU:0", (80, 1000)).call("backend_compile", 5, 70)
    for start, end in ((0, 100), (100, 300), (300, 400), (400, 500), (500, 600)):
        builder.step(start, end)

    kinds = builder.timeline().steps.kinds

    assert kinds == (StepKind.COMPILING, StepKind.WARM_UP, *[StepKind.STEADY] * 3)


@pytest.mark.parametrize(
    ("share", "kind"), [(39, StepKind.WARM_UP), (40, StepKind.STEADY)]
)
def test_a_slow_first_step_that_compiles_is_no_warm_up(
    share: float, kind: StepKind
) -> None:
    """All steps compile for a fifth of their time, the first of 200 µs for this many:
    none is set apart.
    """
    builder = (
        trace()
        .busy("GPU:0", (90, 100))
        .step(0, 200)
        .call("backend_compile", 105, 105 + share)
    )
    for index in range(3):
        at = 200 + index * 100
        builder.step(at, at + 100).call("backend_compile", at + 5, at + 30)

    assert builder.timeline().steps.kinds[0] is kind


def run_ahead(starts: list[float], begins: list[float]) -> Steps:
    """Marked steps, each with one kernel of 5 µs that the device begins when it can."""
    builder = trace()
    for index, (at, begin) in enumerate(zip(starts, begins, strict=True)):
        builder.step(at, at + 9).kernel(
            "GPU:0", f"k{index % 2}", begin, begin + 5, launched=(at + 1, at + 2)
        )
    return builder.timeline().steps


@pytest.mark.parametrize(
    ("begins", "placed"),
    [
        (
            [15, 25, 35, 36, 46, 56],
            True,
        ),  # after the next step's start: 15, 25, 35 of five
        ([15, 25, 28, 36, 46], False),  # 15 and 25 of four
    ],
)
def test_steps_move_to_the_device_where_most_of_them_run_a_step_late(
    begins: list[float], placed: bool
) -> None:
    """Steps start every 10 µs."""
    steps = run_ahead([10.0 * index for index in range(len(begins))], begins)

    assert ("host is more than a step ahead" in steps.about) is placed
    if placed:
        assert (steps.starts / PS).tolist() == begins
        assert periods(steps) == [10, 10, 1, 10, 10, 5]


def test_work_that_begins_with_the_next_step_is_a_step_late() -> None:
    assert run_ahead([0, 10, 20], [10, 20, 30]).about.endswith("more than a step ahead")


def test_a_small_program_that_runs_at_once_does_not_hold_the_step_back() -> None:
    """Steps of 10 µs; in each the next key is made at once, and the step itself runs
    100 µs, one behind the other.
    """
    builder = trace()
    for index in range(4):
        at = 10 * index
        builder.step(at, at + 9)
        builder.kernel(
            "GPU:0",
            "split",
            at + 2,
            at + 3,
            launched=(at + 1, at + 2),
            hlo_module="jit_fold_in",
        )
        begin = 50 + 100 * index
        builder.kernel(
            "GPU:0",
            "dot",
            begin,
            begin + 100,
            launched=(at + 3, at + 4),
            hlo_module="jit_step",
        )

    steps = builder.timeline().steps

    assert (steps.starts / PS).tolist() == [50, 150, 250, 350]
    assert steps.about.endswith("more than a step ahead")


def test_a_last_step_that_the_device_finished_counts_where_it_ran_it() -> None:
    """Steps and kernels of 10 µs one behind the other, the kernels 100 µs late."""
    builder = trace()
    for at in range(0, 40, 10):
        builder.step(at, at + 10).kernel(
            "GPU:0", "k", 100 + at, 110 + at, launched=(at + 1, at + 2)
        )

    steps = builder.timeline().steps

    assert (steps.starts / PS).tolist() == [100, 110, 120, 130]
    assert steps.steady().all()


def test_two_steps_are_enough_to_be_placed_and_one_is_not() -> None:
    """Both kernels begin after both steps; then the trace ends before the
    second does.
    """
    assert (run_ahead([0, 10], [20, 30]).starts / PS).tolist() == [20, 30]
    builder = (
        trace().step(0, 9).step(10, 19).kernel("GPU:0", "k", 20, 25, launched=(1, 2))
    )
    assert (builder.timeline().steps.starts / PS).tolist() == [0, 10]


@pytest.mark.parametrize("idle", [0, 2])
def test_steps_of_which_one_launched_nothing_stay_with_the_host(idle: int) -> None:
    builder = trace()
    for index in range(5):
        builder.step(index * 10, index * 10 + 9)
        if index != idle:
            builder.kernel(
                "GPU:0",
                "k",
                100 + index * 10,
                105 + index * 10,
                launched=(index * 10 + 1, index * 10 + 2),
            )

    assert (builder.timeline().steps.starts / PS).tolist() == [0, 10, 20, 30, 40]


def test_steps_that_the_trace_ends_before_the_device_begins_are_none() -> None:
    """Six are dispatched, the device begins four of them from 100 on, every 10 µs; the
    fourth may be cut.
    """
    builder = trace()
    for index in range(6):
        builder.step(index * 10, index * 10 + 9)
        if index < 4:
            builder.kernel(
                "GPU:0",
                "k",
                100 + index * 10,
                109 + index * 10,
                launched=(index * 10 + 1, index * 10 + 2),
            )
    steps = builder.timeline().steps

    assert (steps.starts / PS).tolist() == [100, 110, 120, 130]
    assert steps.steady().tolist() == [True, True, True, False]
    assert steps.about.endswith("and the trace ends before the device begins 2 more")


@pytest.mark.parametrize(("last", "counts"), [(3, True), (2, False)])
def test_a_last_step_that_the_trace_ends_within_does_not_count(
    last: int, counts: bool
) -> None:
    """Steps of 10 µs one behind the other; the last is as long as 30% of the others, or
    shorter.
    """
    builder = trace()
    for index in range(4):
        builder.step(index * 10, index * 10 + (10 if index < 3 else last))

    assert builder.timeline().steps.steady().tolist() == [True, True, True, counts]


def test_work_that_the_device_takes_in_another_order_stays_with_the_host() -> None:
    assert (run_ahead([0, 10, 20, 30], [100, 150, 140, 160]).starts / PS).tolist() == [
        0,
        10,
        20,
        30,
    ]


def test_work_launched_before_the_first_step_belongs_to_none() -> None:
    builder = trace().kernel("GPU:0", "k", 90, 95, launched=(0, 1))
    for index in range(3):
        at = 10 + index * 10
        builder.step(at, at + 9).kernel(
            "GPU:0", "k", 100 + at, 105 + at, launched=(at + 1, at + 2)
        )

    assert (builder.timeline().steps.starts / PS).tolist() == [110, 120, 130]


def test_of_several_devices_the_first_event_begins_the_step_and_the_last_ends_it() -> (
    None
):
    builder = trace()
    for index in range(3):
        at = index * 10
        builder.step(at, at + 9).kernel(
            "GPU:0", "k", 103 + at, 105 + at, launched=(at + 1, at + 2)
        )
        builder.kernel("GPU:1", "k", 100 + at, 101 + at, launched=(at + 3, at + 4))

    steps = builder.timeline().steps

    assert (steps.starts / PS).tolist() == [100, 110, 120]
    assert periods(steps) == [10, 10, 5]


@pytest.mark.parametrize(("end", "about"), [(302, "on devices"), (301.9, "host event")])
def test_device_work_in_2_percent_of_the_window_is_the_trace(
    end: float, about: str
) -> None:
    """Host events from 0 to 100, kernels from 300 to 302: 2% of the host's window."""
    steps = trace().call("main", 0, 100).busy("GPU:0", (300, end)).timeline().steps

    assert steps.source is StepSource.WHOLE_TRACE
    assert about in steps.about
    assert ((steps.starts / PS).tolist(), periods(steps)) == (
        ([300], [2]) if about == "on devices" else ([0], [100])
    )


def test_the_whole_trace_spans_all_active_devices() -> None:
    """GPU 2 only copies."""
    builder = (
        trace()
        .call("main", 0, 100)
        .busy("GPU:0", (20, 30), (40, 50))
        .busy("GPU:1", (10, 25))
    )
    steps = builder.copy("GPU:2", "H2D", 1, 90).timeline().steps

    assert ((steps.starts / PS).tolist(), periods(steps)) == ([10], [40])
    assert (steps.names, steps.kinds, steps.confidence) == (
        ("whole trace",),
        (StepKind.STEADY,),
        0.2,
    )


def test_the_hosts_window_leaves_out_the_profiler_frames_and_marks() -> None:
    builder = (
        trace()
        .call("ProfilerSession::Stop", 0, 500)
        .call("$train.py:1 main", 5, 400)
        .call("mark", 7, 7)
    )

    steps = builder.call("work", 20, 60).call("more", 30, 90).timeline().steps

    assert ((steps.starts / PS).tolist(), periods(steps)) == ([20], [70])


def test_a_host_of_frames_only_has_their_window() -> None:
    steps = trace().call("$train.py:1 main", 5, 400).timeline().steps

    assert ((steps.starts / PS).tolist(), periods(steps)) == ([5], [395])


def test_inferred_steps_are_numbered_and_placed_between_calls() -> None:
    builder = trace().busy("GPU:0", (0, 400))
    for index in range(3):
        builder.call(
            "train",
            index * 100 + 10,
            index * 100 + 90,
            tf_function_call="notTraced-nonXla",
        )

    steps = builder.timeline().steps

    assert steps.names == ("step 0", "step 1", "step 2")
    assert periods(steps) == [100, 100, 80]
    assert steps.confidence == 0.9


@pytest.mark.parametrize("chosen", [(5, 9), (3, 3), (2, 1)])
def test_a_range_without_a_step_is_a_usage_error(chosen: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match=r"the trace has 5 steps, 0:5\."):
        trace().steps(5, period=100).busy("GPU:0", (0, 500)).timeline(chosen=chosen)


def test_the_last_step_alone_can_be_chosen() -> None:
    steps = (
        trace()
        .steps(5, period=100)
        .busy("GPU:0", (0, 500))
        .timeline(chosen=(4, 9))
        .steps
    )

    assert [kind is StepKind.STEADY for kind in steps.kinds] == [False] * 4 + [True]


def test_a_saved_step_line_is_marked_by_no_thread_and_a_little_less_sure() -> None:
    builder = trace().call("PjitFunction(f)", 0, 50).call("more", 60, 90)
    for index in range(3):
        builder.on_line(
            "/device:TPU:0", "Steps", str(index), index * 100, index * 100 + 100
        )
        builder.on_line(
            "/device:TPU:0", "XLA Ops", "fusion.1", index * 100, index * 100 + 50
        )

    steps = builder.timeline().steps

    assert (steps.confidence, steps.thread) == (0.9, 0)


def test_steps_that_the_device_begins_at_once_stay_with_the_host() -> None:
    """The second and third kernel begin together, on streams of their own."""
    builder = trace()
    for index, begin in enumerate((100, 150, 150, 200)):
        at = index * 10
        builder.step(at, at + 9).kernel(
            "GPU:0", "k", begin, begin + 5, launched=(at + 1, at + 2), stream=index
        )

    assert (builder.timeline().steps.starts / PS).tolist() == [0, 10, 20, 30]


def test_work_launched_as_the_last_step_ends_belongs_to_none() -> None:
    """The last marker ends at 29, when a copy back of 1 ms is launched."""
    builder = trace()
    for index in range(3):
        at = index * 10
        builder.step(at, at + 9).kernel(
            "GPU:0", "k", 100 + at, 105 + at, launched=(at + 1, at + 2)
        )
    builder.kernel("GPU:0", "k", 200, 1200, launched=(29, 30))

    assert periods(builder.timeline().steps) == [10, 10, 5]


def beside_a_driver(builder: TraceBuilder) -> Steps:
    """A thread of its own, behind the first, that dispatches one program from 0 to
    1,000.
    """
    return builder.thread("driver").call("PjitFunction(f)", 0, 1000).timeline().steps


def test_the_thread_that_marks_the_steps_drives_them() -> None:
    steps = beside_a_driver(trace().steps(3, period=100).busy("GPU:0", (0, 300)))

    assert (steps.source, steps.thread) == (StepSource.MARKER, 0)


def test_the_thread_that_calls_the_function_drives_the_steps() -> None:
    builder = trace().busy("GPU:0", (0, 400))
    for index in range(3):
        builder.call(
            "train", index * 100, index * 100 + 90, tf_function_call="notTraced-nonXla"
        )

    steps = beside_a_driver(builder)

    assert (steps.source, steps.thread) == (StepSource.MODULE, 0)


def test_steps_that_the_device_shows_are_driven_by_the_thread_that_dispatches() -> None:
    builder = trace().call("idle thread", 0, 5)
    for index in range(6):
        for position, name in enumerate("abc"):
            at = index * 100 + position * 10
            builder.busy("GPU:0", (at, at + 5), name=name)

    steps = beside_a_driver(builder)

    assert (steps.source, steps.thread) == (StepSource.LAUNCH_PATTERN, 1)


def test_a_trace_without_any_event_is_an_empty_step() -> None:
    steps = trace().empty_device("GPU:0").timeline().steps

    assert ((steps.starts / PS).tolist(), periods(steps)) == ([0], [0])


def a_lagging_device(lag: float, kernels: int = 10) -> TraceBuilder:
    """Six steps of 100 µs that the device works through without a pause, behind a host
    whose own steps take 70 or 130 µs by turns.
    """
    builder = trace()
    for index in range(6):
        at = 100.0 * index + (30 if index % 2 else 0)
        builder.step(at, at + 60)
        for one in range(kernels):
            begin = 100.0 * index + lag + one * 100 / kernels
            end = begin + 100 / kernels
            launched = (at + 1 + one / 10, at + 1.05 + one / 10)
            builder.kernel("GPU:0", f"k{one}", begin, end, launched=launched)
    return builder


@pytest.mark.parametrize("lag", [50.0, 100.0, 330.0])
def test_steps_are_the_devices_own_work_however_far_behind_it_is(lag: float) -> None:
    steps = a_lagging_device(lag).timeline().steps

    assert periods(steps) == [100] * 6
    assert int(steps.starts[0]) == lag * PS


def test_a_copy_on_its_own_stream_does_not_say_where_a_step_begins() -> None:
    """It runs at once, while the step before it is still computed."""
    builder = a_lagging_device(lag=50.0)
    for index in range(6):
        at = 100.0 * index + (30 if index % 2 else 0)
        builder.copy("GPU:0", "H2D", at + 1, at + 3)

    assert periods(builder.timeline().steps) == [100] * 6


def test_a_device_that_pauses_for_launches_keeps_the_hosts_steps() -> None:
    """Every step ends 20 µs into the host's next one, and half of it is pauses."""
    builder = trace()
    for index in range(6):
        at = 100.0 * index
        builder.step(at, at + 90)
        for one in range(10):
            begin = at + 20 + 10 * one
            launched = (begin - 2, begin - 1)
            builder.kernel("GPU:0", f"k{one}", begin, begin + 5, launched=launched)

    assert "where the device ran them" not in builder.timeline().steps.about
