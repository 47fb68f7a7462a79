"""What lies in memory while a program runs, by the compiler's plan."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.buffers import BufferKind, program_memory
from tfadvisor.program.module import Module

ALLOC, FREE = 0, 1


def value(one: int, size: int, instruction: int) -> bytes:
    place = hlo.field(4, instruction)
    return hlo.field(1, hlo.field(1, one) + hlo.field(2, size) + hlo.field(3, place))


def block(index: int, size: int, *values: tuple[int, int], extra: bytes = b"") -> bytes:
    """values: (id, bytes) of what lies in it."""
    inside = b"".join(
        hlo.field(9, hlo.field(1, one) + hlo.field(3, much)) for one, much in values
    )
    return hlo.field(3, hlo.field(1, index) + hlo.field(2, size) + extra + inside)


def trace(index: int, *events: tuple[int, int]) -> bytes:
    inside = b"".join(
        hlo.field(1, hlo.field(1, kind) + hlo.field(2, one)) for kind, one in events
    )
    return hlo.field(4, inside + hlo.field(3, index))


def program(*assignment: bytes) -> Module:
    body = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[8]"),
        hlo.op(2, "negate", "f32[16]", 1),
        hlo.op(3, "exponential", "f32[4]", 2),
        hlo.op(4, "tanh", "f32[6]", 3),
        hlo.op(5, "copy", "f32[8]", 4),
    )
    return Module(
        hlo.module(body) + (hlo.field(3, b"".join(assignment)) if assignment else b"")
    )


VALUES = (
    value(1, 32, 1),
    value(2, 64, 2),
    value(3, 16, 3),
    value(4, 24, 4),
    value(5, 32, 5),
)


def test_at_the_peak_lives_what_is_not_yet_freed() -> None:
    """64 + 16 bytes are most; the 24 that follow lie where the 64 were."""
    found = program_memory(
        program(
            *VALUES,
            block(0, 32, (1, 32), extra=hlo.field(5, 1)),
            block(1, 80, (2, 64), (3, 16), (4, 24)),
            block(2, 32, (5, 32), extra=hlo.field(7, 1)),
            trace(
                1, (ALLOC, 2), (ALLOC, 3), (FREE, 2), (ALLOC, 4), (FREE, 3), (FREE, 4)
            ),
        )
    )

    assert found is not None
    assert found.bytes == 32 + 80 + 32
    assert found.bytes_of[BufferKind.TEMPORARY] == 80
    assert [(one.kind, one.name, one.bytes) for one in found.buffers] == [
        (BufferKind.TEMPORARY, "negate.2", 64),
        (BufferKind.ARGUMENT, "parameter.1", 32),
        (BufferKind.OUTPUT, "copy.5", 32),
        (BufferKind.TEMPORARY, "exponential.3", 16),
    ]


def test_memory_of_the_host_is_none_of_the_devices() -> None:
    found = program_memory(
        program(
            *VALUES, block(0, 32, (1, 32)), block(1, 64, (2, 64), extra=hlo.field(8, 5))
        )
    )

    assert found is not None
    assert found.bytes == 32
    assert found.bytes_of[BufferKind.HOST] == 64


def test_a_value_that_lies_in_anothers_memory_keeps_it_alive() -> None:
    """5 shares with 2, so freeing 2 leaves its 64 bytes taken, and 3 comes on top."""
    shares = hlo.field(1, hlo.field(1, 2) + hlo.field(2, 5) + hlo.field(5, 2))
    events = b"".join(
        (
            hlo.field(1, hlo.field(1, ALLOC) + hlo.field(2, 2)),
            shares,
            hlo.field(1, hlo.field(1, FREE) + hlo.field(2, 2)),
            hlo.field(1, hlo.field(1, ALLOC) + hlo.field(2, 3)),
        )
    )
    whole = hlo.field(4, events + hlo.field(3, 1))
    found = program_memory(program(*VALUES, block(1, 80, (2, 64), (3, 16)), whole))

    assert found is not None
    assert [one.name for one in found.buffers] == ["negate.2", "exponential.3"]


def test_a_program_without_a_plan_tells_nothing() -> None:
    assert program_memory(program()) is None
