"""Numbers for fixes: steps a call, steps between waits, copies, directions, places."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support import hlo_builder as hlo
from support.cpu_step import cpu_steps
from support.gpu_step import gpu_steps
from support.trace_builder import TraceBuilder, trace

from tfadvisor.metrics import measure
from tfadvisor.metrics.collective_kinds import _until_small
from tfadvisor.trace.noted_ops import NotedOp, NotedOps, OpLine


@pytest.mark.parametrize(
    ("lost", "steps"),
    [
        (0.0, "2"),
        (0.05, "2"),
        (0.2, "8"),
        (0.5, "32"),
        (0.92, "256"),
        (0.999, "1024"),
        (1.0, "1024"),
    ],
)
def test_how_many_steps_leave_less_than_a_twentieth(lost: float, steps: str) -> None:
    """Of 0.2: 19 · 0.2 / 0.8 = 4.75 steps, so 8. With n steps a call, 0.2 / (0.2 + 8 ·
    0.8) = 3%.
    """
    assert _until_small(lost) == steps
    if 0 < lost < 0.98:
        assert lost / (lost + int(steps) * (1 - lost)) < 0.05


def copying(*copies: tuple[str, float, float, int]) -> TraceBuilder:
    builder = trace()
    for index in range(3):
        at = index * 100
        builder.step(at, at + 100).busy("GPU:0", (at, at + 50))
        for kind, start, end, size in copies:
            builder.copy("GPU:0", kind, at + start, at + end, size)
    return builder


def test_copies_between_host_and_device() -> None:
    metrics = copying(
        ("H2D", 60, 70, 1000),
        ("H2D", 70, 72, 3000),
        ("D2H", 80, 81, 2000),
        ("D2D", 90, 95, 99),
    ).measure()

    assert metrics.value("host_copies_per_step") == 3
    assert metrics.value("host_copy_bytes") == 2000


def test_a_run_without_copies() -> None:
    metrics = copying().measure()

    assert metrics.value("host_copies_per_step") == 0
    assert metrics.value("host_copy_bytes") is None


def test_the_place_of_the_most_frequent_tiny_op() -> None:
    """negate runs twice a step for 2 µs, tanh once for 3; the product is too long to be
    tiny.
    """
    ops = [
        hlo.op(
            index,
            opcode,
            "f32[8]",
            1,
            name=opcode,
            metadata=hlo.metadata(opcode, "model.py", index),
        )
        for index, opcode in ((2, "negate"), (3, "tanh"), (4, "cosine"))
    ]
    program = hlo.module(hlo.computation(1, hlo.op(1, "parameter", "f32[8]"), *ops))
    kernels = (
        ("a", 2, "negate"),
        ("a", 2, "negate"),
        ("b", 3, "tanh"),
        ("c", 60, "cosine"),
    )

    metrics = gpu_steps(*kernels, program=program).measure()

    assert metrics.fact("tiny_op_place") == "negate (model.py:2)"
    assert metrics.fact("tiny_op_in_loop") == "no"


def test_the_place_of_a_tiny_op_of_tensorflow_is_noted_beside_the_trace() -> None:
    """Pad runs twice a step for 2 µs."""
    run = cpu_steps(("map/while/Pad:Pad", 2), ("map/while/Pad:Pad", 2)).build()
    noted = NotedOps((NotedOp("while/Pad", "Pad", OpLine("train.py", 5, "crop")),))

    metrics = measure(replace(run, op_lines=noted))

    assert metrics.fact("tiny_op_place") == "map/while/Pad (train.py:5)"
    assert measure(run).fact("tiny_op_place") is None
