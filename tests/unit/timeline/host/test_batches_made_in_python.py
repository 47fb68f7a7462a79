"""Python that ends in a tensor for the next dispatch, in loops whose functions the
trace does not name.
"""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

STEP = "EagerLocalExecute: __inference_train_step_7"


def loop(
    marked: bool,
    *,
    batches: str = "tf.constant",
    frames: bool = False,
    before: float = 40,
) -> TraceBuilder:
    """Ten periods of 100 µs: Python, a tensor, 50 µs of a function that computes all
    the time, a last pause of 3 µs.
    """
    builder = trace()
    for index in range(10):
        at = index * 100
        if marked:
            builder.step(at, at + 98)
        if frames:
            builder.call("$train.py:9 scaled", at, at + before)
        builder.call(batches, at + before, at + before + 5).call(STEP, at + 47, at + 97)
        builder.busy("GPU:0", (at + 47, at + 97))
    return builder


def test_python_of_a_marked_step_before_its_dispatch_makes_the_batch() -> None:
    metrics = loop(marked=True).measure()

    assert metrics.value("batch_python_fraction") == pytest.approx(0.40, abs=0.01)
    assert metrics.value("input_bound_fraction") == pytest.approx(0.40, abs=0.01)


def test_without_markers_it_may_be_anything() -> None:
    metrics = loop(marked=False).measure()

    assert metrics.value("batch_python_fraction") == 0
    assert metrics.value("input_bound_fraction") == 0


@pytest.mark.parametrize(
    "builder",
    [
        loop(marked=True, batches="IteratorGetNext"),
        loop(marked=True, batches="some annotation"),
        loop(marked=False, frames=True),
    ],
    ids=["batches from tf.data", "no tensor is made", "frames name the function"],
)
def test_other_loops_make_no_batch_that_this_can_tell(builder: TraceBuilder) -> None:
    metrics = builder.measure()

    assert metrics.value("batch_python_fraction") == 0


def test_python_between_the_markers_may_be_anything() -> None:
    """The batch is made before the marker begins, where results of the last step could
    be logged as well.
    """
    builder = trace()
    for index in range(10):
        at = index * 100
        builder.call("tf.constant", at + 40, at + 45).step(at + 46, at + 98).call(
            STEP, at + 47, at + 97
        )
        builder.busy("GPU:0", (at + 47, at + 97))
    metrics = builder.measure()

    assert metrics.value("batch_python_fraction") == 0


def test_a_step_of_many_dispatches_runs_op_by_op() -> None:
    builder = trace()
    for index in range(5):
        builder.step(index * 1000, index * 1000 + 990)
        for op in range(10):
            at = index * 1000 + op * 90
            builder.call("tf.constant", at + 40, at + 45).call(
                "EagerLocalExecute: MatMul", at + 50, at + 80
            )
    metrics = builder.busy("GPU:0", (0, 10)).measure()

    assert metrics.value("batch_python_fraction") == 0
