"""Ops that cost by their number: their own time counts, not the dispatch around them
nor large ops of the same type.
"""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

PERIOD = 100_000
STEPS = 4


def compiled(*ops: tuple[str, int, float, float], dispatch: float = 0) -> TraceBuilder:
    """Steps of 100 ms of one function on a CPU. ops: (type, number, length, pause) in
    µs; before them, dispatch.
    """
    builder = trace()
    for step in range(STEPS):
        at = float(step * PERIOD)
        builder.thread("python").step(at, at + PERIOD).call(
            "FunctionRun", at, at + PERIOD - 10
        )
        builder.call(
            "EagerLocalExecute: __inference_train_function_9", at, at + PERIOD - 10
        ).thread("tf_Compute/1")
        at += dispatch
        for kind, number, length, pause in ops:
            for _ in range(number):
                builder.call(f"model/{kind}:{kind}", at, at + length)
                at += length + pause
    return builder


def fired(builder: TraceBuilder) -> bool:
    return "many-tiny-ops" in {one.rule_id for one in builder.report().findings}


def test_dispatch_before_a_healthy_models_ops_is_not_theirs() -> None:
    """40 products of 1.8 ms and 1,160 ops of 2 µs: 2.3 % of the step, as in healthy
    Keras models; 20 % is dispatch.
    """
    builder = compiled(("MatMul", 40, 1800, 0), ("AddV2", 1160, 2, 0), dispatch=20_000)
    metrics = builder.measure()

    assert metrics.value("tiny_kernel_fraction") == pytest.approx(0.0232)
    assert metrics.value("kernels_per_step") == 1200
    assert not fired(builder)


def test_the_large_ones_of_a_type_are_no_tiny_ops() -> None:
    """210 Muls take 75 µs on average, but 15 of them of 1 ms take most of that: 195 are
    too few to count.
    """
    builder = compiled(("Mul", 195, 5, 0), ("Exp", 40, 1, 0), dispatch=1000)
    for step in range(STEPS):
        at = step * PERIOD + 10_000
        builder.thread("tf_Compute/2")
        for index in range(15):
            builder.call(
                "embedding/Mul:Mul", at + index * 1000, at + index * 1000 + 999
            )

    assert builder.measure().value("repeated_op_fraction") == 0


def test_hundreds_of_a_type_count_without_its_large_ones() -> None:
    """200 Muls of 50 µs take 10 ms of the 30 that ops take in all; 20 other Muls of 1
    ms do not count.
    """
    builder = compiled(("Mul", 200, 50, 0))
    for step in range(STEPS):
        at = step * PERIOD + 10_000
        for index in range(20):
            builder.call(
                "embedding/Mul:Mul", at + index * 1000, at + index * 1000 + 1000
            )

    metrics = builder.measure()
    assert metrics.value("repeated_op_fraction") == pytest.approx(0.1)


def test_ops_below_20_us_are_tiny() -> None:
    """1,000 of 19 µs, and 100 of 20."""
    metrics = compiled(("AddV2", 1000, 19, 1), ("Exp", 100, 20, 0)).measure()

    assert metrics.value("tiny_kernel_fraction") == pytest.approx(0.19)


def test_a_thousand_tiny_ops_that_take_the_step_are_named() -> None:
    """2,000 ops of 10 µs with pauses of 30: 20 % of the step are theirs, and 60 % wait
    for the next.
    """
    assert fired(compiled(("AddV2", 2000, 10, 30)))
