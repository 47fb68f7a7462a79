"""Device memory by allocator events, worked out on paper."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

GIB = 1 << 30


def allocated(builder: TraceBuilder, at: float, held: int, free: int, **more: object) -> TraceBuilder:
    """One allocation of a GPU's allocator, after which it holds and has free so many bytes."""
    stats = {"allocator_name": "GPU_0_bfc", "bytes_allocated": held, "bytes_reserved": 0, "bytes_available": free}
    return builder.call("MemoryAllocation", at, at, **{**stats, "peak_bytes_in_use": held, **more})


def two_steps() -> TraceBuilder:
    return trace().steps(2, period=100).busy("GPU:0", (0, 50), (100, 150))


def test_peak_against_capacity() -> None:
    """12 of 16 GiB at the worst; 9 at another time."""
    builder = allocated(allocated(two_steps(), 10, 12 * GIB, 4 * GIB), 110, 9 * GIB, 7 * GIB)

    assert builder.measure().value("peak_memory_fraction") == pytest.approx(0.75)
    assert builder.measure().value("peak_memory_bytes") == 12 * GIB
    assert builder.measure().value("memory_capacity_bytes") == 16 * GIB


def test_the_fullest_device_counts() -> None:
    builder = allocated(two_steps(), 10, 4 * GIB, 12 * GIB)
    allocated(builder, 20, 15 * GIB, 1 * GIB, allocator_name="GPU_1_bfc")

    assert builder.measure().value("peak_memory_fraction") == pytest.approx(15 / 16)


def test_host_memory_is_not_device_memory() -> None:
    builder = allocated(two_steps(), 10, 15 * GIB, GIB, allocator_name="gpu_host_bfc")

    assert builder.measure()["peak_memory_fraction"].reason == "no device allocator left events in this trace"


def test_fragmentation_is_the_worst_that_the_allocator_said() -> None:
    builder = allocated(two_steps(), 10, GIB, GIB, fragmentation=0.25)
    allocated(builder, 20, GIB, GIB, fragmentation=0.75)

    assert builder.measure().value("memory_fragmentation") == 0.75


def test_an_allocator_that_does_not_say_leaves_fragmentation_unknown() -> None:
    reason = allocated(two_steps(), 10, GIB, GIB).measure()["memory_fragmentation"].reason

    assert reason == "the allocator's events do not say how fragmented its memory is"


def test_allocations_in_steps_are_counted_and_those_before_are_not() -> None:
    """One before the steps, three in two steps: 1.5 a step. A deallocation is none."""
    builder = trace().step(100, 200).step(200, 300).busy("GPU:0", (100, 150), (200, 250))
    for at in (50, 110, 120, 210):
        allocated(builder, at, GIB, GIB, allocation_bytes=4096)
    free = {"allocator_name": "GPU_0_bfc", "bytes_allocated": 0, "bytes_available": 2 * GIB}
    builder.call("MemoryDeallocation", 220, 220, **free)

    assert builder.measure().value("allocations_per_step") == 1.5


def test_driver_allocations_are_counted_apart() -> None:
    """cudaMalloc and cudaFree in the two steps, once before them: one a step."""
    builder = trace().step(100, 200).step(200, 300).busy("GPU:0", (100, 150), (200, 250))
    builder.call("cudaMalloc", 10, 20).call("cudaMalloc", 110, 120).call("cudaFree", 210, 220)

    assert builder.measure().value("memory_calls_per_step") == 1


def test_a_cpu_run_makes_no_driver_allocations() -> None:
    assert trace().step(0, 10).measure()["memory_calls_per_step"].reason == "this run used no accelerator"
