"""Steps of one GPU whose kernels belong to ops of a program, times in microseconds.

>>> gpu_steps(("loop_transpose_fusion", 30), ("sm90_gemm", 60)).measure()
"""

from __future__ import annotations

from support.trace_builder import TraceBuilder, trace

PERIOD = 100
STEPS = 4


def dispatched_steps(busy_us: int) -> TraceBuilder:
    """Five steps of 10 ms with one dispatch each, of which the GPU works that long."""
    built = trace().steps(5, 10_000)
    built.busy("GPU:0", *((10_000 * i, 10_000 * i + busy_us) for i in range(5)))
    for i in range(5):
        built.call("PjitFunction(step)", 10_000 * i, 10_000 * i + 1_000)
    return built


def gpu_steps(
    *kernels: tuple[str, float] | tuple[str, float, str],
    program: bytes | None = None,
    **properties: object,
) -> TraceBuilder:
    """Four steps of 100 µs. Each runs the kernels one after the other: (name, length)
    or (name, length, HLO op).

    properties: of the GPU's plane.
    """
    builder = trace()
    if program is not None:
        builder.program("jit_step", program)
    if properties:
        builder.plane_stat("/device:GPU:0", **properties)
    for index in range(STEPS):
        at = float(index * PERIOD)
        builder.step(at, at + PERIOD)
        for name, length, *op in kernels:
            stats = (
                {"hlo_op": op[0], "hlo_module": "jit_step", "program_id": 7}
                if op
                else {}
            )
            builder.on_line(
                "/device:GPU:0", "Stream #1(Compute)", name, at, at + length, **stats
            )
            at += length
    return builder
