"""Launches that come late while tf.data runs on the same host threads, and those that
come late without it.
"""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

Spans = list[tuple[float, float]]


def launching(*prepared: Spans) -> TraceBuilder:
    """Four steps of 1,000 µs: dispatch for 400, then the GPU works. On one thread each,
    tf.data's ops at these times.
    """
    builder = trace()
    for at in range(0, 4000, 1000):
        builder.thread("python").step(at, at + 1000).call("FunctionRun", at, at + 990)
        builder.call("EagerLocalExecute: __inference_train_step_7", at, at + 990).busy(
            "GPU:0", (at + 400, at + 1000)
        )
        for number, spans in enumerate(prepared):
            builder.thread(f"tf_data_iterator_resource/{number}")
            builder.call("Iterator::Root::Prefetch::ParallelMapV2", at, at + 1)
            for start, end in spans:
                builder.call("rfft:RFFT", at + start, at + end)
    return builder


def fired(builder: TraceBuilder) -> bool:
    return "host-thread-contention" in {
        one.rule_id for one in builder.report().findings
    }


def test_a_pipeline_on_one_thread_crowds_nobody() -> None:
    builder = launching([(0, 400)])

    assert builder.measure().value("kernel_launch_gap_fraction") == pytest.approx(0.4)
    assert builder.measure().value("crowded_launch_fraction") == 0
    assert not fired(builder)


def test_a_pipeline_that_rests_while_the_host_launches_crowds_nobody() -> None:
    """Both threads prepare batches from 400 on, while the GPU works."""
    builder = launching([(400, 900)], [(400, 900)])

    assert builder.measure().value("crowded_launch_fraction") == 0
    assert not fired(builder)


def test_threads_in_turn_crowd_nobody() -> None:
    assert (
        launching([(0, 200)], [(200, 400)]).measure().value("crowded_launch_fraction")
        == 0
    )


def test_two_threads_at_once_crowd_the_launches_for_as_long() -> None:
    """Both work from 100 to 300 of 1,000 µs, and three from 600 to 900, when the GPU
    has its work.
    """
    builder = launching([(0, 300), (600, 900)], [(100, 400), (600, 900)], [(600, 900)])

    assert builder.measure().value("crowded_launch_fraction") == pytest.approx(0.2)
    (found,) = [
        one
        for one in builder.report().findings
        if one.rule_id == "host-thread-contention"
    ]
    assert (found.saving, found.takes) == (
        None,
        pytest.approx(0.2),
    )  # a question: the trace shows no order among the threads
