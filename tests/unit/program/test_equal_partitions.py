"""Programs in which all devices compute the same."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.attributes import equal_partitions
from tfadvisor.program.module import Module

REPLICATED = b""
NAMED_WHOLE = hlo.field(14, hlo.field(2, b"") + hlo.field(3, hlo.field(2, 1)))
"""A dimension without an axis."""
NAMED_SPLIT = hlo.field(
    14, hlo.field(2, b"") + hlo.field(3, hlo.field(1, hlo.field(2, 2)))
)
TILED = hlo.field(1, 3) + hlo.packed(3, [2, 1])
MANUAL = hlo.field(1, 4)
ON_ONE = hlo.field(1, 1)
TUPLE_SPLIT = hlo.field(1, 2) + hlo.field(5, REPLICATED) + hlo.field(5, TILED)
TUPLE_WHOLE = hlo.field(1, 2) + hlo.field(5, REPLICATED) + hlo.field(5, NAMED_WHOLE)


NESTED = NAMED_WHOLE
for _ in range(3000):
    NESTED = hlo.field(1, 2) + hlo.field(5, NESTED)


def program(*shardings: bytes, partitions: int = 4, opcode: str = "add") -> Module:
    entry = hlo.computation(
        1, hlo.op(1, "parameter", "f32[8,8]"), hlo.op(2, opcode, "f32[8,8]", 1, 1)
    )
    assignment = hlo.field(15, hlo.field(1, 1) + hlo.field(2, partitions))
    return Module(
        hlo.module(
            entry, extra=assignment + b"".join(hlo.field(14, one) for one in shardings)
        )
    )


@pytest.mark.parametrize("whole", [REPLICATED, NAMED_WHOLE, TUPLE_WHOLE, NESTED])
def test_nothing_is_split(whole: bytes) -> None:
    assert equal_partitions(program(REPLICATED, whole)) == 4


@pytest.mark.parametrize("part", [NAMED_SPLIT, TILED, MANUAL, ON_ONE, TUPLE_SPLIT])
def test_one_input_that_is_split_is_enough(part: bytes) -> None:
    assert equal_partitions(program(REPLICATED, part)) == 1


@pytest.mark.parametrize(
    "opcode", ["partition-id", "replica-id", "infeed", "recv", "rng"]
)
def test_devices_that_know_who_they_are_may_differ(opcode: str) -> None:
    assert equal_partitions(program(REPLICATED, opcode=opcode)) == 1


def test_one_device_repeats_nobody() -> None:
    assert equal_partitions(program(REPLICATED, partitions=1)) == 1


def test_a_program_that_does_not_say_how_its_inputs_lie() -> None:
    assert equal_partitions(program()) == 1
