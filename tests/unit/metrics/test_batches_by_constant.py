"""A function that ends in `tf.constant` makes the batch; one that runs an op may need
the step before. Four steps of 1,000 µs.
"""

from __future__ import annotations

import pytest
from support.trace_builder import trace

from tfadvisor.metrics.registry import Metrics

CONSTANT = "EagerLocalExecute: _EagerConst"


def measured(dispatched: str) -> Metrics:
    """Each step begins with 500 µs in the function, the last 50 of them in this
    dispatch; then 400 µs of device work.
    """
    builder = trace().call("$train.py:60 main", 0, 4000)
    for at in range(0, 4000, 1000):
        builder.step(at, at + 1000).call("$train.py:34 arrays", at, at + 500).call(
            dispatched, at + 450, at + 500
        )
        builder.call("EagerLocalExecute: __inference_train_step_7", at + 510, at + 520)
        builder.busy("GPU:0", (at + 520, at + 920))
    return builder.measure()


def test_a_function_that_hands_python_values_over_is_the_loader() -> None:
    metrics = measured(CONSTANT)

    assert metrics.value("input_bound_fraction") == pytest.approx(0.5)
    assert metrics.fact("input_frame") == "arrays (train.py:34)"


def test_a_function_that_runs_an_op_may_wait_for_the_step_before() -> None:
    metrics = measured("EagerLocalExecute: AddV2")

    assert metrics.value("input_bound_fraction") == 0
    assert metrics.fact("input_frame") is None
