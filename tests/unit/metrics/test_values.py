"""Metrics on timelines whose answer is worked out on paper."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.metrics.registry import Settings

approx = pytest.approx


def measure(
    name: str, builder: TraceBuilder, settings: Settings | None = None
) -> float | None:
    return builder.measure(settings).value(name)


def why(name: str, builder: TraceBuilder) -> str:
    return builder.measure()[name].reason


def xprof_vector_a(copy_name: str = "MemcpyH2D", marked: bool = True) -> TraceBuilder:
    """8 steps of period 1,000 µs: input 400, copy 30, three kernels of 80 (the first in
    fp16), NCCL 100.
    """
    builder = trace()
    for index in range(8):
        at = index * 1000
        if marked:
            builder.step(at, at + 1000)
        builder.call("IteratorGetNext", at + 10, at + 410)
        details = "kind_src:pinned kind_dst:device size:4096 dest:0 async:1"
        builder.on_line(
            "/device:GPU:0",
            "Stream #2(MemcpyH2D)",
            copy_name,
            at + 415,
            at + 445,
            memcpy_details=details,
        )
        for number, (start, name) in enumerate(
            (
                (480, "volta_h884gemm_fp16_nn"),
                (580, "volta_sgemm_nn"),
                (680, "volta_sgemm_nn"),
            )
        ):
            launch = (at + 450 + number * 2, at + 451 + number * 2)
            builder.kernel("GPU:0", name, at + start, at + start + 80, launched=launch)
        builder.collective("GPU:0", at + 800, at + 900)
    return builder


@pytest.mark.parametrize("copy_name", ["MemcpyH2D", "MEMCPYHtoD"])
def test_xprofs_vector_a(copy_name: str) -> None:
    """XProf 2.24.2 says of the first: step 485 µs, input 0, compute 270, 16-bit 29.6%,
    NOT input-bound.
    """
    metrics = xprof_vector_a(copy_name).measure()

    assert metrics.value("step_time_ms") == approx(1.0)
    assert metrics.value("steps_counted") == 8
    assert metrics.value("input_bound_fraction") == approx(0.4)
    assert metrics.value("compute_fraction") == approx(0.24)
    assert metrics.value("exposed_collective_fraction") == approx(0.1)
    assert metrics.value("transfer_fraction") == approx(0.03)
    assert metrics.value("h2d_ms_per_step") == approx(0.03)
    assert metrics.value("h2d_bytes_per_step") == 4096
    assert metrics.value("fp16_kernel_share") == approx(80 / 240)
    assert metrics.value("allreduce_ms_per_step") == approx(0.1)
    assert metrics.value("collectives_per_step") == 1
    assert metrics.value("device_busy_fraction") == approx(0.37)


def test_xprofs_vector_b_two_gpus_stay_apart() -> None:
    """XProf: one core, step 700, compute 500, collectives 200. Truth: GPU 0 waits 300
    in NCCL, both idle 300 of 1,000.
    """
    builder = trace().steps(4, period=1000)
    for at in (0, 1000, 2000, 3000):
        builder.busy("GPU:0", (at, at + 200)).collective("GPU:0", at + 200, at + 700)
        builder.busy("GPU:1", (at, at + 500)).collective("GPU:1", at + 500, at + 700)
    metrics = builder.measure()

    assert metrics.value("compute_fraction") == approx((200 + 500) / 2000)
    assert metrics.value("exposed_collective_fraction") == approx((500 + 200) / 2000)
    assert metrics.value("device_skew_fraction") == approx(0.3)
    assert metrics.value("device_busy_fraction") == approx(0.7)


def test_the_gap_between_steps_is_device_time_around_the_boundary() -> None:
    """Kernels from 10 to 80 of each 100: 30 without device work around each
    boundary.
    """
    builder = (
        trace()
        .steps(4, period=100)
        .busy("GPU:0", *((t + 10, t + 80) for t in (0, 100, 200, 300)))
    )

    assert measure("inter_step_gap_ms", builder) == approx(0.030)
    assert measure("inter_step_gap_fraction", builder) == approx(0.3)


def test_a_device_that_works_across_the_boundary_leaves_no_gap() -> None:
    builder = trace().steps(3, period=100).busy("GPU:0", (0, 300))

    assert measure("inter_step_gap_ms", builder) == 0


def test_launch_latency_leaves_queueing_out() -> None:
    """10 µs after a free stream; the second kernel queues 35 µs behind the first and
    does not count.
    """
    builder = (
        trace()
        .step(0, 200)
        .kernel("GPU:0", "a", 20, 60, launched=(5, 10))
        .kernel("GPU:0", "b", 60, 70, launched=(15, 25))
    )

    assert measure("kernel_launch_latency_us", builder) == approx(10)


def test_launch_latency_percentile() -> None:
    """Latencies 1, 2, ... 20: the median is 10.5, the 95th percentile 19.05."""
    builder = trace().step(0, 10_000)
    for index in range(20):
        at = index * 100
        builder.kernel(
            "GPU:0", "k", at + 10 + index + 1, at + 60, launched=(at + 5, at + 10)
        )

    assert measure("kernel_launch_latency_us", builder) == approx(10.5)
    assert measure("kernel_launch_latency_us_p95", builder) == approx(19.05)


def test_small_kernels_are_counted_not_timed() -> None:
    builder = trace().step(0, 100).busy("GPU:0", (0, 5), (10, 19), (20, 30), (40, 90))

    assert measure("small_kernel_share", builder) == approx(0.5)
    assert measure("kernels_per_step", builder) == 4
    assert measure("median_kernel_us", builder) == approx(9.5)


def test_a_step_that_evaluates_does_not_change_the_count_of_kernels() -> None:
    """Three steps of two kernels and one of five: a mean would be 2.75. Where steps
    have one, two, three and three, no number is that of most.
    """
    rare = trace().steps(4, period=100)
    for at in (0, 100, 200, 300):
        rare.busy("GPU:0", (at, at + 5), (at + 10, at + 20))
    rare.busy("GPU:0", (130, 140), (150, 160), (170, 180))
    each = trace().steps(4, period=100)
    each.busy("GPU:0", (0, 5), (100, 105), (110, 120), (200, 205), (210, 220))
    each.busy("GPU:0", (230, 235), (300, 310), (320, 330), (340, 350))

    assert measure("kernels_per_step", rare) == 2
    assert measure("kernels_per_step", each) == 2.25


def test_unknown_precision_is_a_share_of_its_own() -> None:
    """fp16 matrix 30, fp32 matrix 10, a fusion that does not say 60."""
    builder = (
        trace().step(0, 100).busy("GPU:0", (0, 30), name="sm90_xmma_gemm_f16f16_f16f32")
    )
    builder.busy("GPU:0", (30, 40), name="ampere_sgemm_128x64").busy(
        "GPU:0", (40, 100), name="loop_add_fusion"
    )

    assert measure("fp16_kernel_share", builder) == approx(0.75)
    assert measure("unknown_precision_share", builder) == approx(0.6)


def test_tensor_cores_need_a_gpu_that_has_them() -> None:
    builder = (
        trace().step(0, 100).busy("GPU:0", (0, 30), name="maxwell_sgemm_128x64_nn")
    )
    builder.plane_stat("/device:GPU:0", device_vendor="Nvidia", compute_cap_major=6)

    assert measure("tensor_core_kernel_share", builder) is None
    assert "Tensor Cores" in why("tensor_core_kernel_share", builder)


def test_an_amd_gpu_of_capability_9_has_no_tensor_cores() -> None:
    builder = (
        trace().step(0, 100).busy("GPU:0", (0, 30), name="Cijk_Ailk_Bljk_SB_MT64x64")
    )
    builder.plane_stat("/device:GPU:0", device_vendor="AMD", compute_cap_major=9)

    assert measure("tensor_core_kernel_share", builder) is None


def test_copies_without_a_size_have_no_bytes_instead_of_zero() -> None:
    builder = trace().step(0, 100).busy("GPU:0", (0, 10)).copy("GPU:0", "H2D", 20, 30)

    assert measure("h2d_ms_per_step", builder) == approx(0.01)
    assert measure("h2d_bytes_per_step", builder) is None
    assert measure("d2h_bytes_per_step", builder) == 0


def test_allreduce_against_its_ideal() -> None:
    """250 M parameters x 4 bytes over 100 GB/s take 10 ms; the AllReduce takes 40 ms a
    step: a quarter of the ideal.
    """
    builder = (
        trace().steps(2, period=100_000).busy("GPU:0", (0, 10), (100_000, 100_010))
    )
    builder.collective("GPU:0", 50_000, 90_000).collective("GPU:0", 150_000, 190_000)
    settings = Settings(parameters=250_000_000, bandwidth_gb_s=100.0)

    assert measure("allreduce_ideal_ms", builder, settings) == approx(10)
    assert measure("allreduce_ms_per_step", builder, settings) == approx(40)
    assert measure("allreduce_efficiency", builder, settings) == approx(0.25)
    assert "--params" in why("allreduce_ideal_ms", builder)


def test_eager_share_in_tensorflow() -> None:
    """Three eager kernels and one op of a function."""
    builder = trace().step(0, 100)
    for at in (0, 20, 40):
        builder.call("EagerLocalExecute: MatMul", at, at + 15).call(
            "KernelAndDeviceFunc::Run", at + 5, at + 10
        )
    builder.thread("tf_Compute/1").call("dense:MatMul", 60, 80)

    assert measure("eager_op_share", builder) == approx(0.75)


def test_eager_share_in_jax() -> None:
    """jit_add holds one op, jit_step three: one of four device events was dispatched by
    itself.
    """
    builder = trace().step(0, 100)
    for index, (name, module) in enumerate(
        (
            ("add", "jit_add"),
            ("dot", "jit_step"),
            ("mul", "jit_step"),
            ("sub", "jit_step"),
        )
    ):
        builder.kernel(
            "GPU:0",
            name,
            index * 20 + 10,
            index * 20 + 20,
            launched=(index * 20, index * 20 + 1),
            hlo_module=module,
        )

    assert measure("eager_op_share", builder) == approx(0.25)


def test_eager_share_of_tensorflow_that_names_its_eager_kernels() -> None:
    """Up to 2.8 the eager runtime runs `MatMul:MatMul` itself: three of them, and one
    op of a function that is called alike.
    """
    builder = trace().step(0, 100)
    for at in (0, 20, 40):
        builder.call("EagerLocalExecute: MatMul", at, at + 15).call(
            "MatMul:MatMul", at + 5, at + 10
        )
    builder.thread("tf_Compute/1").call("MatMul:MatMul", 60, 80)

    assert measure("eager_op_share", builder) == approx(0.75)


def programs_on_a_cpu(functions: str) -> TraceBuilder:
    """Programs of 5 µs each, one after the other, whose ops the trace does not name."""
    builder = trace().step(0, 100)
    for index, function in enumerate(functions):
        at = 10 * index
        builder.call(f"PjitFunction({function})", at, at + 7).call(
            "TfrtCpuExecutable::ExecuteHelper", at + 1, at + 6
        )
    return builder


@pytest.mark.parametrize(
    ("functions", "expected"),
    [("abcdabcd", 1), ("abcdabc", 0), ("abcabcab", 0), ("a", 0)],
    ids=["eight of four", "only seven", "only three different", "one compiled step"],
)
def test_eager_share_where_ops_have_no_names(functions: str, expected: float) -> None:
    """A step op by op runs eight programs or more, of four kinds or more."""
    assert measure("eager_op_share", programs_on_a_cpu(functions)) == expected


def test_what_runs_in_programs_without_named_ops() -> None:
    assert measure("unnamed_op_share", programs_on_a_cpu("a")) == 1
    named = (
        trace()
        .step(0, 100)
        .call("dot.1", 10, 20, hlo_op="dot.1", hlo_module="jit_a", device_ordinal=0)
    )
    assert measure("unnamed_op_share", named) == 0


def test_a_third_of_the_compute_has_no_name() -> None:
    """`dot.1` takes 20 µs; its run waits for 10 µs more for what the trace does not
    show.
    """
    builder = (
        trace()
        .step(0, 100)
        .call("PjitFunction(f)", 0, 5)
        .call("PjRtCpuExecutable::ExecuteHelper", 1, 4)
    )
    builder.thread("tf_XLAPjRtCpuClient/1").call(
        "dot.1", 10, 30, hlo_op="dot.1", hlo_module="jit_f", device_ordinal=0
    )
    builder.call("ThunkExecutor::Execute (wait for completion)", 30, 40)

    assert measure("unnamed_op_share", builder) == approx(1 / 3)


def test_recompilations_count_one_by_one() -> None:
    builder = (
        trace()
        .steps(4, period=100)
        .busy("GPU:0", *((t + 90, t + 100) for t in (0, 100, 200, 300)))
    )
    for at in (5, 105, 205, 305):
        builder.call("PjitFunction(step)", at, at + 60).call(
            "backend_compile", at + 5, at + 55
        )

    assert measure("retraces_in_steady_state", builder) == 4
    assert measure("compile_fraction", builder) == approx(0.6)


def test_host_op_share_of_an_accelerator_run() -> None:
    """30 µs of host ops, 70 µs of kernels."""
    builder = (
        trace()
        .step(0, 100)
        .busy("GPU:0", (0, 70))
        .thread("tf_Compute/1")
        .call("unique:Unique", 60, 90)
    )

    assert measure("host_op_share", builder) == approx(0.3)


def test_host_op_share_of_a_cpu_run_is_absent() -> None:
    builder = trace().step(0, 100).thread("tf_Compute/1").call("unique:Unique", 60, 90)

    assert measure("host_op_share", builder) is None


def test_peak_memory_of_the_fullest_device() -> None:
    builder = trace().step(0, 100).busy("GPU:0", (0, 1))
    for name, peak in (("GPU_0_bfc", 50), ("GPU_1_bfc", 80)):
        builder.call(
            "MemoryAllocation",
            1,
            1,
            allocator_name=name,
            bytes_reserved=0,
            bytes_allocated=40,
            bytes_available=60,
            peak_bytes_in_use=peak,
        )

    assert measure("peak_memory_fraction", builder) == approx(0.8)


def test_wait_fraction_is_the_drivers() -> None:
    builder = (
        trace().step(0, 100).call("BlockUntilReady", 20, 80).busy("GPU:0", (0, 100))
    )

    assert measure("wait_fraction", builder) == approx(0.6)


def test_dropped_events_are_zero_when_none_are_reported() -> None:
    assert measure("dropped_events", trace().step(0, 1)) == 0
    assert (
        measure(
            "dropped_events",
            trace().step(0, 1).warning("GPU events dropped on h: 5 events dropped"),
        )
        == 5
    )


def test_shares_of_a_compiling_first_step_do_not_count() -> None:
    builder = (
        trace()
        .steps(3, period=100)
        .call("backend_compile", 0, 90)
        .busy("GPU:0", (90, 100), (100, 200), (200, 300))
    )

    assert measure("compile_fraction", builder) == 0
    assert measure("compute_fraction", builder) == 1
    assert measure("first_steps_set_aside", builder) == 1


def test_a_call_that_compiles_before_the_device_begins_its_step_counts_in_the_steps_that_it_holds_up() -> (
    None
):
    """The host dispatches five steps of which the device begins each 100 µs later; the
    third call compiles for 300 µs, most of them while the device has run out of work.
    Calls of `add` inside it are its own."""
    builder = trace()
    calls = [(0, 5), (10, 15), (20, 330), (340, 345), (350, 355)]
    runs = [(100, 200), (200, 230), (330, 430), (430, 530), (530, 630)]
    for (call, end), (start, done) in zip(calls, runs, strict=True):
        builder.call("PjitFunction(step)", call, end)
        builder.kernel(
            "GPU:0", "f", start, done, launched=(end - 1, end), hlo_module="jit_step"
        )
    builder.call("PjitFunction(add)", 30, 40).call("backend_compile", 30, 325)
    metrics = builder.measure()

    assert metrics.value("retraces_in_steady_state") == 1
    assert metrics.fact("recompiled_function") == "step"
