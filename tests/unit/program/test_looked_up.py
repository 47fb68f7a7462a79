"""Tables of which a program looks up rows and which it gives back changed."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.looked_up import looked_up_tables
from tfadvisor.program.module import Module

TABLE = "f32[300000,32]"
ROWS = "f32[1280,32]"


def program(*body: bytes, table: str = TABLE, changed: bool = True) -> Module:
    """Looks rows up in its first argument, and returns that changed."""
    given = (
        hlo.op(1, "parameter", table, metadata=hlo.metadata("params['embed']")),
        hlo.op(2, "parameter", "s32[1280]", number=1, metadata=hlo.metadata("ids")),
    )
    result = table if changed else "f32[]"
    last = hlo.op(9, "add", result, 1, 1)
    alias = hlo.field(8, hlo.alias([], 0)) if changed else b""
    return Module(hlo.module(hlo.computation(1, *given, *body, last), extra=alias))


def gather(one: int, operand: int = 1, result: str = ROWS) -> bytes:
    """Of 1,280 rows."""
    return hlo.op(one, "gather", result, operand, 2)


def test_rows_of_a_table_that_comes_back() -> None:
    (found,) = looked_up_tables(program(gather(3)))

    assert found.name == "params['embed']"
    assert (found.rows, found.width, found.looked_up) == (300_000, 32, 1_280)


def test_two_lookups_add_up() -> None:
    (found,) = looked_up_tables(program(gather(3), gather(4)))

    assert found.looked_up == 2_560


def test_a_lookup_of_what_was_converted_is_one_of_the_table() -> None:
    convert = hlo.op(3, "convert", "bf16[300000,32]", 1)
    rows = gather(4, operand=3, result="bf16[1280,32]")

    assert len(looked_up_tables(program(convert, rows))) == 1


def test_what_does_not_come_back_is_not_updated() -> None:
    assert looked_up_tables(program(gather(3), changed=False)) == ()


def test_a_small_table_and_a_list_are_none() -> None:
    small = program(gather(3), table="f32[999,32]")
    flat = program(gather(3, result="f32[1280]"), table="f32[300000]")

    assert looked_up_tables(small) == ()
    assert looked_up_tables(flat) == ()
