"""Which loop runs an instruction."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.loops_around import LoopAround, loop_around
from tfadvisor.program.module import Module

ROW = "f32[4]"
CALL = hlo.op(22, "custom-call", ROW, 21, name="call", target="python")


def around(*between: bytes, called: int, entry: str = "while", config=None):
    """Of a call in computation 2: entry calls `called`."""
    inner = hlo.computation(2, hlo.op(21, "parameter", ROW), CALL)
    outer = hlo.op(
        2,
        entry,
        ROW,
        1,
        calls=[called],
        config=config or {},
        metadata=hlo.metadata("jit(f)/while", "train.py", 42),
    )
    whole = hlo.computation(1, hlo.op(1, "parameter", ROW), outer)
    program = Module(hlo.module(inner, *between, whole))
    instruction = program.instruction("call")
    assert instruction is not None
    return loop_around(instruction)


def test_the_loop_and_how_often_it_runs_are_told() -> None:
    found = around(called=2, config={"known_trip_count": {"n": "63"}})

    assert found == LoopAround("train.py:42", 63)


def test_a_call_in_between_is_looked_through() -> None:
    between = hlo.computation(
        3,
        hlo.op(31, "parameter", ROW),
        hlo.op(32, "call", ROW, 31, calls=[2]),
    )

    assert around(between, called=3) == LoopAround("train.py:42", 0)


def test_a_call_alone_is_no_loop() -> None:
    assert around(called=2, entry="call") is None
