"""Device memory by allocator events, worked out on paper."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

GIB = 1 << 30


def allocated(
    builder: TraceBuilder, at: float, held: int, free: int, **more: object
) -> TraceBuilder:
    """One allocation of a GPU's allocator, after which it holds and has free so many
    bytes.
    """
    stats = {
        "allocator_name": "GPU_0_bfc",
        "bytes_allocated": held,
        "bytes_reserved": 0,
        "bytes_available": free,
    }
    return builder.call(
        "MemoryAllocation", at, at, **{**stats, "peak_bytes_in_use": held, **more}
    )


def two_steps() -> TraceBuilder:
    return trace().steps(2, period=100).busy("GPU:0", (0, 50), (100, 150))


def test_peak_against_capacity() -> None:
    """12 of 16 GiB at the worst; 9 at another time."""
    builder = allocated(
        allocated(two_steps(), 10, 12 * GIB, 4 * GIB), 110, 9 * GIB, 7 * GIB
    )

    assert builder.measure().value("peak_memory_fraction") == pytest.approx(0.75)
    assert builder.measure().value("peak_memory_bytes") == 12 * GIB
    assert builder.measure().value("memory_capacity_bytes") == 16 * GIB


def test_the_fullest_device_counts() -> None:
    builder = allocated(two_steps(), 10, 4 * GIB, 12 * GIB)
    allocated(builder, 20, 15 * GIB, 1 * GIB, allocator_name="GPU_1_bfc")

    assert builder.measure().value("peak_memory_fraction") == pytest.approx(15 / 16)


def test_host_memory_is_not_device_memory() -> None:
    builder = allocated(two_steps(), 10, 15 * GIB, GIB, allocator_name="gpu_host_bfc")

    assert (
        builder.measure()["peak_memory_fraction"].reason
        == "no device allocator left events in this trace"
    )


def test_driver_allocations_are_counted_apart() -> None:
    """cudaMalloc and cudaFree in the two steps, once before them: one a step."""
    builder = (
        trace().step(100, 200).step(200, 300).busy("GPU:0", (100, 150), (200, 250))
    )
    builder.call("cudaMalloc", 10, 20).call("cudaMalloc", 110, 120).call(
        "cudaFree", 210, 220
    )

    assert builder.measure().value("memory_calls_per_step") == 1


def test_a_cpu_run_makes_no_driver_allocations() -> None:
    assert (
        trace().step(0, 10).measure()["memory_calls_per_step"].reason
        == "this run used no accelerator"
    )


def test_time_in_the_drivers_allocation_while_nothing_runs() -> None:
    """cudaMalloc from 40 to 70 beside a kernel until 50, cudaFree 80 to 90: 30 of 100
    µs. Asynchronous ones do not wait.
    """
    builder = trace()
    for at in (0, 100, 200):
        builder.step(at, at + 100).busy("GPU:0", (at, at + 50)).call(
            "cudaMalloc", at + 40, at + 70
        )
        builder.call("cudaFree", at + 80, at + 90).call(
            "cuMemAllocAsync", at + 90, at + 100
        )
    metrics = builder.measure()

    assert metrics.value("memory_call_fraction") == pytest.approx(0.3)
    assert metrics.value("memory_calls_per_step") == 2


def test_without_such_calls_it_is_nothing() -> None:
    assert two_steps().measure().value("memory_call_fraction") == 0


def test_the_pool_against_the_gpus_memory() -> None:
    """12 of 16 GiB, as JAX takes by default."""
    builder = allocated(two_steps(), 10, 9 * GIB, 3 * GIB).plane_stat(
        "/device:GPU:0", memory_size=16 * GIB
    )

    assert builder.measure().value("memory_pool_fraction") == pytest.approx(0.75)
    assert (
        allocated(two_steps(), 10, GIB, GIB).measure().value("memory_pool_fraction")
        is None
    )


def test_a_verdict_of_memory() -> None:
    """Half of the step allocates; it shows as launch or Python, and is neither."""
    builder = trace()
    for at in (0, 100, 200, 300):
        builder.step(at, at + 100).call("PjitFunction(f)", at, at + 60).call(
            "cudaMalloc", at + 2, at + 58
        )
        builder.busy("GPU:0", (at + 60, at + 100))
    report = builder.report()

    assert report.verdict.bottleneck == "memory"
    assert report.verdict.fraction == pytest.approx(0.56)
    assert (
        next(one.rule_id for one in report.findings if one.category != "capture")
        == "allocation-in-steps"
    )


def test_without_steps_nobody_advises_a_larger_batch() -> None:
    """1 of 16 GiB in use; a trace without steps may lack the peak."""
    without = allocated(trace().busy("GPU:0", (0, 50)), 10, GIB, 15 * GIB).report()

    assert "batch" not in " ".join(
        fix.do for one in without.findings for fix in one.fixes
    )
