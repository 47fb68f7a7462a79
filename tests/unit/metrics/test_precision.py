"""Shares by precision on timelines whose answer is worked out on paper, and on traces
that others recorded.
"""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps
from support.shared_traces import FOLDER, needs_shared_traces
from support.trace_builder import TraceBuilder, trace

import tfadvisor
from tfadvisor.metrics import precision
from tfadvisor.timeline.names.kernels import kernel_kind

approx = pytest.approx

HOPPER = {
    "nvjet_tst_256x128_64x4_1x2_h_bz_coopA_NNT": 30,
    "nvjet_qqtst_112x128_128x7_2x1_v_bz_coopA_algo2_TNN": 10,
    "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize256x128x32_warpgroupsize2x1x1": 5,
    "ampere_sgemm_128x64_nn": 8,
    "volta_dgemm_64x64_nn": 2,
    "void tensorflow::functor::ApplyAdamKernel<float>(int, float*)": 5,
    "gemm_fusion_dot_general_1": 15,
    "loop_add_fusion": 25,
}
"""100 µs: of 60 the precision is known, 70 are matrix products, 55 both."""


def run(kernels: dict[str, int], **properties: object) -> TraceBuilder:
    builder, at = trace().step(0, 100), 0
    for name, length in kernels.items():
        builder.busy("GPU:0", (at, at + length), name=name)
        at += length
    return builder.plane_stat("/device:GPU:0", **properties) if properties else builder


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("fp16_kernel_share", 40 / 60),
        ("unknown_precision_share", 0.4),
        ("matrix_kernel_share", 0.7),
        ("unknown_matrix_precision_share", 15 / 70),
        ("tensor_core_kernel_share", 45 / 55),
        ("fp32_matrix_share", 0.08),
    ],
)
def test_shares(metric: str, value: float) -> None:
    assert run(HOPPER).measure().value(metric) == approx(value)


def test_the_slowest_fp32_kernel_leaves_tensor_cores_idle() -> None:
    kernels = {
        "ampere_sgemm_128x64_nn": 10,
        "volta_sgemm_64x64_nn": 20,
        "Cijk_Ailk_Bljk_SB_MT64x64_MI16x16x4_SN": 30,
    }

    assert run(kernels).measure().fact("slowest_fp32_kernel") == "volta_sgemm_64x64_nn"


def test_no_share_of_fp32_where_most_matrix_kernels_do_not_tell() -> None:
    measured = run({"ampere_sgemm_128x64_nn": 40, "gemm_fusion_dot_1": 41}).measure()

    assert measured.value("unknown_matrix_precision_share") == approx(41 / 81)
    assert measured.value("fp32_matrix_share") is None
    assert (
        "show the precision of most of the matrix kernels"
        in measured["fp32_matrix_share"].reason
    )


def test_products_in_complex_numbers_have_no_narrower_type() -> None:
    """cuDNN convolves six channels by Fourier transforms: 30 of 50 µs are no promise of
    fp16.
    """
    measured = run({"volta_cgemm_32x32_tn": 30, "volta_sgemm_64x64_nn": 20}).measure()

    assert measured.value("fp32_matrix_share") == approx(0.4)
    assert measured.value("matrix_kernel_share") == 1
    assert measured.fact("slowest_fp32_kernel") == "volta_sgemm_64x64_nn"


@pytest.mark.parametrize(("second", "share"), [(6, 0), (8, 60 / 90), (None, 60 / 90)])
def test_a_kernel_of_layers_with_six_filters_each_leaves_no_tensor_core_idle(
    second: int | None, share: float
) -> None:
    """TensorFlow states no shapes of products; the gradient of a layer's filters has
    theirs: height, width, channels, filters. A convolution with nothing known of its
    filters counts. 60 of 90 µs are of a kernel that two layers share.
    """
    builder = trace().step(0, 100).busy("GPU:0", (60, 90), name="loop_add_fusion")
    builder.plane_stat("/device:GPU:0", compute_cap_major=7, compute_cap_minor=0)
    for number, filters in ((1, 6), (2, second)):
        layer = f"net/conv2d_{number}"
        start = 30 * (number - 1)
        builder.kernel(
            "GPU:0",
            "volta_scudnn_128x32_relu_small_nn_v1",
            start,
            start + 30,
            launched=(start, start),
            tf_op=f"{layer}/Relu:_FusedConv2D",
        )
        gradient = f"gradient_tape/{layer}/Conv2D/Conv2DBackpropFilter"
        for region, shape in (("temp", "[4096,32]"), ("output", f"[3,3,16,{filters}]")):
            if filters is not None:
                builder.call(
                    "MemoryAllocation",
                    start,
                    start,
                    allocator_name="GPU_0_bfc",
                    tf_op=gradient,
                    region_type=region,
                    shape=shape,
                )

    measured = builder.measure()

    assert measured.value("fp32_matrix_share") == approx(share)


@pytest.mark.parametrize(("channels", "share"), [(6, 0), (8, 1)])
def test_six_channels_fill_no_tensor_core(channels: int, share: float) -> None:
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", f"f32[512,{channels}]"),
            hlo.op(2, "parameter", f"f32[{channels},512]", number=1),
            hlo.op(
                3,
                "dot",
                "f32[512,512]",
                1,
                2,
                name="dot.3",
                extra=hlo.dot_numbers([1], [0]),
            ),
        )
    )
    built = gpu_steps(
        ("volta_sgemm_64x64_nn", 50, "dot.3"), program=program, compute_cap_major=7
    )

    assert built.measure().value("fp32_matrix_share") == share


def test_no_matrix_kernel_at_all_is_no_fp32_matrix_time() -> None:
    measured = run({"loop_add_fusion": 50}).measure()

    assert measured.value("fp32_matrix_share") == 0
    assert measured.value("matrix_kernel_share") == 0
    assert measured.value("unknown_matrix_precision_share") is None
    assert measured.value("fp16_kernel_share") is None


@pytest.mark.parametrize(
    ("vendor", "major", "minor", "has"),
    [
        ("Nvidia", 6, 1, False),
        ("Nvidia", 7, 0, True),
        ("AMD", 9, 0, False),  # MI200, or Vega 20, which has none
        ("AMD", 9, 4, True),
        ("AMD", 10, 3, False),
        ("AMD", 11, 0, True),
    ],
)
def test_which_gpus_have_tensor_cores(
    vendor: str, major: int, minor: int, has: bool
) -> None:
    gpu = {
        "device_vendor": vendor,
        "compute_cap_major": major,
        "compute_cap_minor": minor,
    }

    assert (
        run({"volta_sgemm_64x64_nn": 20}, **gpu).measure().value("fp32_matrix_share")
        is not None
    ) is has


def test_a_kernel_that_uses_tensor_cores_proves_them() -> None:
    gpu = {"device_vendor": "AMD", "compute_cap_major": 9, "compute_cap_minor": 0}
    kernels = {
        "Cijk_Ailk_Bljk_HHS_BH_MT64x64x32_MI32x32x8x1_SN": 30,
        "miopenSp3AsmConv_v21_1_3_gfx9_fp32_f2x3_stride1": 10,
    }

    assert run(kernels, **gpu).measure().value("tensor_core_kernel_share") == approx(
        0.75
    )


def test_each_name_is_sorted_once_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(
        precision, "kernel_kind", lambda name: seen.append(name) or kernel_kind(name)
    )
    run(HOPPER).measure()

    assert sorted(seen) == sorted(HOPPER)


@needs_shared_traces
@pytest.mark.parametrize(
    ("trace_name", "matrix", "of_it_unknown", "fp16"),
    [
        (
            "tfprof-demo/plugins/profile/GPU-multi-worker",
            0.0,
            None,
            None,
        ),  # dropout on a V100
        ("tracelens-jax-mi300/jax08_gemm", 0.955, 0.005, 1.0),
        (
            "tracelens-jax-mi300/jax08_attention",
            0.502,
            0.0,
            1.0,
        ),  # the HLO gives the type of 19%
        ("tracelens-jax-mi300/jax_conv_minimal_08", 0.430, 0.0, 1.0),
        (
            "tracelens-jax-te/test_data_jax_te_fused_attn_categorization",
            0.883,
            0.0,
            1.0,
        ),
    ],
)
def test_only_xlas_own_matrix_kernels_do_not_tell(
    trace_name: str, matrix: float, of_it_unknown: float | None, fp16: float | None
) -> None:
    metrics = tfadvisor.analyze(FOLDER / trace_name).metrics
    unknown = metrics["unknown_matrix_precision_share"].value

    assert metrics["matrix_kernel_share"].value == approx(matrix, abs=0.001)
    assert unknown == (
        None if of_it_unknown is None else approx(of_it_unknown, abs=0.001)
    )
    assert metrics["fp16_kernel_share"].value == fp16


def test_a_product_with_a_vector_is_no_fallback() -> None:
    """Batch 1: memory is what cuBLAS' gemv waits for, and no Tensor Core could help."""
    name = (
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, "
        "__nv_bfloat16, __nv_bfloat16>(int)"
    )
    metrics = run({name: 80}, compute_cap_major=9, compute_cap_minor=0).measure()

    assert metrics.value("fallback_kernel_fraction") == 0
    assert metrics.value("matrix_kernel_share") == 1


SQUARE = "[64,64]"


def fusion_of(dtype: str) -> bytes:
    shape = f"{dtype}{SQUARE}"
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", shape),
            hlo.op(
                2,
                "dot",
                shape,
                1,
                1,
                name="gemm_fusion_dot.2",
                extra=hlo.dot_numbers([1], [0]),
            ),
        )
    )


@pytest.mark.parametrize(
    ("dtype", "major", "metric"),
    [
        ("f32", 9, "tf32_matrix_share"),
        ("f32", 7, "fp32_matrix_share"),
        ("bf16", 9, "fp16_kernel_share"),
        ("f32", 0, None),
    ],
)
def test_where_a_kernels_name_is_silent_its_ops_types_answer(
    dtype: str, major: int, metric: str | None
) -> None:
    """Triton's products of fp32 round to TF32 since Ampere."""
    builder = trace().program("jit_step", fusion_of(dtype)).step(0, 100)
    stats = {"hlo_op": "gemm_fusion_dot.2", "hlo_module": "jit_step", "program_id": 7}
    builder.on_line(
        "/device:GPU:0", "Stream #1(Compute)", "gemm_fusion_dot_2", 0, 90, **stats
    )
    if major:
        builder.plane_stat(
            "/device:GPU:0", compute_cap_major=major, compute_cap_minor=0
        )
    metrics = builder.measure()

    for name in ("tf32_matrix_share", "fp32_matrix_share", "fp16_kernel_share"):
        assert (metrics.value(name) == 1) == (name == metric), name


def test_amds_matrix_cores_multiply_fp32_as_it_is() -> None:
    """hipBLASLt's names begin their types with A's: `S` is fp32, `B` bf16. 60
    of 90 µs.
    """
    builder = (
        trace()
        .step(0, 100)
        .plane_stat(
            "/device:GPU:0",
            device_vendor="AMD",
            compute_cap_major=9,
            compute_cap_minor=4,
        )
    )
    builder.busy(
        "GPU:0",
        (0, 60),
        name="Cijk_Ailk_Bljk_S_B_Bias_HA_S_SAV_UserArgs_MT16x16x128_MI16x16x1_SN",
    )
    builder.busy(
        "GPU:0",
        (60, 90),
        name="Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_CMS",
    )

    metrics = builder.measure()

    assert metrics.value("tf32_matrix_share") == pytest.approx(60 / 90)
    assert metrics.value("fp32_matrix_share") == 0
    assert metrics.value("fp16_kernel_share") == pytest.approx(30 / 90)


@pytest.mark.parametrize(
    ("properties", "there"),
    [
        ({"gpu_device_name": "NVIDIA GeForce GTX 1660 Ti"}, "no"),
        ({"gpu_device_name": "NVIDIA GeForce MX450"}, "no"),
        ({"gpu_device_name": "Tesla P100-PCIE-16GB"}, "no"),
        ({"gpu_device_name": "Tesla T4"}, "unknown"),
        ({"compute_cap_major": 7, "compute_cap_minor": 5, "core_count": 24}, "no"),
        ({"compute_cap_major": 7, "compute_cap_minor": 5, "core_count": 30}, "yes"),
        ({"compute_cap_major": 6, "compute_cap_minor": 1, "core_count": 28}, "no"),
        ({"compute_cap_major": 7, "compute_cap_minor": 0, "core_count": 80}, "yes"),
        ({"compute_cap_major": 9, "compute_cap_minor": 0}, "yes"),
    ],
)
def test_tensor_cores_by_generation_size_or_name(
    properties: dict[str, object], there: str
) -> None:
    assert run(HOPPER, **properties).measure().fact("tensor_cores") == there


def test_a_gtx_16_has_no_idle_tensor_cores() -> None:
    kernels = {"volta_scudnn_128x64_relu_interior_nn_v1": 90}
    card = {"compute_cap_major": 7, "compute_cap_minor": 5, "core_count": 24}

    metrics = run(kernels, **card).measure()

    assert metrics["fp32_matrix_compute_fraction"].reason == (
        "none of the GPUs is known to have Tensor Cores"
    )


@pytest.mark.parametrize(
    ("length", "share", "place"), [(11.0, 0.11, True), (9.0, 0.09, False)]
)
def test_products_that_one_value_makes_float32(
    length: float, share: float, place: bool
) -> None:
    """Of 100 µs; a line is named from a tenth of the step on."""
    narrow, wide = "bf16[64,64]", "f32[64,64]"
    body = hlo.computation(
        1,
        hlo.op(1, "parameter", narrow),
        hlo.op(2, "parameter", wide, number=1, metadata=hlo.metadata("time")),
        hlo.op(3, "convert", wide, 1),
        hlo.op(4, "add", wide, 3, 2, metadata=hlo.metadata("f/add", "model.py", 31)),
        hlo.op(5, "dot", wide, 4, 4, name="dot", extra=hlo.dot_numbers([1], [0])),
    )
    kernels = (("gemm_fusion_dot", length, "dot"), ("k", 50.0))
    measured = gpu_steps(*kernels, program=hlo.module(body)).measure()

    assert measured.value("promoted_product_fraction") == approx(share)
    assert measured.fact("promoted_at") == ("add (model.py:31)" if place else None)
    assert measured.fact("promoted_by") == ("time" if place else None)
