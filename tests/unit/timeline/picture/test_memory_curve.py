"""How much an allocator has given out, and what lives at the peak."""

from __future__ import annotations

from support.pages import page_of
from support.trace_builder import TraceBuilder, trace

CAPACITY = 1_000


class Allocator:
    """Events of one allocator, each with the sums after it."""

    def __init__(self, before: int) -> None:
        self.builder: TraceBuilder = trace().step(0, 100).busy("GPU:0", (10, 90))
        self._used = before

    def take(self, at: float, address: int, size: int, op: str) -> None:
        self._used += size
        self._event(
            "MemoryAllocation",
            at,
            address,
            size,
            tf_op=op,
            region_type="output",
            shape=f"[{size}]",
        )

    def give_back(self, at: float, address: int, size: int) -> None:
        self._used -= size
        self._event("MemoryDeallocation", at, address, size)

    def _event(
        self, name: str, at: float, address: int, size: int, **more: object
    ) -> None:
        self.builder.call(
            name,
            at,
            at + 0.1,
            allocator_name="GPU_0_bfc",
            addr=address,
            allocation_bytes=size,
            bytes_allocated=self._used,
            bytes_available=CAPACITY - self._used,
            bytes_reserved=0,
            peak_bytes_in_use=400,
            **more,
        )


def test_at_the_peak_lives_what_was_not_given_back() -> None:
    """10 bytes are older than the trace; 100 and 50 come, 100 go, 30 come: most are
    160, after the 50.
    """
    made = Allocator(before=10)
    made.take(10, 0xA, 100, "model/conv")
    made.take(20, 0xB, 50, "model/dense")
    made.give_back(30, 0xA, 100)
    made.take(40, 0xC, 30, "loss")

    (found,) = page_of(made.builder).memory

    assert found.bytes == (110, 160, 60, 90)
    assert (found.peak_bytes, found.capacity_bytes, found.highest_bytes) == (
        160,
        CAPACITY,
        400,
    )
    assert [(one.op, one.bytes, one.shape) for one in found.live] == [
        ("model/conv", 100, "[100]"),
        ("model/dense", 50, "[50]"),
    ]
    assert found.unseen_bytes == 10


def test_a_block_that_is_given_out_twice_counts_once() -> None:
    made = Allocator(before=0)
    made.take(10, 0xA, 100, "first")
    made.give_back(20, 0xA, 100)
    made.take(30, 0xA, 120, "second")

    (found,) = page_of(made.builder).memory

    assert [(one.op, one.bytes) for one in found.live] == [("second", 120)]


def test_a_trace_without_allocator_events_has_no_curve() -> None:
    assert page_of(trace().step(0, 100).busy("GPU:0", (10, 90))).memory == ()
