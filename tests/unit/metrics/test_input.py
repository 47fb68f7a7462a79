"""Which edit an input pipeline calls for, on pipelines that can be worked out
on paper.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics import Settings

ROOT = "Iterator::Root::Prefetch"
approx = pytest.approx


def waiting_steps(wait: float = 40) -> TraceBuilder:
    """Four steps of 1,000 µs that wait this long for their batch and then compute to
    their end; the pipeline's thread.
    """
    builder = trace()
    for at in range(0, 4000, 1000):
        builder.step(at, at + 1000).call("IteratorGetNext", at, at + wait).busy(
            "GPU:0", (at + wait, at + 1000)
        )
    return builder.thread("tf_data_iterator_resource/1")


def with_function(
    builder: TraceBuilder, at: float, run: float, number: int
) -> TraceBuilder:
    """A parallel map starts its function, which runs this long on another thread."""
    builder.thread("tf_data_iterator_resource/1").call("ParallelMapProduce", at, at + 2)
    builder.call("InstantiatedCapturedFunction::RunAsync", at + 0.5, at + 1, id=number)
    return builder.thread("tf_data_private_threadpool/2").call(
        "ExecutorState::Process", at + 1, at + 1 + run, id=number
    )


def mapped(run: float) -> TraceBuilder:
    """Each step takes a batch of 8 elements; a parallel map in front of the batch runs
    its function this long for each.
    """
    builder = waiting_steps(wait=500)
    for step in range(4):
        at = step * 1000
        builder.thread("tf_data_iterator_resource/1").call(
            f"{ROOT}::BatchV2", at, at + 1
        )
        for element in range(8):
            start = at + 1 + element * 110
            builder.thread("tf_data_iterator_resource/1").call(
                f"{ROOT}::BatchV2::ParallelMapV2", start, start + 1
            )
            with_function(builder, start + 2, run, number=100 * step + element + 1)
    return builder


def test_a_parallel_map_of_short_calls_before_the_batch_works_element_by_element() -> (
    None
):
    metrics = mapped(run=80).measure()

    assert metrics.fact("input_stage_fault") == "per-element-map"
    assert metrics.value("input_stage_calls_per_step") == 8


def test_a_parallel_map_of_long_calls_has_much_to_do() -> None:
    assert mapped(run=105).measure().fact("input_stage_fault") == "parallel-map"


def test_windows_that_are_cut_one_by_one_work_element_by_element() -> None:
    """Sixty-four calls of a flat_map a step, before a batch that tf.data fused with a
    map.
    """
    builder = (
        trace()
        .steps(3, period=1000)
        .busy("GPU:0", (0, 10))
        .thread("tf_data_iterator_resource/1")
    )
    for index in range(3):
        start = index * 1000
        builder.call("Iterator::Root::Prefetch::MapAndBatch", start, start + 900)
        for element in range(64):
            at = start + 5 + element * 12
            builder.call("Iterator::Root::Prefetch::MapAndBatch::FlatMap", at, at + 10)

    assert builder.measure().fact("input_stage_fault") == "per-element-map"


@pytest.mark.parametrize(("elements", "fault"), [(127, "batch"), (128, "rows")])
def test_a_batch_of_many_small_elements_is_slow_for_its_rows(
    elements: int, fault: str
) -> None:
    """A batch that works for 900 µs on this many elements of 1 µs."""
    builder = waiting_steps(wait=500)
    for start in range(0, 4000, 1000):
        builder.call(f"{ROOT}::BatchV2", start, start + 900 + elements)
        for element in range(elements):
            builder.call(
                f"{ROOT}::BatchV2::TensorSlice",
                start + 2 * element,
                start + 2 * element + 1,
            )

    assert builder.measure().fact("input_stage_fault") == fault


def test_a_batch_of_large_elements_copies_bytes() -> None:
    """3,800 µs for 128 elements are nearly 30 µs each."""
    builder = trace()
    for at in range(0, 16000, 4000):
        builder.step(at, at + 4000).call("IteratorGetNext", at, at + 2000).busy(
            "GPU:0", (at + 2000, at + 4000)
        )
    builder.thread("tf_data_iterator_resource/1")
    for start in range(0, 16000, 4000):
        builder.call(f"{ROOT}::BatchV2", start, start + 3900)
        for element in range(128):
            builder.call(
                f"{ROOT}::BatchV2::TensorSlice",
                start + 2 * element,
                start + 2 * element + 0.5,
            )

    assert builder.measure().fact("input_stage_fault") == "batch"


def test_windows_of_a_series() -> None:
    """A flat_map over the stage that cuts windows."""
    builder = waiting_steps(wait=500)
    for start in range(0, 4000, 1000):
        builder.call(f"{ROOT}::BatchV2", start, start + 900)
        for element in range(32):
            at = start + 1 + element * 25
            builder.call(f"{ROOT}::BatchV2::FlatMap", at, at + 22)
            builder.call(f"{ROOT}::BatchV2::FlatMap::Window", at + 1, at + 3)

    assert builder.measure().fact("input_stage_fault") == "windows"


def test_of_a_map_fused_with_its_batch_the_elements_count() -> None:
    """One call of the fused stage a step, which asks for eight elements and runs 8 · 60
    µs of functions.
    """
    builder = waiting_steps(wait=500)
    for step in range(4):
        at = step * 1000
        builder.thread("tf_data_iterator_resource/1").call(
            f"{ROOT}::MapAndBatch", at, at + 2
        )
        for element in range(8):
            builder.call(
                f"{ROOT}::MapAndBatch::TensorSlice",
                at + 3 + element,
                at + 3.5 + element,
            )
        builder.call("MapAndBatchProduce", at + 20, at + 900)
        for element in range(8):
            number = 100 * step + element + 1
            start = at + 21 + element * 100
            builder.thread("tf_data_iterator_resource/1")
            builder.call(
                "InstantiatedCapturedFunction::RunAsync", start, start + 1, id=number
            )
            builder.thread("tf_data_private_threadpool/2")
            builder.call("ExecutorState::Process", start + 1, start + 60, id=number)
    metrics = builder.measure()

    assert metrics.fact("input_stage_fault") == "per-element-map"
    assert metrics.value("input_stage_calls_per_step") == 8


def reading(elements_of_a_file: int) -> TraceBuilder:
    """24 elements a step out of files of so many each; a reader says once more that its
    file is at an end.
    """
    builder = waiting_steps(wait=500)
    for step in range(4):
        at = float(step * 1000)
        for element in range(24):
            builder.call(f"{ROOT}::FlatMap", at, at + 20)
            asked = 2 if element % elements_of_a_file == elements_of_a_file - 1 else 1
            for _ in range(asked):
                builder.call(f"{ROOT}::FlatMap::TFRecord", at + 1, at + 2)
                at += 4
            at += 20
    return builder


def test_a_file_for_each_element_is_many_small_files() -> None:
    metrics = reading(elements_of_a_file=1).measure()

    assert metrics.fact("input_stage_fault") == "small-files"


def test_three_files_a_step_are_not_many() -> None:
    metrics = reading(elements_of_a_file=8).measure()

    assert metrics.fact("input_stage_fault") == "other"


def shuffled(fills: int, elements: int, wait: float) -> TraceBuilder:
    """A shuffle that asks for so many elements, 10 µs each, in the first call of as
    many of the four steps.
    """
    builder = waiting_steps(wait)
    for step in range(4):
        at = float(step * 1000)
        asked = elements if step < fills else 1
        builder.call(f"{ROOT}::BatchV2::Shuffle", at, at + 1 + 10 * asked)
        for _ in range(asked):
            builder.call(f"{ROOT}::BatchV2::Shuffle::Map", at + 0.5, at + 10.5)
            at += 10
    return builder


def test_a_buffer_filled_twice_makes_batches_come_in_bursts() -> None:
    """Two of four steps fill it with 30 elements of 10 µs: 602 of 4,000 µs, and the
    map's 620 would fit beside the rest.
    """
    metrics = shuffled(fills=2, elements=30, wait=300).measure()

    assert metrics.fact("input_stage_fault") == "shuffle-refill"


def test_a_buffer_filled_once_is_not_filled_anew() -> None:
    metrics = shuffled(fills=1, elements=90, wait=300).measure()

    assert metrics.fact("input_stage_fault") != "shuffle-refill"


def test_a_few_elements_fill_no_buffer() -> None:
    assert (
        shuffled(fills=4, elements=15, wait=300).measure().fact("input_stage_fault")
        != "shuffle-refill"
    )


def test_a_map_that_is_too_slow_on_average_is_the_cause_and_not_the_shuffle() -> None:
    """The map's 2,400 µs do not fit beside the 400 µs that are no waiting."""
    metrics = shuffled(fills=4, elements=60, wait=900).measure()

    assert metrics.fact("input_stage_fault") == "sequential-map"


def test_little_time_in_filling_makes_no_bursts() -> None:
    """Two fills of 17 elements: 342 of 4,000 µs."""
    metrics = shuffled(fills=2, elements=17, wait=300).measure()

    assert metrics.fact("input_stage_fault") != "shuffle-refill"


def test_text_that_is_parsed_in_the_pipeline() -> None:
    builder = waiting_steps(wait=400)
    for at in range(0, 4000, 1000):
        builder.call(f"{ROOT}::Batch", at, at + 300)
        for row in range(10):
            builder.call(f"{ROOT}::Batch::CSV", at + row * 28, at + row * 28 + 25)

    assert builder.measure().fact("input_stage_fault") == "parsed-text"


@pytest.mark.parametrize(
    ("behind", "elements", "whole"),
    [("", 1, "yes"), ("::Batch", 8, "no"), ("::BatchV2", 8, "no")],
)
def test_a_generator_gives_whole_batches_where_no_stage_behind_it_makes_them(
    behind: str, elements: int, whole: str
) -> None:
    """Its path, from the root: Prefetch, perhaps a batch, FlatMap, Generator."""
    builder = waiting_steps(wait=400)
    for at in range(0, 4000, 1000):
        if behind:
            builder.call(f"{ROOT}{behind}", at, at + 390)
        for number in range(elements):
            begin = at + number * (380 / elements)
            builder.call(f"{ROOT}{behind}::FlatMap", begin, begin + 370 / elements)
            builder.call(
                f"{ROOT}{behind}::FlatMap::Generator", begin, begin + 360 / elements
            )
            run, end = at * 10 + number + 1, begin + 350 / elements
            builder.call(
                "InstantiatedCapturedFunction::Run", begin, end, id=run
            ).thread("tf_Compute/1")
            builder.call("ExecutorState::Process", begin, end, id=run).call(
                "PyFunc:PyFunc", begin, end
            )
            builder.thread("tf_data_iterator_resource/1")
    metrics = builder.measure()

    assert metrics.fact("input_stage_fault") == "generator"


def test_waiting_in_milliseconds() -> None:
    """250 of 1,000 µs."""
    assert waiting_steps(wait=250).measure().value("input_wait_ms_per_step") == approx(
        0.25
    )


@pytest.mark.parametrize(
    ("program", "said"),
    [("ds = ds.map(parse)", "yes"), ("model.predict(rows)", "no")],
)
def test_whether_the_programs_own_files_call_map(
    tmp_path: Path, program: str, said: str
) -> None:
    (tmp_path / "train.py").write_text(program)
    built = trace().step(0, 100)

    found = built.measure(Settings(source=ProgramSource(tmp_path)))

    assert found.fact("input_map_in_source") == said
    assert built.measure().fact("input_map_in_source") is None
