"""Healthy training on GPUs that nobody here has: built from names that public profiles
show, they raise no alarm.
"""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.report.model import Report

GB = 1_000_000_000
PERIOD, STEPS = 10_000, 8
"""Microseconds, and how many steps."""

GPUS = {
    "H200": {
        "core_count": 132,
        "memory_size": 141 * GB,
        "compute_cap_major": 9,
        "compute_cap_minor": 0,
    },
    "B200": {
        "core_count": 148,
        "memory_size": 180 * GB,
        "compute_cap_major": 10,
        "compute_cap_minor": 0,
    },
    "A10G": {
        "core_count": 80,
        "memory_size": 23 * GB,
        "compute_cap_major": 8,
        "compute_cap_minor": 6,
    },
    "L4": {
        "core_count": 58,
        "memory_size": 23 * GB,
        "compute_cap_major": 8,
        "compute_cap_minor": 9,
    },
    "MI300X": {
        "core_count": 304,
        "memory_size": 192 * GB,
        "compute_cap_major": 9,
        "compute_cap_minor": 4,
        "device_vendor": "AMD",
    },
}
PRODUCTS = {
    "H200": (
        "nvjet_sm90_tst_384x80_64x3_4x1_v_bz_coopA_TNT",
        "nvjet_qqtst_128x256_128x4_2x1_v_bz_coopA_algo2_TNT",
    ),
    "B200": (
        "nvjet_sm100_tst_128x256_64x6_2x1_2cta_v_bz_TNT",
        "nvjet_sm100_tst_256x240_64x4_2x1_2cta_v_bz_TNT",
    ),
    "A10G": (
        "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
        "cutlass_80_tensorop_bf16_s16816gemm_bf16",
    ),
    "L4": (
        "sm89_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x64x64",
        "cutlass_80_tensorop_bf16_s16816gemm_bf16",
    ),
    "MI300X": (
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN",
        "Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x128x64_MI16x16x1_SN",
    ),
}
ATTENTION = {
    "H200": "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0",
    "B200": "cudnn_generated_fort_native_sdpa_sm100_flash_fprop_f16_knob_7_128x128x128_4x1x1_cga1x1x1_kernel0_0",
    "A10G": "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_3_64x64x128_4x1x1_kernel0_0",
    "L4": "fmha_cutlassF_bf16_aligned_64x128_rf_sm80",
    "MI300X": "fmha_fwd_d128_bf16_batch_b128x128x32x128x32x128_r4x1x1_w32x32x16_qr_async",
}


def training(gpu: str, devices: int = 1) -> TraceBuilder:
    """Steps of 10 ms, launched far ahead: 60 products of 110 µs, ten attentions, forty
    fusions, a gradient exchange beside them where there are several devices. 97% of
    each step computes."""
    builder = trace()
    for device in range(devices):
        builder.plane_stat(f"/device:GPU:{device}", **GPUS[gpu])
    for index in range(STEPS):
        step = float(index * PERIOD)
        builder.step(step, step + PERIOD)
        for device in range(devices):
            at, launched = step + 10, max(step - PERIOD, 0.0)
            for name, length, number in (
                (PRODUCTS[gpu][0], 110, 40),
                (PRODUCTS[gpu][1], 110, 20),
                (ATTENTION[gpu], 140, 10),
                ("loop_add_multiply_fusion", 40, 20),
                ("input_reduce_fusion", 45, 20),
            ):
                for _ in range(number):
                    stats = {"hlo_op": name, "hlo_module": "jit_train_step"}
                    builder.kernel(
                        f"GPU:{device}",
                        name,
                        at,
                        at + length,
                        launched=(launched, launched + 3),
                        **stats,
                    )
                    at, launched = at + length, launched + 4
            if devices > 1:
                builder.collective(
                    f"GPU:{device}",
                    step + 3000,
                    step + 5500,
                    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                )
    return builder


def alarms(report: Report) -> list[str]:
    return [
        f"{one.rule_id}: {one.severity.value}"
        for one in report.findings
        if one.severity.value not in ("low", "info")
    ]


@pytest.mark.parametrize("devices", [1, 8])
@pytest.mark.parametrize("gpu", GPUS)
def test_a_healthy_step_raises_no_alarm(gpu: str, devices: int) -> None:
    report = training(gpu, devices).report()

    assert report.broken == ()
    assert alarms(report) == []
    assert report.verdict.bottleneck == "compute"
    assert report.metrics["fp16_kernel_share"].value == 1
    assert report.metrics["tensor_core_kernel_share"].value == 1


@pytest.mark.parametrize("gpu", ["H200", "B200", "A10G", "L4"])
def test_the_same_step_in_fp32_is_told_so(gpu: str) -> None:
    """Products that leave the Tensor Cores idle take most of it."""
    builder = trace().plane_stat("/device:GPU:0", **GPUS[gpu])
    for step in range(0, STEPS * PERIOD, PERIOD):
        builder.step(step, step + PERIOD)
        for at in range(step + 10, step + 9_800, 200):
            builder.kernel(
                "GPU:0",
                "ampere_sgemm_128x64_nn",
                at,
                at + 200,
                launched=(at - 9, at - 6),
            )

    assert any(
        one.startswith("fp32-matrix-kernels") for one in alarms(builder.report())
    )
