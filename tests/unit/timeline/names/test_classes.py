"""Names as they stand in real traces, and what they are."""

from __future__ import annotations

import pytest

from tfadvisor.timeline.names.classes import DeviceClass, HostClass
from tfadvisor.timeline.names.device_events import (
    copied_bytes,
    device_class,
    hlo_class,
    is_control_flow,
)
from tfadvisor.timeline.names.frames import frame_place
from tfadvisor.timeline.names.host_events import host_class, op_type


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("IteratorGetNextOp::DoCompute", HostClass.GET_NEXT),
        ("IteratorGetNextAsOptional_4:IteratorGetNextAsOptional", HostClass.GET_NEXT),
        ("EagerLocalExecute: IteratorGetNext", HostClass.GET_NEXT),
        ("IteratorGetNext/_3:_Send", HostClass.CONTROL_OP),
        ("Iterator::Root::Prefetch", HostClass.DATASET),
        ("MapAndBatchProduce", HostClass.DATASET),
        ("InstantiatedCapturedFunction::RunAsync", HostClass.CAPTURED),
        ("ExecutorState::Process", HostClass.PROCESS),
        ("KernelAndDeviceFunc::Run", HostClass.RUN_EAGER),
        ("EagerLocalExecute: MatMul", HostClass.EAGER_OP),
        ("PjitFunction(train_step)", HostClass.LAUNCH),
        ("cuLaunchKernelEx", HostClass.LAUNCH),
        ("hipModuleLaunchKernel", HostClass.LAUNCH),
        ("tf.function-graph_building", HostClass.COMPILE),
        ("backend_compile_and_load", HostClass.COMPILE),
        ("HLO passes after layout assignment (jit_raw)", HostClass.COMPILE),
        ("$pxla.py:1209 compile", HostClass.COMPILE),
        ("BlockUntilReady", HostClass.WAIT),
        ("CommonPjRtBuffer::Await", HostClass.WAIT),
        ("$array.py:298 __float__", HostClass.WAIT),
        ("$api.py:3105 block_until_ready", HostClass.WAIT),
        ("sequential_1/dense_1/Relu:_MklNativeFusedMatMul", HostClass.OP),
        ("while/body/_1/while/Add:AddV2", HostClass.OP),
        ("StatefulPartitionedCall:StatefulPartitionedCall", HostClass.CONTROL_OP),
        ("__inference_step_158:__inference_step_158", HostClass.CONTROL_OP),
        ("n/_3:_HostRecv", HostClass.CONTROL_OP),
        ("$train.py:10 load_batch", HostClass.FRAME),
        ("$data_loader.py:10 __next__", HostClass.INPUT),
        ("load_batch", HostClass.INPUT),
        ("$train.py:14 train", HostClass.FRAME),
        ("$train.py:14 get_data_type", HostClass.FRAME),
        ("$builtins sum", HostClass.FRAME),
        ("$profiler.py:151 start_trace", HostClass.PROFILER),
        ("all-reduce-promotion", HostClass.OTHER),
        ("train", HostClass.OTHER),
        ("ThreadpoolListener::Record", HostClass.OTHER),
    ],
)
def test_host_names(name: str, expected: HostClass) -> None:
    assert host_class(name) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MemcpyH2D", DeviceClass.H2D),
        ("MEMCPYHtoD", DeviceClass.H2D),
        ("MemcpyD2H", DeviceClass.D2H),
        ("MemcpyD2D", DeviceClass.D2D),
        ("memcpy128", DeviceClass.D2D),
        ("memcpy32_post", DeviceClass.D2D),
        ("Memset", DeviceClass.MEMSET),
        ("__amd_rocclr_copyBuffer.kd", DeviceClass.OTHER_COPY),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", DeviceClass.COLLECTIVE),
        ("Memset 2", DeviceClass.MEMSET),
        ("UM_GPU_PAGE_FAULT", DeviceClass.NO_WORK),
        ("Memory Device", DeviceClass.NO_WORK),
        ("MemoryAlloc", DeviceClass.NO_WORK),
        ("memory_efficient_attention", DeviceClass.COMPUTE),
        ("volta_sgemm_128x64_nn", DeviceClass.COMPUTE),
        ("loop_add_multiply_fusion", DeviceClass.COMPUTE),
    ],
)
def test_kernel_names(name: str, expected: DeviceClass) -> None:
    assert device_class(name) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("all-reduce.7", DeviceClass.COLLECTIVE),
        ("psum.7", DeviceClass.COLLECTIVE),
        (
            "%all-reduce = f32[5,1024]{1,0:T(8,128)} all-reduce(f32[5,1024] %x)",
            DeviceClass.COLLECTIVE,
        ),
        ("all-gather-start.1", DeviceClass.COLLECTIVE),
        ("copy-start.2", DeviceClass.OTHER_COPY),
        ("dot.1", DeviceClass.COMPUTE),
        ("all-reduce-promotion", DeviceClass.COMPUTE),
    ],
)
def test_hlo_names(name: str, expected: DeviceClass) -> None:
    assert hlo_class(name) is expected


@pytest.mark.parametrize(
    ("name", "category", "expected"),
    [
        ("fusion.12", "all-gather fusion", DeviceClass.COLLECTIVE),
        ("recv-done.4", "host recv-done", DeviceClass.COLLECTIVE),
        (
            "psum.7",
            "loop fusion",
            DeviceClass.COMPUTE,
        ),  # JAX named the fusion after its first op
        ("all-gather.3", "data formatting", DeviceClass.COMPUTE),
        (
            "%psum.7 = f32[8] fusion(f32[8] %a), kind=kCustom, calls=%all-reduce.2",
            "custom fusion",
            DeviceClass.COLLECTIVE,
        ),
        ("all-gather.3", "async-done", DeviceClass.COLLECTIVE),  # a sparse core gathers
        ("gather.3", "async-done", DeviceClass.COMPUTE),
        ("copy-start.1", "copy-start", DeviceClass.OTHER_COPY),
        (
            "%dynamic-slice-done.3 = f32[8] dynamic-slice-done((f32[9,8]{1,0:S(5)}) "
            "%s)",
            "async-done",
            DeviceClass.H2D,
        ),
        (
            "%dynamic-update-slice-done.3 = f32[9,8]{1,0:S(5)} …",
            "async-done",
            DeviceClass.D2H,
        ),
        (
            "%dynamic-slice-done.3 = f32[8]{0:S(1)} dynamic-slice-done(%s)",
            "async-done",
            DeviceClass.COMPUTE,
        ),
        (
            "%copy-done.4 = bf16[8]{0:T(8)S(1)} copy-done(%copy-start.4)",
            "copy-done",
            DeviceClass.COMPUTE,
        ),
        (
            "%copy-start.4 = (f32[8]{0:S(1)}, f32[8]{0}, u32[]) copy-start(%w)",
            "copy-start",
            DeviceClass.D2D,
        ),
        ("matmul.1", "custom-call", DeviceClass.COMPUTE),
        ("infeed.1", "infeed", DeviceClass.INFEED),
    ],
)
def test_the_profilers_category_decides_before_the_name(
    name: str, category: str, expected: DeviceClass
) -> None:
    assert hlo_class(name, category) is expected


def test_op_type_and_frame_place() -> None:
    assert op_type("dense/MatMul:MatMul") == "MatMul"
    assert op_type("ExecutorState::Process") is None
    assert op_type("HLO passes") is None
    assert frame_place("$train.py:42 step") == ("train.py", 42, "step")
    assert frame_place("$builtins sum") is None


def test_control_flow() -> None:
    assert is_control_flow("while.5")
    assert is_control_flow("call")
    assert not is_control_flow("while_fusion.2")
    assert not is_control_flow("dot.1")


@pytest.mark.parametrize(
    ("instruction", "size"),
    [
        (
            "%copy-start.1 = (bf16[8,128]{1,0:T(8,128)(2,1)}, bf16[8,128]{1,0}, "
            "u32[]) copy-start(bf16[8,128] %x)",
            2048,
        ),
        ("%copy-done.1 = f32[5,1024,1024,256]{3,2,1,0} copy-done(…)", 5_368_709_120),
        ("%copy-start.2 = (pred[3]{0}, pred[3]{0}, u32[]) copy-start(pred[3] %x)", 3),
        ("%copy-start.3 = (f32[]{}, f32[]{}, u32[]) copy-start(f32[] %x)", 4),
        (
            "%copy-start.4 = (f8e4m3fn[16]{0}, f8e4m3fn[16]{0}, u32[]) "
            "copy-start(f8e4m3fn[16] %x)",
            16,
        ),
        (
            "%dynamic-slice-start.1 = ((f32[9,8]{1,0:T(8)S(5)}), f32[1,8]{1,0}, "
            "u32[]) dynamic-slice-start(%x, %i)",
            32,
        ),
        (
            "%dynamic-slice-done.1 = f32[1,8]{1,0} "
            "dynamic-slice-done(%dynamic-slice-start.1)",
            32,
        ),
        ("copy-done.1", -1),
        ("%copy-start.5 = (token[], u32[]) copy-start(token[] %x)", -1),
    ],
)
def test_bytes_of_a_copy_by_its_shape(instruction: str, size: int) -> None:
    assert copied_bytes(instruction) == size
