"""Kinds of kernels by name and by HLO, and their shares of step time."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps
from support.trace_builder import trace

from tfadvisor.metrics.kinds import OpKind, kind_of
from tfadvisor.program.cost import Cost
from tfadvisor.program.operations import SourceLocation
from tfadvisor.timeline.program_ops import InProgram
from tfadvisor.timeline.summary.hot_ops import HotOp

approx = pytest.approx


def named(kernel: str) -> HotOp:
    return HotOp("", kernel, "", 10, 1, None)


def known(effect: str, op_name: str = "", kernel: str = "fusion_3") -> HotOp:
    inside = InProgram(
        "fusion", effect, Cost(), SourceLocation(op_name, "train.py", 7, ())
    )
    return HotOp("fusion.3", kernel, "jit_step", 10, 1, inside)


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("sm90_xmma_gemm_bf16bf16", OpKind.MATRIX),
        (
            "void cudnn::ops::nchwToNhwcKernel<float, float>(float const*)",
            OpKind.LAYOUT,
        ),
        (
            "void "
            "tensorflow::functor::SwapDimension1And2InTensor3UsingTiles<unsigned "
            "int, 256>",
            OpKind.LAYOUT,
        ),
        ("input_transpose_fusion_2", OpKind.LAYOUT),
        ("loop_copy_fusion_1", OpKind.LAYOUT),
        ("wrapped_copy.kd", OpKind.LAYOUT),
        ("void cub::DeviceScanKernel<cub::DeviceScanPolicy<float>>", OpKind.CUMULATIVE),
        (
            "void tensorflow::functor::scan_kernel<float, "
            "Eigen::internal::SumReducer<float>>",
            OpKind.CUMULATIVE,
        ),
        ("wrapped_reduce_window", OpKind.CUMULATIVE),
        ("void tensorflow::GatherOpKernel<float, int, true>", OpKind.GATHER),
        ("loop_gather_fusion", OpKind.GATHER),
        ("loop_dynamic_update_slice_fusion", OpKind.UPDATE),
        ("void tensorflow::concat_fixed_kernel<float, int>", OpKind.CONCATENATE),
        ("void tensorflow::SplitOpKernel<float>", OpKind.CONCATENATE),
        ("loop_add_fusion", OpKind.ELEMENTWISE),
        ("wrapped_multiply", OpKind.ELEMENTWISE),
        ("Mul_GPU_DT_HALF_DT_HALF_kernel", OpKind.ELEMENTWISE),
        (
            "void "
            "Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<scalar_product_op>>",
            OpKind.ELEMENTWISE,
        ),
        ("loop_reduce_fusion", OpKind.OTHER),
        ("input_scatter_fusion", OpKind.OTHER),
        ("void tensorflow::functor::FillPhiloxRandomKernelLaunch<float>", OpKind.OTHER),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>", OpKind.OTHER),
    ],
)
def test_a_kernels_name_tells_its_kind(kernel: str, kind: OpKind) -> None:
    assert kind_of(named(kernel)) is kind


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        (known("transpose"), OpKind.LAYOUT),
        (known("gather"), OpKind.GATHER),
        (known("dynamic-slice"), OpKind.UPDATE),
        (known("concatenate"), OpKind.CONCATENATE),
        (known("reduce-window"), OpKind.CUMULATIVE),
        (known("reduce-window", "jit(step)/reduce_window_max_pool"), OpKind.OTHER),
        (
            known("add", "jit(step)/jit(cumsum)/add", "loop_add_fusion"),
            OpKind.CUMULATIVE,
        ),
        (known("add", "jit(step)/add", "loop_add_fusion"), OpKind.ELEMENTWISE),
        (known("dot", kernel="loop_dot_fusion"), OpKind.MATRIX),
        (known("add", "", "loop_gather_fusion"), OpKind.ELEMENTWISE),
    ],
)
def test_the_hlo_knows_better_than_the_name(one: HotOp, kind: OpKind) -> None:
    assert kind_of(one) is kind


def test_shares_of_step_time_by_kind() -> None:
    """Of 100 µs: 30 layout, 20 cumulative, 10 gather, 5 slices, 5 concatenation, 10
    elementwise, 10 products.
    """
    metrics = gpu_steps(
        ("nchwToNhwcKernel", 30),
        ("void cub::DeviceScanKernel", 20),
        ("loop_gather_fusion", 10),
        ("loop_dynamic_update_slice_fusion", 5),
        ("concat_fixed_kernel", 5),
        ("loop_add_fusion", 10),
        ("ampere_sgemm_128x64", 10),
    ).measure()

    assert metrics.value("layout_conversion_fraction") == approx(0.3)
    assert metrics.value("cumulative_op_fraction") == approx(0.2)
    assert metrics.value("gather_fraction") == approx(0.1)
    assert metrics.value("elementwise_fraction") == approx(0.1)
    assert metrics.fact("layout_conversion_op") == "nchwToNhwcKernel"


def test_a_run_without_a_gpu_has_no_kinds() -> None:
    metrics = (
        trace().step(0, 10).thread("tf_Compute/1").call("a:MatMul", 0, 5).measure()
    )

    assert metrics.value("gather_fraction") is None
    assert metrics["gather_fraction"].reason == "this run used no accelerator"


def test_16_bit_products_without_tensor_cores_are_fallbacks() -> None:
    """40 of 100 µs on ordinary cores, in 16 bits; 20 on Tensor Cores; 10 in fp32, which
    is another matter.
    """
    builder = gpu_steps(
        ("turing_hgemm_simt_fp16_128x64", 40),
        (
            "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64_stage4_tensor16x8x16",
            20,
        ),
        ("volta_sgemm_128x64", 10),
        device_vendor="Nvidia",
        compute_cap_major=8,
    )
    metrics = builder.measure()

    assert metrics.value("fallback_kernel_fraction") == approx(0.4)
    assert metrics.fact("fallback_kernel") == "turing_hgemm_simt_fp16_128x64"


def test_products_that_xla_runs_as_loops_are_generic() -> None:
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f32[64,64]"),
            hlo.op(
                2,
                "dot",
                "f32[64,64]",
                1,
                1,
                name="wrapped_dot",
                metadata=hlo.metadata("jit(step)/dot_general", "train.py", 12),
                extra=hlo.dot_numbers([1], [0]),
            ),
        )
    )
    metrics = gpu_steps(
        ("wrapped_dot", 40, "wrapped_dot"), ("sm80_gemm", 40), program=program
    ).measure()

    assert metrics.value("generic_product_fraction") == approx(0.4)
    assert metrics.fact("generic_product_op") == "wrapped_dot (train.py:12)"


def test_on_a_cpu_the_hlo_tells_what_is_elementwise() -> None:
    """Of 80 µs of ops in a step of 100: 30 end in an addition, 10 move data, 40
    multiply matrices.
    """
    square = "f32[64,64]"
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", square),
            hlo.op(
                2,
                "add",
                square,
                1,
                1,
                name="wrapped_add",
                metadata=hlo.metadata("add", "heat.py", 7),
            ),
            hlo.op(3, "transpose", square, 2, name="turn"),
            hlo.op(
                4, "dot", square, 3, 3, name="product", extra=hlo.dot_numbers([1], [0])
            ),
        )
    )
    builder = trace().program("jit_step", program).step(0, 100).thread("tf_XLAEigen/1")
    for name, start, end in (
        ("wrapped_add", 0, 30),
        ("turn", 30, 40),
        ("product", 40, 80),
    ):
        builder.call(
            name,
            start,
            end,
            hlo_op=name,
            hlo_module="jit_step",
            program_id=7,
            device_ordinal=0,
        )

    metrics = builder.measure()

    assert metrics.value("elementwise_fraction") == approx(0.3)
    assert metrics.fact("elementwise_op") == "wrapped_add (heat.py:7)"
    assert metrics.value("layout_conversion_fraction") is None


def test_a_cpu_run_without_hlo_and_types_of_ops_does_not_tell() -> None:
    thunk = {"hlo_op": "dot.1", "device_ordinal": 0, "run_id": 1}
    metrics = (
        trace()
        .step(0, 10)
        .thread("tf_XLAEigen/1")
        .call("dot.1", 0, 5, **thunk)
        .measure()
    )

    assert metrics.value("elementwise_fraction") is None
    assert "HLO" in metrics["elementwise_fraction"].reason


def test_layout_conversions_of_a_gpu_are_counted_too() -> None:
    metrics = gpu_steps(
        ("input_transpose_fusion", 10),
        ("sm90_xmma_gemm_f16f16", 50),
        ("nchwToNhwcKernel", 20),
    ).measure()

    assert metrics.value("layout_conversion_fraction") == approx(0.3)


def test_transposes_of_xla_on_a_cpu_are_not_told() -> None:
    builder = (
        trace()
        .steps(4, period=100)
        .program(
            "jit_step", hlo.module(hlo.computation(1, hlo.op(1, "parameter", "f32[8]")))
        )
    )
    builder.thread("tf_XLAEigen/1").call(
        "transpose.1", 0, 50, hlo_op="transpose.1", hlo_module="jit_step"
    )
    metrics = builder.measure()

    assert metrics.value("layout_conversion_fraction") is None
    assert "accelerator" in metrics["layout_conversion_fraction"].reason


def test_prefill_and_decoding_by_the_names_of_the_programs() -> None:
    """In 100 µs prefill computes for 30, decoding for 40 and something else for 10."""
    builder = trace().step(0, 100)
    for program, (module, start, end) in enumerate(
        (("jit_prefill_512", 0, 30), ("jit_generate", 30, 70), ("jit_insert", 70, 80))
    ):
        stats = {"hlo_module": module, "hlo_op": "dot.1", "program_id": program}
        builder.on_line(
            "/device:GPU:0",
            "Stream #1(Compute)",
            "gemm_fusion_dot_1",
            start,
            end,
            **stats,
        )

    metrics = builder.measure()

    assert metrics.value("prefill_fraction") == pytest.approx(0.3)
    assert metrics.value("decode_fraction") == pytest.approx(0.4)
    training = trace().step(0, 100).busy("GPU:0", (0, 50)).measure()
    assert "named for" in training["decode_fraction"].reason
