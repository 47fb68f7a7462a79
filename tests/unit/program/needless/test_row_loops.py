"""Loops over the examples of a batch."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.program.needless import loops_over_rows

DOT = hlo.dot_numbers([1], [0])


def runs_rows(
    rows: int = 1, turns: int = 64, carried: str = "dynamic-update-slice", path: str = "jit(f)/while"
) -> bool:
    """Whether a loop that multiplies rows×32 by 32×64, and hands the result on so, takes one example after the other."""
    carry = f"(s32[], f32[64,64], f32[{rows},32], f32[32,64])"
    body = hlo.computation(
        2,
        hlo.op(1, "parameter", carry),
        hlo.op(2, "get-tuple-element", "s32[]", 1),
        hlo.op(3, "get-tuple-element", "f32[64,64]", 1),
        hlo.op(4, "get-tuple-element", f"f32[{rows},32]", 1),
        hlo.op(5, "get-tuple-element", "f32[32,64]", 1),
        hlo.op(6, "dot", f"f32[{rows},64]", 4, 5, extra=DOT),
        hlo.op(7, carried, "f32[64,64]", 3, 6),
        hlo.op(8, "tuple", carry, 2, 7, 4, 5),
    )
    condition = hlo.computation(3, hlo.op(30, "parameter", carry), hlo.op(31, "constant", "pred[]"))
    config: dict[str, object] = {"known_trip_count": {"n": str(turns)}}
    loop = hlo.op(41, "while", carry, 40, name="loop", calls=[2, 3], config=config, metadata=hlo.metadata(path))
    entry = hlo.computation(1, hlo.op(40, "parameter", carry), loop)
    found = Module(hlo.module(body, condition, entry)).instruction("loop")
    assert found is not None
    return loops_over_rows(found)


def test_a_map_over_rows() -> None:
    assert runs_rows()


def test_blocks_of_rows_are_products() -> None:
    assert not runs_rows(rows=16)


def test_a_recurrent_networks_turns_need_each_other() -> None:
    """The state of the next turn is a function of this one's."""
    assert not runs_rows(carried="tanh")


def test_gradients_add_up_only_on_the_way_back() -> None:
    assert runs_rows(carried="add", path="jit(f)/transpose(jvp())/while")
    assert not runs_rows(carried="add")


def test_a_few_turns_are_layers() -> None:
    assert not runs_rows(turns=15)
    assert runs_rows(turns=16)
