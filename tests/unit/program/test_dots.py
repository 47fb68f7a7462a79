"""Sizes of matrix products, from dots and from library calls."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.errors import TraceError
from tfadvisor.program.matrix_products import DotSize, dot_size
from tfadvisor.program.module import Instruction, Module


def product(
    left: str, right: str, opcode: str = "dot", result: str = "f32[]", **more: object
) -> Instruction:
    body = hlo.computation(
        1,
        hlo.op(1, "parameter", left),
        hlo.op(2, "parameter", right, number=1),
        hlo.op(3, opcode, result, 1, 2, **more),  # type: ignore[arg-type]
    )
    return Module(hlo.module(body)).entry.root


def gemm(
    numbers: object, target: str = "__cublas$gemm", *, wrapped: bool = True
) -> Instruction:
    config = {"alpha_real": 1, "dot_dimension_numbers": numbers}
    return product(
        "bf16[8192,1024]",
        "bf16[1024,4096]",
        "custom-call",
        "(bf16[8192,4096], s8[4194304])",
        target=target,
        config={"gemm_backend_config": config} if wrapped else config,
    )


def test_a_plain_product() -> None:
    """64 × 128 times 128 × 32: 2 · 64 · 128 · 32."""
    size = dot_size(
        product("f32[64,128]", "f32[128,32]", extra=hlo.dot_numbers([1], [0]))
    )

    assert size == DotSize(1, 64, 32, 128, "f32")
    assert size.flops == 524_288


def test_a_batched_product_of_transposed_operands_in_two_types() -> None:
    """Four products of 64 × 128 by 128 × 32, each operand the wrong way round."""
    size = dot_size(
        product(
            "bf16[4,128,64]", "f32[32,128,4]", extra=hlo.dot_numbers([1], [1], [0], [2])
        )
    )

    assert size == DotSize(4, 64, 32, 128, "bf16")
    assert size.flops == 4 * 524_288


def test_several_dimensions_may_be_summed_over_or_kept() -> None:
    """b·s rows of h·d columns against h·d × f: an attention's output projection."""
    size = dot_size(
        product("f32[2,10,4,8]", "f32[4,8,32]", extra=hlo.dot_numbers([2, 3], [0, 1]))
    )

    assert size == DotSize(1, 20, 32, 32, "f32")


def test_a_product_with_a_vector_or_a_scalar_has_sides_of_one() -> None:
    assert dot_size(
        product("f32[64]", "f32[64]", extra=hlo.dot_numbers([0], [0]))
    ) == DotSize(1, 1, 1, 64, "f32")
    assert dot_size(product("f32[]", "f32[5]")) == DotSize(1, 1, 5, 1, "f32")


def test_in_a_ragged_product_each_row_meets_one_group() -> None:
    """64 rows of 32, four groups of 32 × 16: as much work as one group on all rows."""
    inner = hlo.packed(1, [1]) + hlo.packed(2, [1])
    numbers = hlo.field(
        90, hlo.field(1, inner) + hlo.packed(2, [0]) + hlo.packed(3, [0])
    )

    size = dot_size(product("f32[64,32]", "f32[4,32,16]", "ragged-dot", extra=numbers))

    assert size == DotSize(1, 64, 16, 32, "f32")


@pytest.mark.parametrize(
    "target", ["__cublas$gemm", "__cublas$lt$matmul", "__cublas$lt$matmul$f8"]
)
@pytest.mark.parametrize("wrapped", [True, False], ids=["today", "before 2024"])
def test_a_library_call_notes_its_dimensions_as_text(
    target: str, wrapped: bool
) -> None:
    numbers = {
        "lhs_contracting_dimensions": ["1"],
        "rhs_contracting_dimensions": ["0"],
        "lhs_batch_dimensions": [],
    }

    size = dot_size(gemm(numbers, target, wrapped=wrapped))

    assert size == DotSize(1, 8192, 4096, 1024, "bf16")
    assert size.flops == 68_719_476_736


@pytest.mark.parametrize(
    "numbers",
    [
        None,
        [],
        "text",
        {"lhs_contracting_dimensions": ["x"]},
        {"lhs_batch_dimensions": 3},
    ],
)
def test_a_library_call_that_does_not_say_has_no_size(numbers: object) -> None:
    assert dot_size(gemm(numbers)) is None


def test_other_calls_and_opcodes_are_no_products() -> None:
    assert dot_size(gemm({}, "te_fused_attn_forward_ffi")) is None
    assert dot_size(product("f32[8]", "f32[8]", "add")) is None


def test_dimensions_that_are_not_there_are_damage() -> None:
    with pytest.raises(
        TraceError, match="multiplies dimensions that its operands do not have"
    ):
        dot_size(product("f32[64,128]", "f32[128,32]", extra=hlo.dot_numbers([2], [0])))
    lonely = hlo.computation(
        1, hlo.op(1, "dot", "f32[]", extra=hlo.dot_numbers([0], [0]))
    )
    with pytest.raises(TraceError, match="has no two operands"):
        dot_size(Module(hlo.module(lonely)).entry.root)
