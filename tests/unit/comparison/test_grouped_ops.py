"""What is new and spread over many small ops is one row; a changed result is told."""

from __future__ import annotations

from msgspec.structs import replace

from tfadvisor.comparison.change_forms import cause_words
from tfadvisor.comparison.ops import Pair
from tfadvisor.comparison.split import _Machine, _named, _of_ops, _Rates
from tfadvisor.report import Op

LINE = 0.5
"""ms a step from which an op is named."""
ONE_TO_ONE = _Rates(1.0, 1.0)


def op(name: str, ms: float, opcode: str = "fusion", shape: str = "f32[8]{0}") -> Op:
    return Op(
        op=name,
        kernel=name,
        module="jit_step",
        kind="compute",
        share=0.1,
        ms_per_step=ms,
        count_per_step=1,
        precision=None,
        opcode=opcode,
        flops=None,
        bytes=None,
        file=None,
        line=None,
        shape=shape,
    )


def words(pairs: list[Pair]) -> list[str]:
    named, _ = _named(pairs, ONE_TO_ONE, LINE)
    return [
        cause_words(_of_ops("compute", group, ONE_TO_ONE, _Machine(None, 0.0)))
        for group in named
    ]


def test_small_new_ops_of_one_name_are_one_row() -> None:
    """30 of 1/8 ms: each below the line, 3.75 ms together."""
    pairs = [Pair(None, op(f"convert.{number}", 0.125), None) for number in range(30)]

    assert words(pairs) == [
        "30 ops like convert in jit_step: new, 3.75 ms per step, 30 times"
    ]


def test_those_of_other_names_are_one_row_with_their_program() -> None:
    """20 names of 1/8 ms with 20 shapes have only their program in common."""
    letters = "abcdefghijklmnopqrst"
    pairs = [
        Pair(None, op(f"fused_{letter}", 0.125, shape=f"f32[{number}]{{0}}"), None)
        for number, letter in enumerate(letters)
    ]

    assert words(pairs) == [
        "20 ops of different names in jit_step: new, 2.50 ms per step, 20 times"
    ]


def test_what_is_too_small_all_together_is_not_named() -> None:
    assert words([Pair(None, op("a", 0.1), None), Pair(None, op("b", 0.1), None)]) == []


def test_a_changed_layout_of_the_same_op_is_said() -> None:
    before = op("copy.1", 1.0, shape="f32[8,4]{1,0}")
    after = replace(before, ms_per_step=3.0, shape="f32[8,4]{0,1}")

    assert words([Pair(before, after, "name")]) == [
        "copy.1: 1 ms → 3 ms per step, f32[8,4]{1,0} → f32[8,4]{0,1}"
    ]


def test_waiting_for_an_asynchronous_op_is_no_work_of_its_own() -> None:
    assert words([Pair(None, op("copy-done.4", 1.0), None)]) == [
        "waiting in copy-done.4: new, 1 ms per step, 1 time"
    ]
