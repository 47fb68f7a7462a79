"""What the HLO in a trace says of its ops, on programs and timelines worked out on
paper.
"""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps
from support.trace_builder import TraceBuilder, trace

from tfadvisor.metrics.registry import Settings

H100 = {
    "core_count": 100,
    "clock_rate": 1_000_000,
    "compute_cap_major": 9,
    "compute_cap_minor": 0,
}
"""100 multiprocessors at 1 GHz with 4,096 operations a cycle each: 409.6 TFLOP/s."""


def step_program() -> bytes:
    """A dot of f32[64,64] by f32[64,64] whose result takes the place of parameter w; 2
    · 64³ = 524,288 operations.

    Each operand and the result have 16,384 bytes.
    """
    numbers = hlo.dot_numbers([1], [0])
    place = hlo.metadata("jit(step)/dot_general", "/home/me/train.py", 42)
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f32[64,64]", metadata=hlo.metadata("params['w']")),
            hlo.op(
                2, "parameter", "f32[64,64]", number=1, metadata=hlo.metadata("batch")
            ),
            hlo.op(3, "dot", "f32[64,64]", 1, 2, metadata=place, extra=numbers),
        ),
        extra=hlo.field(8, hlo.alias([], 0)),
    )


def two_steps(**properties: int) -> TraceBuilder:
    """Two steps of 100 µs; in each the dot runs 8 µs and an op that the HLO does not
    hold runs 2 µs.
    """
    builder = (
        trace()
        .program("jit_step", step_program())
        .plane_stat("/device:GPU:0", **properties)
    )
    for at in (0, 100):
        builder.step(at, at + 100)
        known = {"hlo_op": "dot.3", "hlo_module": "jit_step", "program_id": 7}
        builder.on_line(
            "/device:GPU:0", "Stream #1(Compute)", "sm90_gemm", at, at + 8, **known
        )
        builder.on_line(
            "/device:GPU:0", "Stream #1(Compute)", "other", at + 50, at + 52
        )
    return builder


def test_the_hottest_op_is_named_with_its_share_and_its_line() -> None:
    report = two_steps().report()

    assert report.ops[0].op == "dot.3"
    assert (report.ops[0].file, report.ops[0].line, report.ops[0].opcode) == (
        "train.py",
        42,
        "dot",
    )
    assert (report.ops[0].flops, report.ops[0].bytes) == (524_288, 3 * 16_384)


def test_arithmetic_over_the_peak() -> None:
    """524,288 operations in 8 µs are 65.536 GFLOP/s of 409,600."""
    metrics = two_steps(**H100).measure()

    assert metrics.value("flops_utilization") == pytest.approx(65.536 / 409_600)


@pytest.mark.parametrize(
    ("dtype", "kernel", "peak"),
    [
        ("bf16", "sm90_gemm", 989.4),
        ("f8e4m3fn", "sm90_gemm", 1978.9),
        ("f32", "sm90_gemm", 494.7),  # rounded to TF32
        ("f32", "ampere_sgemm_128x64_nn", 66.9),
        ("f32", "loop_dot_fusion", 66.9),  # a plain loop rounds nothing
    ],
)
def test_the_peak_is_that_of_the_type_that_is_multiplied(
    dtype: str, kernel: str, peak: float
) -> None:
    """2 · 64³ operations in 8 µs on an H100, whose peaks NVIDIA's paper gives in
    TFLOP/s.
    """
    numbers, of = hlo.dot_numbers([1], [0]), f"{dtype}[64,64]"
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", of),
            hlo.op(2, "parameter", of, number=1),
            hlo.op(3, "dot", of, 1, 2, name="dot.3", extra=numbers),
        )
    )
    gpu = {
        "core_count": 132,
        "memory_size": 80 << 30,
        "compute_cap_major": 9,
        "compute_cap_minor": 0,
    }
    metrics = gpu_steps((kernel, 8, "dot.3"), program=program, **gpu).measure()

    assert metrics.value("flops_utilization") == pytest.approx(
        2 * 64**3 / 8e-6 / (peak * 1e12)
    )


def test_bytes_over_the_memorys_bandwidth() -> None:
    """49,152 bytes in 8 µs are 6.144 GB/s, of 1,000."""
    metrics = two_steps(**H100, memory_bandwidth=1_000_000_000_000).measure()

    assert metrics.value("memory_bandwidth_utilization") == pytest.approx(0.006144)


def test_without_a_stated_peak_there_is_no_ratio() -> None:
    metrics = two_steps().measure()

    assert metrics.value("flops_utilization") is None
    assert (
        metrics["flops_utilization"].reason
        == "the trace does not say how fast the device is"
    )
    assert (
        metrics["memory_bandwidth_utilization"].reason
        == "the trace does not say how fast the device's memory is"
    )


def test_without_the_hlo_of_most_of_the_time_there_is_no_ratio() -> None:
    """The dot's 8 µs are less than half of it, once the other op takes 20."""
    builder = two_steps(**H100).on_line(
        "/device:GPU:0", "Stream #1(Compute)", "other", 60, 80
    )

    assert (
        builder.measure()["flops_utilization"].reason
        == "the trace does not hold the HLO of most of the compute time"
    )


def test_several_kernels_of_one_op_are_one_execution() -> None:
    """The dot's product of 6 µs and the sum of its parts of 2 µs: still 524,288
    operations in 8 µs.
    """
    builder = (
        trace()
        .program("jit_step", step_program())
        .plane_stat("/device:GPU:0", **H100)
        .step(0, 100)
    )
    known = {"hlo_op": "dot.3", "hlo_module": "jit_step", "program_id": 7}
    builder.on_line("/device:GPU:0", "Stream #1(Compute)", "sm90_gemm", 0, 6, **known)
    builder.on_line(
        "/device:GPU:0", "Stream #1(Compute)", "splitKreduce_kernel", 6, 8, **known
    )

    assert builder.measure().value("flops_utilization") == pytest.approx(
        65.536 / 409_600
    )


def test_parameters_are_what_comes_back_and_bears_a_name() -> None:
    """w is updated: 64 · 64 elements; the batch is not."""
    assert two_steps().measure().value("model_parameters") == 4096


def test_the_users_number_of_parameters_wins() -> None:
    assert two_steps().measure(Settings(parameters=5)).value("model_parameters") == 5


def test_without_hlo_parameters_are_asked_for() -> None:
    reason = (
        trace().step(0, 10).busy("GPU:0", (0, 5)).measure()["model_parameters"].reason
    )

    assert (
        reason
        == "the trace carries no HLO of the step's program: give the number of model "
        "parameters with --params"
    )


def test_damaged_hlo_costs_only_what_it_would_have_said() -> None:
    """Cut in half, the program says nothing; times and shares stand."""
    data = step_program()
    builder = trace().program("jit_step", data[: len(data) // 2]).step(0, 100)
    known = {"hlo_op": "dot.3", "hlo_module": "jit_step", "program_id": 7}
    builder.on_line("/device:GPU:0", "Stream #1(Compute)", "sm90_gemm", 0, 8, **known)

    metrics = builder.measure()

    assert metrics.value("compute_fraction") == pytest.approx(0.08)
    assert metrics.value("model_parameters") is None
    assert not any(one.broken for one in metrics.values())
