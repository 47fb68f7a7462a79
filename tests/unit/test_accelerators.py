"""Runs on GPUs and TPUs, built from names that their runtimes document: what an expert
would say first, and what nobody may say.

Times in microseconds; four to six steps of 1 ms.
"""

from __future__ import annotations

import re
from functools import partial

import pytest
from support import hlo_builder as hlo
from support.trace_builder import TraceBuilder, _set, _stat_id, trace

from tfadvisor.report.model import Report
from tfadvisor.vocabulary import Severity

DOT = hlo.dot_numbers([1], [0])
PERIOD = 1000


def gpu(
    name: str, major: int, minor: int, cores: int, gb_s: float, gib: int = 80
) -> dict[str, object]:
    return {
        "device_vendor": "Nvidia",
        "gpu_device_name": name,
        "compute_cap_major": major,
        "compute_cap_minor": minor,
        "core_count": cores,
        "clock_rate": 1_980_000,
        "memory_bandwidth": int(gb_s * 1e9),
        "memory_size": gib << 30,
    }


A100 = gpu("NVIDIA A100-SXM4-80GB", 8, 0, 108, 2039)
RTX_4090 = gpu("NVIDIA GeForce RTX 4090", 8, 9, 128, 1008, 24)
L4 = gpu("NVIDIA L4", 8, 9, 58, 300, 24)
H200 = gpu("NVIDIA H200", 9, 0, 132, 4800, 141)
B200 = gpu("NVIDIA B200", 10, 0, 148, 8000, 180)
TPUS = {
    "v5e": {
        "device_type_string": "TPU v5 Lite",
        "peak_teraflops_per_second": 197.0,
        "peak_hbm_bw_gigabytes_per_second": 819.0,
    },
    "v5p": {
        "device_type_string": "TPU v5",
        "peak_teraflops_per_second": 459.0,
        "peak_hbm_bw_gigabytes_per_second": 2765.0,
    },
    "v7": {
        "device_type_string": "TPU7x",
        "peak_teraflops_per_second": 2307.0,
        "peak_hbm_bw_gigabytes_per_second": 7380.0,
    },
}


def on_gpus(
    count: int,
    about: dict[str, object],
    *kernels: tuple[str, float, float, str],
    program: bytes | None = None,
) -> TraceBuilder:
    """Kernels (name, from, to, HLO op or "") of each of five steps, alike on all of the
    GPUs; NCCL has its own stream.
    """
    builder = trace()
    if program is not None:
        builder.program("jit_step", program)
    for device in range(count):
        builder.plane_stat(f"/device:GPU:{device}", **about)
    for step in range(5):
        at = step * PERIOD
        builder.step(at, at + PERIOD).call("PjitFunction(step)", at, at + 5)
        for device in range(count):
            for name, start, end, op in kernels:
                stats = (
                    {"hlo_op": op, "hlo_module": "jit_step", "program_id": 7}
                    if op
                    else {}
                )
                line = (
                    "Stream #5(Compute)"
                    if "nccl" in name
                    else "Stream #20(MemcpyP2P)"
                    if "Memcpy" in name
                    else "Stream #15(Compute)"
                )
                builder.on_line(
                    f"/device:GPU:{device}", line, name, at + start, at + end, **stats
                )
    return builder


def on_tpus(
    count: int,
    model: str,
    *ops: tuple[str, float, float],
    line: str = "XLA Ops",
    **stated: tuple[str, int, int],
) -> TraceBuilder:
    """Ops of each of six steps, barriers on a line of their own. stated: category,
    operations and bytes by the name's stem.
    """
    builder = trace()
    for step in range(6):
        at = step * PERIOD
        builder.step(at, at + PERIOD).call("PjitFunction(train_step)", at, at + 5)
        for device in range(count):
            plane = f"/device:TPU:{device}"
            builder.plane_stat(plane, **TPUS[model]).on_line(
                plane, "XLA Modules", "jit_train_step(123)", at, at + 995
            )
            for name, start, end in ops:
                builder.on_line(
                    plane,
                    line if name.startswith("barrier") else "XLA Ops",
                    name,
                    at + start,
                    at + end,
                )
    for device in range(count):
        plane = builder._plane_of(f"/device:TPU:{device}")
        for entry in plane.event_metadata.values():
            told = stated.get(
                entry.name.decode().removeprefix("%").partition(".")[0], ()
            )
            for stat, value in zip(
                ("hlo_category", "flops", "bytes_accessed"), told, strict=False
            ):
                _set(entry.stats.add(metadata_id=_stat_id(plane, stat)), plane, value)
    return builder


def square(kind: str, dtype: str = "f32", side: int = 4096) -> bytes:
    shape = f"{dtype}[{side},{side}]"
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", shape),
            hlo.op(2, kind, shape, 1, 1, name=f"{kind}.2", extra=DOT),
        )
    )


exchange = partial(hlo.exchange, path="jit(step)/layer_0/dense", name="jit_step")
NCCL = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SUM = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
NVJET = "nvjet_sm100_tst_128x256_64x6_2x1_2cta_v_bz_TNT"
GEMV = (
    "void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, "
    "float, 128, 16, 4, 4, false>(…)"
)


def words(report: Report, least: Severity = Severity.INFO) -> str:
    """All that judges the run, the trace itself left aside."""
    told = [
        one
        for one in report.findings
        if one.category != "capture" and one.severity.rank >= least.rank
    ]
    return "\n".join(
        f"{one.title} {one.summary} "
        + " ".join(str(seen.value) for seen in one.evidence)
        + " ".join(f"{fix.do} {fix.snippet}" for fix in one.fixes)
        for one in told
    )


def decode(about: dict[str, object]) -> TraceBuilder:
    builder = trace().plane_stat("/device:GPU:0", **about)
    for step in range(8):
        at = step * PERIOD
        builder.call("PjitFunction(generate_token)", at, at + 100).call(
            "np.asarray(jax.Array)", at + 100, at + 980
        )
        for one in range(80):
            builder.busy("GPU:0", (at + 110 + 10 * one, at + 118 + 10 * one), name=GEMV)
    return builder


def server() -> TraceBuilder:
    builder = trace().plane_stat("/device:TPU:0", **TPUS["v5e"])
    for turn in range(40):
        at = turn * 5 * PERIOD
        for number, (name, start, end) in enumerate(
            (("prefill_512", 0, 1500), ("insert", 1600, 1700), ("generate", 1800, 4200))
        ):
            builder.call(f"PjitFunction({name})", at + start, at + start + 60)
            builder.on_line(
                "/device:TPU:0",
                "XLA Modules",
                f"jit_{name}({number})",
                at + start + 50,
                at + end,
            )
            builder.on_line(
                "/device:TPU:0",
                "XLA Ops",
                f"%fusion.{number} = bf16[1] fusion()",
                at + start + 50,
                at + end,
            )
    return builder


def mirrored(kernel: str, number: int) -> TraceBuilder:
    builder = trace()
    for step in range(6):
        at = step * 4 * PERIOD
        builder.step(at, at + 4 * PERIOD).call(
            "EagerLocalExecute: __inference_train_function_77", at, at + 3900
        )
        for device in range(4):
            builder.plane_stat(f"/device:GPU:{device}", **A100)
            builder.busy(
                f"GPU:{device}",
                (at + 20, at + 1600),
                name="ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn",
                stream=15,
            )
            for one in range(number):
                builder.collective(
                    f"GPU:{device}", at + 1600 + 11 * one, at + 1609 + 11 * one, kernel
                )
    return builder


SAYS = {
    "TF32 on an A100": (
        on_gpus(
            1,
            A100,
            ("ampere_sgemm_tf32_128x64_tn", 0, 20, ""),
            ("cutlass_80_tensorop_s1688gemm_128x256_16x3_tn_align4", 20, 950, ""),
        ),
        r"bfloat16|bf16",
    ),
    "fp32 in a Triton fusion of an RTX 4090": (
        on_gpus(
            1, RTX_4090, ("gemm_fusion_dot_2", 0, 950, "dot.2"), program=square("dot")
        ),
        r"bfloat16|bf16",
    ),
    "a command buffer of a B200 that transposes": (
        on_gpus(
            1,
            B200,
            (NVJET, 0, 500, "command_buffer"),
            ("transpose_2", 500, 950, "command_buffer"),
            program=square("transpose"),
        ),
        r"layout|transpos",
    ),
    "one host of 128 B200": (
        on_gpus(
            8,
            B200,
            (NVJET, 0, 600, "dot.2"),
            (SUM, 600, 990, "all-reduce.3"),
            program=exchange("all-reduce", [list(range(128))], "product"),
        ),
        r"\b128\b",
    ),
    "weights gathered on H200": (
        on_gpus(
            8,
            H200,
            (NVJET, 0, 600, "dot.2"),
            (NCCL, 600, 990, "all-gather.3"),
            program=exchange("all-gather", [list(range(8))]),
        ),
        r"weight|parameter",
    ),
    "experts on H200": (
        on_gpus(
            8,
            H200,
            (NVJET, 0, 600, "dot.2"),
            (
                "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
                600,
                990,
                "all-to-all.3",
            ),
            program=exchange(
                "all-to-all",
                [list(range(8))],
                "product",
                path="jit(step)/moe/expert/all_to_all",
            ),
        ),
        r"expert|all-to-all",
    ),
    "TensorFlow on four A100 with 200 small sums": (
        mirrored("ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)", 200),
        r"pack|larger",
    ),
    "a barrier between the ops of a v5e": (
        on_tpus(
            4,
            "v5e",
            ("%fusion.1 = bf16[4096,4096] fusion(%p)", 0, 680),
            ("barrier-cores", 680, 990),
            line="XLA TraceMe",
        ),
        r"barrier",
    ),
    "an addition at the memory's speed on a v7": (
        on_tpus(
            1,
            "v7",
            ("%add_fusion.1 = f32[1024,1024,512] fusion(%p)", 0, 980),
            add_fusion=("loop fusion", 536_870_912, 6_442_450_944),
        ),
        r"HBM|memory bandwidth",
    ),
    "another slice that a v5p waits for": (
        on_tpus(
            4,
            "v5p",
            ("%fusion.1 = bf16[4096,4096] fusion(%p)", 0, 650),
            (
                "%recv-done.2 = (bf16[8]) recv-done(%recv.2), is_host_transfer=true",
                650,
                990,
            ),
        )
        .thread("dcn")
        .call("MegaScale: Communication Transport Receive", 660, 980),
        r"DCN|slice",
    ),
}
SAYS_NOT = {
    "decoding on an L4": (
        decode(L4),
        r"multiples? of 8|every \d+ steps|log\(step",
        Severity.INFO,
    ),
    "serving on a v5e": (
        server(),
        r"log\(step|training loop|every \d+ steps",
        Severity.LOW,
    ),
    "one host of 128 B200": (
        SAYS["one host of 128 B200"][0],
        r"NCCL_PROTO|NVLink|NVLS|one host",
        Severity.INFO,
    ),
    "weights gathered on H200": (
        SAYS["weights gathered on H200"][0],
        r"in one sharding",
        Severity.INFO,
    ),
    "experts on H200": (SAYS["experts on H200"][0], r"in one sharding", Severity.INFO),
    "TensorFlow on four A100": (
        SAYS["TensorFlow on four A100 with 200 small sums"][0],
        r"jax\.|jit\(",
        Severity.INFO,
    ),
    "two RTX 4090 at the speed of PCIe": (
        on_gpus(
            2,
            RTX_4090,
            (
                "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
                0,
                985,
                "dot.2",
            ),
            (SUM, 300, 900, "all-reduce.3"),
            program=exchange("all-reduce", [[0, 1]], "product"),
        ),
        r"NVLink|NVLS|NCCL_P",
        Severity.INFO,
    ),
    "16 bits on a B200": (on_gpus(1, B200, (NVJET, 0, 990, "")), r".", Severity.MEDIUM),
    "8-bit floats on an H200": (
        on_gpus(1, H200, ("nvjet_sm90_qqtst_128x256_128x4_2x1_v_bz_TNT", 0, 990, "")),
        r".",
        Severity.MEDIUM,
    ),
    "16 bits on a v5p": (
        on_tpus(
            4,
            "v5p",
            ("%fusion.1 = bf16[4096,4096] fusion(%p), kind=kOutput", 0, 985),
            fusion=("convolution fusion", 400_000_000_000, 100_000_000),
        ),
        r".",
        Severity.MEDIUM,
    ),
    "overlapped sums of a v5e": (
        on_tpus(
            4,
            "v5e",
            ("%fusion.1 = bf16[4096,4096] fusion(%p)", 0, 985),
            (
                "%all-reduce-done.2 = bf16[8] all-reduce-done(%all-reduce-start.2)",
                985,
                990,
            ),
        ),
        r".",
        Severity.MEDIUM,
    ),
}


@pytest.mark.parametrize("name", SAYS)
def test_the_cause_is_named(name: str) -> None:
    builder, wanted = SAYS[name]

    assert re.search(wanted, words(builder.report()), re.IGNORECASE)


@pytest.mark.parametrize("name", SAYS_NOT)
def test_what_does_not_apply_is_not_said(name: str) -> None:
    builder, unwanted, least = SAYS_NOT[name]

    assert not re.search(unwanted, words(builder.report(), least), re.IGNORECASE)


@pytest.mark.parametrize(
    "op", ["all-gather-start.3", "collective-permute-start.1", "all-reduce.3"]
)
def test_what_copy_engines_exchange_bounds_the_step_as_communication(op: str) -> None:
    report = on_gpus(4, H200, (NVJET, 0, 500, ""), ("MemcpyP2P", 500, 990, op)).report()

    assert report.verdict.bottleneck == "collective"
    assert "donat" not in words(report)
