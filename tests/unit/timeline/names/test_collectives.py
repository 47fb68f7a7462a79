"""Names of communication as they stand in published profiles, and names that only look
like it.
"""

from __future__ import annotations

import pytest

from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.collective_events import (
    Collective,
    CollectiveKind,
    collective_of,
    op_collective,
    op_stem,
)
from tfadvisor.timeline.names.device_events import (
    device_class,
    hlo_class,
    is_control_flow,
)

NCCL = [
    (
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "all-reduce",
        "f32",
    ),
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "all-reduce", "bf16"),
    (
        "ncclDevKernel_AllReduce_Sum_f32_TREE_LL(ncclDevComm *, unsigned long, "
        "ncclWork *)",
        "all-reduce",
        "f32",
    ),
    ("ncclDevKernel_ReduceScatter_Sum_f8e4m3_RING_LL", "reduce-scatter", "f8e4m3"),
    ("ncclDevKernel_Reduce_Sum_u32_RING_LL", "other", "u32"),
    (
        "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "all-gather",
        None,
    ),
    ("ncclDevKernel_AllGather_NVLS_Simple", "all-gather", None),
    ("ncclDevKernel_Broadcast_RING_LL", "broadcast", None),
    ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send-recv", None),
    ("ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)", "all-reduce", "f16"),
    (
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm *, ncclWorkElem)",
        "all-reduce",
        "f32",
    ),
    ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "send-recv", None),
    ("ncclAllReduceRingLLKernel_sum_f16(ncclColl)", "all-reduce", "f16"),
    ("ncclSendRecvKernel_copy_i8", "send-recv", None),
    (
        "ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)",
        "all-reduce",
        "bf16",
    ),
    ("ncclSymkDevKernel_AllReduce_AGxLLMC_R_sum_bf16", "all-reduce", "bf16"),
    ("ncclSymDevKernel_ReduceScatter_LL_sum_f16", "reduce-scatter", "f16"),
    ("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", "other", None),
    ("rccl_main_kernel(ncclDevComm*, unsigned long, ncclWork*)", "other", None),
    (
        "mscclKernel_Sum_half_Simple_false(ncclDevComm*, mscclAlgo*, mscclWork*)",
        "other",
        "f16",
    ),
    ("mscclKernel_Sum_hip_bfloat16_Simple_false", "other", "bf16"),
]
OTHER_LIBRARIES = [
    (
        "void stream_executor::gpu::AllReduceKernelImpl<float, "
        "(xla::ReductionKind)0>(float)",
        "all-reduce",
        "f32",
    ),
    (
        "void stream_executor::gpu::RaggedAllToAllKernelImpl<8l>(void const*, long)",
        "all-to-all",
        None,
    ),
    (
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, int)",
        "all-reduce",
        "bf16",
    ),
    (
        "void (anonymous namespace)::all_reduce_one_shot_push_kernel<__half, 8u, "
        "true>(P)",
        "all-reduce",
        "f16",
    ),
    ("flashinfer::trtllm_mnnvl_allreduce::twoshotAllreduceKernel", "all-reduce", None),
    (
        "flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport",
        "all-reduce",
        None,
    ),
    (
        "void userbuffers_fp16_sum_inplace_gpu_rw_ag<2>(int, int, int, void**)",
        "all-gather",
        None,
    ),
    ("userbuffers_fp16_sum_inplace_gpu_rr_rs_oop_fp8", "reduce-scatter", None),
    ("userbuffers_fp16_sum_inplace_gpu_mc", "all-reduce", None),
    ("kuserbuffers_pushrecv", "send-recv", None),
    (
        "void primus_turbo::deep_ep::intranode::combine<hip_bfloat16>(int)",
        "all-to-all",
        "bf16",
    ),
    ("nvshmemi_transfer_rma_p", "other", None),
]
OPS = [
    ("all-reduce.7", "all-reduce", None),
    ("all-reduce-start.1", "all-reduce", None),
    ("all-reduce.1.clone.2", "all-reduce", None),
    ("psum.7", "all-reduce", None),
    ("psum_invariant.3", "all-reduce", None),
    (
        "%all-reduce = f32[5,1024]{1,0:T(8,128)} all-reduce(f32[5,1024] %x), "
        "channel_id=1",
        "all-reduce",
        "f32",
    ),
    ("all-gather-start.1", "all-gather", None),
    (
        "%all-gather-start.2 = (bf16[8], bf16[16]) all-gather-start(bf16[8] %x)",
        "all-gather",
        "bf16",
    ),
    ("all_gather.4", "all-gather", None),
    ("reduce-scatter.2", "reduce-scatter", None),
    ("all-reduce-scatter.3", "reduce-scatter", None),
    ("psum_scatter.1", "reduce-scatter", None),
    ("all-to-all.5", "all-to-all", None),
    ("ragged-all-to-all-start", "all-to-all", None),
    ("collective-broadcast.1", "broadcast", None),
    ("collective-permute-done.66", "send-recv", None),
    ("ppermute.2", "send-recv", None),
    ("send.1", "send-recv", None),
    ("recv-done.2", "send-recv", None),
    ("async-collective-start.3", "other", None),
    ("all-reduce-scatter-fusion.2", "reduce-scatter", None),
    ("all-gather-fusion.1", "all-gather", None),
    (
        "%fusion.7 = bf16[8]{0} fusion(bf16[8]{0} %a), kind=kCustom, "
        "calls=%all-reduce-scatter.2",
        "reduce-scatter",
        "bf16",
    ),
    (
        "%async-start.3 = ((f32[8]), f32[8]) async-start(f32[8] %p), "
        "calls=%all-reduce.clone",
        "all-reduce",
        "f32",
    ),
    (
        '%barrier-cores.3 = () custom-call(), custom_call_target="barrier-cores"',
        "barrier",
        None,
    ),
]
NONE = [
    "all-reduce-promotion",  # the following are compiler passes
    "all-gather-combiner",
    "reduce-scatter-decomposer",
    "collective-permute-motion",
    "all-reduce of the gradients",
    "reduce.7",
    "gather.2",
    "reduce-window.1",
    "async-collective-fusion.2",  # TPU: computes while it communicates
    "input_reduce_scatter_fusion_2",  # reduces, then scatters
    "loop_all_gather_fusion",
    "%fusion.7 = bf16[8]{0} fusion(bf16[8]{0} %a), kind=kLoop, "
    "calls=%fused_computation.2",
    "%async-start.4 = ((f32[8]), f32[8]) async-start(f32[8] %p), calls=%gather.clone",
    "small_reduce_kernel",
    "send_gradients",
    "volta_sgemm_128x64_nn",
    "void cublasLt::splitKreduce_kernel<32, 16, int, float>",
    "",
]


@pytest.mark.parametrize(("name", "kind", "dtype"), [*NCCL, *OTHER_LIBRARIES])
def test_kernels_of_communication(name: str, kind: str, dtype: str | None) -> None:
    assert collective_of(name) == Collective(CollectiveKind(kind), dtype)
    assert device_class(name) is DeviceClass.COLLECTIVE


@pytest.mark.parametrize(("name", "kind", "dtype"), OPS)
def test_xla_ops(name: str, kind: str, dtype: str | None) -> None:
    assert (
        op_collective(name)
        == collective_of(name)
        == Collective(CollectiveKind(kind), dtype)
    )
    assert hlo_class(name) is DeviceClass.COLLECTIVE


@pytest.mark.parametrize("name", NONE)
def test_no_communication(name: str) -> None:
    assert collective_of(name) is None
    assert device_class(name) is hlo_class(name) is DeviceClass.COMPUTE


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("all-reduce.7", "all-reduce"),
        ("%all_reduce_start_3", "all-reduce-start"),
        ("while.5.clone", "while"),
        ("%while.2 = (s32[]) while((s32[]) %x)", "while"),
        ("call of something", "call of something"),
    ],
)
def test_op_stem(name: str, stem: str) -> None:
    assert op_stem(name) == stem


def test_control_flow_in_all_spellings() -> None:
    assert is_control_flow("%while.2 = (s32[]) while((s32[]) %x)")
    assert is_control_flow("conditional.1.clone")
    assert not is_control_flow("while_fusion.2")
    assert not is_control_flow("call of something")
