"""Collectives between two products, as in tensor parallelism, and copies of what was
gathered.
"""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.exchanges import (
    collectives_between_products,
)
from tfadvisor.program.module import Module

FOUR = hlo.replica_groups([0, 1, 2, 3])
DOT = hlo.dot_numbers([1], [0])
SQUARE = "f32[64,64]"


def program(*instructions: bytes, helpers: tuple[bytes, ...] = ()) -> Module:
    """x and w are 1 and 2, a product of them is 3."""
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", SQUARE),
        hlo.op(2, "parameter", SQUARE, number=1),
        hlo.op(3, "dot", SQUARE, 1, 2, extra=DOT),
        *instructions,
    )
    return Module(hlo.module(*helpers, entry))


@pytest.mark.parametrize(
    "opcode", ["all-reduce", "reduce-scatter", "all-gather", "collective-permute"]
)
def test_a_product_a_collective_and_a_product(opcode: str) -> None:
    found = program(
        hlo.op(4, "add", SQUARE, 3, 1),
        hlo.op(5, opcode, SQUARE, 4, extra=FOUR),
        hlo.op(6, "tanh", SQUARE, 5),
        hlo.op(7, "dot", SQUARE, 6, 2, extra=DOT),
    )

    assert collectives_between_products(found) == {f"{opcode}.5"}


def test_a_start_and_its_done_lead_to_the_next_product() -> None:
    found = program(
        hlo.op(4, "all-reduce-start", SQUARE, 3, extra=FOUR),
        hlo.op(5, "all-reduce-done", SQUARE, 4),
        hlo.op(6, "dot", SQUARE, 5, 2, extra=DOT),
    )

    assert collectives_between_products(found) == {"all-reduce-start.4"}


def test_a_gradient_is_waited_for_by_no_product() -> None:
    found = program(
        hlo.op(4, "all-reduce", SQUARE, 3, extra=FOUR),
        hlo.op(5, "subtract", SQUARE, 2, 4),
    )

    assert collectives_between_products(found) == set()


def test_gathered_weights_wait_for_no_product() -> None:
    found = program(
        hlo.op(4, "all-gather", SQUARE, 2, extra=FOUR),
        hlo.op(5, "dot", SQUARE, 3, 4, extra=DOT),
    )

    assert collectives_between_products(found) == set()
