"""The tf.data tree: stages, their own work, and the slowest."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.host.input_pipeline import (
    BufferFill,
    InputPipeline,
    InputStage,
)
from tfadvisor.timeline.names.tf_data import stage_path

PS = 1_000_000
ROOT = "Iterator::Root::Prefetch"


def pipeline_of(builder: TraceBuilder) -> InputPipeline:
    found = builder.busy("GPU:0", (0, 1)).timeline().evidence.pipeline
    assert found is not None
    return found


def stage(pipeline: InputPipeline, kind: str) -> InputStage:
    (found,) = (one for one in pipeline.stages if one.kind == kind)
    return found


def test_stage_path_drops_what_is_no_stage_of_the_users() -> None:
    assert (
        stage_path("Iterator::Root::Prefetch::ForeverRepeat[0]::BatchV2")
        == "Prefetch::ForeverRepeat::Batch"
    )
    assert stage_path("Iterator::Root") is None
    assert stage_path("PrefetchProduce") is None


def test_a_stage_works_what_its_children_do_not() -> None:
    """Map runs 60 µs, of which its source takes 15: the map's own work is 45."""
    builder = trace().step(0, 100).thread("tf_data_iterator_resource/1")
    builder.call(f"{ROOT}::Map", 10, 70).call(f"{ROOT}::Map::TensorSlice", 10, 25)

    pipeline = pipeline_of(builder)

    assert stage(pipeline, "Map").busy_ps == 45 * PS
    assert stage(pipeline, "TensorSlice").busy_ps == 15 * PS
    assert pipeline.slowest().kind == "Map"


def test_a_prefetch_only_waits() -> None:
    builder = (
        trace()
        .step(0, 100)
        .call(ROOT, 0, 90)
        .thread("tf_data_iterator_resource/1")
        .call(f"{ROOT}::Batch", 0, 90)
    )

    assert stage(pipeline_of(builder), "Prefetch").busy_ps == 0


def test_functions_on_other_threads_count_for_the_stage_that_called_them() -> None:
    """A parallel map starts its function in 1 µs; it runs for 40 µs elsewhere."""
    builder = (
        trace()
        .step(0, 100)
        .thread("tf_data_iterator_resource/1")
        .call(f"{ROOT}::ParallelMapV2", 0, 2, parallelism=4)
    )
    builder.call("ParallelMapProduce", 10, 20).call(
        f"{ROOT}::ParallelMapV2::TensorSlice", 11, 13
    )
    builder.call("InstantiatedCapturedFunction::RunAsync", 15, 16, id=77)
    builder.thread("tf_data_private_threadpool/2").call(
        "ExecutorState::Process", 20, 56, id=77
    )

    found = stage(pipeline_of(builder), "ParallelMap")

    assert (
        found.busy_ps == 41 * PS
    )  # 1 in the call, 40 from its return to the end of the work
    assert found.parallelism == 4
    assert found.wall_ps == 41 * PS // 4


def test_a_python_function_is_noticed_and_never_parallel() -> None:
    builder = (
        trace()
        .step(0, 100)
        .thread("tf_data_iterator_resource/1")
        .call(f"{ROOT}::ParallelMapV2", 0, 2, parallelism=8)
    )
    builder.call("ParallelMapProduce", 10, 20).call(
        "InstantiatedCapturedFunction::RunAsync", 15, 16, id=77
    )
    builder.thread("tf_data_private_threadpool/2").call(
        "ExecutorState::Process", 20, 56, id=77
    )
    builder.call("EagerPyFunc:EagerPyFunc", 21, 55)

    found = stage(pipeline_of(builder), "ParallelMap")

    assert found.python
    assert found.wall_ps == found.busy_ps == 41 * PS


def test_a_function_outside_of_any_stage_works_on_what_its_thread_asked_for_before() -> (
    None
):
    """TensorFlow 2.3 has no Produce event: the parallel map asks its source from 10 to
    15, then starts its function, which ran for 1 µs in the call and 40 after it.
    """
    builder = (
        trace()
        .step(0, 100)
        .thread("tf_data_iterator_resource/1")
        .call(f"{ROOT}::ParallelMapV2", 0, 2)
    )
    builder.call(f"{ROOT}::ParallelMapV2::TensorSlice", 10, 15)
    builder.call("InstantiatedCapturedFunction::RunAsync", 15, 16, id=77)
    builder.thread("tf_Compute/2").call("ExecutorState::Process", 20, 56, id=77)
    builder.call("EagerPyFunc:EagerPyFunc", 21, 55)

    found = stage(pipeline_of(builder), "ParallelMap")

    assert found.python
    assert found.busy_ps == 41 * PS


def test_a_synchronous_function_is_part_of_its_stage() -> None:
    builder = (
        trace()
        .step(0, 100)
        .thread("tf_data_iterator_resource/1")
        .call(f"{ROOT}::Map", 0, 50)
    )
    builder.call("InstantiatedCapturedFunction::Run", 5, 45, id=9)
    builder.thread("tf_Compute/1").call("ExecutorState::Process", 6, 44, id=9)

    assert stage(pipeline_of(builder), "Map").busy_ps == 50 * PS


def test_settings_are_those_of_the_stages_first_event() -> None:
    builder = (
        trace()
        .step(0, 100)
        .call(
            ROOT, 0, 9, name="inject/prefetch_Map/_8", autotune="true", buffer_limit=2
        )
    )

    found = stage(pipeline_of(builder), "Prefetch")

    assert found.name == "inject/prefetch_Map/_8"
    assert found.settings["autotune"] == "true"


@pytest.mark.parametrize(("size", "ps"), [(1_000, 20_000 * PS), ("?", None)])
def test_a_shuffle_fills_as_fast_as_the_slowest_stage_before_it(
    size: object, ps: int | None
) -> None:
    """Two elements take the map 20 µs each: 1,000 take 20 ms."""
    shuffle = f"{ROOT}::ShuffleV3"
    mapped = f"{shuffle}::Map"
    builder = trace().step(0, 100).thread("tf_data_iterator_resource/1")
    builder.call(shuffle, 0, 60, buffer_size=size)
    for start in (0, 30):
        builder.call(mapped, start, start + 22)
        builder.call(f"{mapped}::Range", start, start + 2)

    fill = pipeline_of(builder).buffer_fill()

    assert fill == (None if ps is None else BufferFill(1_000, "Map", ps))


def test_only_counted_steps_are_looked_at() -> None:
    builder = (
        trace()
        .step(0, 100)
        .call("backend_compile", 5, 95)
        .step(100, 200)
        .step(200, 300)
    )
    builder.thread("tf_data_iterator_resource/1").call(f"{ROOT}::Map", 10, 80).call(
        f"{ROOT}::Map", 110, 120
    )

    assert stage(pipeline_of(builder), "Map").busy_ps == 10 * PS


def test_without_iterators_there_is_no_pipeline() -> None:
    assert (
        trace().step(0, 100).busy("GPU:0", (0, 1)).timeline().evidence.pipeline is None
    )
