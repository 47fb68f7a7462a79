"""CUDA graphs in a trace: kernels that bear a graph's name for an op, whole graphs, and
graphs that the recording took apart.
"""

from __future__ import annotations

import pytest
from support.hlo_builder import computation, module, op
from support.trace_builder import TraceBuilder, trace

PRODUCT = module(
    computation(
        1,
        op(1, "parameter", "f32[1024,1024]"),
        op(2, "transpose", "f32[1024,1024]", 1, name="loop_transpose_fusion.3"),
        name="main",
    ),
    name="jit_step",
)


def one_by_one(*, off: bool, module: str = "jit_step") -> TraceBuilder:
    """Four steps of 100 µs: ten kernels of 2 µs in each, launched one by one."""
    builder = trace()
    for step in range(4):
        at = step * 100
        builder.step(at, at + 100).call("PjitFunction(step)", at, at + 95)
        if off:
            builder.call(
                "WARNING: CommandBuffer disabled when profiling", at + 1, at + 1.1
            )
        for kernel in range(10):
            begin = at + 5 + 9 * kernel
            stats = {"hlo_module": module} if module else {}
            builder.kernel(
                "GPU:0", "k", begin, begin + 2, launched=(begin - 3, begin - 1), **stats
            )
    return builder


def test_gaps_of_graphs_that_the_recording_took_apart_are_not_the_programs() -> None:
    report = one_by_one(off=True).report()

    assert report.verdict.bottleneck == "unknown"
    assert "recording" in report.verdict.summary
    assert report.metrics["kernel_launch_gap_fraction"].value is None
    assert not [one for one in report.findings if one.category == "launch"]
    assert "graphs-off-while-recording" in {one.rule_id for one in report.findings}


def test_without_such_graphs_they_are() -> None:
    report = one_by_one(off=False).report()

    assert report.verdict.bottleneck == "launch"
    assert report.metrics["kernel_launch_gap_fraction"].value is not None


def test_a_small_graph_beside_many_ops_of_their_own_does_not_explain_the_gaps() -> None:
    metrics = one_by_one(off=True, module="").measure()

    assert metrics.value("kernel_launch_gap_fraction") is not None


def test_a_kernel_of_a_graph_is_looked_up_by_its_own_name() -> None:
    builder = trace().step(0, 100).program("jit_step", PRODUCT)
    stats = {"hlo_module": "jit_step", "program_id": 7, "hlo_op": "command_buffer_1"}
    builder.on_line(
        "/device:GPU:0", "Stream #1(Compute)", "loop_transpose_fusion_3", 0, 40, **stats
    )
    builder.on_line(
        "/device:GPU:0",
        "Stream #1(Compute)",
        "nvjet_tst_256x128_64x4_1x2_h_bz",
        40,
        100,
        **stats,
    )

    metrics = builder.measure()

    assert metrics.value("layout_conversion_fraction") == pytest.approx(0.4)


def test_a_whole_graph_says_nothing_of_its_kernels() -> None:
    metrics = (
        trace().step(0, 100).busy("GPU:0", (0, 90), name="CudaGraphExec:17").measure()
    )

    assert metrics.fact("graph_detail") == "only the whole graph"
    assert metrics.value("matrix_kernel_share") is None
