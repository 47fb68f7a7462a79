"""Which instructions are events of their own, what a fusion does, and who uses whose
result.
"""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.flow import (
    Users,
    effect,
    inside,
    kernel_computations,
    running_computations,
)
from tfadvisor.program.module import Module

X = hlo.op(1, "parameter", "f32[8]")


def looped() -> Module:
    """The entry has a loop with a fusion in its body."""
    fused = hlo.computation(
        3, X, hlo.op(2, "negate", "f32[8]", 1), name="fused_computation"
    )
    body = hlo.computation(
        2, X, hlo.op(2, "fusion", "f32[8]", 1, calls=[3]), name="body"
    )
    entry = hlo.computation(
        1, X, hlo.op(2, "while", "f32[8]", 1, calls=[2]), name="main"
    )
    return Module(hlo.module(fused, body, entry))


def test_what_a_fusion_holds_is_no_event_and_a_body_is_in_a_loop() -> None:
    assert running_computations(looped()) == {1: False, 2: True}
    assert [one.name for one in kernel_computations(looped())] == ["body", "main"]


def test_a_branch_inside_a_loop_is_in_the_loop() -> None:
    branch = hlo.computation(3, X)
    body = hlo.computation(2, X, hlo.op(2, "conditional", "f32[8]", 1, calls=[3]))
    entry = hlo.computation(1, X, hlo.op(2, "while", "f32[8]", 1, calls=[2]))

    assert running_computations(Module(hlo.module(branch, body, entry))) == {
        1: False,
        2: True,
        3: True,
    }


def test_inside_is_the_fused_computation_or_the_instruction_itself() -> None:
    module = looped()
    fusion = module.computation(2).root

    assert [one.opcode for one in inside(fusion)] == ["parameter", "negate"]
    assert [one.opcode for one in inside(module.entry.root)] == ["while"]


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        ([hlo.op(2, "negate", "f32[8]", 1)], "negate"),
        (
            [
                hlo.op(2, "gather", "f32[8]", 1),
                hlo.op(3, "convert", "bf16[8]", 2),
                hlo.op(4, "bitcast", "bf16[8]", 3),
            ],
            "gather",
        ),
        (
            [
                hlo.op(2, "dynamic-update-slice", "f32[8]", 1),
                hlo.op(3, "tuple", "(f32[8])", 2),
            ],
            "dynamic-update-slice",
        ),
        ([hlo.op(2, "convert", "bf16[8]", 1)], "parameter"),
    ],
)
def test_the_effect_of_a_fusion_is_what_makes_its_result(
    instructions: list[bytes], expected: str
) -> None:
    fused = hlo.computation(2, X, *instructions)
    module = Module(
        hlo.module(
            fused, hlo.computation(1, X, hlo.op(2, "fusion", "f32[8]", 1, calls=[2]))
        )
    )

    assert effect(module.entry.root) == expected


def test_users_are_found_past_what_only_hands_on() -> None:
    """1 is used by a bitcast, which a start and its done hand on to two users."""
    entry = hlo.computation(
        1,
        X,
        hlo.op(2, "bitcast", "f32[8]", 1),
        hlo.op(3, "copy-start", "(f32[8], f32[8])", 2),
        hlo.op(4, "copy-done", "f32[8]", 3),
        hlo.op(5, "negate", "f32[8]", 4),
        hlo.op(6, "add", "f32[8]", 4, 2),
    )
    users = Users(Module(hlo.module(entry)).entry)
    one = Module(hlo.module(entry)).entry.by_id(1)

    assert [user.name for user in users.of(one)] == ["bitcast.2"]
    assert sorted(user.name for user in users.past_passing(one)) == [
        "add.6",
        "negate.5",
    ]
