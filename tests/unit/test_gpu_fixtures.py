"""The programs of fixtures/gpu as an H200 ran them: what is planted comes first, and
healthy ones are left alone.
"""

from __future__ import annotations

import json

import pytest
from support.places import FIXTURES

import tfadvisor
from tfadvisor.report.model import Report
from tfadvisor.vocabulary import Severity

GPU = FIXTURES / "gpu"
RECORDED = sorted(trace.parent.name for trace in GPU.glob("*/trace.xplane.pb.gz"))
UNRECORDED_MS: dict[str, float] = json.loads((GPU / "unrecorded.json").read_text())
PLANTED = {
    "jax-attention-unfused": ("compute", "unfused-attention"),
    "jax-bf16-odd": ("compute", "misaligned-matmul-shapes"),
    "jax-checkpoint": ("host", "host-work-in-loop"),
    "jax-conv-nchw": ("compute", "layout-conversions"),
    "jax-copies-in": ("transfer", "exposed-copies"),
    "jax-copies-out": ("transfer", "exposed-copies"),
    "jax-decode-copied": ("transfer", "exposed-copies"),
    "jax-decode-read": ("unknown", "synchronised-every-step"),
    "jax-double": ("compute", "double-precision"),
    "jax-elementwise-unfused": ("compute", "unfused-elementwise"),
    "jax-fp32": ("compute", "fp32-matrix-kernels"),
    "jax-lm-tf32": ("compute", "tf32-matrix-kernels"),
    "jax-loader": ("input", "input-loader-in-step"),
    "jax-logging": ("host", "host-work-in-loop"),
    "jax-loss-every-step": ("launch", "synchronised-every-step"),
    "jax-op-by-op": ("launch", "eager-execution"),
    "jax-pictures": ("input", "input-loader-in-step"),
    "jax-recompile": ("compile", "recompilation-in-steps"),
    "jax-scalars": ("launch", "host-arrays-each-step"),
    "jax-scan": ("launch", "many-tiny-ops"),
    "jax-tf32": ("compute", "tf32-matrix-kernels"),
    "jax-tiny-kernels": ("launch", "launch-gaps-between-kernels"),
    "jax-wait-every-step": ("launch", "synchronised-every-step"),
}
"""Each costs at least 20% of the step, by the clock of fixtures/gpu/unrecorded.json
beside the healthy form, or by what it is.
"""
HEALTHY = ("jax-bf16", "jax-decode", "jax-healthy", "jax-healthy-async", "jax-lm")
MISREAD = {
    "jax-allocations": "the right finding comes second: no event tells of freeing, which counts as "
    "Python",
    "jax-attention-fused": "its wait after each step is said to cost 4 to 13%; nothing was planted",
    "jax-conv-nhwc": "Python after its wait is said to cost 7 to 14%; nothing was planted",
    "jax-cumsum": "the question about cumulative sums comes after Python for 7 to 13%",
    "jax-dropout": "threefry costs 18% here at most; Python is said to cost 5 to 10%",
    "jax-dropout-rbg": "the recorded step is 72% longer than its own, and Python in it is a finding",
    "jax-indexed-numpy": "the recorded step is twice its own, and its indexing a finding",
    "jax-map-vmap": "a step of 0.18 ms: TF32 products are a finding although launching takes most of "
    "it",
    "jax-optimizer-jit": "the recorded step is 84% longer than its own, and Python in it is a finding",
    "jax-scan-graph": "launches hide in CUDA graphs: the right finding, and the verdict says compute",
    "jax-scatter-loop": "a question names the line; the verdict's launches have no finding of their own",
    "jax-tiny-kernels-graph": "Python after its wait is said to cost 9 to 18%; nothing was planted",
}


def report_of(name: str) -> Report:
    report = tfadvisor.analyze(GPU / name).report
    assert report.broken == ()
    return report


def test_every_recording_is_judged() -> None:
    assert sorted([*PLANTED, *HEALTHY, *MISREAD]) == RECORDED


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_comes_first(name: str) -> None:
    bottleneck, rule = PLANTED[name]
    report = report_of(name)
    advice = [one for one in report.findings if one.category != "capture"]

    assert (report.verdict.bottleneck, report.verdict.healthy) == (bottleneck, False)
    assert advice[0].rule_id == rule
    assert advice[0].severity.rank >= Severity.HIGH.rank


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_one_is_left_alone(name: str) -> None:
    report = report_of(name)

    assert report.verdict.healthy
    assert all(one.severity.rank <= Severity.LOW.rank for one in report.findings)


@pytest.mark.parametrize("name", ["jax-copies-in", "jax-copies-out"])
def test_pageable_copies_are_copies_for_all_their_time(name: str) -> None:
    """The copy engine takes 5 ms of 35 and of 213; the rest is the host's part, into
    and out of pinned memory.
    """
    breakdown = report_of(name).breakdown

    assert breakdown["transfer"] > 0.9


@pytest.mark.parametrize("name", ["jax-scalars", "jax-op-by-op"])
def test_handing_scalars_over_is_no_compiling(name: str) -> None:
    assert report_of(name).breakdown["compile"] == 0


def test_kernels_that_copy_in_a_cuda_graph_are_copies_within_the_device() -> None:
    """16 caches of 134 MB, read and written at some 4.3 TB/s: 1.0 ms."""
    report = report_of("jax-decode-copied")

    assert report.metrics["d2d_ms_per_step"].value == pytest.approx(1.0, abs=0.05)
    assert "donate_argnums" in report.findings[0].fixes[0].snippet
    assert "unfused-attention" not in [one.rule_id for one in report.findings]


def test_candidates_of_the_autotuner_are_no_lost_work() -> None:
    assert report_of("jax-recompile").metrics["lost_runs_fraction"].value in (0, None)


@pytest.mark.parametrize(
    "name",
    [
        "jax-healthy",
        "jax-lm",
        "jax-fp32",
        "jax-tf32",
        "jax-double",
        "jax-bf16-odd",
        "jax-copies-out",
    ],
)
def test_long_steps_last_as_long_as_without_the_profiler(name: str) -> None:
    median = report_of(name).metrics["step_time_ms"].value

    assert median == pytest.approx(UNRECORDED_MS[name], rel=0.06)
