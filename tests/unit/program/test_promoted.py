"""Where 16-bit numbers become float32 that products take."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.program.promoted import Promotion, promoted

NARROW, WIDE = "bf16[64,64]", "f32[64,64]"
SQUARE = hlo.dot_numbers([1], [0])


def at(name: str, line: int) -> bytes:
    return hlo.metadata(f"jit(step)/{name}", "model.py", line)


X = hlo.op(1, "parameter", NARROW, metadata=hlo.metadata("x"))
TIME = hlo.op(2, "parameter", "s32[64,64]", number=1)
WEIGHT = hlo.op(3, "parameter", WIDE, number=2, metadata=hlo.metadata("w"))
WIDENED = hlo.op(4, "convert", WIDE, 1)
EMBEDDED = hlo.op(5, "convert", WIDE, 2, metadata=at("embed", 12))
SUM = hlo.op(6, "add", WIDE, 4, 5, metadata=at("add", 31))
GIVEN = (X, TIME, WEIGHT, WIDENED, EMBEDDED)
ADDED = Promotion("add (model.py:31)", "embed (model.py:12)")


def dot(number: int, left: int, right: int, name: str = "", shape: str = WIDE) -> bytes:
    where = at("dot_general", 40)
    return hlo.op(
        number, "dot", shape, left, right, name=name, metadata=where, extra=SQUARE
    )


def found(*body: bytes, before: tuple[bytes, ...] = ()) -> dict[str, object]:
    return dict(promoted(Module(hlo.module(*before, hlo.computation(1, *body)))))


def test_the_sum_that_takes_both_makes_the_products_behind_it_float32() -> None:
    """The second product takes the first one's result: the sum is why, too."""
    body = (*GIVEN, SUM, dot(7, 6, 6, "first"), dot(8, 7, 7, "second"))

    assert found(*body) == {"first": (ADDED,), "second": (ADDED,)}


def test_what_is_converted_back_makes_no_product_float32() -> None:
    """As a norm does: it computes in float32 and gives 16 bits."""
    back = hlo.op(7, "convert", NARROW, 6)

    assert found(*GIVEN, SUM, back, dot(8, 7, 7, shape=NARROW)) == {}


def test_a_product_may_be_where_both_meet() -> None:
    """An argument has no line, but a name."""
    assert found(*GIVEN, dot(6, 4, 3, "head")) == {
        "head": (Promotion("dot_general (model.py:40)", "w"),)
    }


def widened_on(line: int) -> bytes:
    return hlo.op(4, "convert", WIDE, 1, metadata=at("convert_element_type", line))


def test_type_promotion_converts_on_the_line_where_both_meet() -> None:
    body = (X, TIME, WEIGHT, widened_on(31), EMBEDDED, SUM, dot(7, 6, 6, "first"))

    assert found(*body) == {"first": (ADDED,)}


def test_what_another_line_made_float32_is_that_line_s() -> None:
    """As a norm that computes in float32: to cast the weight that it meets there would
    change nothing.
    """
    body = (X, TIME, WEIGHT, widened_on(29), EMBEDDED, SUM, dot(7, 6, 6))

    assert found(*body) == {}


def test_its_result_is_float32_that_16_bits_may_meet() -> None:
    """The norm's result, by 16-bit weights."""
    implied = hlo.op(7, "convert", WIDE, 1, metadata=at("convert_element_type", 40))
    body = (X, TIME, WEIGHT, widened_on(29), EMBEDDED, SUM, implied, dot(8, 6, 7, "w"))

    assert found(*body) == {
        "w": (Promotion("dot_general (model.py:40)", "add (model.py:31)"),)
    }


@pytest.mark.parametrize(
    "sum_",
    [
        hlo.op(6, "add", WIDE, 4, 4),
        hlo.op(6, "add", WIDE, 3, 5),
        hlo.op(6, "gather", WIDE, 4, 5),
    ],
    ids=["both converted", "both float32", "an op that promotes nothing"],
)
def test_ops_that_do_not_take_both(sum_: bytes) -> None:
    assert found(*GIVEN, sum_, dot(7, 6, 6)) == {}


def test_a_constant_takes_the_type_of_what_it_meets() -> None:
    two = hlo.op(5, "constant", "f32[]")
    spread = hlo.op(6, "broadcast", WIDE, 5)
    twice = hlo.op(7, "multiply", WIDE, 4, 6)

    assert found(X, WIDENED, two, spread, twice, dot(8, 7, 7)) == {}


def test_a_product_of_16_bits_into_float32_is_asked_for() -> None:
    """As scores of an attention: a float32 mask that is added promotes nothing."""
    scores = dot(6, 1, 1)
    masked = hlo.op(7, "add", WIDE, 6, 5)

    assert found(*GIVEN, scores, masked, dot(8, 7, 7)) == {}


def test_fusions_and_loops_are_followed() -> None:
    """A fusion adds, a loop's body multiplies what it is given."""
    fused = hlo.computation(
        2,
        hlo.op(21, "parameter", NARROW),
        hlo.op(22, "parameter", WIDE, number=1),
        hlo.op(23, "convert", WIDE, 21),
        hlo.op(24, "add", WIDE, 23, 22, metadata=at("add", 31)),
    )
    turn = hlo.computation(
        3,
        hlo.op(31, "parameter", f"({WIDE})"),
        hlo.op(32, "get-tuple-element", WIDE, 31),
        dot(33, 32, 32, "inside"),
        hlo.op(34, "tuple", f"({WIDE})", 33),
    )
    ends = hlo.computation(4, hlo.op(41, "constant", "pred[]"))
    body = (
        *GIVEN,
        hlo.op(6, "fusion", WIDE, 1, 5, calls=[2]),
        hlo.op(7, "tuple", f"({WIDE})", 6),
        hlo.op(8, "while", f"({WIDE})", 7, calls=[3, 4]),
        hlo.op(9, "get-tuple-element", WIDE, 8),
        dot(10, 9, 9, "behind"),
    )

    assert found(*body, before=(fused, turn, ends)) == {
        "inside": (ADDED,),
        "behind": (ADDED,),
    }


def test_the_place_is_the_line_that_gives_both() -> None:
    """`apply` multiplies on line 29 and `embed` makes on line 47; line 102 calls both."""
    frames = hlo.stack_frames(
        ("model.py", 29, "apply", 3),
        ("model.py", 47, "embed", 3),
        ("model.py", 102, "Model.__call__", 0),
    )
    made = hlo.op(5, "convert", WIDE, 2, metadata=hlo.metadata("embed", frame=2))
    where = hlo.metadata("dot", frame=1)
    product = hlo.op(6, "dot", WIDE, 4, 5, name="dot", metadata=where, extra=SQUARE)
    body = hlo.computation(1, X, TIME, WEIGHT, WIDENED, made, product)

    assert promoted(Module(hlo.module(body, extra=frames))) == {
        "dot": (Promotion("Model.__call__ (model.py:102)", "embed (model.py:47)"),)
    }
