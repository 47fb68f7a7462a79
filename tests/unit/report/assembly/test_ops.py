"""The report's table of ops, on timelines worked out on paper."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps
from support.trace_builder import trace


def test_ops_are_per_step_and_device_with_the_hottest_first() -> None:
    """Two steps; a gemm of 30 µs and two fusions of 5 each: 60 + 20 µs in all, 30 and
    10 a step.
    """
    builder = trace().steps(2, period=100)
    for at in (0, 100):
        builder.busy(
            "GPU:0", (at, at + 30), name="sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn"
        )
        builder.busy(
            "GPU:0", (at + 40, at + 45), (at + 50, at + 55), name="loop_add_fusion"
        )

    first, second = builder.report().ops

    assert (first.kernel, first.kind, first.precision) == (
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn",
        "compute",
        "bf16",
    )
    assert first.ms_per_step == pytest.approx(0.030)
    assert first.count_per_step == 1
    assert first.share == pytest.approx(0.75)
    assert (second.kernel, second.precision) == ("loop_add_fusion", "unknown")
    assert second.ms_per_step == pytest.approx(0.010)
    assert second.count_per_step == 2


def test_the_same_op_of_two_devices_is_one_row() -> None:
    """10 µs on one GPU, 30 on the other: 20 a step and device."""
    builder = (
        trace()
        .steps(1, period=100)
        .busy("GPU:0", (0, 10), name="k")
        .busy("GPU:1", (0, 30), name="k")
    )

    (only,) = builder.report().ops

    assert only.ms_per_step == pytest.approx(0.020)
    assert only.count_per_step == 1
    assert only.share == 1


def test_copies_and_collectives_have_their_kind() -> None:
    builder = (
        trace()
        .steps(1, period=100)
        .busy("GPU:0", (0, 10))
        .copy("GPU:0", "H2D", 20, 30)
        .collective("GPU:0", 40, 50)
    )

    assert {one.kernel: one.kind for one in builder.report().ops} == {
        "some_kernel": "compute",
        "MemcpyH2D": "h2d",
        "ncclDevKernel_AllReduce_Sum_f32": "collective",
    }


def test_an_op_that_events_name_with_its_caller_has_what_the_hlo_says() -> None:
    """A product of two 8 by 8 matrices: 8 · 8 · 8 multiplications and as many
    additions.
    """
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f32[8,8]"),
            hlo.op(
                2,
                "dot",
                "f32[8,8]",
                1,
                1,
                name="dot.2",
                extra=hlo.dot_numbers([1], [0]),
            ),
        )
    )

    (only,) = gpu_steps(("gemm", 30.0, "call.1::dot.2"), program=program).report().ops

    assert (only.op, only.opcode, only.flops) == ("call.1::dot.2", "dot", 1024)


def test_kernels_stand_under_the_op_that_the_framework_names() -> None:
    """Without HLO: two layers run the same kernel, a step; of replicas an op is one."""
    builder = trace().steps(2, period=100)
    for at in (0, 100):
        for device, of in (("GPU:0", ""), ("GPU:1", "replica_1/")):
            for layer, begin, end in (("conv1", 0, 30), ("conv2", 30, 40)):
                path = f"{of}model/{layer}/Conv2D:Conv2D"
                builder.kernel(
                    device,
                    "scudnn_128x64",
                    at + begin,
                    at + end,
                    (at, at + 1),
                    tf_op=path,
                    kernel_details="grid:2,3,1 block:64,1,1",
                )

    first, second = builder.report().ops

    assert (first.op, first.kernel, first.name) == (
        "model/conv1/Conv2D",
        "scudnn_128x64",
        "model/conv1/Conv2D",
    )
    assert (first.count_per_step, first.share, first.grid, first.block) == (
        1,
        0.75,
        (2, 3, 1),
        (64, 1, 1),
    )
    assert (second.op, second.ms_per_step) == (
        "model/conv2/Conv2D",
        pytest.approx(0.010),
    )


def test_a_kernel_is_another_where_its_name_is_not_made_of_the_ops() -> None:
    builder = trace().steps(1, period=100)
    builder.kernel(
        "GPU:0", "loop_add_fusion_3", 0, 10, (0, 1), hlo_op="loop_add_fusion.3"
    )
    builder.kernel(
        "GPU:0", "nvjet_tst_128", 10, 30, (1, 2), hlo_op="custom-call.1"
    ).busy("GPU:0", (30, 35), name="alone")

    assert [one.other_kernel for one in builder.report().ops] == [
        "nvjet_tst_128",
        "",
        "",
    ]


def test_tensor_cores_are_told_by_names_and_where_these_are_silent_by_the_hlo() -> None:
    """An A100 multiplies fp32 in TF32 unless told otherwise: Triton's f32 product uses
    Tensor Cores, an fp32 sgemm does not.
    """
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f32[512,512]"),
            hlo.op(
                2,
                "dot",
                "f32[512,512]",
                1,
                1,
                name="gemm_fusion_dot.2",
                extra=hlo.dot_numbers([1], [0]),
            ),
        )
    )
    kernels = (
        ("gemm_fusion_dot_2", 40.0, "gemm_fusion_dot.2"),
        ("ampere_sgemm_128x64_nn", 30.0),
        ("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn", 15.0),
        ("void EigenMetaKernel<scalar_sum_op<float>>(float)", 8.0),
        ("fusion_7", 5.0),
    )
    about = {"compute_cap_major": 8, "compute_cap_minor": 0}

    ops = gpu_steps(*kernels, program=program, **about).report().ops

    assert [(one.precision, one.tensor_cores) for one in ops] == [
        ("tf32", True),
        ("fp32", False),
        ("fp16", True),
        ("fp32", False),
        ("unknown", None),
    ]
