"""From built traces to the first finding: one fault each, as the GPU scenarios of
fixtures/gpu plant them.
"""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps
from support.trace_builder import TraceBuilder, trace

from tfadvisor.advice.findings import Finding
from tfadvisor.vocabulary import Severity

DOT = hlo.dot_numbers([1], [0])
ODD = "bf16[4093,4093]"
SQUARE = "f32[64,64]"


def advice(builder: TraceBuilder) -> list[Finding]:
    report = builder.report()
    assert report.broken == ()
    return [
        one
        for one in report.findings
        if one.category != "capture" and one.severity is not Severity.INFO
    ]


def first(builder: TraceBuilder) -> str:
    return advice(builder)[0].rule_id


def test_channels_first_data() -> None:
    assert (
        first(
            gpu_steps(
                ("nchwToNhwcKernel", 25),
                ("sm80_conv_bf16", 45),
                ("nhwcToNchwKernel", 25),
            )
        )
        == "layout-conversions"
    )


def test_cumulative_sums() -> None:
    """A question: a trace does not show how long the rows are."""
    found = advice(
        gpu_steps(("void cub::DeviceScanKernel", 60), ("loop_add_fusion", 35))
    )

    assert [
        (one.rule_id, one.proof) for one in found if one.takes == pytest.approx(0.6)
    ] == [("cumulative-ops", "likely")]


def test_gathers() -> None:
    assert (
        first(gpu_steps(("loop_gather_fusion", 50), ("sm80_xmma_gemm_bf16bf16", 45)))
        == "general-gathers"
    )


def test_elementwise_kernels_of_tensorflow_without_xla() -> None:
    found = advice(gpu_steps(*[("Mul_GPU_DT_FLOAT_DT_FLOAT_kernel", 12.0)] * 8))

    assert found[0].rule_id == "unfused-elementwise"
    assert "8 kernels" in found[0].summary


def test_sides_of_4093() -> None:
    dot = hlo.op(
        2,
        "dot",
        ODD,
        1,
        1,
        metadata=hlo.metadata("dot_general", "train.py", 14),
        extra=DOT,
    )
    program = hlo.module(hlo.computation(1, hlo.op(1, "parameter", ODD), dot))
    found = advice(gpu_steps(("gemm_fusion_dot", 95, "dot.2"), program=program))

    assert found[0].rule_id == "misaligned-matmul-shapes"
    assert (found[0].locations[0].file, found[0].locations[0].line) == ("train.py", 14)
    assert "4093 to 4096" in found[0].fixes[0].do


def test_a_loop_that_scatters_row_by_row_is_no_case_for_larger_kernels() -> None:
    """Two hundred updates a step, 1 µs each with a pause of 2 µs that is the launch of
    the next.
    """
    update = hlo.op(
        2,
        "dynamic-update-slice",
        SQUARE,
        1,
        1,
        name="update",
        metadata=hlo.metadata("jit(step)/scatter-add", "t.py", 3),
    )
    body = hlo.computation(2, hlo.op(1, "parameter", SQUARE), update)
    entry = hlo.computation(
        1, hlo.op(1, "parameter", SQUARE), hlo.op(2, "while", SQUARE, 1, calls=[2])
    )
    builder = trace().program("jit_step", hlo.module(body, entry))
    for index in range(4):
        at = index * 600
        builder.step(at, at + 600).call("PjitFunction(step)", at, at + 598)
        for number in range(200):
            stats = {"hlo_op": "update", "hlo_module": "jit_step", "program_id": 7}
            start = at + number * 3
            builder.on_line(
                "/device:GPU:0",
                "Stream #1(Compute)",
                "loop_dynamic_update_slice_fusion",
                start,
                start + 1,
                **stats,
            )
    found = advice(builder)

    assert found[0].rule_id == "scatter-loop"
    assert not {"many-tiny-ops", "launch-gaps-between-kernels"} & {
        one.rule_id for one in found
    }


def test_a_wait_after_every_short_step() -> None:
    builder = trace()
    for index in range(6):
        at = index * 100
        builder.step(at, at + 100).call("PjitFunction(step)", at, at + 40).call(
            "BlockUntilReady", at + 40, at + 98
        )
        builder.busy("GPU:0", (at + 30, at + 96), name="sm80_xmma_gemm_bf16bf16")
    found = advice(builder)

    assert found[0].rule_id == "synchronised-every-step"
    assert "block_until_ready" in found[0].fixes[0].snippet


def test_memory_from_the_driver_in_every_step() -> None:
    builder = trace()
    for index in range(6):
        at = index * 100
        builder.step(at, at + 100).call("PjitFunction(step)", at, at + 60).call(
            "cuMemAlloc_v2", at + 5, at + 55
        )
        builder.busy("GPU:0", (at + 60, at + 99), name="sm80_xmma_gemm_bf16bf16")

    assert first(builder) == "allocation-in-steps"


@pytest.mark.parametrize(
    ("search", "pool", "found"),
    [(1000, False, True), (999, False, False), (1000, True, False)],
)
def test_buffers_that_xla_takes_from_the_driver(
    search: float, pool: bool, found: bool
) -> None:
    """XLA names no call of the driver: the search for a program's buffers is long then.
    In a pool that tells what it gives out, many buffers take long too."""
    builder = trace()
    for index in range(6):
        at = index * 1500
        builder.step(at, at + 1500).call("PjitFunction(step)", at, at + 1100)
        builder.call("Build buffer allocations", at + 5, at + 5 + search)
        if pool:
            builder.call("MemoryAllocation", at + 50, at + 50)
        builder.busy("GPU:0", (at + 1100, at + 1490), name="sm80_xmma_gemm_bf16bf16")

    assert ("allocation-in-steps" in [one.rule_id for one in advice(builder)]) is found


def test_launches_that_reach_the_second_gpu_late() -> None:
    """Both compute 50 µs; the first then waits 30 in the collective for the second."""
    builder = trace()
    for index in range(4):
        at = index * 100
        builder.step(at, at + 100).call("PjitFunction(step)", at, at + 35)
        builder.busy("GPU:0", (at + 5, at + 55)).collective("GPU:0", at + 55, at + 95)
        builder.busy("GPU:1", (at + 35, at + 85)).collective("GPU:1", at + 85, at + 95)

    assert first(builder) == "staggered-launches"


def test_two_gpus_in_turns() -> None:
    builder = trace()
    for index in range(4):
        at = index * 100
        builder.step(at, at + 100).busy("GPU:0", (at, at + 48)).busy(
            "GPU:1", (at + 50, at + 98)
        )

    assert "devices-take-turns" in {one.rule_id for one in advice(builder)}


def communicating(
    kernel: str, op: str, *spans: tuple[float, float], program: bytes, compute: float
) -> TraceBuilder:
    builder = trace().program("jit_step", program)
    for index in range(4):
        at = index * 100
        builder.step(at, at + 100)
        for device in ("GPU:0", "GPU:1"):
            stats = {"hlo_op": "dot.9", "hlo_module": "jit_step", "program_id": 7}
            builder.on_line(
                f"/device:{device}",
                "Stream #1(Compute)",
                "gemm_fusion_dot",
                at,
                at + compute,
                **stats,
            )
            for start, end in spans:
                builder.collective(
                    device,
                    at + start,
                    at + end,
                    kernel,
                    hlo_op=op,
                    hlo_module="jit_step",
                    program_id=7,
                )
    return builder


def with_collective(opcode: str, name: str, *more: bytes) -> bytes:
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", SQUARE),
            hlo.op(9, "dot", SQUARE, 1, 1, extra=DOT),
            hlo.op(10, opcode, SQUARE, 9, name=name, extra=hlo.replica_groups([0, 1])),
            *more,
        )
    )


@pytest.mark.parametrize(
    ("kernel", "opcode", "more", "spans", "rule"),
    [
        (
            "ncclDevKernel_AllGather_RING_LL",
            "all-gather",
            (),
            ((50, 70), (75, 95)),
            "layer-weights-exposed",
        ),
        (
            "ncclDevKernel_SendRecv",
            "collective-permute",
            (),
            ((50, 95),),
            "pipeline-permutes-exposed",
        ),
        (
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
            "all-reduce",
            (hlo.op(11, "dot", SQUARE, 10, 1, extra=DOT),),
            ((50, 95),),
            "products-wait-for-collectives",
        ),
        (
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            "all-reduce",
            (),
            ((50, 95),),
            "collectives-not-hidden",
        ),
        (
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            "all-reduce",
            (),
            ((20, 95),),
            "collectives-not-hidden",
        ),
    ],
)
def test_exposed_communication_by_what_it_is_for(
    kernel: str,
    opcode: str,
    more: tuple[bytes, ...],
    spans: tuple[tuple[float, float], ...],
    rule: str,
) -> None:
    program = with_collective(opcode, "it", *more)
    found = advice(communicating(kernel, "it", *spans, program=program, compute=50))

    assert found[0].rule_id == rule
    assert [one.category for one in found].count("collective") == 1
