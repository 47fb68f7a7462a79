"""Steps of a capture too short, or a loop too uneven, for a rhythm."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.timeline_parts import Steps, StepSource


def lengths_us(steps: Steps) -> list[float]:
    return ((steps.ends - steps.starts) / 1e6).tolist()


def one_batch() -> TraceBuilder:
    """Keras' profile_batch=2 on a GPU: the call returns at 300, its last kernel ends at
    900, the export of the graph at 5000.
    """
    builder = trace().call(
        "train_function", 100, 300, tf_function_call="notTraced-nonXla"
    )
    builder.kernel("GPU:0", "conv", 250, 600, launched=(150, 160)).kernel(
        "GPU:0", "adam", 600, 900, launched=(200, 210)
    )
    builder.call("EagerLocalExecute: LogicalAnd", 4000, 4100).kernel(
        "GPU:0", "and", 4060, 4070, launched=(4020, 4030)
    )
    return builder.call("EagerLocalExecute: WriteSummary", 4200, 4300).call(
        "EagerLocalExecute: FlushSummaryWriter", 4500, 5000
    )


def test_one_batch_ends_with_the_last_device_work_that_its_function_launched() -> None:
    steps = one_batch().timeline().steps

    assert steps.source is StepSource.MODULE
    assert lengths_us(steps) == [800]
    assert steps.confidence == 0.7


def test_what_the_callback_writes_afterwards_is_no_step_of_its_own() -> None:
    report = one_batch().report()

    assert "few-steps" in {note.rule_id for note in report.capture}
    assert "files-written-every-step" not in {
        finding.rule_id for finding in report.findings
    }


def test_a_line_that_the_viewer_drew_is_the_last_thing_to_go_by() -> None:
    """It lasts from the first kernel to the callback's own: 250 to 4070 µs, and is no
    step.
    """
    drawn = one_batch().drawn_line("/device:GPU:0", "Steps", ("0", 250, 4070))

    assert lengths_us(drawn.timeline().steps) == [800]


def test_without_a_call_the_drawn_line_is_all_there_is() -> None:
    builder = trace().busy("GPU:0", (0, 100), (200, 700))
    builder.drawn_line("/device:GPU:0", "Steps", ("0", 0, 700))

    steps = builder.timeline().steps

    assert (steps.source, lengths_us(steps)) == (StepSource.MARKER, [700])


def test_on_a_cpu_the_step_is_the_call_and_writing_its_summary_is_none() -> None:
    builder = trace().call(
        "train_function", 0, 500, tf_function_call="notTraced-nonXla"
    )
    builder.thread("tf_Compute/1").call("dense/MatMul:MatMul", 20, 480)
    builder.thread("python").call("EagerLocalExecute: WriteSummary", 900, 950)

    steps = builder.timeline().steps

    assert (steps.source, lengths_us(steps)) == (StepSource.MODULE, [500])


def test_a_function_that_launches_less_than_half_of_the_work_is_no_step() -> None:
    """40 of 100 µs of kernels: it is one part among others."""
    builder = trace().call(
        "metric_function", 0, 20, tf_function_call="notTraced-nonXla"
    )
    builder.kernel("GPU:0", "a", 10, 50, launched=(5, 6)).kernel(
        "GPU:0", "b", 100, 160, launched=(90, 91)
    )

    assert builder.timeline().steps.source is StepSource.WHOLE_TRACE


@pytest.mark.parametrize(("calls", "confidence"), [(7, 0.45), (8, 0.6)])
def test_uneven_calls_that_launch_nearly_all_work_are_steps(
    calls: int, confidence: float
) -> None:
    """A validation after each second step: periods of 100 and 900 µs alternate, which
    is no rhythm.
    """
    builder = trace()
    starts = [(index // 2) * 1000 + (index % 2) * 100 for index in range(calls)]
    for at in starts:
        builder.call("PjitFunction(train)", at, at + 30).kernel(
            "GPU:0", "k", at + 35, at + 90, launched=(at + 5, at + 9)
        )

    steps = builder.timeline().steps

    assert steps.source is StepSource.MODULE
    assert len(steps) == calls
    assert lengths_us(steps)[:3] == [100, 900, 100]
    assert steps.confidence == confidence


def test_an_op_among_others_is_no_step_however_often_it_is_called() -> None:
    """matmul launches 60% of the work, the rest of an eager program's ops 40%."""
    builder = trace()
    for index, gap in enumerate((0, 30, 500, 90, 700, 10, 300, 40, 900)):
        at = index * 1000 + gap
        builder.call("PjitFunction(matmul)", at, at + 10).kernel(
            "GPU:0", "m", at + 20, at + 80, launched=(at + 1, at + 2)
        )
        builder.call("PjitFunction(add)", at + 90, at + 99)
        builder.kernel("GPU:0", "a", at + 100, at + 140, launched=(at + 91, at + 92))

    assert builder.timeline().steps.source is not StepSource.MODULE


def two_functions(work: float, *, calls: int = 1) -> TraceBuilder:
    """`a` launches 100 µs less this much, `b` this much, in each of so many uneven
    periods.
    """
    builder = trace()
    for index in range(calls):
        at = (index // 2) * 1000 + (index % 2) * 300
        builder.call("PjitFunction(a)", at, at + 10).call(
            "PjitFunction(b)", at + 20, at + 30
        )
        builder.kernel(
            "GPU:0", "a", at + 100, at + 200 - work, launched=(at + 1, at + 2)
        )
        builder.kernel(
            "GPU:0", "b", at + 200 - work, at + 200, launched=(at + 21, at + 22)
        )
    return builder


@pytest.mark.parametrize(
    ("work", "about"),
    [(50, "PjitFunction(a), which launch 50"), (51, "PjitFunction(b), which")],
)
def test_the_function_that_launches_most_is_the_step_and_of_equals_the_first_by_name(
    work: float, about: str
) -> None:
    assert about in two_functions(work).timeline().steps.about


def test_a_function_that_launches_half_of_the_work_is_the_step() -> None:
    """50 and 49 of 100 µs, the rest launched by nothing."""
    for work, source in ((50, StepSource.MODULE), (49, StepSource.WHOLE_TRACE)):
        builder = trace().call("PjitFunction(a)", 0, 10)
        builder.kernel("GPU:0", "a", 5, 5 + work, launched=(1, 2)).busy(
            "GPU:0", (200, 300 - work)
        )

        assert builder.timeline().steps.source is source


@pytest.mark.parametrize(
    ("work", "source"), [(20, StepSource.MODULE), (21, StepSource.WHOLE_TRACE)]
)
def test_uneven_calls_must_launch_four_fifths_of_the_work(
    work: float, source: StepSource
) -> None:
    """80 and 79 of 100 µs."""
    assert two_functions(work, calls=5).timeline().steps.source is source


@pytest.mark.parametrize(
    ("calls", "source"), [(2, StepSource.MODULE), (3, StepSource.WHOLE_TRACE)]
)
def test_two_calls_that_launch_most_work_are_steps_and_three_uneven_ones_must_launch_nearly_all(
    calls: int, source: StepSource
) -> None:
    """70 of 100 µs; three calls begin 300 and 700 µs apart."""
    assert two_functions(30, calls=calls).timeline().steps.source is source


def test_what_is_launched_as_a_call_ends_is_not_the_calls() -> None:
    """70 µs launched within, 30 from its end on."""
    builder = (
        trace()
        .call("PjitFunction(a)", 0, 10)
        .kernel("GPU:0", "a", 20, 90, launched=(9, 10))
    )
    steps = builder.kernel("GPU:0", "b", 100, 130, launched=(10, 11)).timeline().steps

    assert lengths_us(steps) == [90]
    assert "launch 70" in steps.about


def test_what_is_launched_as_a_call_begins_is_the_calls() -> None:
    builder = (
        trace()
        .call("PjitFunction(a)", 5, 15)
        .kernel("GPU:0", "a", 20, 90, launched=(5, 6))
    )

    assert lengths_us(builder.timeline().steps) == [85]


def test_functions_that_run_eagerly_count_where_nothing_else_is_called() -> None:
    builder = trace().call("EagerLocalExecute: __inference_f_1", 0, 30)

    steps = builder.kernel("GPU:0", "k", 40, 90, launched=(5, 9)).timeline().steps

    assert (steps.source, lengths_us(steps)) == (StepSource.MODULE, [90])


def test_functions_that_run_eagerly_do_not_count_beside_a_call_from_python() -> None:
    """The traced call launches 60 of 100 µs, the eager function on its own 40,
    then 60.
    """
    for eager, source in ((40, StepSource.MODULE), (60, StepSource.WHOLE_TRACE)):
        builder = trace().call("f", 0, 10, tf_function_call="notTraced-nonXla")
        builder.call("EagerLocalExecute: __inference_g_1", 20, 30)
        builder.kernel("GPU:0", "a", 100, 200 - eager, launched=(1, 2))
        builder.kernel("GPU:0", "b", 200 - eager, 200, launched=(21, 22))

        assert builder.timeline().steps.source is source


def test_work_on_several_devices_adds_up() -> None:
    """60 and 30 µs of `a` on two GPUs, 80 of `b` on the first: 90 of 170 are more than
    half.
    """
    builder = trace().call("PjitFunction(a)", 0, 10).call("PjitFunction(b)", 20, 30)
    builder.kernel("GPU:0", "a", 100, 160, launched=(1, 2)).kernel(
        "GPU:1", "a", 100, 130, launched=(3, 4)
    )
    builder.kernel("GPU:0", "b", 200, 280, launched=(21, 22))

    steps = builder.timeline().steps

    assert "calls of PjitFunction(a)" in steps.about
    assert lengths_us(steps) == [160]


def test_on_a_cpu_work_belongs_to_the_call_during_which_it_runs() -> None:
    """60 µs within the call, 40 as it ends."""
    builder = (
        trace()
        .call("train_function", 0, 100, tf_function_call="notTraced-nonXla")
        .thread("tf_Compute/1")
    )
    builder.call("a:MatMul", 0, 60).call("b:MatMul", 100, 140)

    steps = builder.timeline().steps

    assert (steps.source, lengths_us(steps)) == (StepSource.MODULE, [100])
    assert "launch 60" in steps.about


def test_two_calls_of_which_one_launches_nothing_are_one_step() -> None:
    builder = trace().call("PjitFunction(a)", 0, 10).call("PjitFunction(a)", 300, 310)

    assert lengths_us(
        builder.kernel("GPU:0", "k", 20, 90, launched=(1, 2)).timeline().steps
    ) == [90]


def test_three_uneven_calls_that_launch_nearly_all_work_are_steps() -> None:
    """80 of each 100 µs."""
    steps = two_functions(20, calls=3).timeline().steps

    assert (steps.source, len(steps), steps.confidence) == (StepSource.MODULE, 3, 0.45)


def test_of_calls_at_the_same_time_those_that_launch_more_are_the_steps() -> None:
    """Calls on two threads: the first kernel is launched during both, the second during
    the longer one.
    """
    builder = (
        trace()
        .call("PjitFunction(a)", 0, 10)
        .kernel("GPU:0", "k", 50, 110, launched=(5, 6))
    )
    builder.thread("other").call("PjitFunction(b)", 0, 40).kernel(
        "GPU:0", "l", 110, 150, launched=(30, 31)
    )

    assert (
        "calls of PjitFunction(b), which launch 100" in builder.timeline().steps.about
    )


def test_threads_may_call_functions_of_their_own() -> None:
    """`a` is called on the first thread only, `b` on the second only, and launches
    more.
    """
    builder = (
        trace()
        .call("PjitFunction(a)", 0, 10)
        .kernel("GPU:0", "a", 100, 140, launched=(1, 2))
    )
    builder.thread("other").call("PjitFunction(b)", 20, 30).kernel(
        "GPU:0", "b", 140, 200, launched=(21, 22)
    )

    steps = builder.timeline().steps

    assert (steps.about.partition(",")[0], steps.thread, lengths_us(steps)) == (
        "calls of PjitFunction(b)",
        1,
        [180],
    )


def test_a_function_of_the_input_pipeline_is_no_step_though_it_launches_most() -> None:
    builder = (
        trace()
        .thread("tf_data_private_threadpool/1")
        .call("f", 0, 10, tf_function_call="notTraced-nonXla")
    )
    builder.kernel("GPU:0", "a", 20, 90, launched=(1, 2))

    assert builder.timeline().steps.source is StepSource.WHOLE_TRACE


@pytest.mark.parametrize(("calls", "lengths"), [(1, [590]), (0, [100] * 5 + [80])])
def test_kernels_that_repeat_inside_one_call_are_its_layers(
    calls: int, lengths: list[float]
) -> None:
    """Six layers of two kernels, every 100 µs. Without the call around them nothing
    says that they are no steps.
    """
    builder = trace()
    for _ in range(calls):
        builder.call("train_function", 0, 50, tf_function_call="notTraced-nonXla")
    for layer in range(6):
        for place, name in enumerate(("conv", "bias")):
            at = 10 + 100 * layer + 40 * place
            builder.kernel(
                "GPU:0",
                name,
                at,
                at + 40,
                launched=(1 + 2 * layer + place, 2 + 2 * layer + place),
            )

    assert lengths_us(builder.timeline().steps) == lengths


def test_variables_made_one_after_the_other_are_no_steps() -> None:
    """Thirty, each 8 ms after the one before, as when a model is built."""
    builder = trace()
    for number in range(30):
        begin = 8_000 * number
        builder.call("EagerLocalExecute: VarHandleOp", begin, begin + 1_000)

    assert builder.timeline().steps.source is StepSource.WHOLE_TRACE


def test_variables_that_are_made_and_filled_are_no_steps() -> None:
    """Thirty, each with three ops, of which the middle one gives its first value."""
    builder = trace()
    for number in range(30):
        begin = 8_000 * number
        for place, op in enumerate(("VarHandleOp", "Fill", "AssignVariableOp")):
            at = begin + 1_000 * place
            builder.call(f"EagerLocalExecute: {op}", at, at + 900)

    assert builder.timeline().steps.source is StepSource.WHOLE_TRACE


def test_a_loop_that_makes_a_variable_in_each_turn_keeps_its_steps() -> None:
    """Thirty turns of 8 ms, which multiply beside it."""
    builder = trace()
    ops = ("VarHandleOp", "AssignVariableOp", "MatMul", "Softmax")
    for number in range(30):
        for place, op in enumerate(ops):
            at = 8_000 * number + 1_000 * place
            builder.call(f"EagerLocalExecute: {op}", at, at + 900)

    steps = builder.timeline().steps

    assert steps.source is StepSource.LAUNCH_PATTERN
    assert set(lengths_us(steps)[:-1]) == {8_000}
