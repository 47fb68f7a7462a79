"""A compiled function that is called many times in each step, beside the one that trains."""

from __future__ import annotations

from support.trace_builder import TraceBuilder, trace

EAGER = "EagerLocalExecute: "


def steps_of(*calls: tuple[str, float]) -> TraceBuilder:
    """Four steps of 1,000 µs whose thread calls these functions for so long, one after the other."""
    builder = trace()
    for at in range(0, 4000, 1000):
        builder.thread("python").step(at, at + 1000)
        start = float(at)
        for name, length in calls:
            builder.call(f"{EAGER}{name}", start, start + length)
            start += length
        builder.thread("tf_Compute/1").call("dense/MatMul:MatMul", at, at + 400)
    return builder


TRAINING = ("__inference_train_step_12", 400.0)


def test_a_function_beside_the_training_step() -> None:
    """Six calls of 40 µs in each step of 1,000 µs, of two copies of the function."""
    sampling = [(f"__inference_next_token_{number}", 40.0) for number in (31, 31, 31, 57, 57, 57)]
    metrics = steps_of(TRAINING, *sampling).measure()

    assert metrics.fact("repeated_call") == "next_token"
    assert metrics.value("repeated_calls_per_step") == 6


def test_a_function_that_takes_most_of_the_step_is_the_training() -> None:
    """An agent's update runs four times for each collection of experience."""
    metrics = steps_of(("__inference_collect_3", 100), *[("__inference_update_9", 200.0)] * 4).measure()

    assert metrics.value("repeated_calls_per_step") is None


def test_single_ops_are_no_functions() -> None:
    metrics = steps_of(TRAINING, *[("StridedSlice", 40.0)] * 6).measure()

    assert metrics.fact("repeated_call") is None
