"""Matrix products alone and in fusions, and the product that comes next."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.flow import Users
from tfadvisor.program.matrix_products import (
    is_product,
    next_products,
    products,
)
from tfadvisor.program.module import Module

ALONG_FEATURES = hlo.dot_numbers([1], [0])


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
