"""Of which arguments a program makes each op's result."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.made_of import made_of
from tfadvisor.program.module import Module


def argument(number: int, name: str) -> bytes:
    return hlo.op(
        number,
        "parameter",
        "f32[8]",
        number=number - 1,
        metadata=hlo.metadata(name),
    )


def names(module: Module) -> dict[str, set[str]]:
    return {name: set(of) for name, of in made_of(module).items()}


def test_a_result_is_made_of_all_that_leads_to_it() -> None:
    """Two arrays of one tree, and a batch: the factor is of the tree alone."""
    body = hlo.computation(
        1,
        argument(1, "params['w']"),
        argument(2, "params['b']"),
        argument(3, "batch"),
        hlo.op(4, "add", "f32[8]", 1, 2, name="factor"),
        hlo.op(5, "negate", "f32[8]", 4, name="again"),
        hlo.op(6, "multiply", "f32[8]", 5, 3, name="result"),
        hlo.op(7, "iota", "f32[8]", name="positions"),
    )

    found = names(Module(hlo.module(body)))

    assert found["again"] == {"params"}
    assert found["result"] == {"params", "batch"}
    assert found["positions"] == set()


def test_what_a_loop_holds_is_made_of_all_that_it_is_given() -> None:
    inner = hlo.computation(
        2,
        hlo.op(21, "parameter", "f32[8]", number=0),
        hlo.op(22, "negate", "f32[8]", 21, name="inside"),
    )
    body = hlo.computation(
        1,
        argument(1, "fixed"),
        argument(2, "batch"),
        hlo.op(3, "tuple", "(f32[8], f32[8])", 1, 2),
        hlo.op(4, "while", "f32[8]", 3, calls=[2, 2], name="loop"),
        hlo.op(5, "negate", "f32[8]", 1, name="beside"),
    )

    found = names(Module(hlo.module(inner, body, entry=1)))

    assert found["inside"] == {"fixed", "batch"}
    assert found["beside"] == {"fixed"}


def test_what_is_no_argument_or_has_no_name_is_unknown() -> None:
    """Random numbers of the device, and an argument that TensorFlow names as all."""
    body = hlo.computation(
        1,
        argument(1, "XLA_Args"),
        argument(2, "XLA_Args"),
        argument(3, "x"),
        hlo.op(4, "negate", "f32[8]", 1, name="nameless"),
        hlo.op(5, "rng", "f32[8]", 3, name="drawn"),
        hlo.op(6, "negate", "f32[8]", 5, name="of what is drawn"),
        hlo.op(7, "negate", "f32[8]", 3, name="known"),
    )

    found = names(Module(hlo.module(body)))

    assert not {"nameless", "drawn", "of what is drawn"} & set(found)
    assert found["known"] == {"x"}


def test_of_what_it_may_write_into_nothing_is_known() -> None:
    body = hlo.computation(
        1,
        argument(1, "table"),
        argument(2, "batch"),
        hlo.op(3, "negate", "f32[8]", 1, name="of_table"),
        hlo.op(4, "negate", "f32[8]", 2, name="of_batch"),
        hlo.op(5, "tuple", "(f32[8], f32[8])", 3, 4),
    )
    donated = hlo.field(8, hlo.alias([0], 0))

    found = names(Module(hlo.module(body, extra=donated)))

    assert "of_table" not in found
    assert found["of_batch"] == {"batch"}


def test_each_call_of_a_program_without_arguments_is_the_same() -> None:
    """Nothing is said of one."""
    body = hlo.computation(1, hlo.op(1, "iota", "f32[8]", name="positions"))

    assert names(Module(hlo.module(body))) == {}
