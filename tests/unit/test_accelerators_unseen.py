"""Runs on GPUs and TPUs that were written before anyone looked at what the rules say of
them: verdict, findings, numbers.

Names are those of public sources: kernels of cuBLAS, cuDNN, NCCL, hipBLASLt and Pallas
from listings, TPU lines and `hlo_category` from XLA's `xplane_schema` and
`xla_op_utils`, stats of TensorFlow 2.4 and PJRT from recordings. Times in microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import pytest
from support import hlo_builder as hlo
from support.trace_builder import TraceBuilder, _set, _stat_id, trace

from tfadvisor.report.model import Report
from tfadvisor.vocabulary import Severity

DOT = hlo.dot_numbers([1], [0])
Kernel = tuple[str, float, float, str]
"""Name, start and end in the step, HLO op or `tf_op`."""


class Truth(NamedTuple):
    """What an expert says of a trace."""

    verdict: str
    """Classes that are right, separated by spaces."""
    must: tuple[str, ...] = ()
    """Each of these is said by a finding."""
    never: str = r"(?!)"
    """No finding says this."""
    quiet: bool = False
    """No finding is of medium severity or above."""
    first: str = ""
    """The first finding that judges the run says this."""
    steps: int = 0
    """So many steps, where it matters."""
    numbers: dict[str, tuple[float, float]] | None = None
    """Lowest and highest value of a metric."""
    anywhere: str = ""
    """The report says it somewhere: a note about the trace, a device, a part of the
    step.
    """


def gpu(
    name: str,
    major: int,
    minor: int,
    cores: int,
    gb_s: float,
    gib: int,
    clock: int = 1_980_000,
    vendor: str = "Nvidia",
) -> dict[str, object]:
    return {
        "device_vendor": vendor,
        "gpu_device_name": name,
        "compute_cap_major": major,
        "compute_cap_minor": minor,
        "core_count": cores,
        "clock_rate": clock,
        "memory_bandwidth": int(gb_s * 1e9),
        "memory_size": gib << 30,
    }


V100 = {
    k: v
    for k, v in gpu("", 7, 0, 80, 898, 16, 1_530_000).items()
    if k not in ("gpu_device_name", "device_vendor")
}
T4 = {
    k: v
    for k, v in gpu("", 7, 5, 40, 320, 16, 1_590_000).items()
    if k not in ("gpu_device_name", "device_vendor")
}
A100 = gpu("NVIDIA A100-SXM4-80GB", 8, 0, 108, 2039, 80, 1_410_000)
A10G = gpu("NVIDIA A10G", 8, 6, 80, 600, 24, 1_710_000)
L4 = gpu("NVIDIA L4", 8, 9, 58, 300, 24, 2_040_000)
H100 = gpu("NVIDIA H100 80GB HBM3", 9, 0, 132, 3352, 80)
H200 = gpu("NVIDIA H200", 9, 0, 132, 4800, 141)
B200 = gpu("NVIDIA B200", 10, 0, 148, 8000, 180, 1_965_000)
GB200 = gpu("NVIDIA GB200", 10, 0, 152, 8000, 186, 2_062_000)
MI300X = gpu("AMD Instinct MI300X", 9, 4, 304, 5300, 192, 2_100_000, "AMD")
TPUS = {
    "v4": ("TPU v4", 275.0, 1228.0, 1),
    "v5e": ("TPU v5 Lite", 197.0, 819.0, 0),
    "v5p": ("TPU v5", 459.0, 2765.0, 1),
    "v6e": ("TPU v6 Lite", 918.0, 1638.0, 0),
    "v7": ("TPU7x", 2307.0, 7380.0, 0),
}

NVJET = "nvjet_sm90_tst_384x80_64x3_4x1_v_bz_coopA_TNT"
NVJET_100 = "nvjet_sm100_tst_256x240_64x4_2x1_2cta_v_bz_TNT"
FP8 = "nvjet_qqtst_128x256_128x4_2x1_v_bz_coopA_algo2_TNT"
FLASH = "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x128_1x4x1_kernel0_0"
AMPERE_HALF = "ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_64x3_tn"
AMPERE_BF16 = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
CONV_HALF = (
    "sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage3_warpsize2x2x1"
    "_g1_tensor16x8x16_kernel_cudnn"
)
AMD_BF16 = "Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_CMS_SN_LDSB0_AFC0_AFEM1_AFEM1_ASEM1_CLR1"
GEMV = (
    "void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, "
    "float, 128, 16, 4, 4, false>(…)"
)
GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SCATTER = (
    "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
)
SUM = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SEND = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
RCCL = "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"


def line_of(name: str) -> str:
    if "nccl" in name.lower():
        return "Stream #24(Compute)"
    if name.startswith("Memcpy"):
        return f"Stream #20({name})"
    return "Stream #13(Compute)"


def jax(
    count: int,
    about: dict[str, object],
    *kernels: Kernel,
    program: bytes | None = None,
    steps: int = 6,
    period: float = 10_000,
    marked: bool = True,
    builder: TraceBuilder | None = None,
) -> TraceBuilder:
    """A JAX loop that runs one step ahead of its devices: every launch is early, every
    kernel linked to it.
    """
    builder = builder or trace()
    if program is not None:
        builder.program("jit_train_step", program)
    for device in range(count):
        builder.plane_stat(f"/device:GPU:{device}", **about)
    link = 0
    for step in range(steps):
        at = step * period + 100
        if marked:
            builder.step(at - 90, at - 90 + period, "train")
        builder.call("PjitFunction(train_step)", at - 80, at - 50 + 3 * len(kernels))
        for device in range(count):
            for index, (name, start, end, op) in enumerate(kernels):
                link += 1
                copy = name.startswith("Memcpy")
                builder.call(
                    "cuMemcpyAsync" if copy else "cuLaunchKernelEx",
                    at - 75 + 3 * index,
                    at - 73 + 3 * index,
                    correlation_id=link,
                    device_id=device,
                )
                stats: dict[str, object] = {"correlation_id": link}
                stats |= (
                    {
                        "memcpy_details": "kind_src:device kind_dst:device size:67108864 dest:1 async:1"
                    }
                    if copy
                    else {
                        "kernel_details": "regs:168 static_shared:0 dynamic_shared:0 grid:132,1,1 "
                        "block:384,1,1 occ_pct:25"
                    }
                )
                if op:
                    stats |= {
                        "hlo_op": op,
                        "hlo_module": "jit_train_step",
                        "program_id": 7,
                    }
                builder.on_line(
                    f"/device:GPU:{device}",
                    line_of(name),
                    name,
                    at + start,
                    at + end,
                    **stats,
                )
    return builder


def keras(
    count: int,
    about: dict[str, object],
    *kernels: Kernel,
    steps: int = 6,
    period: float = 10_000,
    wait: tuple[float, float] | None = None,
    copy: tuple[float, float, int, str] | None = None,
) -> TraceBuilder:
    """Keras' fit: `train` markers, the executor's threads, ops as `tf_op`; a wait for
    the iterator, a copy of the batch.
    """
    builder = trace()
    link = 0
    for device in range(count):
        builder.plane_stat(f"/device:GPU:{device}", **about)
    for step in range(steps):
        at = step * period
        builder.thread("python3/1").step(at, at + period - 20, "train")
        builder.call(
            "EagerLocalExecute: __inference_train_function_1626",
            at + 10,
            at + period - 60,
        )
        builder.thread("tf_Compute/77")
        if wait:
            builder.call("IteratorGetNext:IteratorGetNext", at + wait[0], at + wait[1])
            builder.thread("tf_data_iterator_get_next/5")
            builder.call(
                "IteratorGetNextOp::DoCompute",
                at + wait[0] + 1,
                at + wait[1] - 1,
                iter_num=0,
                id=5,
            )
            builder.call(
                "Iterator::Model::Prefetch", at + wait[0] + 2, at + wait[1] - 2, id=9
            )
            builder.thread("tf_Compute/77")
        if copy:
            link += 1
            builder.call(
                "cuMemcpyHtoDAsync",
                at + copy[0] - 5,
                at + copy[0],
                correlation_id=link,
                device_id=0,
            )
            builder.on_line(
                "/device:GPU:0",
                "Stream #14(MemcpyH2D)",
                "MemcpyH2D",
                at + copy[0],
                at + copy[1],
                memcpy_details=f"kind_src:{copy[3]} kind_dst:device size:{copy[2]} dest:0 async:1",
                correlation_id=link,
            )
        begin = max((end for _, end in (wait or (0, 0),)), default=0)
        for device in range(count):
            for index, (name, start, end, op) in enumerate(kernels):
                link += 1
                launched = at + max(begin, 20) + 2 * index
                builder.call(
                    name,
                    launched,
                    launched + 1.5,
                    correlation_id=link,
                    device_id=device,
                )
                builder.on_line(
                    f"/device:GPU:{device}",
                    line_of(name),
                    name,
                    at + start,
                    at + end,
                    correlation_id=link,
                    tf_op=op or "model/dense/MatMul:MatMul",
                    kernel_details="regs:128 static_shared:0 dynamic_shared:0 grid:80,1,1 "
                    "block:256,1,1 occ_pct:50",
                )
    return builder


def tpu(
    count: int,
    model: str,
    *ops: tuple[str, float, float],
    line: dict[str, str] | None = None,
    stated: dict[str, tuple[str, int, int]] | None = None,
    steps: int = 6,
    period: float = 10_000,
    module: str = "jit_train_step",
    marked: bool = True,
    builder: TraceBuilder | None = None,
) -> TraceBuilder:
    """Ops of each step. line: where other than on XLA Ops an op stands, by its stem.
    stated: category, flops, bytes by stem.
    """
    builder = builder or trace()
    kind, peak, bandwidth, megacore = TPUS[model]
    for step in range(steps):
        at = step * period + 100
        if marked:
            builder.step(at - 90, at - 90 + period, "train")
        builder.call(f"PjitFunction({module.removeprefix('jit_')})", at - 80, at - 40)
        for device in range(count):
            plane = f"/device:TPU:{device}"
            end = max(op[2] for op in ops)
            builder.on_line(
                plane, "XLA Modules", f"{module}(123)", at, at + end, run_id=step + 1
            )
            for name, start, stop in ops:
                stem = (
                    name.removeprefix("%").partition(" ")[0].rpartition(".")[0] or name
                )
                builder.on_line(
                    plane,
                    (line or {}).get(stem, "XLA Ops"),
                    name,
                    at + start,
                    at + stop,
                )
    for device in range(count):
        name = f"/device:TPU:{device}"
        builder.plane_stat(
            name,
            device_type_string=kind,
            peak_teraflops_per_second=peak,
            peak_hbm_bw_gigabytes_per_second=bandwidth,
            has_megacore=megacore,
        )
        plane = builder._plane_of(name)
        for entry in plane.event_metadata.values():
            stem = (
                entry.name.decode()
                .removeprefix("%")
                .partition(" ")[0]
                .rpartition(".")[0]
            )
            for stat, value in zip(
                ("hlo_category", "flops", "bytes_accessed"),
                (stated or {}).get(stem, ()),
                strict=False,
            ):
                _set(entry.stats.add(metadata_id=_stat_id(plane, stat)), plane, value)
    return builder


def scanned(kind: str, groups: list[list[int]], of: str = "argument") -> bytes:
    """A loop over layers whose body has one collective, of a slice of the stacked
    weights or of a product.
    """
    shape = "bf16[4096,4096]"
    state = f"(s32[], {shape}, bf16[8,4096,4096])"
    body = hlo.computation(
        2,
        hlo.op(10, "parameter", state),
        hlo.op(
            11, "get-tuple-element", "bf16[8,4096,4096]", 10, extra=hlo.field(13, 2)
        ),
        hlo.op(12, "get-tuple-element", "s32[]", 10),
        hlo.op(13, "dynamic-slice", shape, 11, 12, name="dynamic-slice.13"),
        hlo.op(14, "get-tuple-element", shape, 10, extra=hlo.field(13, 1)),
        hlo.op(15, "dot", shape, 14, 14, name="dot.2", extra=DOT),
        hlo.op(
            16,
            kind,
            shape,
            13 if of == "argument" else 15,
            name=f"{kind}.3",
            metadata=hlo.metadata("jit(train_step)/while/body/layer/dense"),
            extra=hlo.replica_groups(*groups),
        ),
        hlo.op(17, "tuple", state, 12, 15, 11),
    )
    condition = hlo.computation(
        3, hlo.op(20, "parameter", state), hlo.op(21, "constant", "pred[]")
    )
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", state),
        hlo.op(2, "while", state, 1, name="while.1", calls=(2, 3)),
    )
    return hlo.module(body, condition, entry, name="jit_train_step")


def attention(dtype: str) -> bytes:
    shape = f"{dtype}[8,2048,16,128]"
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", shape),
            hlo.op(
                2,
                "custom-call",
                shape,
                1,
                1,
                1,
                name="mha_forward.2",
                target="__gpu$xla.gpu.triton",
            ),
            hlo.op(
                3,
                "custom-call",
                shape,
                1,
                1,
                1,
                name="mha_backward.3",
                target="__gpu$xla.gpu.triton",
            ),
        ),
        name="jit_train_step",
    )


def layers(
    compute: str, other: str, op: str, each: float, exposed: float, number: int = 8
) -> tuple[Kernel, ...]:
    """Eight layers: a product, then an exchange that nothing hides."""
    out: list[Kernel] = []
    at = 0.0
    for _ in range(number):
        out += [
            (other, at, at + exposed, op),
            (compute, at + exposed, at + exposed + each, "dot.2"),
        ]
        at += exposed + each
    return tuple(out)


EIGHT = [list(range(8))]


def fsdp_overlapped() -> TraceBuilder:
    return jax(
        4,
        GB200,
        (NVJET_100, 0, 9800, "dot.2"),
        (GATHER, 200, 4200, "all-gather.3"),
        (SCATTER, 5000, 9000, ""),
        program=hlo.exchange("all-gather", [[0, 1, 2, 3]]),
    )


def decode(about: dict[str, object], name: str = "decode_step") -> TraceBuilder:
    """A token at a time: 2.4 GB of bf16 weights read by gemv in each step, result read
    by the host.
    """
    builder = trace().plane_stat("/device:GPU:0", **about)
    for step in range(10):
        at = step * 10_000
        builder.call(f"PjitFunction({name})", at, at + 200).call(
            "np.asarray(jax.Array)", at + 250, at + 9_900
        )
        for one in range(97):
            builder.on_line(
                "/device:GPU:0",
                "Stream #13(Compute)",
                GEMV,
                at + 230 + 99 * one,
                at + 230 + 99 * one + 98,
                kernel_details="regs:64 grid:4096,1,1 block:128,1,1",
                hlo_op="custom-call.5",
                hlo_module=f"jit_{name}",
                program_id=7,
            )
    shape = "bf16[1,8192]"
    return builder.program(
        f"jit_{name}",
        hlo.module(
            hlo.computation(
                1,
                hlo.op(1, "parameter", shape),
                hlo.op(2, "parameter", "bf16[8192,1536]", number=1),
                hlo.op(
                    5,
                    "custom-call",
                    "bf16[1,1536]",
                    1,
                    2,
                    name="custom-call.5",
                    target="__cublas$gemm",
                    config='{"gemm_backend_config":{"alpha_real":1,"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"]}}}',
                ),
            ),
            name=f"jit_{name}",
        ),
    )


def queue(model: str, pause: float) -> TraceBuilder:
    """A server that waits for requests: 4 decoded tokens, then nothing until the next
    request; Python waits in its queue.
    """
    builder = trace()
    kind, peak, bandwidth, _ = TPUS[model]
    builder.plane_stat(
        "/device:TPU:0",
        device_type_string=kind,
        peak_teraflops_per_second=peak,
        peak_hbm_bw_gigabytes_per_second=bandwidth,
    )
    at = 0.0
    for turn in range(8):
        builder.call("$queue.py:154 get", at, at + pause * (1 + turn % 3)).call(
            "$threading.py:323 wait", at + 5, at + pause * (1 + turn % 3) - 5
        )
        at += pause * (1 + turn % 3)
        for name, length in (
            ("prefill", 3000.0),
            ("insert", 200.0),
            *((("generate", 2000.0),) * 4),
        ):
            builder.call(f"PjitFunction({name})", at, at + 60)
            builder.on_line(
                "/device:TPU:0",
                "XLA Modules",
                f"jit_{name}(9)",
                at + 40,
                at + 40 + length,
            )
            builder.on_line(
                "/device:TPU:0",
                "XLA Ops",
                f"%fusion.{len(name)} = bf16[8,8192] fusion(%p)",
                at + 40,
                at + 40 + length,
            )
            builder.call("np.asarray(jax.Array)", at + 70, at + 50 + length)
            at += length + 100
    return builder


def sparse_core(exposed: bool) -> TraceBuilder:
    """All-gathers on SparseCore: hidden behind the TensorCore's work, or waited for in
    async-done.
    """
    work_end = 6200.0 if exposed else 9700.0
    builder = tpu(
        2,
        "v7",
        (
            "%async-start.3 = ((bf16[8]), bf16[64]) async-start(%p), "
            "calls=%all-gather.clone",
            0,
            2,
        ),
        ("%fusion.1 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput", 2, work_end),
        ("%async-done.3 = bf16[64] async-done(%async-start.3)", work_end, 9800),
        stated={
            "fusion": (
                "convolution fusion",
                9_000_000_000_000 * int(work_end) // 9700,
                400_000_000,
            ),
            "async-start": ("async-start", 0, 0),
            "async-done": ("async-done", 0, 0),
        },
    )
    for step in range(6):
        at = step * 10_000 + 100
        for device in range(2):
            plane = f"/device:TPU:{device} SparseCore 0"
            builder.on_line(
                plane,
                "Sparse Core Modules",
                "jit_train_step(123)",
                at,
                at + 9700,
                offload_core_id=0,
            )
            builder.on_line(
                plane,
                "Sparse Core Ops",
                "%all-gather.7 = bf16[64] all-gather(%p)",
                at + 5,
                at + 9700,
            )
    return builder


def modules_only() -> TraceBuilder:
    builder = trace()
    for step in range(8):
        at = step * 10_000
        builder.call("PjitFunction(train_step)", at, at + 50)
        builder.on_line(
            "/device:TPU:0",
            "XLA Modules",
            "jit_train_step(123)",
            at + 30,
            at + 9_900,
            run_id=step,
        )
    return builder.plane_stat(
        "/device:TPU:0", device_type_string="TPU v5", peak_teraflops_per_second=459.0
    )


def pallas_waits() -> TraceBuilder:
    builder = tpu(
        1,
        "v5e",
        (
            "%matmul.3 = f32[2048,2048]{1,0:T(8,128)} custom-call(%a, %b), "
            'custom_call_target="tpu_custom_call"',
            0,
            9800,
        ),
        stated={"matmul": ("custom-call", 1_073_741_824, 33_554_432)},
    )
    for step in range(6):
        for block in range(14):
            at = step * 10_000 + 100 + block * 700
            builder.on_line("/device:TPU:0", "XLA TraceMe", "ep_wait_in", at, at + 520)
            builder.on_line(
                "/device:TPU:0", "XLA TraceMe", "ep_run_kernel", at + 520, at + 695
            )
    return builder


def hidden_offload(exposed: float, rows: bool = False) -> TraceBuilder:
    to_host = (
        "(bf16[8,4096]{1,0:T(8,128)S(5)}, bf16[8,4096]{1,0:T(8,128)}, u32[]{:S(2)})"
    )
    builder = tpu(
        4,
        "v5p",
        (
            f"%copy-start.1 = {to_host} copy-start(bf16[8,4096]{{1,0:T(8,128)}} %x)",
            0,
            1,
        ),
        (
            "%fusion.1 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput",
            1,
            9800 - exposed,
        ),
        (
            f"%copy-done.1 = bf16[8,4096]{{1,0:T(8,128)S(5)}} copy-done({to_host} "
            "%copy-start.1)",
            9800 - exposed,
            9801,
        ),
        stated={
            "fusion": (
                "convolution fusion",
                int(2_700_000_000_000 * (9800 - exposed) / 9800),
                400_000_000,
            ),
            "copy-start": ("copy-start", 0, 65536),
            "copy-done": ("copy-done", 0, 65536),
        },
    )
    if rows:
        for step in range(6):
            at = step * 10_000 + 100
            builder.on_line(
                "/device:TPU:0",
                "Host Offload Ops row 0",
                "offload-copy.1",
                at,
                at + 9801,
            )
    return builder


def slices() -> TraceBuilder:
    """Two slices of v5p: the gradients go over the data-centre network, and nothing
    hides the last of them.
    """
    receive = (
        "%recv-done.9 = (f32[4096,4096], token[]) recv-done(%recv.9), channel_id=9, "
        "is_host_transfer=true, "
        'frontend_attributes={_xla_host_transfer_handler_name="xla_megascale_runtime"}'
    )
    return tpu(
        4,
        "v5p",
        ("%fusion.1 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput", 0, 6400),
        (receive, 6400, 9800),
        stated={
            "recv-done": ("host recv-done", 0, 0),
            "fusion": ("convolution fusion", 1_800_000_000_000, 300_000_000),
        },
    )


def scanned_on_tpu() -> TraceBuilder:
    """Eight iterations of a loop: the wait for the layer's weights, then the layer. No
    program is in the trace.
    """
    ops: list[tuple[str, float, float]] = [
        (
            "%while.1 = (s32[], bf16[4096]) while(%tuple.1), condition=%c, body=%b",
            0,
            9800,
        )
    ]
    for layer in range(8):
        at = layer * 1225.0
        ops.append(
            (
                "%all-gather-start.5 = (bf16[512,4096], bf16[4096,4096]) "
                "all-gather-start(%p)",
                at,
                at + 2,
            )
        )
        ops.append(
            (
                "%all-gather-done.5 = bf16[4096,4096]{1,0} "
                "all-gather-done(%all-gather-start.5)",
                at + 2,
                at + 450,
            )
        )
        ops.append(
            (
                "%fusion.7 = bf16[4096,4096]{1,0} fusion(%all-gather-done.5), "
                "kind=kOutput",
                at + 450,
                at + 1224,
            )
        )
    return tpu(
        4,
        "v5p",
        *ops,
        stated={
            "while": ("while", 0, 0),
            "all-gather-start": ("all-gather-start", 0, 0),
            "all-gather-done": ("all-gather-done", 0, 0),
            "fusion": ("convolution fusion", 220_000_000_000, 100_000_000),
        },
    )


def graph_of_collectives() -> TraceBuilder:
    """jaxlib 0.12 captures collectives as well: every kernel of the graph says
    command_buffer.
    """
    return jax(
        8,
        B200,
        (NVJET_100, 0, 5200, "command_buffer_2"),
        (SUM, 5200, 9700, "command_buffer_2"),
        program=hlo.exchange("all-reduce", EIGHT, of="product"),
    )


def opaque_graph() -> TraceBuilder:
    builder = trace()
    for device in range(2):
        builder.plane_stat(f"/device:GPU:{device}", **GB200)
    link = 0
    for step in range(6):
        at = step * 10_000
        builder.step(at, at + 10_000).call("PjitFunction(train_step)", at, at + 60)
        builder.call("command_buffer::execute", at + 9, at + 55)
        for device in range(2):
            link += 1
            builder.call(
                "cuGraphLaunch (CudaGraph:17)",
                at + 10 + device,
                at + 50,
                device_id=device,
                correlation_id=link,
            )
            builder.on_line(
                f"/device:GPU:{device}",
                "Stream #13(CudaGraph)",
                "CudaGraphExec:17",
                at + 80,
                at + 9900,
                correlation_id=link,
                cuda_graph_exec_id=17,
            )
    return builder


def fragment() -> TraceBuilder:
    """4 ms out of the middle of a step of 700 ms: kernels back to back, no launch, no
    marker.
    """
    builder = trace().plane_stat("/device:GPU:0", **H200)
    for one in range(40):
        builder.on_line(
            "/device:GPU:0",
            "Stream #13(Compute)",
            NVJET,
            one * 100,
            one * 100 + 99,
            kernel_details="regs:168 grid:132,1,1 block:384,1,1",
            hlo_op=f"custom-call.{one}",
            hlo_module="jit_train_step",
            program_id=7,
        )
    return builder.call("PjRtCpuExecutable::Execute", 0, 1).call(
        "np.asarray(jax.Array)", 0, 4000
    )


def waiting_streams() -> TraceBuilder:
    """Three compute streams whose kernels take turns, as independent branches of a
    program do.
    """
    builder = trace().plane_stat("/device:GPU:0", **H100)
    for step in range(6):
        at = step * 10_000
        builder.step(at, at + 10_000).call("PjitFunction(train_step)", at, at + 90)
        for one in range(33):
            builder.on_line(
                "/device:GPU:0",
                f"Stream #{13 + one % 3}(Compute)",
                NVJET,
                at + one * 300,
                at + one * 300 + 299,
            )
    return builder


def serving_prefill() -> TraceBuilder:
    """Long prompts on a v5e: the prefill program at 62% of the peak, one after the
    other.
    """
    return tpu(
        1,
        "v5e",
        ("%fusion.1 = bf16[8192,28672]{1,0} fusion(%p), kind=kOutput", 0, 9880),
        stated={"fusion": ("convolution fusion", 1_200_000_000_000, 600_000_000)},
        module="jit_prefill",
        marked=False,
        steps=10,
    )


def serving_decode(model: str, gbytes: float) -> TraceBuilder:
    """Batched decoding on a TPU: one fusion a step that reads weights and cache at
    nearly the memory's speed.
    """
    return tpu(
        1,
        model,
        ("%fusion.1 = bf16[32,8192]{1,0} fusion(%p), kind=kOutput", 0, 9880),
        stated={"fusion": ("convolution fusion", 300_000_000_000, int(gbytes * 1e9))},
        module="jit_generate",
        marked=False,
        steps=10,
    )


def buffers_off() -> TraceBuilder:
    """TensorFlow with XLA: the recording switched command buffers off, so small kernels
    wait for their launches.
    """
    builder = trace().plane_stat("/device:GPU:0", **A100)
    link = 0
    for step in range(6):
        at = step * 4000
        builder.step(at, at + 4000, "train").call(
            "EagerLocalExecute: __inference_train_function_88", at, at + 3900
        )
        builder.call("WARNING: CommandBuffer disabled when profiling", at + 10, at + 11)
        for one in range(150):
            link += 1
            builder.call(
                "cuLaunchKernel",
                at + 20 + 25 * one,
                at + 26 + 25 * one,
                device_id=0,
                correlation_id=link,
            )
            builder.on_line(
                "/device:GPU:0",
                "Stream #13(Compute)",
                f"loop_add_fusion_{one}",
                at + 30 + 25 * one,
                at + 36 + 25 * one,
                correlation_id=link,
                hlo_op=f"loop_add_fusion.{one}",
                hlo_module="a_inference_train_function_88__XlaMustCompile_true",
                kernel_details="regs:16 grid:64,1,1 block:128,1,1",
            )
    return builder


def keras_2020(wait: bool) -> TraceBuilder:
    """TensorFlow 2.3's callback: one batch, no marker but the function; ops in
    `annotation`, a derived line saved.
    """
    builder = trace().plane_stat("/device:GPU:0", **T4)
    begin = 80_000.0 if wait else 300.0
    builder.thread("python").call(
        "EagerLocalExecute: __inference_train_function_1626", 0, begin + 20_000
    )
    builder.call(
        "train_function",
        0,
        begin + 20_050,
        tf_function_call="notTraced-nonXla",
        tracing_count=2,
    )
    builder.call("EagerKernelExecute", 5, begin + 19_900)
    builder.thread("tf_Compute/7").call(
        "ExecutorState::Process", 10, begin + 19_000, id=3, iter_num=0
    )
    builder.call("IteratorGetNext:IteratorGetNext", 20, begin, group_id=0, is_eager=0)
    builder.thread("tf_data_iterator_get_next/5").call(
        "IteratorGetNextOp::DoCompute", 25, begin - 5, id=3, iter_num=0
    )
    builder.call("Iterator::Model", 30, begin - 10, id=8)
    builder.call("Iterator::Model::Map", 32, begin - 12, id=9, parent_id=8)
    builder.thread("tf_Compute/7")
    for one in range(190):
        at = begin + 100 + 100 * one
        name = (
            "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"
            if one % 2
            else "void cudnn::winograd_nonfused::winogradForwardFilter4x4<float, float>(…)"
        )
        builder.call(
            name,
            begin + 20 + 20 * one,
            begin + 30 + 20 * one,
            correlation_id=one + 1,
            context_id=1,
        )
        builder.on_line(
            "/device:GPU:0",
            "Stream #13(Compute,MemcpyD2D)",
            name,
            at,
            at + 97,
            correlation_id=one + 1,
            annotation="gradient_tape/model/conv2d/Conv2D/Conv2DBackpropFilter:Conv2DBackpropFilter",
            kernel_details="regs:128 shm:16384 grid:64,1,1 block:256,1,1",
            group_id=0,
        )
    builder.drawn_line("/device:GPU:0", "Steps", ("0", begin + 100, begin + 19_100))
    return builder


def mirrored(kernel: str, about: dict[str, object], exposed: float) -> TraceBuilder:
    return keras(
        4,
        about,
        (
            "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn",
            100,
            9800 - exposed,
            "model/dense/MatMul:MatMul",
        ),
        (kernel, 9800 - exposed, 9800, "Adam/CollectiveReduceV2:CollectiveReduceV2"),
    )


CASES: dict[str, tuple[Callable[[], TraceBuilder], Truth]] = {
    # GPU: precision
    "GB200, FSDP well hidden": (fsdp_overlapped, Truth("compute", quiet=True, steps=6)),
    "H200, fp32 arrays in TF32 products": (
        lambda: jax(
            1,
            H200,
            (
                "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segme"
                "nt_k_off_kernel__5x_cublas",
                0,
                9800,
                "",
            ),
        ),
        Truth("compute", must=("bf16|bfloat16",), never=r"tf\.keras"),
    ),
    "A10G, TensorFlow 2.15 in plain fp32": (
        lambda: keras(
            1, A10G, ("ampere_sgemm_128x64_tn", 100, 9850, "model/dense/MatMul:MatMul")
        ),
        Truth(
            "compute", must=("mixed_(b)?float16|mixed precision",), never=r"jax\.|jnp\."
        ),
    ),
    "A100, TensorFlow 2.8 in mixed precision": (
        lambda: keras(
            1,
            A100,
            (AMPERE_HALF, 60, 5000, "model/dense/MatMul:MatMul"),
            (
                CONV_HALF,
                5001,
                9850,
                "gradient_tape/model/conv/Conv2DBackpropFilter:Conv2DBackpropFilter",
            ),
        ),
        Truth("compute", quiet=True, numbers={"fp16_kernel_share": (0.99, 1)}),
    ),
    "B200, fp8 by TransformerEngine": (
        lambda: jax(
            1,
            B200,
            (FP8, 0, 7000, "te_gemm_ffi.1"),
            (
                "cudnn_generated_fort_native_sdpa_sm100_flash_fprop_f16_knob_7_128x128x64_4x1x1_cga1x1x1_kernel0_0",
                7000,
                9000,
                "te_fused_attn_forward_ffi.12",
            ),
            (
                "void "
                "transformer_engine::dispatch::mxfp8::quantize_kernel::quantize_mxfp8_kernel<false, "
                "false, false, "
                "transformer_engine::Empty, __nv_bfloat16, __nv_fp8_e4m3, true, "
                "true, true, 64ul, 32ul>(CUtensorMap)",
                9000,
                9850,
                "te_dbias_quantize_ffi.2",
            ),
        ),
        Truth(
            "compute",
            quiet=True,
            never="fp32|TF32",
            numbers={"fp16_kernel_share": (0.99, 1)},
        ),
    ),
    "Pallas attention in bf16 whose names say nothing": (
        lambda: jax(
            1,
            A100,
            ("mha_forward", 0, 3000, "mha_forward.2"),
            ("mha_backward", 3000, 9850, "mha_backward.3"),
            program=attention("bf16"),
        ),
        Truth("compute", quiet=True, never="fp32|float32"),
    ),
    "cuDNN engine whose name says no precision, TensorFlow 2.18": (
        lambda: keras(
            1,
            A10G,
            (
                "cudnn_generated_fort_native_sm120_matMul_pointwise_pointwise_knob_20_32x32x128_0_0",
                60,
                9850,
                "",
            ),
        ),
        Truth("compute", quiet=True, never="fp32|float32"),
    ),
    "MI300X, bf16 and RCCL well hidden": (
        lambda: jax(
            8,
            MI300X,
            (AMD_BF16, 0, 9800, "dot.2"),
            (RCCL, 3000, 9000, "all-reduce.3"),
            program=hlo.exchange("all-reduce", EIGHT, "product"),
        ),
        Truth("compute", quiet=True, never="NVLink|NVLS|NCCL_"),
    ),
    # GPU: exchange
    "MI300X, sums that nothing hides": (
        lambda: jax(
            8,
            MI300X,
            (AMD_BF16, 0, 5500, "dot.2"),
            (RCCL, 5500, 9800, "all-reduce.3"),
            program=hlo.exchange("all-reduce", EIGHT, "product"),
        ),
        Truth(
            "collective", must=("all-reduce|gradient",), never="NVLink|NVLS|NCCL_NVLS"
        ),
    ),
    "V100, NCCL 2.7 under MirroredStrategy": (
        lambda: mirrored("ncclAllReduceRingLLKernel_sum_f32(ncclColl)", V100, 4000),
        Truth("collective", never=r"jax\.|XLA_FLAGS"),
    ),
    "A100, NCCL 2.18 names, hidden": (
        lambda: keras(
            4,
            A100,
            (AMPERE_HALF, 60, 9850, ""),
            (
                "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, "
                "ncclWork*)",
                4000,
                9000,
                "Adam/CollectiveReduceV2:CollectiveReduceV2",
            ),
        ),
        Truth("compute", quiet=True),
    ),
    "H100, symmetric kernels of NCCL 2.28 exposed": (
        lambda: jax(
            8,
            H100,
            (NVJET, 0, 5600, "dot.2"),
            (
                "ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16(ncclSymkDevWorkArgs4K)",
                5600,
                9800,
                "all-reduce.3",
            ),
            program=hlo.exchange("all-reduce", EIGHT, "product"),
        ),
        Truth("collective", must=("all-reduce|gradient",)),
    ),
    "H100, one of two hosts, sums among 16": (
        lambda: jax(
            8,
            H100,
            (NVJET, 0, 5600, "dot.2"),
            (SUM, 5600, 9800, "all-reduce.3"),
            program=hlo.exchange("all-reduce", [list(range(16))], "product"),
        ),
        Truth("collective", must=(r"\b16\b",), never="NVLink|NVLS|NCCL_PROTO|one host"),
    ),
    "H200, weights gathered in a scan": (
        lambda: jax(
            8,
            H200,
            *layers(NVJET, GATHER, "all-gather.3", 700, 500),
            program=scanned("all-gather", EIGHT),
        ),
        Truth("collective", must=("weight|parameter",), never="in one sharding"),
    ),
    "H200, gradients scattered": (
        lambda: jax(
            8,
            H200,
            (NVJET, 0, 5600, "dot.2"),
            (SCATTER, 5600, 9800, "reduce-scatter.3"),
            program=hlo.exchange("reduce-scatter", EIGHT, "product"),
        ),
        Truth("collective", must=("reduce-scatter|gradient",), never="in one sharding"),
    ),
    "H100, a pipeline's permutes": (
        lambda: jax(
            4,
            H100,
            *layers(NVJET, SEND, "collective-permute.3", 700, 500),
            program=scanned("collective-permute", [[0, 1, 2, 3]], "product"),
        ),
        Truth(
            "collective",
            must=("pipeline|permute|micro-?batch",),
            never="weights? (are|is) gathered",
        ),
    ),
    "L4, sums over PCIe": (
        lambda: jax(
            8,
            L4,
            (AMPERE_BF16, 0, 5600, "dot.2"),
            (SUM, 5600, 9800, "all-reduce.3"),
            program=hlo.exchange("all-reduce", EIGHT, "product"),
        ),
        Truth("collective", never="NVLink|NVLS|NCCL_P2P|NCCL_PROTO"),
    ),
    "H100, 1 GiB at 61 GB/s within one host": (
        lambda: jax(
            8,
            H100,
            (NVJET, 0, 20_000, "dot.2"),
            (SUM, 20_000, 51_000, "all-reduce.3"),
            program=hlo.exchange(
                "all-reduce", EIGHT, "product", shape="bf16[16384,32768]"
            ),
            period=51_500,
        ),
        Truth("collective", must=("NVLink|topo",)),
    ),
    "H100, 1 GiB at 360 GB/s within one host": (
        lambda: jax(
            8,
            H100,
            (NVJET, 0, 20_000, "dot.2"),
            (SUM, 14_700, 19_900, "all-reduce.3"),
            program=hlo.exchange(
                "all-reduce", EIGHT, "product", shape="bf16[16384,32768]"
            ),
            period=20_500,
        ),
        Truth("compute", quiet=True, never="NVLink|NVLS|below"),
    ),
    "H200, permutes by the copy engine": (
        lambda: jax(
            4,
            H200,
            (NVJET, 0, 5600, "dot.2"),
            ("MemcpyP2P", 5600, 9800, "collective-permute-start.3"),
            program=hlo.exchange("collective-permute", [[0, 1, 2, 3]], "product"),
        ),
        Truth("collective", never="donat"),
    ),
    "H100, experts exchanged": (
        lambda: jax(
            8,
            H100,
            (NVJET, 0, 5600, "dot.2"),
            (SEND, 5600, 9800, "all-to-all.3"),
            program=hlo.exchange(
                "all-to-all",
                EIGHT,
                "product",
                path="jit(train_step)/moe/expert/all_to_all",
            ),
        ),
        Truth("collective", must=("expert|all-to-all",), never="in one sharding"),
    ),
    # GPU: graphs, streams, steps
    "B200, collectives in a command buffer": (
        graph_of_collectives,
        Truth("collective", must=("all-reduce|gradient|collective",)),
    ),
    "GB200, opaque graphs": (
        opaque_graph,
        Truth("compute unknown", anywhere="graph", quiet=True),
    ),
    "A100, command buffers off while recording": (
        buffers_off,
        Truth(
            "launch unknown host none idle compute",
            quiet=True,
            anywhere="record|profil",
        ),
    ),
    "H100, three streams in turns": (waiting_streams, Truth("compute", quiet=True)),
    "H100, steps without markers": (
        lambda: jax(
            1,
            H100,
            (NVJET, 0, 6000, ""),
            (FLASH, 6000, 9850, ""),
            marked=False,
            steps=20,
        ),
        Truth("compute", quiet=True, numbers={"step_time_ms": (9.9, 10.1)}),
    ),
    "H200, one step": (
        lambda: jax(1, H200, (NVJET, 0, 9800, ""), steps=1),
        Truth("compute unknown", quiet=True),
    ),
    "H200, a fragment of a step": (
        fragment,
        Truth("compute unknown", quiet=True, never="input"),
    ),
    # GPU: input, copies, layouts
    "T4, TensorFlow 2.3 waits for its input": (
        lambda: keras_2020(True),
        Truth("input", must=("input|tf.data|prefetch",)),
    ),
    "T4, TensorFlow 2.3, fp32 convolutions": (
        lambda: keras_2020(False),
        Truth("compute", must=("fp32|mixed",), never=r"jax\."),
    ),
    "A100, TensorFlow waits for its input, nothing in the call around it": (
        lambda: keras(4, A100, (AMPERE_HALF, 6050, 9850, ""), wait=(30, 6000)),
        Truth("input", must=("input|tf.data|prefetch",), first="input|batch"),
    ),
    "V100, pageable batches": (
        lambda: keras(
            1,
            V100,
            ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", 4600, 9850, ""),
            copy=(100, 4500, 20_000_000, "pageable"),
        ),
        Truth("transfer", must=("copies|copy", "pageable|pinned|prefetch")),
    ),
    "V100, NCHW and NHWC in turns": (
        lambda: keras(
            1,
            V100,
            (
                "volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc_tn_v1",
                60,
                6500,
                "model/conv/Conv2D:Conv2D",
            ),
            (
                "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, "
                "true, (cudnnKernelDataType"
                "_t)0>(cudnn::ops::nchw2nhwc_params_t<float>)",
                6500,
                9850,
                "model/conv/Conv2D:Conv2D",
            ),
        ),
        Truth("compute", must=("layout|NHWC|transpos",)),
    ),
    # GPU: serving
    "L4, decoding": (
        lambda: decode(L4),
        Truth(
            "compute memory none",
            quiet=True,
            never=r"multiples? of 8|every \d+ steps|log\(step|training",
            must=("memory|HBM",),
        ),
    ),
    "H200, decoding under another name": (
        lambda: decode(H200, "run_model"),
        Truth(
            "compute memory none",
            quiet=True,
            never=r"multiples? of 8|every \d+ steps|log\(step",
        ),
    ),
    # TPU
    "v5p, healthy": (
        lambda: tpu(
            4,
            "v5p",
            ("%fusion.1 = bf16[8192,8192]{1,0} fusion(%p), kind=kOutput", 0, 9700),
            (
                "%all-gather-done.2 = bf16[8] all-gather-done(%all-gather-start.2)",
                9700,
                9760,
            ),
            stated={
                "fusion": ("convolution fusion", 2_700_000_000_000, 500_000_000),
                "all-gather-done": ("all-gather-done", 0, 0),
            },
        ),
        Truth("compute", quiet=True, steps=6),
    ),
    "v4 with its two cores as one, without markers": (
        lambda: tpu(
            4,
            "v4",
            ("%fusion.1 = bf16[8192,8192]{1,0} fusion(%p), kind=kOutput", 0, 9880),
            stated={"fusion": ("convolution fusion", 1_700_000_000_000, 500_000_000)},
            marked=False,
            steps=12,
        ),
        Truth("compute", quiet=True, numbers={"step_time_ms": (9.9, 10.1)}),
    ),
    "v5e, only modules": (modules_only, Truth("compute unknown", quiet=True)),
    "v7, gathers on SparseCore, hidden": (
        lambda: sparse_core(False),
        Truth("compute", quiet=True, numbers={"sparse_core_fraction": (0.96, 0.98)}),
    ),
    "v7, gathers on SparseCore, waited for": (
        lambda: sparse_core(True),
        Truth(
            "collective",
            must=("all-gather|collective|communicat",),
            numbers={"sparse_core_fraction": (0.96, 0.98)},
        ),
    ),
    "v5e waits for its infeed": (
        lambda: tpu(
            4,
            "v5e",
            (
                "%infeed.1 = ((f32[128,224,224,3]), token[]) infeed(%after-all.1)",
                0,
                5000,
            ),
            ("%fusion.1 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput", 5000, 9850),
            stated={
                "infeed": ("infeed", 0, 77_000_000),
                "fusion": ("convolution fusion", 600_000_000_000, 100_000_000),
            },
        ),
        Truth("input", must=("input|infeed",)),
    ),
    "v5p, a pipeline's permutes": (
        lambda: tpu(
            4,
            "v5p",
            *(
                (name, at * 1225 + start, at * 1225 + end)
                for at in range(8)
                for name, start, end in (
                    (
                        "%collective-permute-start.3 = (bf16[8], bf16[8]) "
                        "collective-permute-start(%p)",
                        0,
                        2,
                    ),
                    (
                        "%collective-permute-done.3 = bf16[8] "
                        "collective-permute-done(%collective-permute-start.3)",
                        2,
                        400,
                    ),
                    (
                        "%fusion.7 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput",
                        400,
                        1224,
                    ),
                )
            ),
            stated={"fusion": ("convolution fusion", 220_000_000_000, 100_000_000)},
        ),
        Truth(
            "collective",
            must=("ppermute|turn before|micro-?batch",),
            never="xla_gpu|LIBTPU|larger batch",
        ),
    ),
    "v5e, rows picked by index, no HLO": (
        lambda: tpu(
            1,
            "v5e",
            ("%gather.3 = bf16[8192,4096]{1,0} gather(%p, %q)", 0, 4000),
            ("%fusion.1 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput", 4000, 9800),
            stated={
                "gather": ("gather", 0, 400_000_000),
                "fusion": ("convolution fusion", 900_000_000_000, 40_000_000),
            },
        ),
        Truth("compute", must=("gather",), numbers={"gather_fraction": (0.39, 0.41)}),
    ),
    "v6e, a server's programs, no HLO": (
        lambda: queue("v6e", 0.0),
        Truth(
            "compute",
            numbers={"decode_fraction": (0.65, 0.8), "prefill_fraction": (0.2, 0.35)},
            never=r"every \d+ steps",
        ),
    ),
    "v5p, two slices": (
        slices,
        Truth("collective", must=("DCN|slice|data.?cent(er|re)",), never="donat"),
    ),
    "v5p, weights gathered in a scan, no program": (
        scanned_on_tpu,
        Truth("collective", must=("weight|parameter",), never="in one sharding"),
    ),
    "v6e, experts": (
        lambda: tpu(
            4,
            "v6e",
            ("%fusion.1 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput", 0, 6000),
            (
                "%ragged-all-to-all.5 = bf16[8192,4096]{1,0} ragged-all-to-all(%a, %b)",
                6000,
                9850,
            ),
            stated={
                "fusion": ("convolution fusion", 3_000_000_000_000, 100_000_000),
                "ragged-all-to-all": ("ragged-all-to-all", 0, 0),
            },
        ),
        Truth("collective", must=("expert|all-to-all",), never="in one sharding"),
    ),
    "v6e, sums fused with the scatter": (
        lambda: tpu(
            8,
            "v6e",
            ("%fusion.1 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput", 0, 6000),
            (
                "%fusion.9 = bf16[512,4096]{1,0} fusion(%g), kind=kCustom, "
                "calls=%all-reduce-scatter.3",
                6000,
                9850,
            ),
            stated={"fusion": ("convolution fusion", 0, 0)},
        ),
        Truth("collective", must=("reduce-scatter|gradient|all-reduce",)),
    ),
    "v5e, Pallas waits for its copies": (
        pallas_waits,
        Truth("compute", anywhere="DMA|copies|ep_wait_in"),
    ),
    "v6e, layouts": (
        lambda: tpu(
            1,
            "v6e",
            ("%fusion.1 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput", 0, 6000),
            (
                "%copy.5 = bf16[64,2048,16,128]{3,1,2,0:T(8,128)(2,1)} "
                "copy(bf16[64,2048,16,128]{3,2,1,0:T("
                "8,128)(2,1)} %bitcast.4)",
                6000,
                9850,
            ),
            stated={
                "fusion": ("convolution fusion", 3_000_000_000_000, 100_000_000),
                "copy": ("data formatting", 0, 1_073_741_824),
            },
        ),
        Truth("compute", must=("layout|transpos",)),
    ),
    "v5p, products of padded tiles": (
        lambda: tpu(
            1,
            "v5p",
            (
                "%fusion.1 = bf16[8192,130]{1,0:T(8,128)(2,1)} "
                "fusion(bf16[8192,4096]{1,0} %a, bf16[4096,13"
                "0]{1,0} %b), kind=kOutput, calls=%fused_computation.1",
                0,
                9850,
            ),
            stated={"fusion": ("convolution fusion", 8_724_152_320, 110_000_000)},
        ),
        Truth("compute", must=(r"130|multiples? of|pad",)),
    ),
    "v6e, decoding at the memory's speed": (
        lambda: serving_decode("v6e", 14.9),
        Truth(
            "compute memory none",
            quiet=True,
            must=("HBM|memory bandwidth|memory's",),
            never=r"log\(step|training|every \d+ steps",
        ),
    ),
    "v5e, prefill": (
        serving_prefill,
        Truth("compute", quiet=True, never=r"log\(step|training loop"),
    ),
    "v5e, an empty queue": (
        lambda: queue("v5e", 40_000),
        Truth(
            "idle host none unknown",
            quiet=True,
            never=r"log\(step|training loop|every \d+ steps|tf\.data|prefetch",
            must=("request|queue|serv",),
        ),
    ),
    "v5p, offload hidden": (
        lambda: hidden_offload(60),
        Truth("compute", quiet=True, never="donat|device_put"),
    ),
    "v5p, offload exposed, with the line that XProf draws": (
        lambda: hidden_offload(3500, rows=True),
        Truth(
            "transfer",
            must=("offload",),
            never=r"device_put|every \d+ steps|uint8|donat",
            numbers={"step_time_ms": (9.9, 10.1)},
        ),
    ),
    "v6e, chips that wait at a barrier": (
        lambda: tpu(
            4,
            "v6e",
            ("%fusion.1 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput", 0, 6500),
            ("barrier-cores", 6500, 9850),
            line={"barrier-cores": "XLA TraceMe"},
            stated={"fusion": ("convolution fusion", 3_000_000_000_000, 100_000_000)},
        ),
        Truth("collective imbalance idle", must=("barrier",)),
    ),
}


def device_steps() -> TraceBuilder:
    """A v6e as XProf saved it: steps on the device's own line, and lines that repeat
    the ops.
    """
    builder = tpu(
        4,
        "v6e",
        ("%fusion.1 = bf16[8192,8192]{1,0} fusion(%p), kind=kOutput", 0, 9700),
        stated={"fusion": ("convolution fusion", 5_400_000_000_000, 500_000_000)},
        marked=False,
        module="jit_update",
    )
    for step in range(6):
        at = step * 10_000 + 100
        for device in range(4):
            plane = f"/device:TPU:{device}"
            builder.on_line(
                plane,
                "Steps",
                str(step),
                at,
                at + 9_900,
                step_name=str(step),
                group_id=step,
            )
            for line in (
                "Framework Ops",
                "Framework Name Scope",
                "Source code",
                "TC Overlay",
            ):
                builder.on_line(plane, line, "jit(update)/dot_general", at, at + 9700)
    return builder


def colab_tpu() -> TraceBuilder:
    """TensorFlow 2.4 on a TPU v3: infeed, sums across replicas, steps on the device's
    line, no host in the file.
    """
    builder = trace()
    for device in range(8):
        plane = f"/device:TPU:{device}"
        builder.plane_stat(plane, device_type_string="TPU v3")
        for step in range(5):
            at = step * 10_000
            builder.on_line(plane, "Steps", str(step), at, at + 9_990)
            builder.on_line(
                plane, "XLA Modules", "cluster_train_function_1(7)", at, at + 9_990
            )
            builder.on_line(
                plane,
                "XLA Ops",
                "%infeed.3 = ((f32[16,224,224,3]), token[]) infeed(%after-all)",
                at,
                at + 4500,
            )
            builder.on_line(
                plane,
                "XLA Ops",
                "%fusion.9 = f32[16,112,112,64] fusion(%p), kind=kOutput",
                at + 4500,
                at + 9500,
            )
            builder.on_line(
                plane,
                "XLA Ops",
                "%all-reduce.2 = f32[25600000] all-reduce(%g), replica_groups={}",
                at + 9500,
                at + 9980,
            )
            builder.on_line(
                plane, "TensorFlow Ops", "model/conv1/Conv2D", at + 4500, at + 9500
            )
    return builder


def two_hosts_skewed() -> TraceBuilder:
    """Two hosts of H100; the second computes 30% longer, so the first waits in the
    sums.
    """
    builder = trace()
    for host, work in (("host0", 6000), ("host1", 8800)):
        builder.host(host)
        jax(
            4,
            H100,
            (NVJET, 0, work, "dot.2"),
            (SUM, work, 9800, "all-reduce.3"),
            program=hlo.exchange("all-reduce", EIGHT, "product"),
            builder=builder,
        )
    return builder


def slow_loader() -> TraceBuilder:
    """JAX on an H100: Python fetches the next batch between two steps, for 55% of the
    time.
    """
    builder = trace().plane_stat("/device:GPU:0", **H100)
    for step in range(6):
        at = step * 10_000
        builder.thread("python/1").step(at, at + 10_000, "train")
        builder.call("$data_loader.py:212 __next__", at + 10, at + 5500).call(
            "$loader.py:88 load_batch", at + 20, at + 5490
        )
        builder.call("PjitFunction(train_step)", at + 5510, at + 5560).call(
            "cuLaunchKernelEx",
            at + 5520,
            at + 5525,
            correlation_id=step + 1,
            device_id=0,
        )
        builder.on_line(
            "/device:GPU:0",
            "Stream #13(Compute)",
            NVJET,
            at + 5570,
            at + 9950,
            correlation_id=step + 1,
            kernel_details="regs:168 grid:132,1,1 block:384,1,1",
        )
    return builder


def loss_read() -> TraceBuilder:
    """The loss is read after every step, and what is logged of it keeps the device
    waiting for 3 of 10 ms.
    """
    builder = trace().plane_stat("/device:GPU:0", **A100)
    for step in range(8):
        at = step * 10_000
        builder.step(at, at + 10_000, "train").call(
            "PjitFunction(train_step)", at + 20, at + 150
        )
        builder.call(
            "cuLaunchKernel", at + 100, at + 105, correlation_id=step + 1, device_id=0
        )
        builder.on_line(
            "/device:GPU:0",
            "Stream #13(Compute)",
            AMPERE_BF16,
            at + 110,
            at + 6900,
            correlation_id=step + 1,
            kernel_details="regs:168 grid:108,1,1 block:256,1,1",
        )
        builder.copy("GPU:0", "D2H", at + 6905, at + 6907, 4, "pageable")
        builder.call("np.asarray(jax.Array)", at + 160, at + 6920)
        builder.call("$metrics.py:40 update", at + 6930, at + 7200).call(
            "$trainer.py:77 log_metrics", at + 7210, at + 9990
        )
    return builder


def eager_jax() -> TraceBuilder:
    """JAX without jit: 300 kernels of 4 µs, one every 30 µs, each dispatched on its
    own.
    """
    builder = trace().plane_stat("/device:GPU:0", **L4)
    link = 0
    for step in range(5):
        at = step * 10_000
        builder.step(at, at + 10_000, "train")
        for one in range(300):
            link += 1
            name = ("add", "multiply", "dot_general", "tanh")[one % 4]
            builder.call(f"PjitFunction({name})", at + 33 * one, at + 33 * one + 30)
            builder.call(
                "cuLaunchKernel",
                at + 33 * one + 20,
                at + 33 * one + 26,
                correlation_id=link,
                device_id=0,
            )
            builder.on_line(
                "/device:GPU:0",
                "Stream #13(Compute)",
                f"loop_{name}_fusion",
                at + 33 * one + 27,
                at + 33 * one + 31,
                correlation_id=link,
                hlo_op=f"loop_{name}_fusion",
                hlo_module=f"jit_{name}",
                program_id=one % 4,
                kernel_details="regs:16 grid:8,1,1 block:128,1,1",
            )
    return builder


def recompiling() -> TraceBuilder:
    """Every step has another shape: tracing and compiling takes 70% of it."""
    builder = trace().plane_stat("/device:GPU:0", **A100)
    for step in range(6):
        at = step * 10_000
        builder.step(at, at + 10_000, "train").call(
            "PjitFunction(train_step)", at + 10, at + 7300
        )
        builder.call("trace_to_jaxpr_dynamic", at + 30, at + 900).call(
            "backend_compile", at + 1000, at + 7000
        )
        builder.call("GpuCompiler::RunBackend", at + 3000, at + 6900)
        builder.call(
            "cuLaunchKernel", at + 7250, at + 7255, correlation_id=step + 1, device_id=0
        )
        builder.on_line(
            "/device:GPU:0",
            "Stream #13(Compute)",
            AMPERE_BF16,
            at + 7300,
            at + 9900,
            correlation_id=step + 1,
            kernel_details="regs:168 grid:108,1,1 block:256,1,1",
        )
    return builder


def host_between_modules() -> TraceBuilder:
    """A v5e that is idle for 40%: Python prepares the batch between two programs."""
    builder = tpu(
        1,
        "v5e",
        ("%fusion.1 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput", 4000, 9800),
        stated={"fusion": ("convolution fusion", 700_000_000_000, 100_000_000)},
    )
    # `tpu` begins its programs with the step; here the program begins with its op
    for line in builder._plane_of("/device:TPU:0").lines:
        if line.name == b"XLA Modules":
            for event in line.events:
                event.offset_ps += 4_000_000_000
                event.duration_ps -= 4_000_000_000
    for step in range(6):
        builder.call(
            "$augment.py:31 random_crop", step * 10_000 + 120, step * 10_000 + 4000
        )
    return builder


def vllm_on_tpu() -> TraceBuilder:
    """Two programs a token, run_model and sample, back to back; the host reads the
    tokens one step behind.
    """
    builder = trace().plane_stat(
        "/device:TPU:0",
        device_type_string="TPU v6 Lite",
        peak_teraflops_per_second=918.0,
        peak_hbm_bw_gigabytes_per_second=1638.0,
    )
    for token in range(20):
        at = token * 10_000
        builder.call("PjitFunction(run_model)", at, at + 200).call(
            "PjitFunction(sample)", at + 210, at + 300
        )
        builder.call("np.asarray(jax.Array)", at + 310, at + 9_800)
        for name, start, end in (("run_model", 60, 9300), ("sample", 9310, 9800)):
            builder.on_line(
                "/device:TPU:0", "XLA Modules", f"jit_{name}(9)", at + start, at + end
            )
            builder.on_line(
                "/device:TPU:0",
                "XLA Ops",
                f"%fusion.{len(name)} = bf16[64,8192] fusion(%p)",
                at + start,
                at + end,
            )
    return builder


def mixed_serving() -> TraceBuilder:
    """Prefill and decode on an H100 by the names of their programs; the queue is never
    empty.
    """
    builder = trace().plane_stat("/device:GPU:0", **H100)
    at = link = 0
    for _ in range(6):
        for name, kernel, length in (
            ("prefill", NVJET, 5000),
            *((("generate", GEMV, 2500),) * 6),
        ):
            link += 1
            builder.call(f"PjitFunction({name})", at, at + 60).call(
                "cuLaunchKernelEx", at + 20, at + 24, correlation_id=link, device_id=0
            )
            builder.on_line(
                "/device:GPU:0",
                "Stream #13(Compute)",
                kernel,
                at + 40,
                at + length - 10,
                correlation_id=link,
                hlo_op="dot.2",
                hlo_module=f"jit_{name}",
                program_id=len(name),
                kernel_details="regs:64 grid:132,1,1 block:128,1,1",
            )
            builder.call("np.asarray(jax.Array)", at + 70, at + length - 5)
            at += length
    return builder


def tf_xla(dtype: str) -> TraceBuilder:
    """TensorFlow 2.15 with jit_compile: XLA's kernels, types in the program only."""
    module = "a_inference_train_step_123__XlaMustCompile_true"
    builder = trace().plane_stat("/device:GPU:0", **A100)
    shape = f"{dtype}[4096,4096]"
    builder.program(
        module,
        hlo.module(
            hlo.computation(
                1,
                hlo.op(1, "parameter", shape),
                hlo.op(2, "dot", shape, 1, 1, name="gemm_fusion_dot.3", extra=DOT),
            ),
            name=module,
        ),
    )
    for step in range(6):
        at = step * 10_000
        builder.step(at, at + 10_000, "train").call(
            "EagerLocalExecute: __inference_train_step_123", at + 5, at + 9900
        )
        builder.call(
            "cuLaunchKernel", at + 20, at + 25, correlation_id=step + 1, device_id=0
        )
        builder.on_line(
            "/device:GPU:0",
            "Stream #13(Compute)",
            "gemm_fusion_dot_3",
            at + 30,
            at + 9900,
            correlation_id=step + 1,
            hlo_op="gemm_fusion_dot.3",
            hlo_module=module,
            program_id=7,
            tf_op="model/dense/MatMul:MatMul",
            kernel_details="regs:168 grid:108,1,1 block:128,1,1",
        )
    return builder


def keras_batch(gaps: float, tail: float, big: bool = False) -> TraceBuilder:
    """One batch of TensorFlow 2.4 on a V100: a network's kernels in forward and
    backward order, launches on executor threads, the callback's export behind it."""
    builder = trace().plane_stat("/device:GPU:0", **V100)
    names = []
    for layer in range(12):
        names += [
            (
                "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(…)"
                if layer % 3
                else "void cudnn::cnn::kern_precompute_indices<false>(int*, int, int)",
                f"model/conv{layer}/Conv2D:Conv2D",
                40 if layer % 3 else 4,
            ),
            (
                "volta_scudnn_128x64_relu_interior_nn_v1",
                f"model/conv{layer}/Conv2D:Conv2D",
                300 if big else 120,
            ),
            (
                "void tensorflow::BiasNCHWKernel<float>(int, float const*, float "
                "const*, float*, int, int)",
                f"model/conv{layer}/BiasAdd:BiasAdd",
                20,
            ),
        ]
    for layer in reversed(range(12)):
        names += [
            (
                "volta_scudnn_128x64_stridedB_splitK_interior_nn_v1",
                f"gradient_tape/model/conv{layer}/Conv2D/Conv2DBackpropFilter:Conv2DBackpropFilter",
                350 if big else 140,
            ),
            (
                "void tensorflow::BiasGradNCHW_SharedAtomics<float>(float const*, "
                "float*, int, int, int, int)",
                f"gradient_tape/model/conv{layer}/BiasAdd/BiasAddGrad:BiasAddGrad",
                15,
            ),
            (
                "void tensorflow::functor::ApplyAdamKernel<float>(…)",
                f"Adam/Adam/update_{layer}/ResourceApplyAdam:ResourceApplyAdam",
                8,
            ),
        ]
    at = 2000.0
    begin = at
    launch = at - 30
    for one, (kernel, op, length) in enumerate(names):
        builder.thread(f"tf_Compute/{one % 3}").call(
            kernel, launch, launch + 9, correlation_id=one + 1, context_id=1
        )
        builder.on_line(
            "/device:GPU:0",
            "Stream #13(Compute,MemcpyD2D)",
            kernel,
            at,
            at + length,
            correlation_id=one + 1,
            annotation=op,
            kernel_details="regs:64 shm:0 grid:64,1,1 block:128,1,1",
            group_id=0,
        )
        step = length + gaps
        at += step
        launch = at - 30 if gaps > 10 else launch + 20
    told = {"tf_function_call": "notTraced-nonXla", "tracing_count": 2}
    builder.thread("python").call("train_function", 500, at + 150, **told)
    builder.call(
        "EagerLocalExecute: __inference_train_function_1626", 900, at + 100
    ).call("EagerExecute: __inference_train_function_1626", 890, at + 110)
    builder.thread("tf_Compute/7").call(
        "ExecutorState::Process", begin - 200, at + 20, id=3, iter_num=0
    )
    builder.drawn_line("/device:GPU:0", "Steps", ("0", begin, at + 50))
    if tail:
        builder.thread("python").call(
            "EagerExecute: WriteSummary", at + 300, at + 500
        ).call("EagerLocalExecute: WriteSummary", at + 310, at + 490)
        builder.call(
            "MemoryDeallocation", at + tail, at + tail, allocator_name="GPU_0_bfc"
        )
    return builder


def copied_sums() -> TraceBuilder:
    """MirroredStrategy with HierarchicalCopyAllReduce: copies between the GPUs, a third
    of the step.
    """
    builder = keras(4, A100, (AMPERE_HALF, 60, 6200, ""))
    for step in range(6):
        for device in range(4):
            for one in range(10):
                at = step * 10_000 + 6250 + 350 * one
                builder.on_line(
                    f"/device:GPU:{device}",
                    "Stream #21(MemcpyP2P)",
                    "MemcpyP2P",
                    at,
                    at + 345,
                    tf_op="Adam/AddN:AddN",
                    memcpy_details="kind_src:device kind_dst:device size:67108864 dest:1 async:1",
                )
    return builder


CASES |= {
    "v6e, steps on the device's line": (
        device_steps,
        Truth(
            "compute",
            quiet=True,
            steps=6,
            numbers={"step_time_ms": (9.9, 10.1), "device_busy_fraction": (0.95, 1)},
        ),
    ),
    "TPU v3, TensorFlow 2.4, infeed, no host in the file": (
        colab_tpu,
        Truth("input", must=("input|infeed",), never=r"jax\.|jnp\.", steps=5),
    ),
    "H100, two hosts, one slower": (
        two_hosts_skewed,
        Truth(
            "imbalance collective",
            must=("host1|slower|straggl|waits? for|uneven|imbalance",),
        ),
    ),
    "H100, a slow loader in Python": (
        slow_loader,
        Truth("input host", must=("load|batch|input|Python",)),
    ),
    "A100, the loss is read every step": (
        loss_read,
        Truth("host compute idle launch", must=("read|wait|every|log",)),
    ),
    "L4, JAX without jit": (
        eager_jax,
        Truth("launch host", must=(r"jit",), never=r"tf\.function"),
    ),
    "A100, recompiling": (recompiling, Truth("compile", must=("compil|shape",))),
    "v5e, Python between programs": (
        host_between_modules,
        Truth("host input", must=("Python|host|random_crop",)),
    ),
    "v6e, vLLM's two programs a token": (
        vllm_on_tpu,
        Truth("compute none", quiet=True, never=r"log\(step|training|every \d+ steps"),
    ),
    "H100, prefill and decode in turns": (
        mixed_serving,
        Truth(
            "compute none",
            quiet=True,
            never=r"log\(step|training|every \d+ steps|multiples? of 8",
        ),
    ),
    "A100, TensorFlow with XLA in fp32": (
        lambda: tf_xla("f32"),
        Truth(
            "compute", must=("mixed_(b)?float16|mixed precision",), never=r"jax\.|jnp\."
        ),
    ),
    "A100, TensorFlow with XLA in bf16": (
        lambda: tf_xla("bf16"),
        Truth("compute", quiet=True, never=r"fp32"),
    ),
    "V100, one batch of Keras, busy": (
        lambda: keras_batch(1, 30_000, big=True),
        Truth("compute", must=("fp32|mixed",), never=r"jax\.", steps=1),
    ),
    "V100, one batch of Keras, gaps": (
        lambda: keras_batch(90, 8_000),
        Truth("launch host", never=r"jax\.", steps=1),
    ),
    "A100, sums as copies": (
        copied_sums,
        Truth(
            "transfer collective",
            must=(
                "NCCL|between (the )?(GPUs|devices)|devices? to (another "
                ")?device|collective|D2D|P2P",
            ),
            never=r"jax\.|donat",
        ),
    ),
    "MI300X, fp32 by hipBLASLt": (
        lambda: jax(
            1,
            MI300X,
            (
                "Cijk_Ailk_Bljk_S_B_Bias_HA_S_SAV_UserArgs_MT16x16x128_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1",
                0,
                9800,
                "",
            ),
        ),
        Truth("compute", must=("bf16|bfloat16",)),
    ),
    "v6e, weights fetched into VMEM late": (
        lambda: tpu(
            1,
            "v6e",
            (
                "%copy-start.4 = (bf16[4096,1024]{1,0:T(8,128)S(1)}, "
                "bf16[4096,1024]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(%w)",
                0,
                1,
            ),
            ("%fusion.1 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput", 1, 7000),
            (
                "%copy-done.4 = bf16[4096,1024]{1,0:T(8,128)S(1)} "
                "copy-done(%copy-start.4)",
                7000,
                9800,
            ),
            stated={"fusion": ("convolution fusion", 3_500_000_000_000, 100_000_000)},
        ),
        Truth("compute memory", never="offload|host|donat"),
    ),
    "v6e, weights fetched into VMEM in time": (
        lambda: tpu(
            1,
            "v6e",
            (
                "%copy-start.4 = (bf16[4096,1024]{1,0:T(8,128)(2,1)S(1)}, "
                "bf16[4096,1024]{1,0:T(8,128)(2,1)"
                "}, u32[]{:S(2)}) copy-start(%w)",
                0,
                1,
            ),
            ("%fusion.1 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput", 1, 9500),
            (
                "%copy-done.4 = bf16[4096,1024]{1,0:T(8,128)(2,1)S(1)} "
                "copy-done(%copy-start.4)",
                9500,
                9800,
            ),
            stated={
                "fusion": ("convolution fusion", 5_000_000_000_000, 100_000_000),
                "copy-start": ("copy-start", 0, 8_388_608),
                "copy-done": ("copy-done", 0, 8_388_608),
            },
        ),
        Truth("compute", quiet=True, never="offload|host|donat"),
    ),
    "v6e, saved activations sliced from the host": (
        lambda: tpu(
            1,
            "v6e",
            (
                "%dynamic-slice-start.3 = ((bf16[32,8,4096]{2,1,0:T(8,128)S(5)}), "
                "bf16[1,8,4096]{2,1,0}, u3"
                "2[]{:S(2)}) dynamic-slice-start(%a, %i)",
                0,
                1,
            ),
            ("%fusion.1 = bf16[4096,4096]{1,0} fusion(%p), kind=kOutput", 1, 6000),
            (
                "%dynamic-slice-done.3 = bf16[1,8,4096]{2,1,0} "
                "dynamic-slice-done(((bf16[32,8,4096]{2,1,0:T"
                "(8,128)S(5)}), bf16[1,8,4096], u32[]) %dynamic-slice-start.3)",
                6000,
                9800,
            ),
            stated={
                "fusion": ("convolution fusion", 3_000_000_000_000, 100_000_000),
                "dynamic-slice-start": ("async-start", 0, 0),
                "dynamic-slice-done": ("async-done", 0, 0),
            },
        ),
        Truth("transfer", must=("offload",), never=r"donat|device_put|every \d+ steps"),
    ),
    "H100 PCIe, two of them": (
        lambda: jax(
            2,
            gpu("NVIDIA H100 PCIe", 9, 0, 114, 2039, 80, 1_755_000),
            (NVJET, 0, 5600, "dot.2"),
            (SUM, 5600, 9800, "all-reduce.3"),
            program=hlo.exchange("all-reduce", [[0, 1]], "product"),
        ),
        Truth("collective", never="NVLS|NCCL_P2P|NCCL_PROTO"),
    ),
}


def judged(report: Report) -> list[str]:
    """The words of each finding that judges the run, in order."""
    return [
        f"{one.title} {one.summary} "
        + " ".join(str(seen.value) for seen in one.evidence)
        + " ".join(f"{fix.do} {fix.snippet}" for fix in one.fixes)
        for one in report.findings
        if one.category != "capture"
    ]


def wrong(report: Report, truth: Truth) -> list[str]:
    """In what the report is not what an expert says."""
    words, out = judged(report), []
    if report.verdict.bottleneck not in truth.verdict.split():
        out.append(f"verdict {report.verdict.bottleneck}, not {truth.verdict}")
    out += [
        f"nothing says /{one}/"
        for one in truth.must
        if not any(re.search(one, told, re.I) for told in words)
    ]
    out += [
        f"says /{truth.never}/: {hit[0]}"
        for told in words
        if (hit := re.search(truth.never, told, re.I))
    ]
    if truth.quiet:
        out += [
            f"{one.severity}: {one.rule_id}"
            for one in report.findings
            if one.category != "capture" and one.severity.rank >= Severity.MEDIUM.rank
        ]
    if truth.first and not (words and re.search(truth.first, words[0], re.I)):
        out.append(f"does not begin with /{truth.first}/")
    if truth.steps and report.steps.count != truth.steps:
        out.append(f"{report.steps.count} steps")
    for name, (low, high) in (truth.numbers or {}).items():
        value = report.metrics[name].value
        if value is None or not low <= value <= high:
            out.append(f"{name} {value}")
    if truth.anywhere and not re.search(
        truth.anywhere, str(msgspec.to_builtins(report)), re.I
    ):
        out.append(f"/{truth.anywhere}/ is nowhere")
    return out


@pytest.mark.parametrize("name", CASES)
def test_an_expert_would_say_the_same(name: str) -> None:
    build, truth = CASES[name]

    assert wrong(build().report(), truth) == []
