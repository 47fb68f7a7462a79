"""A loop that takes its batches from a tf.data pipeline loads none itself. Four steps
of 1,000 µs.
"""

from __future__ import annotations

import pytest
from support.trace_builder import trace

from tfadvisor.metrics.registry import Metrics

ITERATOR = "$iterator_ops.py:824 __next__"
GET_NEXT = "EagerLocalExecute: IteratorGetNext"


def measured(frame: str, *asked: tuple[float, float]) -> Metrics:
    """Each step begins with 500 µs in a frame, in which tf.data's runtime is asked;
    then 400 µs of device work.
    """
    builder = trace().call("$train.py:60 main", 0, 4000)
    for at in range(0, 4000, 1000):
        builder.step(at, at + 1000).call(frame, at, at + 500)
        for start, end in asked:
            builder.call(GET_NEXT, at + start, at + end)
        builder.call("PjitFunction(step)", at + 510, at + 520).busy(
            "GPU:0", (at + 520, at + 920)
        )
    return builder.measure()


def test_python_around_the_pipeline_is_on_the_way_to_its_op() -> None:
    """The step waits 300 µs; the other 200 µs of the frame and 10 µs of the step's call
    are dispatch.
    """
    metrics = measured(ITERATOR, (100, 400))

    assert metrics.value("input_bound_fraction") == pytest.approx(0.3)
    assert metrics.value("kernel_launch_gap_fraction") == pytest.approx(0.21)
    assert metrics.fact("input_frame") is None


def test_without_the_pipelines_own_events_the_frame_is_all_there_is() -> None:
    metrics = measured(ITERATOR)

    assert metrics.value("input_bound_fraction") == pytest.approx(0.5)
    assert metrics.fact("input_frame") == "main (train.py:60)"


def test_a_function_that_mostly_waits_for_the_pipeline_loads_nothing_itself() -> None:
    """300 of 500 µs, and 200."""
    assert (
        measured("$data_loader.py:34 __next__", (100, 400)).fact("input_frame") is None
    )
    assert (
        measured("$data_loader.py:34 __next__", (100, 300)).fact("input_frame")
        == "__next__ (data_loader.py:34)"
    )
