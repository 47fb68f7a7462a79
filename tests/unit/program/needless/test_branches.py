"""Both sides of a condition that vmap made a select."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.program.needless import both_branches

BATCHED = "jit(step)/while/body/vmap()/select_n"
WHERE = "jit(step)/while/body/vmap(jit(_where))/select_n"


def choice(select: str, compare: str, *more: bytes, extra_user: bool = False) -> frozenset[str]:
    """flood and moved are the sides of a select by an index; flood is made of walls alone."""
    where = hlo.metadata(select, "maze.py", 60)
    ops = [
        hlo.op(1, "parameter", "f32[8,4]"),
        hlo.op(2, "parameter", "s32[8]", number=1),
        hlo.op(3, "exponential", "f32[8,4]", 1, name="walls"),
        hlo.op(4, "sine", "f32[8,4]", 3, name="flood"),
        hlo.op(5, "negate", "f32[8,4]", 1, name="moved"),
        hlo.op(6, "constant", "s32[8]"),
        hlo.op(7, "compare", "pred[8]", 2, 6, name="is_done", metadata=hlo.metadata(compare)),
        hlo.op(8, "broadcast", "pred[8,4]", 7),
        hlo.op(9, "select", "f32[8,4]", 8, 5, 4, name="state", metadata=where),
        *more,
    ]
    if extra_user:
        ops.append(hlo.op(10, "add", "f32[8,4]", 9, 4, name="reward"))
    return both_branches(Module(hlo.module(hlo.computation(1, *ops))))


def test_what_only_one_side_uses() -> None:
    """The walls lead to nothing but the flood, and the flood to nothing but one side."""
    assert choice(BATCHED, BATCHED) >= {"walls", "flood", "moved"}
    assert "is_done" not in choice(BATCHED, BATCHED)


def test_what_something_else_uses_too_is_needed() -> None:
    found = choice(BATCHED, BATCHED, extra_user=True)

    assert "moved" in found
    assert not {"walls", "flood"} & found


def test_a_where_is_the_users_own_choice() -> None:
    """Its predicate is a comparison of the program, not of the branch's index."""
    assert choice(WHERE, "jit(step)/while/body/vmap()/lt") == frozenset()


def test_a_condition_without_vmap_is_no_select_of_examples() -> None:
    assert choice("jit(step)/select_n", "jit(step)/select_n") == frozenset()


def test_what_both_sides_use_is_needed() -> None:
    """One embedding feeds both experts, of which each example takes one."""
    where = hlo.metadata(BATCHED)
    found = both_branches(
        Module(
            hlo.module(
                hlo.computation(
                    1,
                    hlo.op(1, "parameter", "f32[8]"),
                    hlo.op(2, "parameter", "s32[8]", number=1),
                    hlo.op(3, "exponential", "f32[8]", 1, name="embedding"),
                    hlo.op(4, "sine", "f32[8]", 3, name="one"),
                    hlo.op(5, "cosine", "f32[8]", 3, name="other"),
                    hlo.op(6, "compare", "pred[8]", 2, 2, metadata=where),
                    hlo.op(7, "select", "f32[8]", 6, 4, 5, metadata=where),
                )
            )
        )
    )

    assert found == {"one", "other"}


def test_a_select_inside_a_fusion() -> None:
    """The fusion's second operand is one side, its first the other, its third decides."""
    where = hlo.metadata(BATCHED)
    inner = hlo.computation(
        2,
        hlo.op(21, "parameter", "f32[8,4]", number=0),
        hlo.op(22, "parameter", "f32[8,4]", number=1),
        hlo.op(23, "parameter", "s32[8]", number=2),
        hlo.op(24, "constant", "s32[8]"),
        hlo.op(25, "compare", "pred[8]", 23, 24, metadata=where),
        hlo.op(26, "broadcast", "pred[8,4]", 25),
        hlo.op(27, "select", "f32[8,4]", 26, 21, 22, metadata=where),
    )
    outer = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[8,4]"),
        hlo.op(2, "parameter", "s32[8]", number=1),
        hlo.op(3, "sine", "f32[8,4]", 1, name="flood"),
        hlo.op(4, "fusion", "f32[8,4]", 1, 3, 2, name="chosen", calls=[2], metadata=where),
    )

    assert "flood" in both_branches(Module(hlo.module(inner, outer)))
    assert "chosen" not in both_branches(Module(hlo.module(inner, outer)))
