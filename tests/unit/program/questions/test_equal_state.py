"""State that replicas exchange although it is equal on all of them."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.collectives import equal_state_exchanged
from tfadvisor.program.module import Module

FOUR = hlo.replica_groups([0, 1, 2, 3])
SQUARE, GATHERED, ONE = "f32[64,64]", "f32[4,64,64]", "f32[]"


def program(*instructions: bytes) -> Module:
    """1 is a weight, 2 its gradient on this device, 3 the gradient's sum over the devices, 4 the weight after the update, 9
    a constant.
    """
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", SQUARE),
        hlo.op(2, "parameter", SQUARE, number=1),
        hlo.op(9, "constant", ONE),
        hlo.op(3, "all-reduce", SQUARE, 2, extra=FOUR),
        hlo.op(4, "add", SQUARE, 1, 3),
        *instructions,
    )
    return Module(hlo.module(entry))


@pytest.mark.parametrize("opcode", ["all-reduce", "all-gather"])
def test_an_updated_weight_that_is_exchanged_and_returned(opcode: str) -> None:
    found = program(hlo.op(5, opcode, GATHERED, 4, extra=FOUR), hlo.op(6, "tuple", f"({GATHERED})", 5))

    assert equal_state_exchanged(found) == {f"{opcode}.5"}


def test_a_mean_over_the_gathered_ones_is_still_only_returned() -> None:
    found = program(
        hlo.op(5, "all-gather", GATHERED, 4, extra=FOUR),
        hlo.op(6, "reduce", SQUARE, 5, 9),
        hlo.op(7, "broadcast", SQUARE, 9),
        hlo.op(8, "multiply", SQUARE, 6, 7),
    )

    assert equal_state_exchanged(found) == {"all-gather.5"}


def test_the_gradient_itself_is_used_for_the_update() -> None:
    assert equal_state_exchanged(program()) == set()


def test_replicas_that_went_on_apart_are_averaged_for_a_reason() -> None:
    """The weight is updated with this device's own gradient."""
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", SQUARE),
        hlo.op(2, "parameter", SQUARE, number=1),
        hlo.op(3, "add", SQUARE, 1, 2),
        hlo.op(4, "all-reduce", SQUARE, 3, extra=FOUR),
    )

    assert equal_state_exchanged(Module(hlo.module(entry))) == set()


def test_weights_that_are_gathered_to_be_multiplied() -> None:
    found = program(
        hlo.op(5, "all-gather", GATHERED, 4, extra=FOUR),
        hlo.op(6, "multiply", GATHERED, 5, 10),
        hlo.op(10, "parameter", GATHERED, number=2),
    )

    assert equal_state_exchanged(found) == set()


def test_a_small_state_beside_a_large_value_of_another_kind() -> None:
    """Most bytes are those of the second operand, which no argument of its size leads to."""
    found = program(
        hlo.op(5, "concatenate", GATHERED, 2, 2, 2, 2),
        hlo.op(6, "all-reduce", f"({SQUARE}, {GATHERED})", 4, 5, extra=FOUR),
    )

    assert equal_state_exchanged(found) == set()


def test_a_value_behind_a_product_is_no_updated_weight() -> None:
    found = program(
        hlo.op(5, "dot", SQUARE, 4, 1, extra=hlo.dot_numbers([1], [0])), hlo.op(6, "all-reduce", SQUARE, 5, extra=FOUR)
    )

    assert equal_state_exchanged(found) == set()


def test_each_device_updates_its_shard_of_the_weights() -> None:
    """The shards differ, so gathering them is what makes the weights whole again."""
    shard = "f32[16,64]"
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", shard),
        hlo.op(2, "parameter", SQUARE, number=1),
        hlo.op(3, "all-reduce", SQUARE, 2, extra=FOUR),
        hlo.op(4, "partition-id", "u32[]"),
        hlo.op(5, "dynamic-slice", shard, 3, 4),
        hlo.op(6, "add", shard, 1, 5),
        hlo.op(7, "all-gather", SQUARE, 6, extra=FOUR),
    )

    assert equal_state_exchanged(Module(hlo.module(entry))) == set()


def test_state_that_is_equal_among_other_devices_only() -> None:
    """Gradients are summed among pairs, and the weights exchanged among all four."""
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", SQUARE),
        hlo.op(2, "parameter", SQUARE, number=1),
        hlo.op(3, "all-reduce", SQUARE, 2, extra=hlo.replica_groups([0, 1], [2, 3])),
        hlo.op(4, "add", SQUARE, 1, 3),
        hlo.op(5, "all-gather", GATHERED, 4, extra=FOUR),
    )

    assert equal_state_exchanged(Module(hlo.module(entry))) == set()
