"""Ops are recognised when their names are not what they were."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.made_runs import op

from tfadvisor.comparison.ops import Pair, match_ops, same_work
from tfadvisor.comparison.side import numbers, stem, without_program_number


def pairs(base: list, new: list) -> set[tuple[str | None, str | None]]:
    return {
        (pair.base and pair.base.name, pair.new and pair.new.name)
        for pair in match_ops(base, new)
    }


@pytest.mark.parametrize(
    ("name", "known_by"),
    [
        ("fusion.12", "fusion"),
        ("fusion", "fusion"),
        ("wrapped_add.2.remat", "wrapped_add"),
        ("wrapped_add.2.clone.3", "wrapped_add"),
        ("add_tanh_fusion_7", "add_tanh_fusion"),
        (
            "sequential_1/dense_1_2/Relu:_MklNativeFusedMatMul",
            "sequential/dense/Relu:_MklNativeFusedMatMul",
        ),
        ("sgd/Mul_2:Mul", "sgd/Mul:Mul"),
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
        ("_12", "_12"),
        ("", ""),
    ],
)
def test_a_stem_is_the_name_without_what_is_counted_up(
    name: str, known_by: str
) -> None:
    assert stem(name) == known_by


def test_numbers_in_names_and_programs() -> None:
    assert numbers("dense_1/MatMul_12") == (1, 12)
    assert numbers("fusion." + "9" * 500) == (int("9" * 18),)
    assert without_program_number("jit_step(123)") == "jit_step"


def test_the_same_names_are_the_same_ops() -> None:
    ops = [op("dot", 3.0), op("add.1", 1.0)]

    assert pairs(ops, ops) == {("dot", "dot"), ("add.1", "add.1")}


def test_an_op_inserted_before_others_renumbers_them() -> None:
    """fusion.1 was 8 × 8 and is 4 × 4 now; what it was is fusion.2."""
    base = [
        op("fusion.1", 3.0, opcode="fusion", flops=512),
        op("fusion.2", 2.0, opcode="fusion", flops=128),
    ]
    new = [
        op("fusion.1", 1.0, opcode="fusion", flops=64),
        op("fusion.2", 3.1, opcode="fusion", flops=512),
        op("fusion.3", 2.1, opcode="fusion", flops=128),
    ]

    assert pairs(base, new) == {
        ("fusion.1", "fusion.2"),
        ("fusion.2", "fusion.3"),
        (None, "fusion.1"),
    }


def test_ops_of_equal_shape_are_paired_in_the_order_of_the_program() -> None:
    base = [
        op(f"dot.{number}", 5.0 - number, opcode="dot", flops=100)
        for number in (3, 1, 2)
    ]
    new = [op(f"dot.{number}", 1.0, opcode="dot", flops=100) for number in (12, 11, 10)]

    assert pairs(base, new) == {
        ("dot.1", "dot.10"),
        ("dot.2", "dot.11"),
        ("dot.3", "dot.12"),
    }


def test_a_renamed_op_is_told_by_its_shapes() -> None:
    base = [op("loop_fusion", 3.0, opcode="fusion", flops=10, bytes=20)]
    new = [op("input_fusion.4", 3.0, opcode="fusion", flops=10, bytes=20)]

    assert pairs(base, new) == {("loop_fusion", "input_fusion.4")}


def test_an_op_of_another_shape_is_told_by_its_line() -> None:
    base = [
        op("dot", 3.0, opcode="dot", flops=10, file="m.py", line=7),
        op("dot.1", 1.0, opcode="dot", flops=5, file="m.py", line=9),
    ]
    new = [
        op("dot.1", 6.0, opcode="dot", flops=20, file="m.py", line=7),
        op("dot", 2.0, opcode="dot", flops=11, file="m.py", line=9),
    ]

    assert pairs(base, new) == {("dot", "dot.1"), ("dot.1", "dot")}


def test_layers_that_keras_numbers_anew_are_the_same() -> None:
    base = [
        op("sequential/dense/MatMul:MatMul", 3.0),
        op("sequential/dense_1/MatMul:MatMul", 1.0),
    ]
    new = [
        op("sequential_3/dense_7/MatMul:MatMul", 1.1),
        op("sequential_3/dense_6/MatMul:MatMul", 3.1),
    ]

    assert pairs(base, new) == {
        ("sequential/dense/MatMul:MatMul", "sequential_3/dense_6/MatMul:MatMul"),
        ("sequential/dense_1/MatMul:MatMul", "sequential_3/dense_7/MatMul:MatMul"),
    }


def test_ops_that_only_take_as_long_are_not_the_same() -> None:
    """A BiasAddGrad and a MatMul, once a step each, 3.0 and 3.1 ms: nothing but time
    speaks for it.
    """
    base, new = [op("MatMul", 3.0)], [op("BiasAddGrad", 3.1)]

    assert pairs(base, new) == {("MatMul", None), (None, "BiasAddGrad")}


def test_kinds_are_never_mixed() -> None:
    assert pairs([op("x", 1.0)], [op("x", 1.0, kind="h2d")]) == {
        ("x", None),
        (None, "x"),
    }


def test_every_op_is_in_one_pair() -> None:
    base = [
        op(
            f"a.{number % 3}",
            float(number),
            opcode="dot" if number % 2 else None,
            flops=number,
        )
        for number in range(40)
    ]
    new = [
        op(f"a.{number % 5}", float(number), opcode="dot", flops=number % 7)
        for number in range(30)
    ]

    found = match_ops(base, new)

    assert sorted(id(pair.base) for pair in found if pair.base) == sorted(
        id(one) for one in base
    )
    assert sorted(id(pair.new) for pair in found if pair.new) == sorted(
        id(one) for one in new
    )


@pytest.mark.parametrize(
    ("pair", "same"),
    [
        (Pair(op("a", 1.0), op("a", 9.0), "name"), True),
        (Pair(op("a", 1.0, 1.0), op("a", 1.0, 2.0), "name"), False),
        (
            Pair(
                op("a", 1.0, opcode="dot", flops=4),
                op("a", 1.0, opcode="dot", flops=5),
                "name",
            ),
            False,
        ),
        (Pair(op("a", 1.0, opcode="dot", flops=4), op("a", 1.0), "name"), True),
        (Pair(op("a", 1.0), None, None), False),
    ],
)
def test_work_is_the_same_when_shapes_and_counts_are(pair: Pair, same: bool) -> None:
    assert same_work(pair) is same


def test_of_one_op_the_same_kernels_are_paired() -> None:
    """A convolution runs two kernels, and the longer one changes places with
    the other.
    """
    base = [
        replace(op("transform", 3.0), op="conv1/Conv2D"),
        replace(op("winograd", 2.0), op="conv1/Conv2D"),
    ]
    new = [
        replace(op("winograd", 2.0), op="conv1/Conv2D"),
        replace(op("transform", 1.0), op="conv1/Conv2D"),
    ]

    assert {
        (one.base.kernel, one.new.kernel)
        for one in match_ops(base, new)
        if one.base and one.new
    } == {
        ("transform", "transform"),
        ("winograd", "winograd"),
    }
