"""How the arguments of programs of one function differ."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.arguments_differ import Differing, differing
from tfadvisor.program.module import Module


def program(*arguments: tuple[str, str]) -> Module:
    """Takes arrays by name and shape."""
    taken = [
        hlo.op(row, "parameter", shape, number=row - 1, metadata=hlo.metadata(name))
        for row, (name, shape) in enumerate(arguments, start=1)
    ]
    return Module(hlo.module(hlo.computation(1, *taken)))


WEIGHTS = ("w", "f32[64,64]")
VALUE = ("values", "f32[1]")


def test_equal_arguments_are_the_same() -> None:
    taken = [program(WEIGHTS, ("x", "f32[96,64]"))] * 2

    assert differing(taken) == Differing("same")


def test_a_smaller_batch_differs_in_rows() -> None:
    found = differing(
        [
            program(WEIGHTS, ("x", "f32[96,64]"), ("y", "f32[96]")),
            program(WEIGHTS, ("x", "f32[40,64]"), ("y", "f32[40]")),
        ]
    )

    assert found == Differing("rows", (96, 40), ("x", "y"), 0)
    assert found.words == "axis 0 of x, y has 96 or 40"


def test_one_array_that_is_longer_by_as_much_each_time_grows() -> None:
    """The value that is appended stays as it is; a batch and its labels are two."""
    appended = [program(("arr", f"f32[{rows}]"), VALUE) for rows in (0, 1, 2)]
    batches = [
        program(("x", f"f32[{rows},4]"), ("y", f"f32[{rows}]")) for rows in (7, 8, 9)
    ]

    assert differing(appended) == Differing("grows", (0, 1, 2), ("arr",), 0)
    assert differing(appended[:2]).how == "rows"
    assert differing(appended[::-1]).how == "rows"
    assert differing([*appended, program(("arr", "f32[7]"), VALUE)]).how == "rows"
    assert differing(batches).how == "rows"


def test_sentences_differ_in_length_whatever_their_number() -> None:
    """The batch of 8 and 7 rows has 31 and 47 words."""
    found = differing([program(("ids", "s32[8,31]")), program(("ids", "s32[7,47]"))])

    assert (found.how, found.axis, found.sizes) == ("lengths", 1, (31, 47))
    assert found.words == "axis 1 of ids has 31 or 47"


def test_of_many_sizes_three_are_named() -> None:
    taken = [program(("x", f"f32[{rows}]")) for rows in (9, 8, 9, 7, 6)]

    assert differing(taken).words == "axis 0 of x has 9, 8, 7 and more sizes"


def test_only_arguments_with_these_sizes_are_named_with_them() -> None:
    """y has no axis 1, and z other sizes along it."""
    first = program(("x", "f32[8,31]"), ("y", "f32[8]"), ("z", "f32[8,62]"))
    second = program(("x", "f32[7,47]"), ("y", "f32[7]"), ("z", "f32[7,94]"))

    found = differing([first, second])

    assert (found.axis, found.sizes, found.names) == (1, (31, 47), ("x",))


def test_other_types_axes_or_more_arguments_are_no_sizes() -> None:
    first = program(("x", "f32[8]"))
    others = [
        program(("x", "s32[8]")),
        program(("x", "f32[8,1]")),
        program(("x", "f32[8]"), ("y", "f32[8]")),
    ]

    assert [differing([first, other]).how for other in others] == ["differ"] * 3
    assert differing([first, others[0]]).words == ""
