"""Pieces of a step: what the host read for it and the recording no longer shows."""

from __future__ import annotations

import numpy as np
import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.host_timeline import no_round
from tfadvisor.timeline.timeline_parts import StepKind, Steps, StepSource
from tfadvisor.units import PS_PER_MS


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
        "The steps of the trace are not the program's: each reads 393 variables"
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


@pytest.mark.parametrize(
    ("steps", "round_ms", "said"),
    [
        ([23.9], 6.34, "one takes 23.9 ms, and a round of its loop took 6.34 ms while"),
        ([5.0], 6.34, "one takes 5 ms, and a round of its loop took 6.34 ms while"),
        ([7.6], 6.34, ""),
        ([23.9], 0.0, ""),
        ([23.9, 23.9, 23.9], 6.34, ""),
    ],
    ids=["longer", "shorter", "within a fifth", "never counted", "a rhythm of its own"],
)
def test_a_step_is_as_long_as_a_round_of_the_loop(
    steps: list[float], round_ms: float, said: str
) -> None:
    ends = np.cumsum([int(length * PS_PER_MS) for length in steps])
    starts = np.append(0, ends[:-1])
    names, kinds = ("step",) * len(steps), (StepKind.STEADY,) * len(steps)
    found = Steps(
        starts, ends, ends, names, kinds, StepSource.MODULE, 0.7, 0, "", round_ms
    )

    words = no_round(found)

    assert words.startswith(said)
    assert bool(words) == bool(said)
