"""What Python dispatches beside a compiled step: single ops, files, pieces of a step,
replicas.
"""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.timeline_parts import StepSource

STEP = "EagerLocalExecute: __inference_train_step_7"


def step_and_ops(ops: list[str], marked: bool = True) -> TraceBuilder:
    """Ten steps of 1,000 µs: a function of 500 µs that computes, then ops of 20 µs with
    pauses of 20 µs.
    """
    builder = trace()
    for index in range(10):
        at = index * 1000
        if marked:
            builder.step(at, at + 1000)
        builder.call(STEP, at, at + 500).busy("GPU:0", (at, at + 500))
        for place, op in enumerate(ops):
            builder.call(
                f"EagerLocalExecute: {op}", at + 520 + place * 40, at + 540 + place * 40
            )
    return builder


def test_ops_beside_a_function_and_the_pauses_between_them_are_eager_dispatch() -> None:
    """Ten ops of 20 µs and the nine pauses between them; the pause behind the function
    is dispatch of another kind.
    """
    metrics = step_and_ops(["Mean"] * 10).measure()

    assert metrics.value("eager_dispatch_fraction") == pytest.approx(0.38, abs=0.001)
    assert metrics.value("kernel_launch_gap_fraction") == pytest.approx(0.40, abs=0.001)


def test_pieces_of_a_compiled_step_are_no_eager_dispatch() -> None:
    metrics = step_and_ops(["__inference_layer_9"] * 10).measure()

    assert metrics.value("eager_dispatch_fraction") == 0
    assert metrics.value("kernel_launch_gap_fraction") == pytest.approx(0.40, abs=0.001)


def test_few_ops_are_no_eager_dispatch() -> None:
    assert step_and_ops(["Mean"] * 6).measure().value("eager_dispatch_fraction") == 0


def test_writing_lasts_from_the_function_to_the_last_write() -> None:
    metrics = step_and_ops(
        ["Sum", "WriteSummary", "Max", "WriteSummary", "Add"]
    ).measure()

    assert metrics.value("file_writes_per_step") == 2
    assert metrics.value("file_writing_fraction") == pytest.approx(
        0.16, abs=0.001
    )  # 500 to 660 µs


def test_an_op_that_encodes_a_picture_is_not_the_step() -> None:
    """It takes longer than the function before it, and is written behind it: 250 to 800
    µs of 1000.
    """
    builder = trace()
    for index in range(10):
        at = index * 1000
        builder.step(at, at + 1000).call(STEP, at + 50, at + 250).call(
            "EagerLocalExecute: EncodePng", at + 300, at + 700
        )
        builder.call("EagerLocalExecute: WriteSummary", at + 720, at + 800).busy(
            "GPU:0", (at + 50, at + 250)
        )

    assert builder.measure().value("file_writing_fraction") == pytest.approx(
        0.55, abs=0.001
    )


def test_what_a_step_calls_after_its_longest_function_writes_no_file() -> None:
    """Of 1000 µs: collected until 500, then trained until 800, then written
    until 900.
    """
    builder = trace()
    for index in range(10):
        at = index * 1000
        builder.step(at, at + 1000).call(STEP, at, at + 500).call(
            "EagerLocalExecute: __inference_fit_8", at + 600, at + 800
        )
        builder.call("EagerLocalExecute: WriteSummary", at + 820, at + 900).busy(
            "GPU:0", (at + 100, at + 800)
        )

    assert builder.measure().value("file_writing_fraction") == pytest.approx(
        0.10, abs=0.001
    )


def test_of_single_ops_alone_the_longest_is_the_step() -> None:
    """No function is called: 600 to 700 µs of 1000."""
    builder = trace()
    for index in range(10):
        at = index * 1000
        builder.step(at, at + 1000).call(
            "EagerLocalExecute: MatMul", at + 100, at + 600
        )
        builder.call("EagerLocalExecute: WriteSummary", at + 620, at + 700).busy(
            "GPU:0", (at + 100, at + 600)
        )

    assert builder.measure().value("file_writing_fraction") == pytest.approx(
        0.10, abs=0.001
    )


def test_files_written_before_the_function_take_the_time_before_it() -> None:
    builder = trace()
    for index in range(10):
        at = index * 1000
        builder.step(at, at + 1000).call(
            "EagerLocalExecute: SaveV2", at + 50, at + 300
        ).call(STEP, at + 400, at + 900)
        builder.busy("GPU:0", (at + 400, at + 900))

    assert builder.measure().value("file_writing_fraction") == pytest.approx(
        0.30, abs=0.001
    )


def test_a_step_that_writes_nothing() -> None:
    metrics = step_and_ops(["Mean"] * 3).measure()

    assert metrics.value("file_writes_per_step") == 0
    assert metrics.value("file_writing_fraction") == 0


def test_building_lasts_from_the_first_dataset_to_the_first_batch() -> None:
    """Of 1,000 µs: from 520 to 780. Eager dispatch is what follows: the sum."""
    ops = [
        "RangeDataset",
        "Mean",
        "MapDataset",
        "ParallelMapDatasetV2",
        "AnonymousIteratorV3",
        "MakeIterator",
    ]
    metrics = step_and_ops(
        [*ops, "IteratorGetNext", "__inference_predict_9", "Sum"]
    ).measure()

    assert metrics.value("pipeline_building_fraction") == pytest.approx(0.26, abs=0.001)
    assert metrics.value("pipeline_building_step_share") == 1
    assert metrics.fact("pipeline_built") == "dataset"
    assert metrics.value("eager_dispatch_fraction") == pytest.approx(0.02, abs=0.001)


def test_an_iterator_made_in_every_step() -> None:
    """The op at 520, its batch from 560 to 580."""
    metrics = step_and_ops(["MakeIterator", "IteratorGetNext"]).measure()

    assert metrics.value("pipeline_building_fraction") == pytest.approx(0.06, abs=0.001)
    assert metrics.fact("pipeline_built") == "iterator"


def test_a_batch_that_only_a_later_step_takes_is_not_waited_for() -> None:
    """Nine steps take a batch 430 µs after the iterator is begun; the first takes none,
    and counts the 20 µs of the op.
    """
    builder = step_and_ops(["MakeIterator"])
    for at in range(1000, 10_000, 1000):
        builder.call("EagerLocalExecute: IteratorGetNext", at + 900, at + 950)
    metrics = builder.measure()

    assert metrics.value("pipeline_building_fraction") == pytest.approx(
        (9 * 430 + 20) / 10_000, abs=0.001
    )


def test_a_step_that_begins_with_the_batch_of_an_iterator_built_before_it() -> None:
    """Ten steps of 1,000 µs. Built from 900 on, the next step begins with the batch,
    which is there after 300 µs: nine times 400 µs, and 50 for the last, whose batch
    nobody takes."""
    builder = trace()
    for at in range(0, 10_000, 1000):
        builder.step(at, at + 1000).call(
            "EagerLocalExecute: IteratorGetNext", at, at + 300
        )
        builder.call("EagerLocalExecute: __inference_step_9", at + 350, at + 850).busy(
            "GPU:0", (at + 360, at + 850)
        )
        builder.call("EagerLocalExecute: MakeIterator", at + 900, at + 950)

    assert builder.measure().value("pipeline_building_fraction") == pytest.approx(
        (9 * 400 + 50) / 10_000, abs=0.001
    )


def test_what_a_step_computes_between_two_pipelines_builds_none() -> None:
    """Each of ten steps of 1,000 µs makes an iterator for 50 µs, trains for 600 and,
    until its batch is there, builds a data set for 200. The first iterator's batch is
    taken by nobody."""
    builder = trace()
    for at in range(0, 10_000, 1000):
        builder.step(at, at + 1000).call(
            "EagerLocalExecute: MakeIterator", at + 50, at + 100
        )
        builder.call("EagerLocalExecute: __inference_train_9", at + 120, at + 720)
        builder.call("EagerLocalExecute: RangeDataset", at + 750, at + 780)
        builder.call("EagerLocalExecute: MakeIterator", at + 790, at + 900)
        builder.call("EagerLocalExecute: IteratorGetNext", at + 920, at + 950).busy(
            "GPU:0", (at + 130, at + 720)
        )
    metrics = builder.measure()

    assert metrics.value("pipeline_building_fraction") == pytest.approx(0.25, abs=0.001)
    assert metrics.value("pipeline_building_step_share") == 1


@pytest.mark.parametrize("python_ms", [40, 6])
def test_python_of_the_program_between_two_pipelines_builds_none(
    python_ms: int,
) -> None:
    """Each of ten steps predicts for 30 ms, and begins that pipeline anew for 5; then
    the program computes for 40 ms, or for 6, and makes the next pipeline in 20 and its
    first batch in 1. Without the Python of the program it takes 26 ms of what all
    takes; 4 ms to the next step are the program's too.
    """
    builder = trace()
    period = 60_000 + python_ms * 1000
    for at in range(0, 10 * period, period):
        builder.step(at, at + period)
        builder.call("EagerLocalExecute: __inference_predict_9", at, at + 30_000)
        builder.busy("GPU:0", (at + 1_000, at + 30_000))
        builder.call("EagerLocalExecute: MakeIterator", at + 30_000, at + 35_000)
        later = at + 35_000 + python_ms * 1000
        builder.call("EagerLocalExecute: RangeDataset", later, later + 10_000)
        builder.call("EagerLocalExecute: MakeIterator", later + 11_000, later + 20_000)
        builder.call(
            "EagerLocalExecute: IteratorGetNext", later + 20_000, later + 21_000
        )
    metrics = builder.measure()

    assert metrics.value("pipeline_building_fraction") == pytest.approx(
        26 / (60 + python_ms), abs=0.001
    )
    assert metrics.value("pipeline_building_step_share") == 1


def test_python_of_some_milliseconds_between_its_ops_is_tf_datas_own() -> None:
    """Of 100 ms an op for 10, 4 ms of Python, another for 10 and its batch for 6."""
    builder = trace()
    for at in range(0, 1_000_000, 100_000):
        builder.step(at, at + 100_000)
        builder.call("EagerLocalExecute: RangeDataset", at + 10_000, at + 20_000)
        builder.call("EagerLocalExecute: MakeIterator", at + 24_000, at + 34_000)
        builder.call("EagerLocalExecute: IteratorGetNext", at + 34_000, at + 40_000)
        builder.call(
            "EagerLocalExecute: __inference_predict_9", at + 40_000, at + 100_000
        ).busy("GPU:0", (at + 41_000, at + 100_000))

    assert builder.measure().value("pipeline_building_fraction") == pytest.approx(
        0.30, abs=0.001
    )


def test_an_iterator_whose_end_is_asked_for_after_the_step_was_built_before_it() -> (
    None
):
    """The op at 520; eight ops of the step follow, then what asks for the iterator's
    next batch.
    """
    metrics = step_and_ops(["MakeIterator", *["Mul"] * 8, "IteratorGetNext"]).measure()

    assert metrics.value("pipeline_building_fraction") == pytest.approx(0.02, abs=0.001)


def test_a_batch_that_the_next_call_takes_is_waited_for_in_it() -> None:
    """From 100 to 260: the function is called at 200, and its batch is there at 260."""
    builder = trace()
    for at in range(0, 10_000, 1000):
        builder.step(at, at + 1000).call(
            "EagerLocalExecute: MakeIterator", at + 100, at + 150
        )
        builder.call("EagerLocalExecute: __inference_train_9", at + 200, at + 900)
        builder.call("IteratorGetNextOp::DoCompute", at + 210, at + 260).busy(
            "GPU:0", (at + 300, at + 900)
        )

    assert builder.measure().value("pipeline_building_fraction") == pytest.approx(
        0.16, abs=0.001
    )


def test_an_iterator_made_once_an_epoch_is_seldom_built() -> None:
    """Made in the fourth of ten steps: 20 µs of 10,000."""
    builder = step_and_ops([])
    builder.call("EagerLocalExecute: MakeIterator", 3600, 3620)
    metrics = builder.measure()

    assert metrics.value("pipeline_building_step_share") == pytest.approx(0.1)
    assert metrics.value("pipeline_building_fraction") == pytest.approx(0.002)


def test_taking_batches_builds_nothing() -> None:
    metrics = step_and_ops(
        ["IteratorGetNext", "OptionalGetValue", "OptionalHasValue"]
    ).measure()

    assert metrics.value("pipeline_building_step_share") == 0
    assert metrics.value("pipeline_building_fraction") == 0


def test_what_other_threads_build_is_not_the_loops() -> None:
    builder = step_and_ops([])
    builder.thread("another").call("EagerLocalExecute: MakeIterator", 600, 900)

    assert builder.measure().value("pipeline_building_fraction") == 0


def test_iterations_of_the_longest_loop() -> None:
    """Two loops of 30 and 12 iterations a step."""
    builder = trace().steps(4, period=1000).busy("GPU:0", (0, 10))
    builder.thread("tf_Compute/1")
    for index in range(4):
        for turn in range(1, 31):
            at = index * 1000 + turn * 10
            builder.call("ExecutorState::Process", at, at + 4, id=5, iter_num=turn)
            if turn <= 12:
                builder.call(
                    "ExecutorState::Process", at + 5, at + 9, id=6, iter_num=turn
                )

    assert builder.measure().value("loop_iterations_per_step") == pytest.approx(30)


def test_python_of_the_loop_in_milliseconds() -> None:
    builder = trace().steps(4, period=1000)
    for index in range(4):
        builder.call(STEP, index * 1000, index * 1000 + 600).busy(
            "GPU:0", (index * 1000, index * 1000 + 600)
        )

    assert builder.measure().value("loop_python_ms_per_step") == pytest.approx(
        0.4, abs=0.11
    )


def test_a_loop_that_calls_many_functions_steps_from_batch_to_batch() -> None:
    """Each of ten batches goes through eight functions of one name."""
    builder = trace()
    for index in range(10):
        at = index * 1000
        builder.call("EagerLocalExecute: IteratorGetNext", at, at + 20)
        for layer in range(8):
            builder.call(
                f"EagerLocalExecute: __inference_layer_{layer}",
                at + 50 + layer * 100,
                at + 140 + layer * 100,
            )
    steps = builder.busy("GPU:0", (0, 10)).timeline().steps

    assert len(steps) == 10
    assert steps.source is StepSource.HOST_LOOP


def test_replicas_that_run_op_by_op_on_threads_of_their_own() -> None:
    """The thread that takes two batches a step waits while two others dispatch; that is
    dispatch, and no work of the loop.
    """
    builder = trace()
    for index in range(10):
        at = index * 1000
        builder.thread("python").call("EagerLocalExecute: IteratorGetNext", at, at + 20)
        builder.call("EagerLocalExecute: IteratorGetNext", at + 25, at + 45)
        builder.call("EagerLocalExecute: AddN", at + 950, at + 960)
        for replica in range(2):
            builder.thread(f"replica {replica}")
            for op in range(10):
                begin = at + 100 + replica * 400 + op * 40
                builder.call("EagerLocalExecute: Relu", begin, begin + 20)
    timeline = builder.busy("GPU:0", (0, 10)).timeline()
    metrics = builder.measure()

    assert len(timeline.steps) == 10
    assert metrics.value("loop_python_fraction") < 0.2
    assert metrics.value("kernel_launch_gap_fraction") > 0.7


def jitted_steps(calls: int) -> TraceBuilder:
    """Ten steps of 1,000 µs: a jitted function of 900 µs, in which others are called
    that execute a program each.
    """
    builder = trace()
    for index in range(10):
        at = index * 1000
        builder.step(at, at + 1000).call("PjitFunction(train_step)", at, at + 900)
        for place in range(calls):
            begin = at + 10 + place * 80
            builder.call(f"PjitFunction(op_{place})", begin, begin + 30)
            builder.call(
                "CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice",
                begin + 5,
                begin + 25,
            )
            builder.busy("GPU:0", (begin + 20, begin + 50))
    return builder


def test_a_jitted_function_that_python_runs_dispatches_what_it_calls() -> None:
    """As under jax_disable_jit."""
    metrics = jitted_steps(10).measure()

    assert metrics.value("dispatches_per_step") == 10


def test_a_jitted_function_that_calls_few_others_while_it_is_traced_is_one_dispatch() -> (
    None
):
    metrics = jitted_steps(7).measure()

    assert metrics.value("dispatches_per_step") == 1


def test_elementwise_ops_of_tensorflow_on_a_cpu() -> None:
    builder = trace().steps(4, period=100).thread("tf_Compute/1")
    for index in range(4):
        at = index * 100
        builder.call("mul:Mul", at, at + 30).call("add:AddV2", at + 30, at + 60).call(
            "matmul:MatMul", at + 60, at + 80
        )
    metrics = builder.measure()

    assert metrics.value("elementwise_fraction") == pytest.approx(0.6, abs=0.01)
