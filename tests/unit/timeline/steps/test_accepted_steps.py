"""Which repetitions are steps and which are not: every bound of the inference, just
below and just above.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.timeline_parts import Steps, StepSource

PS = 1_000_000
BATCHES = "batches taken from the input pipeline"
LOOP = "iterations of a loop inside one function call"


def periods(steps: Steps) -> list[float]:
    return ((steps.ends - steps.starts) / PS).tolist()


def function_calls(starts: Sequence[float], length: float = 40) -> Steps:
    """Calls of one tf.function; the steps that they make, or the whole trace."""
    builder = trace().busy("GPU:0", (0, 1000))
    for at in starts:
        builder.call("train_step", at, at + length, tf_function_call="notTraced-nonXla")
    return builder.timeline().steps


@pytest.mark.parametrize(
    ("uneven", "accepted"), [(51, True), (52.5, True), (54, False)]
)
def test_few_periods_may_differ_by_35_percent_on_average(
    uneven: float, accepted: bool
) -> None:
    """Of 100, 100 + d and 100 - d the mean distance from 100 is 2d / 3: 34, 35
    and 36%.
    """
    steps = function_calls([0, 100, 200 + uneven, 300])

    assert (steps.source is StepSource.MODULE) is accepted
    assert steps.confidence == (
        round(0.9 / (1 + uneven * 2 / 300), 3) if accepted else 0.2
    )


@pytest.mark.parametrize(("uneven", "accepted"), [(34, True), (36, False)])
def test_of_many_periods_the_middle_distance_counts(
    uneven: float, accepted: bool
) -> None:
    """100 ± d in turns around one of 100: the median distance is d, and between
    neighbours it is 2 d.
    """
    lengths = [100, 100 + uneven, 100 - uneven, 100 + uneven, 100 - uneven]
    steps = function_calls([sum(lengths[:index]) for index in range(6)])

    assert (steps.source is StepSource.MODULE) is accepted


def test_five_periods_are_judged_by_their_middle_and_four_by_their_mean() -> None:
    """One period of 400 among those of 100: the mean distance of four is 75%, the
    median of five is 0.
    """
    assert function_calls([0, 100, 200, 300, 700]).source is StepSource.WHOLE_TRACE
    steps = function_calls([0, 100, 200, 300, 400, 800], length=60)
    assert (steps.source, steps.confidence) == (StepSource.MODULE, 0.9)


def test_periods_that_grow_are_judged_by_their_neighbours() -> None:
    """100, 140, … 500: neighbours differ by 40, 13% of the median 300; from the median
    half lie 120 away, 40%.
    """
    lengths = [100 + 40 * index for index in range(11)]
    steps = function_calls([sum(lengths[:index]) for index in range(12)], length=90)

    assert (steps.source, steps.confidence) == (
        StepSource.MODULE,
        round(0.9 / (1 + 40 / 300), 3),
    )


@pytest.mark.parametrize(("calls", "accepted"), [(3, True), (2, False)])
def test_three_calls_are_steps(calls: int, accepted: bool) -> None:
    assert (
        function_calls([100 * index for index in range(calls)]).source
        is StepSource.MODULE
    ) is accepted


@pytest.mark.parametrize(
    ("works", "source"), [(4, StepSource.MODULE), (3, StepSource.WHOLE_TRACE)]
)
def test_short_calls_are_steps_where_a_device_begins_to_work_after_each(
    works: int, source: StepSource
) -> None:
    """TensorFlow's calls return at once; nothing links them to the kernels that they
    launch.
    """
    builder = trace()
    for index in range(4):
        builder.call(
            "train_step",
            100 * index,
            100 * index + 5,
            tf_function_call="notTraced-nonXla",
        )
        if index < works:
            builder.busy("GPU:0", (100 * index + 20, 100 * index + 90))

    assert builder.timeline().steps.source is source


@pytest.mark.parametrize(("length", "accepted"), [(27, True), (25, True), (24, False)])
def test_calls_that_fill_a_quarter_of_the_time_are_steps(
    length: float, accepted: bool
) -> None:
    """Four calls of a length each, from 0 to 300 + length: 108 of 327, 100 of 325, 96
    of 324 would all be enough.
    """
    starts = [0, 120, 240, 400 - length]
    steps = function_calls(starts, length)

    assert (steps.source is StepSource.MODULE) is accepted


def test_of_two_functions_the_one_with_most_time_is_the_step() -> None:
    builder = trace().busy("GPU:0", (0, 1000))
    for index in range(4):
        builder.call(
            "metrics_2",
            index * 100,
            index * 100 + 30,
            tf_function_call="notTraced-nonXla",
        )
        builder.call(
            "train_7",
            index * 100 + 30,
            index * 100 + 90,
            tf_function_call="notTraced-nonXla",
        )

    steps = builder.timeline().steps

    assert steps.about == "calls of train"
    assert (steps.starts / PS).tolist() == [30, 130, 230, 330]


def test_functions_of_the_input_pipeline_are_no_steps() -> None:
    builder = trace().busy("GPU:0", (0, 1000)).thread("tf_data_private_threadpool/1")
    for index in range(4):
        builder.call(
            "augment",
            index * 100,
            index * 100 + 90,
            tf_function_call="notTraced-nonXla",
        )

    assert builder.timeline().steps.source is StepSource.WHOLE_TRACE


def test_eager_calls_of_functions_are_steps_where_no_stat_names_them() -> None:
    builder = trace().busy("GPU:0", (0, 1000))
    for index in range(4):
        builder.call(
            f"EagerLocalExecute: __inference_train_{index}",
            index * 100,
            index * 100 + 60,
        )
        builder.call("EagerLocalExecute: MatMul", index * 100 + 60, index * 100 + 95)

    steps = builder.timeline().steps

    assert (steps.source, steps.about) == (
        StepSource.MODULE,
        "calls of __inference_train",
    )
    assert periods(steps) == [100, 100, 100, 60]


def module_line(totals: dict[str, float], count: int = 4) -> Steps:
    """A TPU that runs programs one after the other; the time of each in a cycle
    of 100.
    """
    builder = trace().on_line("/device:TPU:0", "XLA Ops", "%fusion.1 = f32[8]", 0, 1)
    for index in range(count):
        at = index * 100.0
        for name, length in totals.items():
            builder.on_line(
                "/device:TPU:0",
                "XLA Modules",
                f"{name}({index + 100})",
                at,
                at + length,
            )
            at += length
    return builder.timeline().steps


@pytest.mark.parametrize(("share", "accepted"), [(50, True), (49, False)])
def test_a_program_with_half_of_the_module_line_is_the_step(
    share: float, accepted: bool
) -> None:
    """Of 100 µs the training program has this many; two others share the rest."""
    steps = module_line({"jit_train": share, "jit_eval": 30, "jit_log": 70 - share})

    assert (steps.source is StepSource.MODULE) is accepted
    if accepted:
        assert (steps.about, steps.confidence) == ("executions of jit_train", 0.9)


@pytest.mark.parametrize(("count", "accepted"), [(3, True), (2, False)])
def test_three_executions_are_steps(count: int, accepted: bool) -> None:
    assert (
        module_line({"jit_train": 90}, count).source is StepSource.MODULE
    ) is accepted


def test_the_last_execution_ends_where_it_ends() -> None:
    assert periods(module_line({"jit_train": 60, "jit_eval": 20})) == [
        100,
        100,
        100,
        60,
    ]


def jitted(calls: Sequence[float], begun: Sequence[float], other: float = 0) -> Steps:
    """Calls of a jitted function, and when the GPU began with each. other: time of two
    more programs in a period.
    """
    builder = trace()
    for at, start in zip(calls, begun, strict=True):
        builder.call("PjitFunction(step)", at, at + 1)
        builder.kernel(
            "GPU:0",
            "fusion",
            start,
            start + 20,
            launched=(at, at + 1),
            hlo_module="jit_step",
        )
        for index, module in enumerate(("jit_f", "jit_g") if other else ()):
            begin = start + 20 + index * other / 2
            builder.on_line(
                "/device:GPU:0",
                "Stream #2(C)",
                "f",
                begin,
                begin + other / 2,
                hlo_module=module,
            )
    return builder.timeline().steps


@pytest.mark.parametrize(("other", "accepted"), [(20, True), (21, False)])
def test_the_function_of_half_of_the_device_time_is_the_step(
    other: float, accepted: bool
) -> None:
    """20 µs of each period are the function's, 20 or 21 those of two more programs,
    which no function on the host calls.
    """
    regular = [100.0 * index for index in range(5)]
    steps = jitted(regular, [at + 10 for at in regular], other)

    assert (steps.about == "calls of PjitFunction(step)") is accepted


@pytest.mark.parametrize(("count", "accepted"), [(3, True), (2, False)])
def test_three_calls_of_a_jitted_function_are_steps(count: int, accepted: bool) -> None:
    regular = [100.0 * index for index in range(count)]
    steps = jitted(regular, [at + 10 for at in regular])

    assert (steps.confidence == 0.9) is accepted  # else they are calls without a rhythm


@pytest.mark.parametrize(
    ("calls", "accepted"),
    [
        (
            [0, 95, 97, 99, 260, 320],
            True,
        ),  # over before the work before them began: 95, 97, 99; 260 and 320 are not
        ([0, 95, 97, 210, 260], False),  # 95 and 97 of four
        ([0, 95, 97, 199, 260], True),  # 95, 97 and 199 of four
        ([0, 95, 97, 200, 260], True),  # the call at 200 as the third's work begins
        ([0, 95, 97, 201, 260], False),
    ],
)
def test_the_device_holds_the_rhythm_where_most_calls_are_ahead(
    calls: list[float], accepted: bool
) -> None:
    """The device begins every 50 µs from 100 on; calls without a rhythm count where
    more than half of them are ahead.
    """
    steps = jitted(calls, [100 + 50 * index for index in range(len(calls))])

    assert (steps.confidence == 0.9) is accepted  # else they are calls without a rhythm


def test_a_call_whose_work_is_not_in_the_trace_leaves_no_rhythm() -> None:
    builder = trace()
    for index, at in enumerate([0, 95, 97, 99, 101]):
        builder.call("PjitFunction(step)", at, at + 1)
        if index != 2:
            builder.kernel(
                "GPU:0",
                "f",
                110 + index * 50,
                130 + index * 50,
                launched=(at, at + 1),
                hlo_module="jit_step",
            )

    assert builder.timeline().steps.confidence == 0.45  # four calls without a rhythm


def executor_loop(batches: int, iterations: int = 10) -> Steps:
    """A loop of the executor that takes so many batches, each by an iteration of its
    own, at no regular time.
    """
    builder = (
        trace()
        .call("train", 0, 1000, tf_function_call="notTraced-nonXla")
        .thread("tf_Compute/1")
    )
    for index in range(iterations):
        at = index * 100
        builder.call("ExecutorState::Process", at, at + 90, id=5, iter_num=index + 1)
        builder.call("dense:MatMul", at + 50, at + 80)
        if index < batches:
            builder.call("IteratorGetNextOp::DoCompute", at + 1, at + 5)
    return builder.timeline().steps


@pytest.mark.parametrize(("batches", "accepted"), [(10, True), (8, True), (7, False)])
def test_a_training_loop_takes_a_batch_in_four_of_five_iterations(
    batches: int, accepted: bool
) -> None:
    assert (executor_loop(batches).about == LOOP) is accepted


def test_batches_that_are_taken_as_the_loop_begins_and_ends_are_its_own() -> None:
    """Ten iterations from 0 to 990 take eight batches: at 0, at 101 … 601 and at 990.
    One more, at 991, is not the loop's.
    """
    for last, about in ((990, LOOP), (991, "")):
        builder = (
            trace()
            .call("train", 0, 1000, tf_function_call="notTraced-nonXla")
            .thread("tf_Compute/1")
        )
        for index in range(10):
            builder.call(
                "ExecutorState::Process",
                index * 100,
                index * 100 + 90,
                id=5,
                iter_num=index + 1,
            )
        for at in (0, 101, 201, 301, 401, 501, 601, last):
            builder.call("IteratorGetNextOp::DoCompute", at, at + 4)

        assert (builder.timeline().steps.about == LOOP) is bool(about)


@pytest.mark.parametrize(("iterations", "accepted"), [(3, True), (2, False)])
def test_three_iterations_are_steps(iterations: int, accepted: bool) -> None:
    assert (executor_loop(iterations, iterations).about == LOOP) is accepted


def test_of_several_runs_of_loops_the_longest_is_the_training_loop() -> None:
    """Run 5 iterates six times, run 4, beside it, three times."""
    builder = (
        trace()
        .call("train", 0, 600, tf_function_call="notTraced-nonXla")
        .thread("tf_Compute/1")
    )
    for index in range(6):
        at = index * 100
        builder.call("ExecutorState::Process", at, at + 40, id=5, iter_num=index + 1)
        builder.call("IteratorGetNextOp::DoCompute", at + 1, at + 5)
        if index < 3:
            builder.call(
                "ExecutorState::Process", at + 50, at + 90, id=4, iter_num=index + 1
            )
        builder.call(
            "ExecutorState::Process", at + 92, at + 95, id=5, iter_num=index + 1
        )

    steps = builder.timeline().steps

    assert (steps.about, steps.confidence) == (LOOP, 0.8)
    assert (steps.starts / PS).tolist() == [0, 100, 200, 300, 400, 500]
    assert periods(steps) == [100] * 5 + [95]


def batches_on(thread: str, count: int, together: int = 1) -> TraceBuilder:
    """A thread that takes batches every 100 µs, so many at a time, and dispatches a
    program after them.
    """
    builder = trace().busy("GPU:0", (0, 1000)).thread(thread)
    for index in range(count):
        at = index * 100
        for replica in range(together):
            builder.call("IteratorGetNext", at + replica * 10, at + replica * 10 + 5)
        builder.call("PjitFunction(step)", at + 50, at + 90)
    return builder


@pytest.mark.parametrize(("count", "accepted"), [(3, True), (2, False)])
def test_three_batches_are_steps(count: int, accepted: bool) -> None:
    steps = batches_on("python", count).timeline().steps

    assert (steps.about == BATCHES) is accepted
    if accepted:
        assert (steps.source, steps.confidence) == (StepSource.HOST_LOOP, 0.8)


def test_batches_taken_one_after_the_other_are_one_steps() -> None:
    """One for each of two replicas, then the dispatch."""
    assert (
        batches_on("python", 4, together=2).timeline().steps.starts / PS
    ).tolist() == [0, 100, 200, 300]


def test_another_thread_may_take_the_batches() -> None:
    """The driving thread takes none; of two others the one that takes most tells the
    steps.
    """
    builder = (
        trace()
        .busy("GPU:0", (0, 1000))
        .thread("driver")
        .call("PjitFunction(step)", 0, 900)
    )
    for index in range(5):
        for thread, count, at in (
            ("more", 5, index * 100 + 7),
            ("less", 3, index * 100 + 3),
        ):
            if index < count:
                builder.thread(thread).call("IteratorGetNext", at, at + 20)
                builder.call("EagerLocalExecute: Identity", at + 25, at + 30)
    builder.thread("tf_data_private_threadpool/3")
    for index in range(8):
        builder.call("IteratorGetNext", index * 50, index * 50 + 10)

    steps = builder.timeline().steps

    assert steps.about == BATCHES
    assert (steps.starts / PS).tolist() == [7, 107, 207, 307, 407]


def test_batches_that_are_taken_before_the_steps_begin_are_none() -> None:
    """Four batches, as an evaluation takes, then twelve calls of one function."""
    builder = trace().busy("GPU:0", (0, 2000)).thread("python")
    for index in range(4):
        builder.call("IteratorGetNext", index * 100, index * 100 + 5)
        builder.call("EagerLocalExecute: Identity", index * 100 + 10, index * 100 + 90)
    for index in range(12):
        at = 500 + index * 100
        builder.call("EagerLocalExecute: __inference_train_9", at, at + 90)

    steps = builder.timeline().steps

    assert steps.about == "calls of __inference_train"
    assert (steps.starts / PS).tolist() == [500 + index * 100 for index in range(12)]


@pytest.mark.parametrize(
    ("layers", "about"), [(2, BATCHES), (1, "calls of __inference_layer")]
)
def test_a_batch_for_two_calls_of_a_function_is_the_step(
    layers: int, about: str
) -> None:
    builder = trace().busy("GPU:0", (0, 1000))
    for index in range(4):
        at = index * 100
        builder.call("IteratorGetNext", at, at + 5)
        for layer in range(layers):
            begin = at + 10 + layer * 40
            builder.call("EagerLocalExecute: __inference_layer_3", begin, begin + 35)

    assert builder.timeline().steps.about == about


def pattern(names: Sequence[str], cycles: int, *, on_device: bool = False) -> Steps:
    """The same dispatches, or kernels, every 100 µs."""
    builder = trace() if on_device else trace().busy("GPU:0", (0, 1000))
    for index in range(cycles):
        for position, name in enumerate(names):
            at = index * 100 + position * 10
            if on_device:
                builder.busy("GPU:0", (at, at + 5), name=name)
            else:
                builder.call(f"PjitFunction({name})", at, at + 5)
    return builder.timeline().steps


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize(
    ("names", "cycles", "accepted"),
    [
        ("abcd", 3, True),
        ("abcdef", 2, False),
        ("abc", 4, True),
        ("ab", 6, True),
        ("ab", 5, False),
        ("abc", 3, False),
    ],
)
def test_twelve_calls_in_three_cycles_are_a_pattern(
    names: str, cycles: int, accepted: bool, on_device: bool
) -> None:
    """Fewer calls repeat by chance."""
    steps = pattern(names, cycles, on_device=on_device)

    assert (steps.source is StepSource.LAUNCH_PATTERN) is accepted
    if accepted:
        assert periods(steps) == [100] * (cycles - 1) + [len(names) * 10 - 5]
        assert steps.confidence == (0.7 if on_device else 0.8)
        assert (
            steps.about == f"a repeated sequence of {len(names)} "
            f"{'kernels' if on_device else 'dispatches'}"
        )


def test_one_kernel_again_and_again_is_no_cycle() -> None:
    assert pattern("a", 15, on_device=True).source is StepSource.WHOLE_TRACE


def test_the_busiest_device_shows_the_pattern() -> None:
    """GPU 1 computes longer than GPU 0, whose kernels repeat at another pace."""
    builder = trace()
    for index in range(6):
        for position, name in enumerate("abcd"):
            at = index * 100 + position * 10
            builder.busy("GPU:0", (at / 2, at / 2 + 2), name=name).busy(
                "GPU:1", (at, at + 8), name=name
            )

    assert periods(builder.timeline().steps)[:5] == [100] * 5


def test_a_quarter_is_of_the_time_since_the_first_call() -> None:
    """Four calls of 27 in 327 µs, a millisecond after the trace began."""
    assert function_calls([1000, 1100, 1200, 1300], 27).source is StepSource.MODULE


def test_the_device_holds_no_rhythm_where_it_takes_calls_in_another_order() -> None:
    """It begins with the last call before the one before it; in order, its periods of
    50 and 70 would have a rhythm.
    """
    steps = jitted([0, 95, 97, 99, 260, 320], [100, 150, 200, 270, 340, 330])

    assert steps.confidence == 0.45  # six calls without a rhythm


def test_iterations_that_begin_together_are_no_steps() -> None:
    """A loop that runs its iterations beside each other."""
    builder = trace().call("train", 0, 1000, tf_function_call="notTraced-nonXla")
    for index, at in enumerate((0, 100, 200, 200, 300)):
        builder.thread(f"tf_Compute/{index}").call(
            "ExecutorState::Process", at, at + 90, id=5, iter_num=index + 1
        )
        builder.call("IteratorGetNextOp::DoCompute", at + 1, at + 5)

    assert builder.timeline().steps.about != LOOP


def test_executor_work_without_a_run_belongs_to_no_loop() -> None:
    """The last events name an iteration and no run."""
    builder = (
        trace()
        .call("train", 0, 1000, tf_function_call="notTraced-nonXla")
        .thread("tf_Compute/1")
    )
    for index in range(4):
        at = index * 100
        builder.call("ExecutorState::Process", at, at + 90, id=5, iter_num=index + 1)
        builder.call("IteratorGetNextOp::DoCompute", at + 1, at + 5)
    builder.call("ExecutorState::Process", 400, 490, iter_num=9).call(
        "ExecutorState::Process", 500, 590, iter_num=10
    )

    assert (builder.timeline().steps.starts / PS).tolist() == [0, 100, 200, 300]


def test_batches_without_a_rhythm_leave_the_steps_to_the_function() -> None:
    """Twelve regular calls, and a batch before the first, second, third and
    eleventh.
    """
    builder = trace().busy("GPU:0", (0, 1000))
    for index in range(12):
        at = index * 100
        if index in {0, 1, 2, 10}:
            builder.call("IteratorGetNext", at, at + 5)
        builder.call("EagerLocalExecute: __inference_layer_3", at + 10, at + 60)

    assert builder.timeline().steps.about == "calls of __inference_layer"


@pytest.mark.parametrize("on_device", [False, True])
def test_a_cycle_ends_with_its_last_call(on_device: bool) -> None:
    """Four calls of 5 µs every 10: 35 of the period of 100."""
    steps = pattern("abcd", 4, on_device=on_device)

    assert ((steps.span_ends - steps.starts) / PS).tolist() == [35] * 4


def test_a_last_call_whose_work_the_trace_ends_before_leaves_the_devices_rhythm() -> (
    None
):
    """Six calls of which four are ahead of a device that begins every 50 µs, and one
    more at the end of the trace.
    """
    builder = trace()
    for index, at in enumerate([0, 95, 97, 99, 260, 320, 400]):
        builder.call("PjitFunction(step)", at, at + 1)
        if index < 6:
            begin = 110 + index * 50
            builder.kernel(
                "GPU:0",
                "f",
                begin,
                begin + 20,
                launched=(at, at + 1),
                hlo_module="jit_step",
            )
    steps = builder.timeline().steps

    assert steps.confidence == 0.9
    assert (steps.starts / PS).tolist() == [110, 160, 210, 260, 310, 360]
    assert steps.about.endswith("and the trace ends before the device begins 1 more")


def test_a_last_call_without_work_is_no_period_of_the_device() -> None:
    """The device begins with four of five calls, every 50 µs; a period to the fifth
    would be without end.
    """
    builder = trace()
    for index, at in enumerate([0, 95, 97, 99, 400]):
        builder.call("PjitFunction(step)", at, at + 1)
        if index < 4:
            begin = 110 + index * 50
            builder.kernel(
                "GPU:0",
                "f",
                begin,
                begin + 20,
                launched=(at, at + 1),
                hlo_module="jit_step",
            )

    assert builder.timeline().steps.confidence == 0.9


@pytest.mark.parametrize(("runs", "counted"), [(4, 4), (3, 3), (2, 0)])
def test_runs_that_were_all_called_before_the_trace_are_steps(
    runs: int, counted: int
) -> None:
    """Runs of 40 µs one behind the other, and no call of their program."""
    steps = runs_of_step(trace().call("BlockUntilReady", 0, 100), runs).timeline().steps

    assert (
        (steps.starts / PS).tolist() == [40 * index for index in range(runs)]
        if counted
        else [0]
    )
    assert ("runs of jit_step, called before the trace" in steps.about) == bool(counted)
    assert steps.confidence == (0.8 if counted else 0.2)


def test_a_program_that_the_trace_shows_a_call_of_was_not_called_before() -> None:
    builder = runs_of_step(trace().call("PjitFunction(step)", 0, 2), 4)

    assert "before the trace" not in builder.timeline().steps.about


def test_kernels_of_no_run_or_of_another_program_are_no_run_of_the_step() -> None:
    """Behind four runs a kernel of the step that names no run, one of a run that names
    no program, and three of another.
    """
    builder = runs_of_step(trace().call("BlockUntilReady", 0, 100), 4)
    line = "/device:GPU:0", "Stream #2(Compute)", "f"
    builder.on_line(*line, 170, 175, hlo_module="jit_step", kernel_details="regs:1")
    builder.on_line(*line, 180, 185, run_id=7, kernel_details="regs:1")
    for run, at in ((8, 10), (9, 30), (10, 45)):
        builder.on_line(
            *line, at, at + 5, hlo_module="jit_log", run_id=run, kernel_details="regs:1"
        )

    steps = builder.timeline().steps

    assert (steps.starts / PS).tolist() == [0, 40, 80, 120]
    assert "runs of jit_step, called before the trace" in steps.about


def runs_of_step(builder: TraceBuilder, runs: int) -> TraceBuilder:
    """Two kernels of 20 µs in each run. Runs are numbered from 0."""
    for half in range(2 * runs):
        at, stats = (
            20 * half,
            {"hlo_module": "jit_step", "run_id": half // 2, "kernel_details": "regs:1"},
        )
        builder.on_line(
            "/device:GPU:0", "Stream #1(Compute)", "f", at, at + 20, **stats
        )
    return builder


def test_work_that_no_call_launched_gives_no_call_a_beginning() -> None:
    """The device runs a part of the step once more behind the last call, launched by
    nothing that is in the trace.
    """
    builder = trace()
    for index, at in enumerate([0, 95, 97, 99, 260, 320]):
        begin = 100 + index * 50
        builder.call("PjitFunction(step)", at, at + 1)
        builder.kernel(
            "GPU:0",
            "f",
            begin,
            begin + 20,
            launched=(at, at + 1),
            hlo_module="jit_step",
        )
        builder.on_line(
            "/device:GPU:0",
            "Stream #2(C)",
            "f",
            begin - 30,
            begin - 25,
            hlo_module="jit_step",
        )
    builder.kernel("GPU:0", "f", 900, 910, launched=(500, 501), hlo_module="jit_step")

    steps = builder.timeline().steps

    assert (steps.confidence, (steps.starts / PS).tolist()) == (
        0.9,
        [100, 150, 200, 250, 300, 350],
    )


def test_the_first_device_to_begin_begins_a_call() -> None:
    """GPU 0 begins late and unevenly; GPU 1 begins every 50 µs."""
    builder = trace()
    late = [130, 230, 240, 330, 340, 440]
    for index, at in enumerate([0, 95, 97, 99, 260, 320]):
        builder.call("PjitFunction(step)", at, at + 1)
        for device, begin in (("GPU:0", late[index]), ("GPU:1", 100 + index * 50)):
            builder.kernel(
                device,
                "f",
                begin,
                begin + 9,
                launched=(at, at + 1),
                hlo_module="jit_step",
            )

    assert builder.timeline().steps.confidence == 0.9


def test_time_on_all_devices_says_which_function_is_the_step() -> None:
    """`a` computes 60 µs on the first GPU, `b` 40 on each of two."""
    builder = trace()
    for at in (0, 100, 200, 300):
        builder.call("PjitFunction(a)", at, at + 1).call(
            "PjitFunction(b)", at + 5, at + 6
        )
        builder.kernel(
            "GPU:0", "k", at + 10, at + 50, launched=(at, at + 1), hlo_module="jit_b"
        )
        builder.kernel(
            "GPU:0",
            "k",
            at + 50,
            at + 80,
            launched=(at + 5, at + 6),
            hlo_module="jit_a",
        )
        builder.kernel(
            "GPU:0",
            "l",
            at + 80,
            at + 99,
            launched=(at + 5, at + 6),
            hlo_module="jit_a",
        )
        builder.kernel(
            "GPU:1",
            "k",
            at + 10,
            at + 50,
            launched=(at + 5, at + 6),
            hlo_module="jit_b",
        )

    assert builder.timeline().steps.about == "calls of PjitFunction(b)"


def test_work_of_no_program_says_nothing_about_which_function_is_the_step() -> None:
    """60 of each 100 µs belong to no program, 20 to the step and 1 to another, which is
    the last name of the trace.
    """
    builder = trace()
    for at in (0, 100, 200, 300):
        builder.call("PjitFunction(step)", at, at + 1)
        builder.kernel(
            "GPU:0", "k", at + 10, at + 30, launched=(at, at + 1), hlo_module="jit_step"
        )
        builder.busy("GPU:0", (at + 30, at + 90))
    builder.on_line(
        "/device:GPU:0", "Stream #1(Compute)", "k", 395, 396, hlo_module="jit_z"
    )

    steps = builder.timeline().steps

    assert (steps.about, steps.confidence) == ("calls of PjitFunction(step)", 0.9)


def test_calls_that_keep_a_rhythm_need_none_of_the_device() -> None:
    """The host calls every 10 µs, far ahead of a device that begins at no
    regular time.
    """
    steps = jitted([0, 10, 20, 30, 40, 50], [100, 130, 300, 330, 700, 750])

    assert steps.confidence == 0.9


def test_executions_on_a_device_are_driven_by_the_thread_that_dispatches() -> None:
    """It is the second of the host's."""
    builder = (
        trace()
        .thread("another")
        .call("tick", 0, 1)
        .thread("python")
        .call("PjitFunction(train)", 0, 30)
    )
    builder.on_line("/device:TPU:0", "XLA Ops", "%fusion.1 = f32[8]", 0, 1)
    for at in (0, 100, 200, 300):
        builder.on_line("/device:TPU:0", "XLA Modules", "jit_train(7)", at, at + 90)

    steps = builder.timeline().steps

    assert (steps.about, steps.thread) == ("executions of jit_train", 1)


def test_calls_on_other_threads_than_the_driving_one_are_no_steps() -> None:
    """The driver calls the function every 100 µs, a thread that warms it up in
    between.
    """
    builder = trace()
    for at in (0, 100, 200, 300):
        builder.call("PjitFunction(a)", at, at + 20)
        builder.kernel(
            "GPU:0", "k", at + 10, at + 50, launched=(at, at + 1), hlo_module="jit_a"
        )
    builder.thread("another")
    for at in (30, 140, 250):
        builder.call("PjitFunction(a)", at, at + 5)

    steps = builder.timeline().steps

    assert (steps.thread, (steps.starts / PS).tolist()) == (0, [0, 100, 200, 300])


def test_a_tpu_whose_line_of_programs_is_empty_leaves_the_steps_to_the_next() -> None:
    builder = trace().on_line("/device:TPU:0", "XLA Modules", "jit_a(1)", 0, 1)
    for at in (0, 100, 200, 300):
        builder.on_line("/device:TPU:1", "XLA Modules", "jit_a(1)", at, at + 90)
        builder.on_line("/device:TPU:1", "XLA Ops", "%fusion.1 = f32[8]", at, at + 90)
    builder.files()
    del builder._spaces["host"].planes[0].lines[0].events[:]

    assert (builder.timeline().steps.starts / PS).tolist() == [0, 100, 200, 300]


def test_iterations_without_a_run_are_no_loop() -> None:
    builder = (
        trace()
        .call("train", 0, 1000, tf_function_call="notTraced-nonXla")
        .thread("tf_Compute/1")
    )
    for at in (0, 100, 200):
        builder.call("ExecutorState::Process", at, at + 90, iter_num=at // 100 + 1)

    assert builder.timeline().steps.about != LOOP


@pytest.mark.parametrize("on_device", [False, True])
def test_a_cycle_whose_first_call_is_another_does_not_count(on_device: bool) -> None:
    """Three cycles of four, of which the third begins with another call: two beginnings
    are no rhythm.
    """
    builder = trace() if on_device else trace().busy("GPU:0", (0, 1000))
    for index, names in enumerate(("cdab", "cdab", "xdab")):
        for position, name in enumerate(names):
            at = index * 100 + position * 10
            if on_device:
                builder.busy("GPU:0", (at, at + 5), name=name)
            else:
                builder.call(f"PjitFunction({name})", at, at + 5)

    assert builder.timeline().steps.source is StepSource.WHOLE_TRACE


def test_batches_before_and_behind_the_loop_are_not_taken_by_it() -> None:
    """Ten iterations take seven batches; four more are taken before the loop and four
    behind it.
    """
    builder = (
        trace()
        .call("train", 0, 3000, tf_function_call="notTraced-nonXla")
        .thread("tf_Compute/1")
    )
    for at in (10, 110, 210, 310, 2010, 2110, 2210, 2310):
        builder.call("IteratorGetNextOp::DoCompute", at, at + 5)
    for index in range(10):
        at = 1000 + index * 100
        builder.call("ExecutorState::Process", at, at + 90, id=5, iter_num=index + 1)
        if index < 7:
            builder.call("IteratorGetNextOp::DoCompute", at + 1, at + 5)

    assert builder.timeline().steps.about != LOOP


def test_a_loop_of_the_executor_is_driven_by_the_thread_that_dispatches() -> None:
    """The first thread only ticks; the second calls the function in which the loop
    runs.
    """
    builder = (
        trace()
        .call("tick", 0, 1)
        .thread("driver")
        .call("train", 0, 1000, tf_function_call="notTraced-nonXla")
    )
    builder.call("EagerLocalExecute: __inference_train_1", 0, 990).thread(
        "tf_Compute/1"
    )
    for index in range(5):
        at = index * 100
        builder.call("ExecutorState::Process", at, at + 90, id=5, iter_num=index + 1)
        builder.call("IteratorGetNextOp::DoCompute", at + 1, at + 5)

    steps = builder.timeline().steps

    assert (steps.about, steps.thread) == (LOOP, 1)


def test_a_sequence_that_repeats_less_well_is_less_sure() -> None:
    """Of 36 pairs a cycle of four apart one odd dispatch breaks two: 34 of 36, and 0.8
    of that.
    """
    builder = trace().busy("GPU:0", (0, 1000))
    for index in range(10):
        for position, name in enumerate("abxd" if index == 5 else "abcd"):
            at = index * 100 + position * 10
            builder.call(f"PjitFunction({name})", at, at + 5)

    steps = builder.timeline().steps

    assert (steps.source, steps.confidence) == (
        StepSource.LAUNCH_PATTERN,
        round(0.8 * 34 / 36, 3),
    )


def test_an_iteration_of_number_0_is_before_the_loop() -> None:
    """The executor bears 0 outside of any loop, 150 µs before the first turn."""
    builder = (
        trace()
        .call("train", 0, 1000, tf_function_call="notTraced-nonXla")
        .thread("tf_Compute/1")
    )
    builder.call("ExecutorState::Process", 0, 20, id=5, iter_num=0)
    for index in range(4):
        at = 150 + index * 100
        builder.call("ExecutorState::Process", at, at + 90, id=5, iter_num=index + 1)
        builder.call("IteratorGetNextOp::DoCompute", at + 1, at + 5)

    steps = builder.timeline().steps

    assert steps.about == LOOP
    assert (steps.starts / PS).tolist() == [150, 250, 350, 450]
