"""Pieces of a step: what the host read for it and the recording no longer shows."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace


def step(
    variables: int, kernel: str = "EigenMetaKernel", op: str = "mul:Mul"
) -> TraceBuilder:
    """One step of 1,000 µs that reads so many variables, and launches a kernel for an
    op.
    """
    builder = trace().step(0, 1000).thread("tf_gpu_private_0/1")
    for index in range(variables):
        builder.call(
            f"layer_{index}/ReadVariableOp:ReadVariableOp", 2 * index, 2 * index + 1
        )
    builder.call(op, 200, 250)
    return builder.kernel("GPU:0", kernel, 300, 600, launched=(210, 220))


def test_a_step_that_multiplies_none_of_its_variables_is_a_fragment() -> None:
    assert (
        step(393).timeline().capture.fragment
        == "each reads 393 variables and multiplies none of them"
    )


def test_the_verdict_says_so() -> None:
    verdict = step(393).report().verdict

    assert (verdict.bottleneck, verdict.healthy) == ("unknown", False)
    assert verdict.summary.startswith(
        "The steps are fragments: each reads 393 variables"
    )


@pytest.mark.parametrize(
    "builder",
    [
        pytest.param(
            step(393, kernel="volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn"),
            id="a product",
        ),
        pytest.param(
            step(393, op="dense/MatMul:MatMul"), id="a product on the host's side"
        ),
        pytest.param(
            step(393, op="cluster_0/xla_run:_XlaRun"), id="a compiled cluster"
        ),
        pytest.param(step(12), id="few variables"),
    ],
)
def test_whole_steps_are_none(builder: TraceBuilder) -> None:
    assert builder.timeline().capture.fragment == ""
