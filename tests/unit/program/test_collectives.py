"""The communication of a module: bytes, groups, how often."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.exchanges import CollectiveOp, collectives
from tfadvisor.program.module import Module

X = hlo.op(1, "parameter", "f32[32,16]")
FOUR = hlo.replica_groups([0, 1, 2, 3], [4, 5, 6, 7])


def only(*instructions: bytes, extra: bytes = b"") -> CollectiveOp:
    (found,) = collectives(
        Module(hlo.module(hlo.computation(1, *instructions), extra=extra))
    )
    return found


@pytest.mark.parametrize(
    ("opcode", "result", "size"),
    [
        ("all-reduce", "f32[32,16]", 2048),
        ("all-gather", "f32[128,16]", 8192),
        ("reduce-scatter", "f32[8,16]", 2048),
        ("all-to-all", "f32[32,16]", 2048),
        ("collective-broadcast", "f32[32,16]", 2048),
    ],
)
def test_bytes_of_a_collective_among_four(opcode: str, result: str, size: int) -> None:
    """32 × 16 floats are 2,048 bytes; an all-gather of four is four times as large."""
    found = only(X, hlo.op(2, opcode, result, 1, channel=3, extra=FOUR))

    assert (found.name, found.kind, found.dtype, found.group_size) == (
        f"{opcode}.2",
        opcode,
        "f32",
        4,
    )
    assert found.bytes == size


def test_a_permute_sends_its_operand_once() -> None:
    pairs = b"".join(
        hlo.field(52, hlo.field(1, one) + hlo.field(2, (one + 1) % 4))
        for one in range(4)
    )

    found = only(X, hlo.op(2, "collective-permute", "f32[32,16]", 1, extra=pairs))

    assert (found.group_size, found.bytes) == (4, 2048)


def test_a_start_and_its_done_are_one_collective() -> None:
    """The start's shape repeats the operand beside the gathered result."""
    start = hlo.op(2, "all-gather-start", "(f32[32,16], f32[128,16])", 1, extra=FOUR)

    found = only(X, start, hlo.op(3, "all-gather-done", "f32[128,16]", 2))

    assert (found.name, found.kind) == ("all-gather-start.2", "all-gather")
    assert found.bytes == 8192


def test_a_wrapped_collective_bears_the_name_that_the_trace_shows() -> None:
    wrapped = hlo.computation(
        2,
        hlo.op(21, "parameter", "f32[32,16]"),
        hlo.op(22, "reduce-scatter", "f32[8,16]", 21, extra=FOUR),
    )
    start = hlo.op(
        2,
        "async-start",
        "((f32[32,16]), f32[8,16])",
        1,
        calls=[2],
        name="reduce-scatter-start",
    )
    update = hlo.op(3, "async-update", "((f32[32,16]), f32[8,16])", 2, calls=[2])
    done = hlo.op(
        4, "async-done", "f32[8,16]", 3, calls=[2], name="reduce-scatter-done"
    )

    (found,) = collectives(
        Module(hlo.module(wrapped, hlo.computation(1, X, start, update, done)))
    )

    assert (found.name, found.kind) == ("reduce-scatter-start", "reduce-scatter")


def test_a_combined_all_reduce_counts_all_its_operands_and_names_the_larger_type() -> (
    None
):
    small = hlo.op(2, "parameter", "bf16[8]", number=1)

    found = only(
        X, small, hlo.op(3, "all-reduce", "(f32[32,16], bf16[8])", 1, 2, extra=FOUR)
    )

    assert (found.dtype, found.bytes) == ("f32", 2048 + 16)


def test_what_the_entry_never_reaches_does_not_communicate() -> None:
    unused = hlo.computation(2, X, hlo.op(22, "all-reduce", "f32[32,16]", 1))

    assert collectives(Module(hlo.module(unused, hlo.computation(1, X)))) == ()


def test_groups_may_be_described_instead_of_listed() -> None:
    """2 × 4 devices, transposed: neighbours are four apart."""
    found = only(
        X,
        hlo.op(
            2,
            "all-reduce",
            "f32[32,16]",
            1,
            extra=hlo.iota_groups(4, 2, [2, 4], [1, 0]),
        ),
    )

    assert found.group_size == 2


def test_groups_may_be_the_axes_of_a_mesh() -> None:
    """Mesh 2 × 8; over the first axis and a half of size 4 of the second: eight
    devices.
    """
    mesh = hlo.field(1, hlo.field(1, hlo.field(2, 2)) + hlo.field(1, hlo.field(2, 8)))
    part = hlo.field(
        2, hlo.field(1, 1) + hlo.field(2, hlo.field(1, 1) + hlo.field(2, 4))
    )
    axes = hlo.field(93, mesh + hlo.field(2, hlo.field(1, 0)) + part)

    found = only(X, hlo.op(2, "all-reduce", "f32[32,16]", 1, extra=axes))

    assert found.group_size == 8


@pytest.mark.parametrize(("channel", "size"), [(0, 2), (1, 8)])
def test_without_groups_everyone_takes_part(channel: int, size: int) -> None:
    """2 replicas of 4 partitions: with a channel, partitions take part too."""
    assignment = hlo.field(15, hlo.field(1, 2) + hlo.field(2, 4))

    found = only(
        X, hlo.op(2, "all-reduce", "f32[32,16]", 1, channel=channel), extra=assignment
    )

    assert found.group_size == size


def test_without_groups_or_an_assignment_the_size_is_not_guessed() -> None:
    found = only(X, hlo.op(2, "all-reduce", "f32[32,16]", 1))

    assert found.group_size is None
