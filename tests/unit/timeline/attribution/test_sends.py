"""What TensorFlow's executor passes from the host to a device, as the step's time is
told.
"""

from __future__ import annotations

import pytest
from support.trace_builder import trace


def test_a_batch_on_its_way_to_the_gpu_is_told_from_the_executors_other_work() -> None:
    """The GPU computes in 60..80 of 100 µs; two sends take 10..50 beside each other,
    picking ops 50..60, a launch 1 of these.
    """
    builder = (
        trace()
        .step(0, 100)
        .call("EagerLocalExecute: __inference_train_function_1", 0, 90)
    )
    builder.call("EagerKernelExecute", 1, 89)
    builder.thread("tf_Compute/1").call("ExecutorState::Process", 50, 60).call(
        "IteratorGetNext/_1:_Send", 10, 50
    )
    builder.thread("tf_Compute/2").call("IteratorGetNext/_3:_Send", 10, 50)
    builder.kernel("GPU:0", "gemm", 60, 80, launched=(55, 56))

    told = {
        part.activity: part
        for one in builder.report().attribution
        for part in one.parts
    }

    sends = told["hands tensors to the device (_Send)"]
    assert sends.fraction == pytest.approx(0.4)
    assert {one.activity: round(one.fraction, 3) for one in sends.parts} == {
        "IteratorGetNext/_1:_Send": 0.2,
        "IteratorGetNext/_3:_Send": 0.2,
    }
    assert told["TensorFlow's executor"].fraction == pytest.approx(0.09)
