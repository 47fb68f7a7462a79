"""Loops of a fixed length that mask turns away."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.program.needless import masked_loops

CARRY = "(s32[], f32[8], s32[])"


def scan(*tick: bytes, turns: int | None = 240) -> Module:
    """A loop that carries its counter, a state and a bound."""
    body = hlo.computation(
        2,
        hlo.op(1, "parameter", CARRY),
        hlo.op(2, "get-tuple-element", "s32[]", 1, name="turn"),
        hlo.op(3, "get-tuple-element", "f32[8]", 1, name="state"),
        hlo.op(4, "get-tuple-element", "s32[]", 1, name="length"),
        hlo.op(5, "sine", "f32[8]", 3, name="tick"),
        *tick,
    )
    condition = hlo.computation(3, hlo.op(30, "parameter", CARRY), hlo.op(31, "constant", "pred[]"))
    config: dict[str, object] = {"known_trip_count": {"n": str(turns)}} if turns is not None else {}
    entry = hlo.computation(
        1,
        hlo.op(40, "parameter", CARRY),
        hlo.op(41, "while", CARRY, 40, name="loop", calls=[2, 3], config=config),
        hlo.op(42, "copy", CARRY, 41, name="after"),
    )
    return Module(hlo.module(body, condition, entry))


def masked_by(*compared: int) -> tuple[bytes, ...]:
    return (
        hlo.op(6, "constant", "s32[]"),
        hlo.op(7, "compare", "pred[]", *compared),
        hlo.op(8, "broadcast", "pred[8]", 7),
        hlo.op(9, "select", "f32[8]", 8, 5, 3, name="kept"),
    )


def test_turns_beyond_the_length_are_masked() -> None:
    """`where(turn < length, tick, state)` in 240 turns: the loop and all that runs in it, but nothing after it."""
    found = masked_loops(scan(*masked_by(2, 4)))

    assert found >= {"loop", "tick", "kept"}
    assert "after" not in found


def test_a_bound_that_the_program_fixes_masks_as_planned() -> None:
    """`where(turn < 3, …)` is a warm-up or a schedule."""
    assert masked_loops(scan(*masked_by(2, 6))) == frozenset()


def test_a_loop_that_stops_by_itself() -> None:
    """A while_loop whose number of turns the compiler does not know."""
    assert masked_loops(scan(*masked_by(2, 4), turns=None)) == frozenset()


def test_a_mask_of_each_element_is_arithmetic() -> None:
    """relu's: the comparison is as large as what it masks."""
    relu = (hlo.op(7, "compare", "pred[8]", 3, 5), hlo.op(8, "select", "f32[8]", 7, 3, 5))

    assert masked_loops(scan(*relu)) == frozenset()


@pytest.mark.parametrize(("turns", "found"), [(7, False), (8, True)])
def test_a_few_turns_are_no_loop_over_time(turns: int, found: bool) -> None:
    assert ("loop" in masked_loops(scan(*masked_by(2, 4), turns=turns))) is found
