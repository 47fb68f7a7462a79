"""Kernel names from Volta to Blackwell and from gfx9 to gfx950, as published profiles
have them; long templates are cut.
"""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from tfadvisor.printable import short_kernel
from tfadvisor.timeline.names.kernels import (
    Precision,
    kernel_kind,
    multiplies_type,
    precision_of_type,
)

EIGEN = (
    "void "
    "Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<Eigen::Tensor<{}, "
    "1, "
    "1, long>, 16, Eigen::MakePointer>, Eigen::{}, Eigen::TensorMap<Eigen::Tensor<{} "
    "const, 1, 1, long>, 16, "
    "Eigen::MakePointer> const> const> const, Eigen::GpuDevice>, "
    "long>(Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::"
    "TensorMap<Eigen::Tensor<{}, 1, 1, long>, 16, Eigen::MakePointer> > >, long)"
)
CUTLASS_CONV = (
    "_ZN13cutlass_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblock22ImplicitGemmMultistageINS_4gemm"
    "9GemmShapeILi64ELi256ELi32EEENS4_51Conv2dWgradOutputGradientTileAccessIteratorAnalyticINS_11MatrixShapeILi64ELi32EEENS"
    "_{}_tENS_9transform29PitchLinearWarpRakedThreadMapINS_6layout16PitchLinearShapeILi64ELi32EEELi128ENSG_ILi8ELi4EEELi8EEE"
    "EENS6_11threadblock9MmaPolicyINS6_4warp11MmaTensorOpINS7_ILi64ELi64ELi32EEESC_SO_SC_SZ_fNSF_8RowMajorE"
)
XMMA_CUDNN = (
    "void "
    "xmma_cudnn::gemm::kernel<xmma_cudnn::implicit_gemm::wgrad_indexed::Kernel_traits<xmma_cudnn::Ampere_hmma_fp32_"
    "traits, xmma_cudnn::Cta_tile<xmma_cudnn::Ampere, 256, 128, 32, 4, 2, 1, 1>, "
    "false, 3> >(xmma_cudnn::Params)"
)
XMMA_NEW = (
    "void "
    "xmma_new::gemm::kernel<xmma_new::implicit_gemm::wgrad_indexed::Kernel_traits<xmma_new::Ampere_hmma_tf32_traits<"
    "unsigned int, float>, xmma_new::Cta_tile<xmma_new::Ampere, 128, 128, 16, 2, 2, "
    "1, 1, 1> > >(xmma_new::Params)"
)
GEMV_HALF = (
    "void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128, 16, 2, 4, "
    "false, false, cublasGemvParamsEx<int, "
    "cublasGemvTensorStridedBatched<__half const>, "
    "cublasGemvTensorStridedBatched<__half const>, "
    "cublasGemvTensorStridedBatched<__half>, float> >(cublasGemvParamsEx, float)"
)
FLASH_3 = (
    "void "
    "cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, "
    "cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cute::tuple<cute::C<128>, "
    "cute::C<80>, cute::C<256> >, 256, "
    "cutlass::bfloat16_t, float, cutlass::arch::Sm90, false, false, false, true, "
    "true, false, cutlass::bfloat16_t, 1> > > >"
)
CK_FP8 = (
    "void "
    "ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemmMultiD_ABScale_xdl_cshuffle_v3<ck::tensor_layout::gemm::RowMajor, "
    "ck::tensor_layout::gemm::ColumnMajor, ck::Tuple<>, "
    "ck::tensor_layout::gemm::RowMajor, ck::f8_fnuz_t, ck::f8_fnuz_t, "
    "float, float, ck::Tuple<>, unsigned short, "
    "ck::tensor_operation::element_wise::PassThrough>, true>(ck::Argument)"
)
CK_MANGLED = (
    "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_28GridwiseGemm_xdl_cshuffle_v3"
    "INS_13tensor_layout4gemm8RowMajorENS6_11ColumnMajorES7_ttfttNS0_12element_wise11PassThroughESA_SA_LNS1_18GemmSpecialization"
)
CK_TILE = (
    "void ck_tile::kentry<ck_tile::gfx950_t, {}, "
    "ck_tile::{}<ck_tile::{}<ck_tile::Problem<std::bfloat16_t, std::bfloat16_t, "
    "std::bfloat16_t, float, float, std::bfloat16_t, unsigned char, float, "
    "ck_tile::sequence<128, 128, 32> > > > >(void)"
)
HIPBLASLT = "_Bias_HA_S_SAV_UserArgs_MT256x128x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1_ISA942_IU1_K1_MIAV0_MIWT8_4_MO40_WG32_8_1"
ROCBLAS = "_MT256x224x64_MI16x16x16x1_SN_1LDSB1_APM1_ABV0_ACED0_ISA942_IU1_K1_KLA_MIAV0_MDA2_WG32_8_1.kd"

PRODUCTS = [
    # cuBLAS on CUDA cores
    ("volta_sgemm_128x64_nn", "fp32", False),
    ("ampere_sgemm_64x32_sliced1x4_tn", "fp32", False),
    ("sgemm_32x32x32_NT_vec", "fp32", False),
    ("volta_dgemm_64x64_nn", "fp64", False),
    ("volta_dgemm_64x64_lower_nt", "fp64", False),
    ("volta_cgemm_32x32_tn", "fp32", False),
    ("ampere_gcgemm_64x64_nt", "fp32", False),
    ("maxwell_fp16_sgemm_fp16_32x128_nn", "fp16", False),
    ("ampere_igemm_int8_128x128_ldg4_tt", "int8", False),
    (
        "void magma_sgemmEx_kernel<float, float, float, false, true, 6, 4, 6, 3, "
        "4>(int, int, int, Tensor, int)",
        "fp32",
        False,
    ),
    (GEMV_HALF, "fp16", False),
    (
        "void gemv2T_kernel_val<int, int, float2, float2, float2, 128, 16, 2, 2, "
        "false, false, cublasGemvParams>",
        "fp32",
        False,
    ),
    (
        "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 8, 9, false, "
        "cublasGemvTensorStridedBatched>",
        "fp32",
        False,
    ),
    (
        "void gemmSN_NN_kernel<double, 128, 2, 4, 8, 4, 4, "
        "cublasGemvTensorStridedBatched<double const>>(cublasGemm)",
        "fp64",
        False,
    ),
    (
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, "
        "__nv_bfloat16, __nv_bfloat16, __nv_bfloat16, "
        "float, false, true, true, false, 6, false>(int)",
        "bf16",
        False,
    ),
    # cuBLAS on Tensor Cores, Volta to Ampere
    ("volta_h884gemm_128x256_ldg8_nn", "fp16", True),
    ("volta_s884gemm_128x128_ldg8_f2f_nn", "fp16", True),
    ("volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn", "fp16", True),
    ("turing_h1688gemm_128x128_ldg8_nt", "fp16", True),
    ("turing_s1688gemm_fp16_256x128_ldg8_tn", "fp16", True),
    ("turing_fp16_s1688gemm_fp16_256x128_ldg8_f2f_tn", "fp16", True),
    ("ampere_h16816gemm_256x128_ldg8_stages_32x3_tn", "fp16", True),
    ("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", "fp16", True),
    ("ampere_s16816gemm_fp16_128x64_ldg8_stages_64x4_nt", "fp16", True),
    ("ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn", "bf16", True),
    ("ampere_s16816gemm_bf16_64x64_sliced1x2_ldg8_stages_64x6_nn", "bf16", True),
    ("ampere_s1688gemm_bf16_128x128_ldg8_stages_32x1_nt", "bf16", True),
    # cuBLAS and TensorRT, CASK's names
    (
        "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize96x128x32_stage4_warpsize2x2x1_tensor16x8x16_kernel",
        "fp16",
        True,
    ),
    (
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x16_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel",
        "fp32",
        False,
    ),
    (
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
        "bf16",
        True,
    ),
    (
        "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize256x128x32_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas",
        "tf32",
        True,
    ),
    (
        "sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize256x64x64_stage4_warpsize4x1x1_tensor16x8x32_execute_kernel__5x_cublas",
        "fp8",
        True,
    ),
    (
        "sm90_xmma_gemm_i8i32_i8i32_i32_tn_n_tilesize256x128x128_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas",
        "int8",
        True,
    ),
    (
        "sm80_xmma_gemm_i8f32_i8i32_f32_tn_n_tilesize128x128x64_stage3_warpsize2x2x1_tensor16x8x32_fused",
        "int8",
        True,
    ),
    (
        "sm50_xmma_cublas_gemvx_f16f16_f32_f32_tn_n_int32_unit_n_launch_param4x32x32_strided_unit_stride",
        "fp16",
        False,
    ),
    # cuBLAS since Hopper
    ("nvjet_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "bf16", True),
    ("nvjet_tss_256x128_64x4_1x2_h_bz_coopA_TNT", "bf16", True),
    ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_bias_TNN", "fp16", True),
    ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", "bf16", True),
    ("nvjet_qqtst_112x128_128x7_2x1_v_bz_coopA_algo2_TNN", "fp8", True),
    ("nvjet_sm90_qqtst_128x128_128x6_1x2_h_bz_ovscale_TNT", "fp8", True),
    ("nvjet_sm100_qrtst_128x256_128x6_2x1_2cta_v_bz_NNT", "fp8", True),
    (
        "nvjet_sm100_ootst_128x128_256x7_4x1_2cta_v_bx_Avec16UE4M3_Bvec16UE4M3_TNT",
        "below 8 bits",
        True,
    ),
    ("nvjet_sm103_hsh_128x256_64x6_2x1_2cta_v_bz_NNT", "fp16", True),
    ("nvjet_sm120_tst_mma_64x64x128_3_32x32x128_tmaAB_alignCD4_bz_TNNN", "bf16", True),
    ("nvjet_sm120_biu_mma_256x128x128_2_64x64x128_tmaAB_alignCD4_bz", "int8", True),
    ("nvjet_sss_tf32_128x256_TNT", "tf32", True),
    (
        "nvjet_sm100_sss_",
        "unknown",
        True,
    ),  # fp32 as TF32, or emulated by nine products of bf16
    # CUTLASS inside cuBLAS and XLA
    (
        "void "
        "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(T1::Params)",
        "bf16",
        True,
    ),
    (
        "void "
        "cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>(Params)",
        "bf16",
        True,
    ),
    ("cutlass_80_wmma_tensorop_s161616gemm_f16_32x32_64x2_nn_align2", "fp16", True),
    ("cutlass_80_tensorop_h16816gemm_64x64_64x6_nn_align8", "fp16", True),
    (
        "void "
        "cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_256x128_16x3_nn_align4>(T1::Params)",
        "tf32",
        True,
    ),
    ("cutlass_tensorop_s1688f16gemm_256x64_16x4_nn_align4", "fp16", True),
    ("cutlass_80_tensorop_i16832gemm_s8_128x256_128x3_tn_align16", "int8", True),
    ("cutlass_80_tensorop_d884gemm_64x32_16x4_nn_align1", "fp64", True),
    (
        "void "
        "cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_nt_align1>(T1::Params)",
        "fp32",
        False,
    ),
    (
        "cutlass3x_sm90_tensorop_gemm_bf16_bf16_f32_bf16_bf16_128x128x64_2x1x1_0_tnt_align8",
        "bf16",
        True,
    ),
    (
        "cutlass3x_sm90_tensorop_s64x256x16gemm_f16_f16_f32_void_f16_128x256x64_2x1x1_0_tnn_align8_epi_tma",
        "fp16",
        True,
    ),
    (
        "cutlass3x_sm90_tensorop_i64x128x32gemm_s8_s8_s32_bf16_bf16_128x128x128_2x1x1_0_tnt_align16",
        "int8",
        True,
    ),
    (
        "cutlass3x_sm100_tensorop_s256x256x8tf32gemm_f32_f32_f32_f32_f32_256x256x32_2sm_bias_f32_relu",
        "tf32",
        True,
    ),
    (
        "cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x32x16_1x1x1_3_tnn_align1_bias_f32_relu",
        "fp32",
        False,
    ),
    (
        "cutlass3x_sm100_bstensorop_s256x192x64gemm_block_scaled_ue4m3xf4_ue4m3xf4_f32_f16_f16_256x192x256_0_tnn_align32_o_vs16",
        "below 8 bits",
        True,
    ),
    (
        "void deep_gemm::sm90_fp8_gemm_1d2d_impl<(cute::UMMA::Major)0, 0u, 4096u, "
        "1024u, 1u>(unsigned int)",
        "fp8",
        True,
    ),
    # cuDNN convolutions
    ("volta_scudnn_128x64_relu_interior_nn_v1", "fp32", False),
    ("cudnn_infer_ampere_scudnn_128x64_relu_xregs_large_nn_v1", "fp32", False),
    ("volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "fp32", False),
    (
        "volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_f2f_exp_small_nhwc2nchw_tn_v1",
        "fp16",
        True,
    ),
    ("trt_turing_h1688cudnn_256x128_ldg8_relu_exp_small_nhwc_tn_v1", "fp16", True),
    ("Volta_hmma_implicit_gemm_fprop_fp32_nhwc_128x128x64x1_1x3x3x0x1", "fp16", True),
    (XMMA_CUDNN, "fp16", True),
    (XMMA_NEW, "tf32", True),
    (
        "void cudnn::detail::implicit_convolve_sgemm<float, float, 128, 6, 7, 3, 3, "
        "5, 1, true, false, true>(int)",
        "fp32",
        False,
    ),
    (
        "void cudnn::cnn::wgrad_alg0_engine<float, 128, 5, 5, 3, 3, 3, false, "
        "512>(int, int, int, float const*)",
        "fp32",
        False,
    ),
    (
        "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, "
        "int, int, float const*, int)",
        "fp32",
        False,
    ),
    (
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float, "
        "float>(cudnn::WinogradDataParams)",
        "fp32",
        False,
    ),
    (
        "void fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*, int, "
        "int)",
        "fp32",
        False,
    ),
    (
        "void conv2d_c1_k1_nhwc_kernel_specialized<__half, __half, __half, float, "
        "float, 5, 1, 8, 3, true>(float)",
        "fp16",
        None,
    ),
    (
        "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize256x64x32_stage3_warpsize4x1x1_g1_tensor16x8x16",
        "fp16",
        True,
    ),
    (
        "sm80_xmma_dgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_g1_tensor16x8x8",
        "tf32",
        True,
    ),
    (
        "sm90_xmma_dgrad_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32_warpgroupsize1x1x1_g1_execute_kernel",
        "tf32",
        True,
    ),
    (
        "sm80_xmma_depthwise_convolution_dgrad_tiling_f16f16_f32f32_f32_nhwckrsc_nhwc_tilesize1x8x8_1x5x5_stage2_g64_betaFalse",
        "fp16",
        False,
    ),
    (
        "void "
        "cutlass_cudnn::Kernel<cutlass_tensorop_f16_s16816fprop_optimized_f16_256x128_32x3>(Params)",
        "fp16",
        True,
    ),
    (
        "void "
        "cutlass_cudnn::Kernel<cutlass_tensorop_s1688dgrad_optimized_tf32_128x64_16x6_nhwc_align4>(P)",
        "tf32",
        True,
    ),
    (CUTLASS_CONV.format("6half"), "fp16", True),
    (CUTLASS_CONV.format("10tfloat32"), "tf32", True),
    (
        "cudnn_generated_fort_native_sm80_convFwd_pointwise_pointwise_pointwise",
        "unknown",
        None,
    ),
    # attention: cuDNN, FlashAttention 2 and 3, memory-efficient, TensorRT
    (
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_cga1x1x1_kernel0_0",
        "16-bit",
        True,
    ),
    (
        "cudnn_generated_fort_native_sdpa_sm80_flash_bprop_wmma_f16_knob_2_64x128x64_1x4x1_cga1x1x1_kernel0_0",
        "16-bit",
        True,
    ),
    ("cudnn_generated_fort_native_sdpa_sm100_flash_bprop_mxfp8_", "fp8", True),
    (
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<192, 128, 64, 8, "
        "false, false, cutlass::bfloat16_t>, true, false>"
        "(flash::Flash_fwd_params)",
        "bf16",
        True,
    ),
    (
        "void "
        "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<96, "
        "64, 128, 8, 2, 4, 4, true, false, "
        "cutlass::half_t> >(Flash_bwd_params)",
        "fp16",
        True,
    ),
    (FLASH_3, "bf16", True),
    ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80", "bf16", True),
    ("fmha_cutlassB_f16_aligned_64x64_k32_sm50", "fp16", False),
    ("fmha_cutlassF_f32_aligned_64x64_rf_sm80", "fp32", None),
    (
        "fmha_v2_flash_attention_fp16_fp32_64_128_S_q_k_v_256_custom_mask_sm87",
        "fp16",
        True,
    ),
    # XLA's Triton
    ("gemm_fusion_dot_general_1", "unknown", None),
    ("gemm_fusion_dot_6.kd", "unknown", None),
    ("triton_gemm_dot_1", "unknown", None),
    # rocBLAS and hipBLASLt
    ("Cijk_Ailk_Bljk_BBS_BH" + ROCBLAS, "bf16", True),
    ("Cijk_Alik_Bljk_B_BS_BH" + HIPBLASLT, "bf16", True),
    ("Cijk_Alik_Bljk_F8BS_BH" + HIPBLASLT, "fp8", True),
    ("Cijk_Alik_Bljk_B8F8HS_BH" + HIPBLASLT, "fp8", True),
    ("Cijk_Alik_Bljk_I8BH" + HIPBLASLT, "int8", True),
    ("Cijk_Ailk_Bljk_S_B" + HIPBLASLT, "fp32", True),
    (
        "Cijk_Alik_Bljk_S_MX_B_UserArgs_MT128x160x64_MI16x16x1_SN_LDSB0_AFC0_AG0",
        "tf32",
        True,
    ),
    (
        "Cijk_Alik_Bljk_F4SS_MXA32_MXB32_BH_UserArgs_MT64x64x256_MI16x16x1_SN_LDSB0",
        "below 8 bits",
        True,
    ),
    ("Cijk_Ailk_Bljk_DB_MT128x96x16_MI16x16x4x1_SN_1LDSB0", "fp64", True),
    ("Cijk_Ailk_Bljk_HB_MT128x128x16_MI16x16x16x1_SN_1LDSB0_APM1_ABV0", "fp16", True),
    (
        "Cijk_Ailk_Bljk_SB_MT16x16x16_SE_AF0EM1_AMAS2_ASEM1_BL0_EPS0_FL0_GRVW2_GSU1_ISA000_K1_KLS_TT2_2",
        "fp32",
        False,
    ),
    (
        "Custom_Cijk_Alik_Bljk_BBS_BH_MT256x256x64_MI16x16x1_UserArgs_shortname1_gfx950",
        "bf16",
        True,
    ),
    (
        "Custom_Cijk_Ailk_Bljk_HHS_BH_Bias_GG_AS_SAV_UserArgs_shortname0_gfx942",
        "fp16",
        None,
    ),
    (
        "Custom_Cijk_Ailk_Bljk_HF8_HHS_BH_SAB_MT16x128x128_MI16x16x1_GRVWA8_GRVWB8_DTVB",
        "fp16",
        True,
    ),
    # composable kernel, MIOpen, rocBLAS' own
    (CK_FP8, "fp8", True),
    (CK_MANGLED, "unknown", True),
    (CK_TILE.format(2, "FmhaFwdKernel", "BlockFmhaPipelineQRKSVSAsync"), "bf16", True),
    (
        CK_TILE.format(1, "FmhaBwdDQDKDVKernel", "BlockFmhaBwdDQDKDVPipeline"),
        "bf16",
        True,
    ),
    ("aiter::fmha_bwd_hd64_bf16_causal_a16_rtz_recompile", "bf16", True),
    (
        "igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1_bt64x32x32_wt16x16x16_ws1x1_wr2x1_ta1x4x1x2_1x8x1x32",
        "bf16",
        True,
    ),
    ("igemm_fwd_gtcx_nhwc_fp32_bx0_bt64x64x16", "fp32", True),
    ("miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1", "fp32", False),
    ("miopenSp3AsmConv_v30_3_1_gfx11_fp16_dot2_f2x3_stride1", "fp16", False),
    ("naive_conv_ab_nonpacked_fwd_ncdhw_half_double_half", "fp16", False),
    ("naive_conv_ab_nonpacked_fwd_ncdhw_ushort_double_ushort", "bf16", False),
    ("naive_conv_ab_nonpacked_wrw_nchw_float_double_float.kd", "fp32", False),
    ("miopenGcnAsmConv1x1U", "unknown", False),
    (
        "gridwise_convolution_implicit_gemm_v4r1_nchw_kcyx_nkhw_lds_double_buffer",
        "unknown",
        None,
    ),
    ("void rocblas_gemvt_kernel<false, 256, float>", "fp32", False),
    # the sums of a product's parts: which operands they come from is not said
    (
        "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, "
        "float, __nv_bfloat16, false>",
        "unknown",
        None,
    ),
    (
        "void cudnn::cnn::wgrad2d_c1_k1_nhwc_reduction_kernel<__half, float, 1, 5, "
        "5>(cudnnTensorStruct)",
        "unknown",
        None,
    ),
    ("Cijk_SB_GG_BiasS_HAS_ScaleAlphaVec_PostGSU8_VW2", "unknown", None),
    ("Cijk_S_GA", "unknown", None),
]

OTHERS = [
    # XLA
    ("loop_add_multiply_fusion", "unknown"),
    ("loop_convert_fusion.kd", "unknown"),
    ("input_reduce_fusion_1", "unknown"),
    ("wrapped_convert", "unknown"),
    ("fusion_218", "unknown"),
    ("convert_element_type_fusion", "unknown"),
    # TensorFlow
    (
        EIGEN.format(
            "Eigen::half",
            "Op<Eigen::internal::scalar_product_op<Eigen::half>",
            "Eigen::half",
            "Eigen::half",
        ),
        "fp16",
    ),
    (
        EIGEN.format("float", "TensorConversionOp<float", "Eigen::half", "float"),
        "unknown",
    ),
    (
        "void tensorflow::functor::ApplyAdamKernel<float>(int, float*, float*, "
        "float*, float const*)",
        "fp32",
    ),
    (
        "void tensorflow::BiasNHWCKernel<Eigen::half>(int, Eigen::half const*, "
        "Eigen::half const*, Eigen::half*, int)",
        "fp16",
    ),
    ("Mul_GPU_DT_HALF_DT_HALF_kernel", "fp16"),
    ("GreaterEqual_GPU_DT_FLOAT_DT_BOOL_kernel", "fp32"),
    # cuDNN: normalisation, layout and offsets around convolutions
    (
        "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, 512, true, "
        "1>(cudnnTensorStruct, __half const*)",
        "unknown",
    ),
    (
        "void cudnn::bn_fw_tr_1C11_singleread_specialized<__half2, 512, 1, 2, "
        "20>(cudnnTensorStruct, float const*)",
        "fp16",
    ),
    (
        "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, "
        "(cudnnKernelDataType_t)2>(x)",
        "fp32",
    ),
    (
        "void cask_cudnn_infer::computeOffsetsKernel<false, "
        "false>(cask_cudnn_infer::ComputeOffsetsParams)",
        "unknown",
    ),
    ("sm50_xmma_pooling_coalescedC_NHWC_kMAX_3_False_execute_kernel_trt", "unknown"),
    # attention's elementwise ends
    (
        "void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<128, 64, 64, "
        "8, cutlass::half_t> >(P)",
        "fp16",
    ),
    (CK_TILE.format(2, "FmhaBwdOGradDotOKernel", "BlockFmhaBwdOGradDotO"), "unknown"),
    (
        "transformer_engine::fused_attn_rocm::populate_rng_state_kernel(long*, long "
        "const*, long) [clone .kd]",
        "unknown",
    ),
    ("Im3d2Col.kd", "unknown"),
]


@pytest.mark.parametrize(("name", "precision", "tensor_cores"), PRODUCTS)
def test_matrix_and_convolution_kernels(
    name: str, precision: str, tensor_cores: bool | None
) -> None:
    kind = kernel_kind(name)

    assert (kind.precision, kind.is_matrix, kind.tensor_cores) == (
        Precision(precision),
        True,
        tensor_cores,
    )


@pytest.mark.parametrize(("name", "precision"), OTHERS)
def test_other_kernels(name: str, precision: str) -> None:
    kind = kernel_kind(name)

    assert (kind.precision, kind.is_matrix, kind.tensor_cores) == (
        Precision(precision),
        False,
        None,
    )


def test_equal_kinds_are_one_object() -> None:
    assert kernel_kind("volta_sgemm_128x64_nn") is kernel_kind("ampere_sgemm_128x64_nt")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "_",
        "nvjet_",
        "nvjet_sm90",
        "Cijk_",
        "Cijk_A",
        "_xmma_",
        ">(",
        "s",
        "gemm",
        "é_gemm",
    ],
)
def test_a_stub_of_a_name_says_no_precision(name: str) -> None:
    assert kernel_kind(name).precision is Precision.UNKNOWN


def test_a_name_costs_few_calls() -> None:
    """A trace may hold tens of thousands of names: plain string tests, at most a few
    hundred of them a name.
    """
    names = [one for one, *_ in PRODUCTS + OTHERS]
    calls = Counter[str]()
    sys.setprofile(lambda _frame, event, _what: calls.update([event]))
    try:
        for name in names:
            kernel_kind(name)
    finally:
        sys.setprofile(None)

    assert (calls["call"] + calls["c_call"]) / len(names) < 200


def test_short_names_are_for_people() -> None:
    assert short_kernel("volta_sgemm_128x64_nn") == "volta_sgemm_128x64_nn"
    assert short_kernel("void ck_tile::kentry<" + "x" * 200 + ">") == "kentry"
    assert len(short_kernel("y" * 200)) == 60


EIGEN = (
    "void "
    "Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<Eigen::Tensor<float, "
    "1, "
    "1, int>, 16, Eigen::MakePointer>, Eigen::{} const> const, Eigen::GpuDevice>, "
    "int>(Eigen::TensorEvaluator<x>, int)"
)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (
            EIGEN.format(
                "TensorCwiseBinaryOp<Eigen::internal::scalar_product_op<float, "
                "float>, A, B>"
            ),
            "EigenMetaKernel<…product…>",
        ),
        (
            EIGEN.format("TensorConversionOp<float, Eigen::TensorMap<Eigen::half> >"),
            "EigenMetaKernel<…Conversion…>",
        ),
        (
            "void "
            "tensorflow::functor::FillPhiloxRandomKernelLaunch<tensorflow::random::UniformDistribution<tensorflow::random::"
            "PhiloxRandom, Eigen::half> >(tensorflow::random::PhiloxRandom, "
            "Eigen::half*, long long)",
            "FillPhiloxRandomKernelLaunch<…UniformDistribution…>",
        ),
        (
            "void "
            "cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4>(cutlass_80_tensorop_s1688gemm::Params)",
            "Kernel2<…cutlass_80_tensorop_…8gemm_128x256_16x3_nn_align4…>",
        ),
        (
            "void tensorflow::BiasNHWCKernel<float>(int, float const*, float const*, "
            "float*, int)",
            "BiasNHWCKernel",
        ),
    ],
)
def test_what_tells_instances_of_one_template_apart_stays(
    name: str, short: str
) -> None:
    assert short_kernel(name) == short


@pytest.mark.parametrize(
    ("dtype", "precision"),
    [
        ("f64", Precision.FP64),
        ("f32", Precision.FP32),
        ("f6e3m2fn", Precision.BELOW_8_BITS),
        ("f8e4m3fn", Precision.FP8),
        ("s32", Precision.UNKNOWN),
    ],
)
def test_types_of_hlo_have_a_precision(dtype: str, precision: Precision) -> None:
    assert precision_of_type(dtype) is precision


@pytest.mark.parametrize(
    ("kernel", "dtype", "may"),
    [
        ("sm90_xmma_gemm_f64f64_f64f64_f64_nn_n", "f64", True),
        ("sm90_xmma_gemm_f64f64_f64f64_f64_nn_n", "f32", False),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n", "f32", True),
        ("nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT", "bf16", True),
        ("nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT", "f16", False),
        ("kernel", "f16", True),
    ],
)
def test_a_kernel_may_multiply_what_its_name_does_not_contradict(
    kernel: str, dtype: str, may: bool
) -> None:
    assert multiplies_type(kernel, dtype) is may
