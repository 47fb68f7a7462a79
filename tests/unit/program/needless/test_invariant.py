"""Work with the same operands in every turn of a loop."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.program.needless import invariant_work

CARRY = "(f32[8], f32[8])"


def part(one: int, index: int) -> bytes:
    """A part of what the loop carries."""
    return hlo.op(one, "get-tuple-element", "f32[8]", 1, extra=hlo.field(13, index) if index else b"")


def found(*handed_on: int, turns: int = 40) -> frozenset[str]:
    """The loop carries a state and weights. handed_on: which of its values the next turn gets as these."""
    body = hlo.computation(
        2,
        hlo.op(1, "parameter", CARRY),
        part(2, 0),
        part(3, 1),
        hlo.op(4, "sine", "f32[8]", 3, name="normalised"),
        hlo.op(5, "multiply", "f32[8]", 2, 4, name="turn"),
        hlo.op(6, "rng", "f32[8]", 3, 3, name="noise"),
        hlo.op(7, "add", "f32[8]", 5, 6, name="state"),
        hlo.op(8, "tuple", CARRY, *handed_on),
    )
    condition = hlo.computation(3, hlo.op(30, "parameter", CARRY), hlo.op(31, "constant", "pred[]"))
    config: dict[str, object] = {"known_trip_count": {"n": str(turns)}}
    loop = hlo.op(41, "while", CARRY, 40, calls=[2, 3], config=config)
    return invariant_work(Module(hlo.module(body, condition, hlo.computation(1, hlo.op(40, "parameter", CARRY), loop))))


def test_what_uses_only_what_stays() -> None:
    """The state changes, the weights do not; random numbers differ though their operands do not."""
    assert found(7, 3) == {"normalised"}


def test_weights_that_each_turn_updates() -> None:
    assert found(7, 4) == frozenset()


def test_parts_that_swap_their_places_change() -> None:
    assert found(3, 2) == frozenset()


@pytest.mark.parametrize(("turns", "names"), [(3, frozenset()), (4, {"normalised"})])
def test_a_few_turns_repeat_little(turns: int, names: frozenset[str]) -> None:
    assert found(7, 3, turns=turns) == names
