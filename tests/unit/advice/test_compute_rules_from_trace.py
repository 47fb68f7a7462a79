"""Rules of what devices compute, from the bytes of a built trace to the finding:
kernels and ops by their documented names.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support import hlo_builder as hlo
from support.cpu_step import cpu_steps
from support.gpu_step import gpu_steps
from support.trace_builder import TraceBuilder, trace

SQUARE = "f32[64,64]"
DOT = hlo.dot_numbers([1], [0])
GIB = 1 << 30


def program(*ops: bytes, more: tuple[bytes, ...] = (), of: str = SQUARE) -> bytes:
    """One computation of a parameter and these ops, numbered from 2; the other
    computations.
    """
    return hlo.module(*more, hlo.computation(1, hlo.op(1, "parameter", of), *ops))


def where(path: str) -> bytes:
    return hlo.metadata(path, "train.py", 12)


def product_as_a_loop() -> TraceBuilder:
    dot = hlo.op(
        2,
        "dot",
        SQUARE,
        1,
        1,
        name="wrapped_dot",
        metadata=where("jit(step)/dot_general"),
        extra=DOT,
    )
    return gpu_steps(
        ("wrapped_dot", 40, "wrapped_dot"), ("sm80_gemm", 40), program=program(dot)
    )


def random_draws() -> TraceBuilder:
    draw = hlo.op(
        2,
        "sine",
        SQUARE,
        1,
        name="draw",
        metadata=where("jit(step)/jit(_normal)/threefry2x32"),
    )
    return gpu_steps(
        ("loop_fusion", 40, "draw"), ("sm80_gemm", 40), program=program(draw)
    )


def scan_over_layers() -> TraceBuilder:
    body = hlo.computation(
        2,
        hlo.op(1, "parameter", SQUARE),
        hlo.op(2, "dot", SQUARE, 1, 1, name="product", extra=DOT),
        hlo.op(
            9,
            "dynamic-slice",
            SQUARE,
            1,
            1,
            name="cut",
            metadata=where("jit(step)/while/body/dynamic_slice"),
        ),
    )
    looped = program(hlo.op(2, "while", SQUARE, 1, calls=[2]), more=(body,))
    return gpu_steps(
        ("gemm", 50, "product"),
        ("loop_dynamic_slice_fusion", 30, "cut"),
        program=looped,
    )


def attention() -> TraceBuilder:
    scores, context = "f32[8,128,128]", "f32[8,128,64]"
    reducers = [
        hlo.computation(
            one, hlo.op(1, "parameter", "f32[]"), hlo.op(2, opcode, "f32[]", 1, 1)
        )
        for one, opcode in ((3, "maximum"), (4, "add"))
    ]
    softmax = hlo.computation(
        2,
        hlo.op(1, "parameter", scores),
        hlo.op(2, "reduce", "f32[8,128]", 1, 1, calls=[3]),
        hlo.op(3, "exponential", scores, 1),
        hlo.op(4, "reduce", "f32[8,128]", 3, 3, calls=[4]),
        hlo.op(5, "divide", scores, 3, 4),
    )
    ops = (
        hlo.op(
            2,
            "dot",
            scores,
            1,
            1,
            name="scores",
            extra=hlo.dot_numbers([2], [2], [0], [0]),
        ),
        hlo.op(3, "fusion", scores, 2, calls=[2], name="softmax"),
        hlo.op(
            4,
            "dot",
            context,
            3,
            1,
            name="context",
            extra=hlo.dot_numbers([2], [1], [0], [0]),
        ),
    )
    kernels = (
        ("sm80_gemm", 20, "scores"),
        ("softmax", 30, "softmax"),
        ("sm80_gemm", 10, "context"),
    )
    named = program(*ops, more=(*reducers, softmax), of=context)
    return gpu_steps(
        *kernels, program=named, device_vendor="Nvidia", compute_cap_major=8
    )


def checks_for_nan() -> TraceBuilder:
    return cpu_steps(
        ("dense/CheckNumericsV2:CheckNumericsV2", 40), ("dense/MatMul:MatMul", 50)
    )


def doubles() -> TraceBuilder:
    dot = hlo.op(2, "dot", "f64[64,64]", 1, 1, name="dot.2", extra=DOT)
    return gpu_steps(
        ("sm80_xmma_gemm_f64f64_f64f64", 60, "dot.2"),
        program=program(dot, of="f64[64,64]"),
    )


def halves_on_ordinary_cores() -> TraceBuilder:
    kernels = (
        ("turing_hgemm_simt_fp16_128x64", 40),
        ("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tensor16x8x16", 20),
    )
    return gpu_steps(*kernels, device_vendor="Nvidia", compute_cap_major=8)


def ops_on_the_host() -> TraceBuilder:
    builder = trace()
    for at in range(0, 400, 100):
        builder.thread("python").step(at, at + 100).busy("GPU:0", (at, at + 50))
        builder.thread("tf_Compute/1").call(
            "model/unique/Unique:Unique", at + 50, at + 95
        )
    return builder


def pool(held: int, capacity: int) -> TraceBuilder:
    """GiB in use, and that JAX's pool holds, of a GPU of 16 GiB."""
    builder = trace().steps(2, period=100).busy("GPU:0", (0, 90), (100, 190))
    builder.plane_stat("/device:GPU:0", memory_size=16 * GIB)
    stats = {
        "allocator_name": "GPU_0_bfc",
        "bytes_allocated": held * GIB,
        "bytes_reserved": 0,
    }
    free = {"bytes_available": (capacity - held) * GIB, "peak_bytes_in_use": held * GIB}
    return builder.call("MemoryAllocation", 10, 10, **stats, **free)


def two_devices_alike() -> TraceBuilder:
    """Neither is told apart, and no input is split over them."""
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[8,8]"),
        hlo.op(2, "add", "f32[8,8]", 1, 1, name="add.2"),
    )
    extra = hlo.field(15, hlo.field(1, 1) + hlo.field(2, 2)) + hlo.field(14, b"")
    builder = (
        trace().steps(4, period=100).program("jit_step", hlo.module(entry, extra=extra))
    )
    stats = {"hlo_op": "add.2", "hlo_module": "jit_step", "program_id": 7}
    for at in range(0, 400, 100):
        for device in ("/device:GPU:0", "/device:GPU:1"):
            builder.on_line(
                device,
                "Stream #1(Compute)",
                "loop_add_fusion",
                at + 10,
                at + 95,
                **stats,
            )
    return builder


BUILT: dict[str, Callable[[], TraceBuilder]] = {
    "products-as-loops": product_as_a_loop,
    "random-numbers": random_draws,
    "slices-copied-in-loop": scan_over_layers,
    "unfused-attention": attention,
    "debugging-in-step": checks_for_nan,
    "double-precision": doubles,
    "fallback-kernels": halves_on_ordinary_cores,
    "ops-on-host": ops_on_the_host,
    "small-memory-pool": lambda: pool(held=12, capacity=12),
    "same-work-on-every-device": two_devices_alike,
}


@pytest.mark.parametrize("rule", BUILT)
def test_the_trace_leads_to_the_finding(rule: str) -> None:
    report = BUILT[rule]().report()

    assert report.broken == ()
    assert rule in [one.rule_id for one in report.findings]


def test_the_verdict_of_a_step_that_only_computes_names_the_draws_that_are_worth_checking() -> (
    None
):
    """Thirty of a hundred microseconds, at the line of the program that draws, which
    computes less than the product.
    """
    draw = hlo.op(
        2,
        "sine",
        SQUARE,
        1,
        name="draw",
        metadata=where("jit(step)/jit(_normal)/threefry2x32"),
    )
    drawing = gpu_steps(
        ("threefry2x32", 30, "draw"), ("sm80_gemm", 69), program=program(draw)
    )

    assert drawing.report().verdict.summary.endswith(
        "no trace shows; worth checking: drawing random numbers takes much of the "
        "step (train.py:12)."
    )
