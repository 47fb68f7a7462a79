"""Matrix products alone, in fusions and as library calls; which of them share an
operand.
"""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.flow import Users
from tfadvisor.program.module import Module
from tfadvisor.program.products import (
    is_product,
    next_products,
    products,
    products_of_one_operand,
)

ALONG_FEATURES = hlo.dot_numbers([1], [0])
GEMM = {
    "gemm_backend_config": {
        "dot_dimension_numbers": {
            "lhs_contracting_dimensions": ["1"],
            "rhs_contracting_dimensions": ["0"],
        }
    }
}


def fused_dot(one: int) -> bytes:
    """A Triton fusion: parameter 0 in fp32 is converted and multiplied by
    parameter 1.
    """
    return hlo.computation(
        one,
        hlo.op(1, "parameter", "f32[4,8]", number=0),
        hlo.op(2, "parameter", "bf16[8,16]", number=1),
        hlo.op(3, "convert", "bf16[4,8]", 1),
        hlo.op(4, "dot", "f32[4,16]", 3, 2, extra=ALONG_FEATURES),
    )


def test_a_fusion_around_a_dot_is_a_product() -> None:
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[4,8]"),
        hlo.op(2, "parameter", "bf16[8,16]", number=1),
        hlo.op(3, "fusion", "f32[4,16]", 1, 2, calls=[2]),
    )
    fusion = Module(hlo.module(fused_dot(2), entry)).entry.root

    (size,) = products(fusion)

    assert (size.m, size.n, size.k, size.lhs_dtype) == (4, 16, 8, "bf16")
    assert is_product(fusion)


def test_an_elementwise_op_is_no_product() -> None:
    entry = hlo.computation(
        1, hlo.op(1, "parameter", "f32[8]"), hlo.op(2, "negate", "f32[8]", 1)
    )

    assert not is_product(Module(hlo.module(entry)).entry.root)


def test_queries_keys_and_values_share_their_input_whether_fused_or_called() -> None:
    """A Triton fusion converts the shared operand itself. Two inputs of one weight
    could be stacked likewise.
    """
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[4,8]", name="x"),
        hlo.op(2, "parameter", "bf16[8,16]", number=1),
        hlo.op(3, "parameter", "bf16[8,16]", number=2),
        hlo.op(4, "fusion", "f32[4,16]", 1, 2, calls=[2], name="query"),
        hlo.op(5, "fusion", "f32[4,16]", 1, 3, calls=[3], name="key"),
        hlo.op(6, "parameter", "f32[4,8]", number=3),
        hlo.op(7, "parameter", "bf16[8,16]", number=4),
        hlo.op(
            8,
            "custom-call",
            "f32[4,16]",
            1,
            7,
            target="__cublas$gemm",
            config=GEMM,
            name="value",
        ),
        hlo.op(
            9,
            "custom-call",
            "f32[4,16]",
            6,
            7,
            target="__cublas$gemm",
            config=GEMM,
            name="tied",
        ),
    )

    assert products_of_one_operand(
        Module(hlo.module(fused_dot(2), fused_dot(3), entry))
    ) == {
        "query",
        "key",
        "value",
        "tied",
    }


def test_the_backward_products_sum_along_different_dimensions_and_do_not_count() -> (
    None
):
    """dx sums dy along its features, dw along its rows."""
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[4,16]", name="dy"),
        hlo.op(2, "parameter", "f32[16,8]", number=1),
        hlo.op(3, "parameter", "f32[4,8]", number=2),
        hlo.op(4, "dot", "f32[4,8]", 1, 2, extra=hlo.dot_numbers([1], [0]), name="dx"),
        hlo.op(5, "dot", "f32[16,8]", 1, 3, extra=hlo.dot_numbers([0], [0]), name="dw"),
    )

    assert products_of_one_operand(Module(hlo.module(entry))) == set()


def test_one_product_done_twice_is_not_two_others() -> None:
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[4,8]"),
        hlo.op(2, "parameter", "f32[8,8]", number=1),
        hlo.op(3, "dot", "f32[4,8]", 1, 2, extra=ALONG_FEATURES),
        hlo.op(4, "dot", "f32[4,8]", 1, 2, extra=ALONG_FEATURES),
    )

    assert products_of_one_operand(Module(hlo.module(entry))) == set()


def test_the_next_product_is_looked_for_only_so_far() -> None:
    """x -> negate -> tanh -> dot: a product two instructions on."""
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[4,8]"),
        hlo.op(2, "parameter", "f32[8,8]", number=1),
        hlo.op(3, "negate", "f32[4,8]", 1),
        hlo.op(4, "tanh", "f32[4,8]", 3),
        hlo.op(5, "dot", "f32[4,8]", 4, 2, extra=ALONG_FEATURES),
    )
    computation = Module(hlo.module(entry)).entry
    users = Users(computation)

    assert next_products(computation.by_id(1), users, 3)
    assert not next_products(computation.by_id(1), users, 2)
