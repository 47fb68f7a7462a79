"""Why a function was compiled anew, by the programs that it was compiled to."""

from __future__ import annotations

import pytest
from support.hlo_builder import computation, field, metadata, module, op

from tfadvisor.program.arguments_differ import differing
from tfadvisor.program.module import Module
from tfadvisor.program.recompiled import Recompilation, why_compiled


def program(
    *arguments: str, opcode: str = "negate", constant: int = 0, devices: int = 0
) -> Module:
    """Takes a, b, c … of these shapes, and a constant."""
    ops = [
        op(number, "parameter", shape, number=number - 1, metadata=metadata(name))
        for number, (name, shape) in enumerate(zip("abc", arguments, strict=False), 1)
    ]
    literal = field(8, field(3, constant))
    ops.append(op(8, "constant", "s32[]", extra=literal))
    ops.append(op(9, opcode, arguments[0], 1))
    spread = field(15, field(2, devices)) if devices else b""
    return Module(module(computation(1, *ops), extra=spread))


@pytest.mark.parametrize(
    ("programs", "expected"),
    [
        (
            [program("f32[96,4]", "f32[4]"), program("f32[40,4]", "f32[4]")],
            Recompilation("shape", "axis 0 of a has 96 or 40"),
        ),
        (
            [program("f32[96,4]", "f32[96]"), program("f32[40,4]", "f32[40]")],
            Recompilation("shape", "axis 0 of a, b has 96 or 40"),
        ),
        (
            [program(f"f32[4,{size}]") for size in (1, 2, 3, 4, 5, 6)],
            Recompilation("shape", "axis 1 of a has 1, 2, 3 and more sizes"),
        ),
        (
            [program("f32[]"), program("f32[2,2]")],
            Recompilation("dtype", "a changed from f32[] to f32[?,?]"),
        ),
        (
            [program("f32[8]"), program("f16[8]")],
            Recompilation("dtype", "a changed from f32[?] to f16[?]"),
        ),
        (
            [program("f32[8]"), program("f32[8]", "f32[8]")],
            Recompilation("arguments", "it takes another number of arrays: 1, 2"),
        ),
        (
            [program("f32[8]", devices=1), program("f32[2]", devices=4)],
            Recompilation(
                "sharding", "its arrays lie on another number of devices: 1, 4"
            ),
        ),
        (
            [program("f32[8]"), program("f32[8]")],
            Recompilation("same", "the same program was compiled again"),
        ),
    ],
)
def test_it_is_what_differs_between_the_programs(
    programs: list[Module], expected: Recompilation
) -> None:
    assert why_compiled(programs, differing(programs)) == expected


def sliced(start: int, *, name: str = "slice.1", swapped: bool = False) -> Module:
    """a[start : start + 2] - b, or swapped."""
    bounds = field(17, field(1, start) + field(2, start + 2) + field(3, 1))
    return Module(
        module(
            computation(
                1,
                op(1, "parameter", "f32[8]", number=0, metadata=metadata("a")),
                op(2, "parameter", "f32[2]", number=1, metadata=metadata("b")),
                op(3, "slice", "f32[2]", 1, name=name, extra=bounds),
                op(4, "subtract", "f32[2]", *((2, 3) if swapped else (3, 2))),
            )
        )
    )


def test_what_an_instruction_is_called_makes_no_other_program() -> None:
    programs = [sliced(2), sliced(2, name="slice.7")]

    assert why_compiled(programs, differing(programs)).cause == "same"


@pytest.mark.parametrize("other", [sliced(4), sliced(2, swapped=True)])
def test_another_slice_or_order_of_operands_is_another_value(other: Module) -> None:
    programs = [sliced(2), other]

    assert why_compiled(programs, differing(programs)).cause == "value"


@pytest.mark.parametrize(
    "other", [program("f32[8]", opcode="tanh"), program("f32[8]", constant=3)]
)
def test_another_computation_of_arrays_that_are_alike_is_another_value(
    other: Module,
) -> None:
    programs = [program("f32[8]"), other]

    assert why_compiled(programs, differing(programs)).cause == "value"
