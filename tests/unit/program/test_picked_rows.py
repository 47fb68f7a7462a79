"""Work for rows of which an argument picks one."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.program.patterns import NO_ROWS, picked_rows

BUFFER, ROW = "f32[256,64]", "f32[1,64]"
GIVEN = (
    hlo.op(1, "parameter", BUFFER, name="tokens"),
    hlo.op(2, "parameter", "s32[]", number=1, metadata=hlo.metadata("pos")),
    hlo.op(3, "constant", "s32[]"),
)
MODEL = hlo.op(4, "tanh", BUFFER, 1, name="tanh")
SLICE = hlo.op(
    6,
    "dynamic-slice",
    ROW,
    4,
    2,
    3,
    metadata=hlo.metadata("jit(next)/dynamic_slice", "sample.py", 70),
)


def found(*body: bytes, before: tuple[bytes, ...] = ()):
    return picked_rows(Module(hlo.module(*before, hlo.computation(1, *GIVEN, *body))))


def test_a_result_of_256_rows_of_which_an_argument_picks_one() -> None:
    picked = found(MODEL, SLICE, hlo.op(7, "negate", ROW, 6))

    assert picked.computed == ("tanh",)
    assert (picked.rows, picked.argument, picked.line) == (256, "pos", "sample.py:70")


def test_a_loop_that_makes_the_result_counts_with_its_body() -> None:
    body = hlo.computation(
        2,
        hlo.op(21, "parameter", BUFFER, name="state"),
        hlo.op(22, "sine", BUFFER, 21, name="layer"),
    )
    loop = hlo.op(4, "while", BUFFER, 1, calls=[2], name="loop")

    assert found(loop, SLICE, before=(body,)).computed == ("layer", "loop", "state")


def test_a_fusion_that_picks_the_row_is_looked_into() -> None:
    """The index is pos - 1, inside of the fusion."""
    body = hlo.computation(
        2,
        hlo.op(21, "parameter", BUFFER),
        hlo.op(22, "parameter", "s32[]", number=1),
        hlo.op(23, "constant", "s32[]"),
        hlo.op(24, "subtract", "s32[]", 22, 23),
        hlo.op(25, "dynamic-slice", ROW, 21, 24, 23),
    )
    picking = hlo.op(6, "fusion", ROW, 4, 2, calls=[2])

    picked = found(MODEL, picking, before=(body,))

    assert (picked.computed, picked.argument) == (("tanh",), "pos")


@pytest.mark.parametrize(
    "body",
    [
        (MODEL, hlo.op(6, "dynamic-slice", ROW, 4, 3, 3)),
        (MODEL, hlo.op(6, "dynamic-slice", "f32[64,64]", 4, 2, 3)),
        (MODEL, SLICE, hlo.op(7, "tuple", f"({ROW}, {BUFFER})", 6, 4)),
        (MODEL, SLICE, hlo.op(7, "reduce", ROW, 4), hlo.op(8, "add", ROW, 6, 7)),
        (hlo.op(6, "dynamic-slice", ROW, 1, 2, 3),),
    ],
    ids=[
        "always the same row",
        "a quarter of the rows",
        "all rows are returned too",
        "something sums all rows",
        "a row of an argument",
    ],
)
def test_rows_that_are_needed(body: tuple[bytes, ...]) -> None:
    assert found(*body) == NO_ROWS


# In the body of a loop.

CARRIED = f"(s32[], {BUFFER}, s32[])"
"""A counter, the tokens, and a number that stays."""


def element(one: int, index: int, shape: str) -> bytes:
    extra = hlo.field(13, index)
    return hlo.op(one, "get-tuple-element", shape, 20, extra=extra)


def in_loop(index: int = 21, source: int = 25, used: int = 26):
    """Each round runs a model over the tokens that the loop carries, and writes one row
    of them. index: what picks the row of source. used: what the row is made of.
    """
    body = hlo.computation(
        2,
        hlo.op(20, "parameter", CARRIED),
        element(21, 0, "s32[]"),
        element(22, 1, BUFFER),
        element(23, 2, "s32[]"),
        hlo.op(24, "constant", "s32[]"),
        hlo.op(25, "tanh", BUFFER, 22, name="model"),
        hlo.op(
            26,
            "dynamic-slice",
            ROW,
            source,
            index,
            24,
            metadata=hlo.metadata("jit(f)/slice", "sample.py", 45),
        ),
        hlo.op(27, "dynamic-update-slice", BUFFER, 22, used, 21, 24),
        hlo.op(28, "add", "s32[]", 21, 24),
        hlo.op(29, "tuple", CARRIED, 28, 27, 23),
    )
    until = hlo.computation(
        3, hlo.op(30, "parameter", CARRIED), hlo.op(31, "constant", "pred[]")
    )
    loop = hlo.op(
        2,
        "while",
        CARRIED,
        1,
        calls=[2, 3],
        metadata=hlo.metadata("jit(f)/while", "sample.py", 49),
    )
    whole = hlo.computation(1, hlo.op(1, "parameter", CARRIED), loop)
    return picked_rows(Module(hlo.module(body, until, whole)))


def test_a_result_of_256_rows_of_which_each_round_uses_its_own() -> None:
    picked = in_loop()

    assert picked.computed == ("model",)
    assert (picked.rows, picked.line) == (256, "sample.py:45")
    assert picked.argument == "the round of the loop at sample.py:49"


@pytest.mark.parametrize(
    "round_",
    [{"index": 23}, {"index": 24}, {"source": 22}, {"used": 25}],
    ids=[
        "a row that a number of before the loop says",
        "always the same row",
        "a row of what the loop carries",
        "all rows are written too",
    ],
)
def test_rows_of_a_loop_that_are_needed(round_: dict[str, int]) -> None:
    assert in_loop(**round_) == NO_ROWS


def test_what_else_the_picking_kernel_takes_is_not_counted() -> None:
    """A fusion takes the row and numbers that nothing else uses."""
    fused = hlo.computation(
        2,
        hlo.op(21, "parameter", BUFFER),
        hlo.op(22, "parameter", "s32[]", number=1),
        hlo.op(23, "constant", "s32[]"),
        hlo.op(24, "parameter", ROW, number=2),
        hlo.op(25, "dynamic-slice", ROW, 21, 22, 23),
        hlo.op(26, "add", ROW, 25, 24),
    )
    numbers = hlo.op(5, "iota", ROW)
    drawn = hlo.op(8, "sine", ROW, 5, name="drawn")
    picking = hlo.op(6, "fusion", ROW, 4, 2, 8, calls=[2])

    assert found(MODEL, numbers, drawn, picking, before=(fused,)).computed == ("tanh",)
