"""Sides of products that do not suit Tensor Cores."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps

from tfadvisor.metrics.products import misaligned
from tfadvisor.program.matrix_products import DotSize


@pytest.mark.parametrize(
    ("size", "sides"),
    [
        (DotSize(1, 4096, 4096, 4096, "bf16"), ()),
        (DotSize(1, 4093, 4096, 4093, "bf16"), (4093,)),
        (DotSize(1, 1001, 999, 512, "f16"), (1001, 999)),
        (DotSize(1, 1000, 1000, 1000, "s8"), (1000,)),
        (DotSize(1, 1001, 1001, 1001, "f32"), ()),
        (DotSize(1, 1, 1001, 1001, "bf16"), ()),
        (DotSize(1, 63, 1001, 1001, "bf16"), ()),
    ],
)
def test_sides_that_are_no_multiple_of_16_bytes(
    size: DotSize, sides: tuple[int, ...]
) -> None:
    assert misaligned(size) == sides


def program(side: int) -> bytes:
    matrix = f"bf16[{side},{side}]"
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", matrix),
            hlo.op(
                2,
                "dot",
                matrix,
                1,
                1,
                metadata=hlo.metadata("dot", "model.py", 9),
                extra=hlo.dot_numbers([1], [0]),
            ),
        )
    )


def test_the_share_the_sides_and_what_to_pad_them_to() -> None:
    metrics = gpu_steps(
        ("gemm_fusion_dot", 70, "dot.2"), ("loop_add_fusion", 20), program=program(4093)
    ).measure()

    assert metrics.value("misaligned_matmul_fraction") == pytest.approx(0.7)
    assert metrics.fact("misaligned_sides") == "4093 × 4093 by 4093 × 4093 in bf16"
    assert metrics.fact("padded_sides") == "4093 to 4096"
    assert metrics.fact("misaligned_matmul_op") == "dot.2 (model.py:9)"


def test_padded_sides_have_nothing_to_pad() -> None:
    metrics = gpu_steps(
        ("gemm_fusion_dot", 70, "dot.2"), program=program(4096)
    ).measure()

    assert metrics.value("misaligned_matmul_fraction") == 0
    assert metrics.fact("padded_sides") is None


def test_without_hlo_sides_are_not_known() -> None:
    assert (
        gpu_steps(("ampere_bf16_gemm", 70))
        .measure()
        .value("misaligned_matmul_fraction")
        is None
    )
