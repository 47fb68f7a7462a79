"""What the step's program could do better: attention, copies, products of one
operand.
"""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps

approx = pytest.approx
SCORES, CONTEXT, SQUARE = "f32[8,128,128]", "f32[8,128,64]", "f32[64,64]"
DOT = hlo.dot_numbers([1], [0])


def attention() -> bytes:
    """q·k, its softmax in one fusion, and a product with v; the maximum and sum are
    computations 3 and 4.
    """
    reducers = [
        hlo.computation(
            one, hlo.op(1, "parameter", "f32[]"), hlo.op(2, opcode, "f32[]", 1, 1)
        )
        for one, opcode in ((3, "maximum"), (4, "add"))
    ]
    softmax = hlo.computation(
        2,
        hlo.op(1, "parameter", SCORES),
        hlo.op(2, "reduce", "f32[8,128]", 1, 1, calls=[3]),
        hlo.op(3, "exponential", SCORES, 1),
        hlo.op(4, "reduce", "f32[8,128]", 3, 3, calls=[4]),
        hlo.op(5, "divide", SCORES, 3, 4),
    )
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", CONTEXT),
        hlo.op(
            2,
            "dot",
            SCORES,
            1,
            1,
            name="scores",
            metadata=hlo.metadata("attn", "model.py", 31),
            extra=hlo.dot_numbers([2], [2], [0], [0]),
        ),
        hlo.op(3, "fusion", SCORES, 2, calls=[2], name="softmax"),
        hlo.op(
            4,
            "dot",
            CONTEXT,
            3,
            1,
            name="context",
            extra=hlo.dot_numbers([2], [1], [0], [0]),
        ),
        hlo.op(5, "negate", CONTEXT, 4, name="after"),
    )
    return hlo.module(*reducers, softmax, entry)


def test_unfused_attention_is_its_products_and_what_lies_between() -> None:
    """20 + 30 + 10 of 100 µs; what follows is not part of it. The softmax, which has no
    line, stands on that of its operand.
    """
    metrics = gpu_steps(
        ("gemm_1", 20, "scores"), ("softmax", 30, "softmax"), ("gemm_2", 10, "context"), ("loop_negate_fusion", 20, "after"),
        program=attention(),
    ).measure()  # fmt: skip

    assert metrics.value("unfused_attention_fraction") == approx(0.6)
    assert metrics.fact("unfused_attention_op") == "softmax (model.py:31)"


def test_without_hlo_nothing_is_known_of_attention() -> None:
    metrics = gpu_steps(("gemm_1", 20), ("softmax", 30)).measure()

    assert metrics.value("unfused_attention_fraction") is None
    assert "HLO" in metrics["unfused_attention_fraction"].reason
