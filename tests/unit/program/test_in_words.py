"""What an instruction computes, in words."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.in_words import in_words, scattered, target
from tfadvisor.program.module import Instruction, Module

SUM = hlo.computation(
    9,
    hlo.op(91, "parameter", "f32[]"),
    hlo.op(92, "parameter", "f32[]", number=1),
    hlo.op(93, "add", "f32[]", 91, 92),
)
SCATTER = hlo.op(24, "scatter", "f32[24]", 21, 22, 23, calls=[9])
INSIDE = hlo.computation(
    2,
    hlo.op(21, "parameter", "f32[24]"),
    hlo.op(22, "parameter", "s32[400000,1]", number=1),
    hlo.op(23, "parameter", "f32[400000]", number=2),
    SCATTER,
)


def last(*operands: str, op: bytes, before: tuple[bytes, ...] = ()) -> Instruction:
    """The last instruction of a program with these parameters 1, 2, …."""
    given = [
        hlo.op(at, "parameter", shape, number=at - 1)
        for at, shape in enumerate(operands, start=1)
    ]
    program = Module(hlo.module(*before, hlo.computation(1, *given, op)))
    return program.entry.root


def fused_scatter() -> Instruction:
    """400,000 values into 24 places."""
    fusion = hlo.op(4, "fusion", "f32[24]", 1, 2, 3, calls=[2])
    return last(
        "f32[24]", "s32[400000,1]", "f32[400000]", op=fusion, before=(SUM, INSIDE)
    )


def test_a_scatter_says_how_it_combines_and_how_many_values() -> None:
    assert in_words(fused_scatter()) == "scatter-add of 400,000 values into f32[24]"


def test_a_scatter_has_values_and_places() -> None:
    assert scattered(fused_scatter()) == (400_000, 24)


@pytest.mark.parametrize(
    ("operands", "op", "words"),
    [
        (
            ("f32[64,128]", "f32[128,32]"),
            hlo.op(3, "dot", "f32[64,32]", 1, 2, extra=hlo.dot_numbers([1], [0])),
            "product of 64 × 128 by 128 × 32 in f32",
        ),
        (
            ("f32[4,64,128]", "f32[4,128,32]"),
            hlo.op(
                3,
                "dot",
                "f32[4,64,32]",
                1,
                2,
                extra=hlo.dot_numbers([2], [1], [0], [0]),
            ),
            "4 products of 64 × 128 by 128 × 32 in f32",
        ),
        (
            ("f32[300000,32]", "s32[1280]"),
            hlo.op(3, "gather", "f32[1280,32]", 1, 2),
            "gather of f32[1280,32] from f32[300000,32]",
        ),
        (
            ("s32[1000]",),
            hlo.op(2, "sort", "s32[1000]", 1),
            "sort of s32[1000]",
        ),
        (("f32[8]",), hlo.op(2, "tanh", "f32[8]", 1), "tanh of f32[8]"),
        (
            ("f32[]",),
            hlo.op(2, "broadcast", "f32[8]", 1),
            "broadcast to f32[8]",
        ),
        (
            ("f32[8,4]",),
            hlo.op(2, "transpose", "f32[4,8]", 1),
            "transpose of f32[8,4] to f32[4,8]",
        ),
    ],
)
def test_others_say_what_from_what(
    operands: tuple[str, ...], op: bytes, words: str
) -> None:
    one = last(*operands, op=op)

    assert in_words(one) == words
    assert scattered(one) is None


def test_a_custom_call_says_what_it_calls() -> None:
    largest = hlo.op(2, "custom-call", "f32[32,8]", 1, target="__gpu$TopK")

    found = last("f32[32,512]", op=largest)

    assert target(found) == "TopK"
    assert in_words(found) == "TopK to f32[32,8]"


@pytest.mark.parametrize(
    ("stride", "words"), [(2, "a convolution with stride 2"), (1, "a convolution")]
)
def test_the_gradient_of_a_kernel_names_it(stride: int, words: str) -> None:
    window = (2, stride, 0, 0, 1, 1)
    call = hlo.op(
        3,
        "custom-call",
        "f32[2,2,3,16]",
        1,
        2,
        target="__cudnn$convBackwardFilter",
        extra=hlo.window(window, window) + hlo.convolution_numbers("b01f_01io->b01f"),
    )

    found = last("f32[8,64,64,3]", "f32[8,32,32,16]", op=call)

    assert in_words(found) == (
        f"gradient of the 2 × 2 kernel of {words}, f32[2,2,3,16]"
    )
