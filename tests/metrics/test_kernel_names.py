"""Kernel names from Volta to Blackwell, libraries and compilers: precision and Tensor Cores."""

from __future__ import annotations

import pytest

from tfadvisor.timeline.kernel_names import Precision, kernel_kind, short_name


@pytest.mark.parametrize(
    ("name", "precision", "is_matrix", "tensor_cores"),
    [
        ("volta_h884gemm_64x64_ldg8_nn", Precision.BITS16, True, True),
        ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", Precision.BITS16, True, True),
        ("turing_h1688gemm_128x128_ldg8_nn", Precision.BITS16, True, True),
        ("ampere_bf16_s16816gemm_bf16_128x64_sliced1x2_ldg8_f2f_stages_64x3_tn", Precision.BITS16, True, True),
        ("ampere_s1688gemm_128x64_nn_tf32", Precision.TF32, True, True),
        ("sm80_xmma_gemm_tf32f32_tf32f32_f32_nn_n_tilesize64x64x32", Precision.TF32, True, True),
        (
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
            Precision.BITS16,
            True,
            True,
        ),
        ("void cutlass::device_kernel<cutlass_3x_sm90_tensorop_gmma_64x128x16_f16>", Precision.BITS16, True, True),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_bf16_128x128_32x5_nn_align8>",
            Precision.BITS16,
            True,
            True,
        ),
        ("cutlass_80_simt_sgemm_128x128_8x4_nn_align1", Precision.FP32, True, False),
        ("volta_sgemm_128x64_nn", Precision.FP32, True, False),
        ("ampere_sgemm_64x32_sliced1x4_tn", Precision.FP32, True, False),
        ("volta_dgemm_64x64_nn", Precision.FP64, True, False),
        ("gemm_fusion_dot_general_1", Precision.UNKNOWN, True, None),
        ("loop_add_multiply_fusion", Precision.UNKNOWN, False, None),
        ("void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::half>>", Precision.BITS16, False, None),
        ("void pointwise_mult<float>(float*)", Precision.FP32, False, None),
        ("convert_element_type_fusion", Precision.UNKNOWN, False, None),
    ],
)
def test_kernel_kind(name: str, precision: Precision, is_matrix: bool, tensor_cores: bool | None) -> None:
    kind = kernel_kind(name)

    assert (kind.precision, kind.is_matrix, kind.tensor_cores) == (precision, is_matrix, tensor_cores)


def test_short_names_are_for_people() -> None:
    assert short_name("volta_sgemm_128x64_nn") == "volta_sgemm_128x64_nn"
    assert short_name("void ck_tile::kentry<" + "x" * 200 + ">") == "ck_tile::kentry"
    assert len(short_name("y" * 200)) == 60
