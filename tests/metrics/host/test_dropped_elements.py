"""Elements that a map works on and a stage behind it throws away."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

ROOT = "Iterator::Root::Prefetch"


def pipeline(*stages: tuple[str, int]) -> TraceBuilder:
    """Four steps of 1,000 µs; stages from the consumer to the source, each with its number of calls a step."""
    builder = trace()
    path = ROOT
    for at in range(0, 4000, 1000):
        builder.thread("python").step(at, at + 1000).busy("GPU:0", (at, at + 900))
    builder.thread("tf_data_iterator_resource/1")
    for name, calls in stages:
        path = f"{path}::{name}"
        for at in range(0, 4000, 1000):
            for number in range(calls):
                builder.call(path, at + 10 * number, at + 10 * number + 1)
    return builder


def test_a_shard_of_four_behind_the_map() -> None:
    """The map is asked fewer times than it works, for the shard skips elements of it; its source tells how many it made."""
    metrics = pipeline(("BatchV2", 1), ("Shard", 8), ("ParallelMapV2", 16), ("TFRecord", 32)).measure()

    assert metrics.value("input_dropped_share") == pytest.approx(0.75)
    assert metrics.fact("input_dropping_stage") == "Shard keeps 32 of the 128 elements of ParallelMap"


def test_a_filter_directly_behind_a_map_of_arrays() -> None:
    metrics = pipeline(("BatchV2", 1), ("Filter", 8), ("Map", 10)).measure()

    assert metrics.value("input_dropped_share") == pytest.approx(0.2)


def test_a_shard_before_the_map_drops_nothing_that_was_worked_on() -> None:
    metrics = pipeline(("BatchV2", 1), ("ParallelMapV2", 8), ("Shard", 8), ("TFRecord", 32)).measure()

    assert metrics.value("input_dropped_share") == 0
    assert metrics.fact("input_dropping_stage") is None


def test_without_tf_data() -> None:
    assert trace().steps(4, period=100).busy("GPU:0", (0, 60)).measure().value("input_dropped_share") is None
