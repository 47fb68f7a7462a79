"""Which line a call spends its time on that runs loops as one op."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.cost import Costs
from tfadvisor.program.loops_in_call import costliest_line
from tfadvisor.program.module import Module
from tfadvisor.program.operations import SourceLocation

ROW = "f32[4]"
GIVEN = hlo.op(11, "parameter", ROW)


def at(line: int, path: str = "jit(f)/add") -> bytes:
    return hlo.metadata(path, "train.py", line)


def line_of(*body: bytes, rounds: str = "", opcode: str = "while"):
    """Of the call of a loop over these."""
    config = {"known_trip_count": {"n": rounds}} if rounds else {}
    loop = hlo.op(
        22,
        opcode,
        ROW,
        21,
        calls=[1],
        config=config,
        metadata=at(45, "jit(f)/while"),
    )
    beside = hlo.op(23, "add", ROW, 22, 22, metadata=at(46))
    program = Module(
        hlo.module(
            hlo.computation(1, GIVEN, *body),
            hlo.computation(2, hlo.op(21, "parameter", ROW), loop, beside),
            hlo.computation(
                3,
                hlo.op(31, "parameter", ROW),
                hlo.op(32, "call", ROW, 31, calls=[2], name="call", metadata=at(45)),
            ),
            entry=3,
        )
    )
    call = program.instruction("call")
    assert call is not None
    return costliest_line(call, Costs())


def add(number: int, line: int) -> bytes:
    """4 sums, and 32 bytes read and written: 36."""
    return hlo.op(number, "add", ROW, 11, 11, metadata=at(line))


def test_the_line_inside_of_the_loop_is_told_with_the_loops_path() -> None:
    """Of 7 rounds 7 · 36 are on line 15, and 36 beside the loop."""
    found = line_of(add(12, 15), rounds="7")

    assert found == SourceLocation("jit(f)/while", "train.py", 15, ())


def test_of_a_loop_of_unknown_length_one_round_counts() -> None:
    """Two of three sums are on line 15."""
    found = line_of(add(12, 15), add(13, 15))

    assert found is not None
    assert found.line == 15


def test_no_line_stands_for_several_that_share_it() -> None:
    assert line_of(add(12, 15), add(13, 16), add(14, 17), rounds="7") is None


def test_a_call_that_runs_no_loop_keeps_its_own_line() -> None:
    assert line_of(add(12, 15), add(13, 15), opcode="call") is None
