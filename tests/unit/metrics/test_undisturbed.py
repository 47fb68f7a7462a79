"""How much of the ops' time is theirs, on steps of 100 µs without an accelerator."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace


def ops(*lengths: float) -> TraceBuilder:
    """One step; an op of TensorFlow runs for so many µs each time."""
    builder = trace().step(0, 1000).thread("tf_Compute/1")
    at = 10.0
    for length in lengths:
        builder.call("dense/MatMul:MatMul", at, at + length)
        at += length + 1
    return builder


def test_the_fastest_fifth_tells_what_an_op_takes_undisturbed() -> None:
    """Twice 20 and once 60: three times 20 of 100."""
    metrics = ops(20, 60, 20).measure()

    assert metrics.value("calm_op_share") == pytest.approx(0.6)
    assert metrics.value("op_start_share") == pytest.approx(0.3)


def test_short_ops_are_all_start() -> None:
    assert ops(5, 5, 5, 5).measure().value("op_start_share") == 1


@pytest.mark.parametrize("name", ["calm_op_share", "op_start_share"])
def test_an_accelerator_shares_no_cores(name: str) -> None:
    found = trace().step(0, 100).busy("GPU:0", (0, 30)).measure()[name]

    assert (found.value, found.reason) == (
        None,
        "no op computes on a host's own cores in a counted step",
    )
