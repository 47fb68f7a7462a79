"""Attention as separate kernels is a batched product, a softmax and a batched product;
gates and norms are not.
"""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.program.patterns import unfused_attention

SCORES, CONTEXT = "f32[8,128,128]", "f32[8,128,64]"
BATCHED = hlo.dot_numbers([2], [2], [0], [0])
VALUES = hlo.dot_numbers([2], [1], [0], [0])


def reducer(one: int, opcode: str) -> bytes:
    return hlo.computation(
        one,
        hlo.op(1, "parameter", "f32[]"),
        hlo.op(2, "parameter", "f32[]", number=1),
        hlo.op(3, opcode, "f32[]", 1, 2),
    )


def module(
    *between: bytes, last: int, helpers: tuple[bytes, ...] = (), second: bytes = VALUES
) -> Module:
    """q·k, what lies between (from instruction 10 on), and a product of the last of it
    with v.
    """
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", CONTEXT, name="q"),
        hlo.op(2, "parameter", CONTEXT, number=1, name="k"),
        hlo.op(3, "parameter", CONTEXT, number=2, name="v"),
        hlo.op(4, "dot", SCORES, 1, 2, extra=BATCHED, name="scores"),
        *between,
        hlo.op(90, "dot", CONTEXT, last, 3, extra=second, name="context"),
    )
    return Module(hlo.module(*helpers, entry))


def softmax_fusion(one: int, *calls: int) -> bytes:
    """Maximum, exponential, sum and quotient in one computation."""
    maximum, total = calls
    return hlo.computation(
        one,
        hlo.op(1, "parameter", SCORES),
        hlo.op(2, "constant", "f32[]"),
        hlo.op(3, "reduce", "f32[8,128]", 1, 2, calls=[maximum]),
        hlo.op(4, "broadcast", SCORES, 3),
        hlo.op(5, "subtract", SCORES, 1, 4),
        hlo.op(6, "exponential", SCORES, 5),
        hlo.op(7, "reduce", "f32[8,128]", 6, 2, calls=[total]),
        hlo.op(8, "broadcast", SCORES, 7),
        hlo.op(9, "divide", SCORES, 6, 8),
    )


def test_a_softmax_in_one_fusion() -> None:
    helpers = reducer(5, "maximum"), reducer(6, "add"), softmax_fusion(2, 5, 6)
    between = hlo.op(10, "fusion", SCORES, 4, calls=[2], name="triton_softmax")

    assert unfused_attention(module(between, last=10, helpers=helpers)) == {
        "scores",
        "triton_softmax",
        "context",
    }


def test_a_softmax_in_several_kernels_with_a_side_branch() -> None:
    """A row's maximum goes its own way and meets the scores again; what does not lead
    to v stays out.
    """
    between = (
        hlo.op(9, "constant", "f32[]"),
        hlo.op(10, "reduce", "f32[8,128]", 4, 9, calls=[5], name="row_maximum"),
        hlo.op(11, "subtract", SCORES, 4, 10, name="shift"),
        hlo.op(12, "exponential", SCORES, 11, name="exp"),
        hlo.op(13, "negate", "f32[8,128]", 10, name="logging"),
    )

    found = unfused_attention(
        module(*between, last=12, helpers=(reducer(5, "maximum"),))
    )

    assert found == {"scores", "row_maximum", "shift", "exp", "context"}


def test_a_gate_between_experts_products_has_no_maximum() -> None:
    between = hlo.op(10, "exponential", SCORES, 4), hlo.op(11, "divide", SCORES, 4, 10)

    assert unfused_attention(module(*between, last=11)) == set()


def test_the_sum_of_a_split_product_before_a_gate_is_no_maximum() -> None:
    between = (
        hlo.op(9, "constant", "f32[]"),
        hlo.op(10, "reduce", "f32[128,128]", 4, 9, calls=[5]),
        hlo.op(11, "exponential", SCORES, 10),
    )

    assert (
        unfused_attention(module(*between, last=11, helpers=(reducer(5, "add"),)))
        == set()
    )


def test_products_without_a_batch_are_no_attention() -> None:
    """A softmax over logits before a plain product."""
    helpers = reducer(5, "maximum"), reducer(6, "add"), softmax_fusion(2, 5, 6)
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[64,32]"),
        hlo.op(2, "parameter", "f32[32,64]", number=1),
        hlo.op(3, "dot", "f32[64,64]", 1, 2, extra=hlo.dot_numbers([1], [0])),
        hlo.op(4, "fusion", SCORES, 3, calls=[2]),
        hlo.op(5, "dot", "f32[64,32]", 4, 1, extra=hlo.dot_numbers([1], [0])),
    )

    assert unfused_attention(Module(hlo.module(*helpers, entry))) == set()


def test_a_fused_call_is_one_kernel() -> None:
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", CONTEXT),
        hlo.op(2, "custom-call", CONTEXT, 1, 1, 1, target="__cudnn$fmhaSoftmax"),
    )

    assert unfused_attention(Module(hlo.module(entry))) == set()


def test_a_token_at_a_time_makes_few_scores() -> None:
    """One query meets 2,048 keys of width 64: all keys are read, and fusing would save
    a 32nd of that.
    """
    query, keys, scores = "f32[8,1,64]", "f32[8,2048,64]", "f32[8,1,2048]"
    helpers = reducer(5, "maximum"), reducer(6, "add"), softmax_fusion(2, 5, 6)
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", query, name="q"),
        hlo.op(2, "parameter", keys, number=1, name="k"),
        hlo.op(3, "parameter", keys, number=2, name="v"),
        hlo.op(4, "dot", scores, 1, 2, extra=BATCHED, name="scores"),
        hlo.op(10, "fusion", scores, 4, calls=[2], name="triton_softmax"),
        hlo.op(90, "dot", query, 10, 3, extra=VALUES, name="context"),
    )

    assert unfused_attention(Module(hlo.module(*helpers, entry))) == frozenset()
