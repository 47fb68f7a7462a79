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
