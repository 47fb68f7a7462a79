"""Inverses of which a program uses nothing but products."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.inverses import inverse_in, only_multiplied
from tfadvisor.program.module import Module

MANY, ROWS = "f32[8,4,4]", "f32[8,4]"
PATH = "jit(solve)/jit(_pinv)"
PINV = frozenset({PATH})
BATCHED = hlo.dot_numbers([2], [1], [0], [0])


def inside(path: str = "dot_general") -> bytes:
    return hlo.metadata(f"{PATH}/{path}")


GIVEN = hlo.op(1, "parameter", MANY)
RIGHT = hlo.op(2, "parameter", ROWS, number=1)
PARTS = hlo.op(3, "custom-call", MANY, 1, target="svd", metadata=inside("svd"))
INVERSE = hlo.op(4, "dot", MANY, 3, 3, metadata=inside(), extra=BATCHED)
ADD = hlo.computation(
    2,
    hlo.op(21, "parameter", "f32[]"),
    hlo.op(22, "parameter", "f32[]", number=1),
    hlo.op(23, "add", "f32[]", 21, 22),
)


def found(*uses: bytes, before: tuple[bytes, ...] = ()) -> frozenset[str]:
    """Of a program that makes a pseudo-inverse, 4, in two steps."""
    body = hlo.computation(1, GIVEN, RIGHT, PARTS, INVERSE, *uses)
    return only_multiplied(Module(hlo.module(ADD, *before, body)))


def test_the_call_that_inverts_is_a_part_of_paths() -> None:
    assert inverse_in("jit(f)/jit(inv)/jit(solve)/lu") == "jit(f)/jit(inv)"
    assert inverse_in("jit(f)/vmap(jit(inv))/jit(solve)/lu") == "jit(f)/vmap(jit(inv)"
    assert inverse_in("jit(f)/jit(invert)/lu") == ""
    assert inverse_in("jit(f)/jit(inv)/dot_general") == ""  # a function of the program


def test_an_inverse_that_a_product_alone_uses_past_what_moves_it() -> None:
    moved = hlo.op(5, "transpose", MANY, 4)

    assert found(moved, hlo.op(6, "dot", MANY, 5, 1, extra=BATCHED)) == PINV


def test_sums_of_products_by_element_are_a_product() -> None:
    """As XLA writes a batch of matrices by vectors, in a fusion."""
    fused = hlo.computation(
        3,
        hlo.op(31, "parameter", MANY),
        hlo.op(32, "parameter", ROWS, number=1),
        hlo.op(33, "broadcast", MANY, 32),
        hlo.op(34, "multiply", MANY, 31, 33),
        hlo.op(35, "constant", "f32[]"),
        hlo.op(36, "reduce", ROWS, 34, 35, calls=[2]),
        hlo.op(37, "negate", ROWS, 36),
    )
    use = hlo.op(5, "fusion", ROWS, 4, 2, calls=[3])

    assert found(use, before=(fused,)) == PINV


def test_a_fusion_that_ends_the_call_hands_the_inverse_on() -> None:
    """It only transposes; the product stands behind it."""
    fused = hlo.computation(
        3, hlo.op(31, "parameter", MANY), hlo.op(32, "transpose", MANY, 31)
    )
    body = (
        hlo.op(5, "fusion", MANY, 4, calls=[3]),
        hlo.op(6, "dot", MANY, 5, 1, extra=BATCHED),
    )

    assert found(*body, before=(fused,)) == PINV


@pytest.mark.parametrize(
    "uses",
    [
        (),
        (hlo.op(5, "tuple", f"({MANY})", 4),),
        (hlo.op(5, "add", MANY, 4, 1),),
        (hlo.op(5, "multiply", MANY, 4, 1), hlo.op(6, "negate", MANY, 5)),
        (
            hlo.op(5, "dot", MANY, 4, 1, extra=BATCHED),
            hlo.op(6, "add", MANY, 4, 5),
        ),
        (
            hlo.op(5, "transpose", MANY, 4),
            hlo.op(6, "dot", MANY, 5, 4, extra=BATCHED),
        ),
        (hlo.op(5, "dot", MANY, 4, 4, extra=BATCHED),),
        (
            hlo.op(5, "dot", MANY, 4, 1, extra=BATCHED),
            hlo.op(6, "tuple", f"({MANY}, {MANY})", 4, 5),
        ),
    ],
    ids=[
        "the result",
        "in the result",
        "a sum",
        "by element",
        "a product and a sum",
        "a product with itself, as a precision is of a factor",
        "its square",
        "a product, and returned",
    ],
)
def test_an_inverse_that_something_else_uses(uses: tuple[bytes, ...]) -> None:
    assert found(*uses) == frozenset()


def test_a_permutation_and_loops_of_the_call_itself_are_no_use() -> None:
    """As where LU exchanges rows: integers go elsewhere, and a loop's body hands on."""
    turn = hlo.computation(
        3,
        hlo.op(31, "parameter", f"({MANY})"),
        hlo.op(32, "get-tuple-element", MANY, 31),
        hlo.op(33, "negate", MANY, 32, metadata=inside("while/body/neg")),
        hlo.op(34, "tuple", f"({MANY})", 33),
    )
    ends = hlo.computation(4, hlo.op(41, "constant", "pred[]"))
    body = (
        hlo.op(5, "custom-call", "s32[8,4]", 4, target="order", metadata=inside("lu")),
        hlo.op(6, "concatenate", "s32[8,8]", 5, 5),
        hlo.op(7, "tuple", f"({MANY})", 4),
        hlo.op(8, "while", f"({MANY})", 7, calls=[3, 4], metadata=inside("while")),
        hlo.op(9, "get-tuple-element", MANY, 8),
        hlo.op(10, "dot", MANY, 9, 1, extra=BATCHED),
    )

    assert found(*body, before=(turn, ends)) == PINV
