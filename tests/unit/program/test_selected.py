"""Which results count only where a condition holds."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.program.selected import selected


def argument(number: int, shape: str = "f32[8]") -> bytes:
    return hlo.op(number, "parameter", shape, number=number - 1)


def chosen(number: int, on: int, yes: int, no: int, line: int, name: str = "") -> bytes:
    """A select of a line of train.py."""
    place = hlo.metadata("jit(f)/vmap()/select_n", "train.py", line)
    return hlo.op(number, "select", "f32[8]", on, yes, no, metadata=place, name=name)


def lines(module: Module) -> dict[str, int]:
    return {name: place.line for name, place in selected(module).items()}


def test_all_that_leads_to_a_select_alone_counts_where_its_condition_holds() -> None:
    """Costly and what it is made of; of the cheap branch the result is used beside."""
    body = hlo.computation(
        1,
        argument(1),
        argument(2, "pred[8]"),
        hlo.op(3, "sine", "f32[8]", 1, name="inner"),
        hlo.op(4, "exponential", "f32[8]", 3, name="costly"),
        hlo.op(5, "negate", "f32[8]", 1, name="cheap"),
        hlo.op(6, "not", "pred[8]", 2, name="condition"),
        chosen(7, 6, 4, 5, 26),
        hlo.op(8, "add", "f32[8]", 7, 5),
    )

    assert lines(Module(hlo.module(body))) == {"inner": 26, "costly": 26}


def test_a_select_inside_of_a_fusion_and_what_a_loop_holds() -> None:
    """The loop's result goes into the fusion's select alone, so all of the loop does."""
    turn = hlo.computation(
        2, argument(21), hlo.op(22, "sine", "f32[8]", 21, name="turn")
    )
    fused = hlo.computation(
        3,
        hlo.op(31, "parameter", "f32[8]", number=0),
        hlo.op(32, "parameter", "f32[8]", number=1),
        hlo.op(33, "parameter", "pred[8]", number=2),
        chosen(34, 33, 32, 31, 26),
        hlo.op(35, "negate", "f32[8]", 34),
    )
    body = hlo.computation(
        1,
        argument(1),
        argument(2, "pred[8]"),
        hlo.op(3, "tuple", "(f32[8])", 1),
        hlo.op(4, "while", "(f32[8])", 3, calls=[2, 2], name="loop"),
        hlo.op(5, "get-tuple-element", "f32[8]", 4),
        hlo.op(6, "fusion", "f32[8]", 1, 5, 2, calls=[3], name="fusion"),
    )

    found = lines(Module(hlo.module(turn, fused, body, entry=1)))

    assert (found["loop"], found["turn"]) == (26, 26)
    assert "fusion" not in found


def test_what_two_selects_use_belongs_to_neither() -> None:
    """Where one select feeds another, the outer one decides."""
    body = hlo.computation(
        1,
        argument(1),
        argument(2, "pred[8]"),
        hlo.op(3, "sine", "f32[8]", 1, name="both"),
        hlo.op(4, "cosine", "f32[8]", 1, name="inner"),
        hlo.op(5, "tan", "f32[8]", 1, name="other"),
        chosen(6, 2, 4, 3, 26),
        chosen(7, 2, 6, 3, 30),
        chosen(8, 2, 3, 5, 40),
        hlo.op(9, "add", "f32[8]", 7, 8),
    )

    found = lines(Module(hlo.module(body)))

    assert found == {"inner": 30, "select.6": 30, "other": 40}


def test_what_one_branch_of_a_conditional_is_given() -> None:
    """The reset goes to the first branch alone, the state to both."""
    branches = [
        hlo.computation(2, argument(21), hlo.op(22, "negate", "f32[8]", 21)),
        hlo.computation(3, argument(31), hlo.op(32, "abs", "f32[8]", 31)),
    ]
    place = hlo.metadata("jit(f)/cond", "train.py", 51)
    body = hlo.computation(
        1,
        argument(1),
        argument(2, "pred[]"),
        hlo.op(3, "sine", "f32[8]", 1, name="reset"),
        hlo.op(4, "cosine", "f32[8]", 1, name="played"),
        hlo.op(5, "add", "f32[8]", 3, 4, name="fresh"),
        hlo.op(6, "conditional", "f32[8]", 2, 5, 4, calls=[2, 3], metadata=place),
    )

    found = lines(Module(hlo.module(*branches, body, entry=1)))

    assert found == {"reset": 51, "fresh": 51}


def test_what_both_sides_are_made_of_counts_whatever_holds() -> None:
    """As the operand of a cond, which is made before it."""
    body = hlo.computation(
        1,
        argument(1),
        argument(2, "pred[8]"),
        hlo.op(3, "sine", "f32[8]", 1, name="before"),
        hlo.op(4, "exponential", "f32[8]", 3, name="costly"),
        hlo.op(5, "negate", "f32[8]", 3, name="cheap"),
        chosen(6, 2, 4, 5, 26),
    )

    assert lines(Module(hlo.module(body))) == {"costly": 26, "cheap": 26}
