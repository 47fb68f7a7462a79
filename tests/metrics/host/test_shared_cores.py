"""Which part of the cores a pipeline takes from a step on the CPU."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

approx = pytest.approx


def shared(prepared: list[tuple[float, float]], *, accelerator: bool = False) -> TraceBuilder:
    """Four steps of 1,000 µs that two threads compute; on a third, tf.data's ops at these times of each step."""
    builder = trace()
    for at in range(0, 4000, 1000):
        builder.thread("python").step(at, at + 1000)
        builder.thread("tf_Compute/1").call("dense/MatMul:MatMul", at, at + 900)
        builder.thread("tf_Compute/2").call("dense_1/MatMul:MatMul", at, at + 700)
        builder.thread("tf_data_private_threadpool/3")
        for start, end in prepared:
            builder.call("rfft:RFFT", at + start, at + end)
        if accelerator:
            builder.busy("GPU:0", (at, at + 900))
    return builder


def test_cores_that_the_pipeline_takes_from_a_step_on_the_cpu() -> None:
    """600 µs, two of them nested, of a step of 1,000 on two cores."""
    metrics = shared([(0, 400), (100, 200), (500, 700)]).measure()

    assert metrics.value("input_busy_threads") == approx(0.6)
    assert metrics.value("input_core_share") == approx(0.3)


def test_a_pipeline_on_more_threads_than_compute_takes_cores_of_its_own() -> None:
    """Three threads prepare for 500 µs each, two compute: 1,500 of 3,000."""
    builder = shared([(0, 500)])
    for at in range(0, 4000, 1000):
        for number in (4, 5):
            builder.thread(f"tf_data_private_threadpool/{number}").call("rfft:RFFT", at, at + 500)

    assert builder.measure().value("input_core_share") == approx(0.5)


def test_an_accelerator_computes_on_cores_of_its_own() -> None:
    metrics = shared([(0, 900)], accelerator=True).measure()

    assert metrics.value("input_core_share") is None
    assert "accelerator" in metrics["input_core_share"].reason


def test_without_a_pipeline_no_core_is_shared() -> None:
    metrics = shared([]).measure()

    assert metrics.value("input_core_share") is None
    assert "tf.data" in metrics["input_core_share"].reason


def test_stages_that_cut_and_batch_take_cores_and_those_that_wait_do_not() -> None:
    """Of 800 µs in FlatMap 300 are spent waiting for a parallel map's threads: 500 of 1,000 on two cores."""
    builder = shared([])
    for at in range(0, 4000, 1000):
        builder.thread("tf_data_prefetch/3")
        builder.call("Iterator::Root::Prefetch::FlatMap", at, at + 800)
        builder.call("Iterator::Root::Prefetch::FlatMap[0]::Batch", at + 100, at + 400)
        builder.call("Iterator::Root::Prefetch::FlatMap::ParallelMapV2", at + 450, at + 750)
    metrics = builder.measure()

    assert metrics.value("input_busy_threads") == approx(0.5)
    assert metrics.value("input_core_share") == approx(0.25)
