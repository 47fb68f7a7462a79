"""Loops that vmap runs for all rows until the last one ends."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.mapped_loops import MappedLoop, mapped_loops
from tfadvisor.program.module import Module

ROWS, LENGTHS = "f32[8,4]{1,0}", "s32[8]{0}"
CARRIED = f"({LENGTHS}, {ROWS})"
PATH = "jit(f)/vmap()/while"
EITHER = hlo.computation(
    4,
    hlo.op(40, "parameter", "pred[]"),
    hlo.op(41, "parameter", "pred[]", number=1),
    hlo.op(42, "or", "pred[]", 40, 41),
)
FALSE = hlo.op(33, "constant", "pred[]")


def element(one: int, whole: int, index: int, shape: str) -> bytes:
    extra = hlo.field(13, index)
    return hlo.op(one, "get-tuple-element", shape, whole, extra=extra)


def at(path: str) -> bytes:
    return hlo.metadata(path, "train.py", 21)


COMPARED = (
    hlo.op(30, "parameter", CARRIED),
    element(31, 30, 0, LENGTHS),
    hlo.op(32, "compare", "pred[8]{0}", 31, 31),
    FALSE,
)


def loops(*condition: bytes, path: str = PATH, calls: tuple[bytes, ...] = ()):
    """Of a program with a loop over 8 rows, and what its condition is."""
    body = hlo.computation(
        2,
        hlo.op(20, "parameter", CARRIED),
        element(21, 20, 0, LENGTHS),
        element(22, 20, 1, ROWS),
        hlo.op(23, "tanh", ROWS, 22, name="tanh"),
        hlo.op(24, "tuple", CARRIED, 21, 23),
    )
    loop = hlo.op(
        11, "while", CARRIED, 10, calls=[2, 3], name="loop", metadata=at(path)
    )
    return mapped_loops(
        Module(
            hlo.module(
                EITHER,
                *calls,
                body,
                hlo.computation(3, *condition),
                hlo.computation(1, hlo.op(10, "parameter", CARRIED), loop),
            )
        )
    )


def reduced(path: str, of: int = 32) -> bytes:
    return hlo.op(34, "reduce", "pred[]", of, 33, calls=[4], metadata=at(path))


def test_a_loop_that_goes_on_while_any_row_does() -> None:
    (found,) = loops(*COMPARED, reduced(PATH))

    assert isinstance(found, MappedLoop)
    assert (found.name, found.line, found.path) == ("loop", "train.py:21", PATH)
    assert not found.compares_floats
    assert {"loop", "tanh"} <= found.kernels


def test_rows_that_end_by_what_they_compute() -> None:
    (found,) = loops(
        hlo.op(30, "parameter", CARRIED),
        element(31, 30, 1, ROWS),
        hlo.op(35, "reduce", "f32[8]{0}", 31),
        hlo.op(32, "compare", "pred[8]{0}", 35, 35),
        FALSE,
        reduced(PATH),
    )

    assert found.compares_floats


def test_a_condition_that_is_reduced_in_a_fusion_and_in_two_steps() -> None:
    """8 rows in windows to 2, and these to one."""
    windows = hlo.computation(
        5,
        hlo.op(50, "parameter", "pred[8]{0}"),
        hlo.op(51, "constant", "pred[]"),
        hlo.op(52, "reduce-window", "pred[2]{0}", 50, 51, calls=[4]),
    )
    found = loops(
        *COMPARED,
        hlo.op(36, "fusion", "pred[2]{0}", 32, calls=[5]),
        reduced(PATH, of=36),
        calls=(windows,),
    )

    assert [each.name for each in found] == ["loop"]


@pytest.mark.parametrize("path", [PATH + "/cond/reduce_or", "", "jit(f)/cond"])
def test_an_any_that_the_program_itself_writes_is_none(path: str) -> None:
    assert not loops(*COMPARED, reduced(path))


def test_one_condition_for_all_rows_is_none() -> None:
    """As of a scan or a fori_loop under vmap."""
    assert not loops(
        hlo.op(30, "parameter", CARRIED),
        hlo.op(31, "constant", "s32[]"),
        hlo.op(32, "compare", "pred[]", 31, 31),
    )


def test_a_loop_of_another_framework_is_none() -> None:
    path = "StatefulPartitionedCall/while_loop"

    assert not loops(*COMPARED, reduced(path), path=path)
