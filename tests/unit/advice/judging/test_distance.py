"""Whether a step is near what its devices can do, as a verdict says it."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps
from support.trace_builder import trace

from tfadvisor.report.model import Report
from tfadvisor.report.wording import verdict_name

GPU = {
    "gpu_device_name": "NVIDIA H100 80GB HBM3",
    "memory_bandwidth": 1_000_000_000_000,
    "compute_cap_major": 9,
    "compute_cap_minor": 0,
}
CANNOT_TELL = "Whether the kernels are near the devices' limits, this trace cannot tell"


def add_of(elements: int) -> bytes:
    """12 bytes an element, at 1,000 GB/s."""
    shape = f"f32[{elements}]"
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", shape),
            hlo.op(2, "parameter", shape, number=1),
            hlo.op(3, "add", shape, 1, 2, name="add.3"),
        )
    )


def adding(least_us: float, unknown_us: float = 0.0) -> Report:
    """Steps of 100 µs: an addition that needs so much of the rest, and kernels without a
    known cost.
    """
    program = add_of(round(least_us * 1e6 / 12))
    builder = gpu_steps(
        ("other", unknown_us), ("add", 99 - unknown_us, "add.3"), program=program, **GPU
    )
    for at in (400, 500):
        builder.step(at, at + 100)
        labels = {"hlo_op": "add.3", "hlo_module": "jit_step", "program_id": 7}
        line = "/device:GPU:0", "Stream #1(Compute)"
        builder.on_line(*line, "other", at, at + unknown_us)
        builder.on_line(*line, "add", at + unknown_us, at + 99, **labels)
    return builder.report()


def test_a_step_near_the_limits_is_healthy_without_a_doubt() -> None:
    """33 µs at least of 99."""
    report = adding(34)

    assert verdict_name(report) == "HEALTHY"
    assert "limits" not in report.verdict.summary


def test_a_step_far_from_them_is_not_healthy_and_says_so() -> None:
    """30 of 99 µs are less than a third."""
    report = adding(30)

    assert verdict_name(report) == "COMPUTE-BOUND"
    assert (
        "No part of the step is within a factor of three of the least time"
        in report.verdict.summary
    )
    assert "No finding is worth acting on" not in report.verdict.summary


@pytest.mark.parametrize(("unknown", "is_dark"), [(48.0, False), (50.0, True)])
def test_what_is_not_known_may_be_near(unknown: float, is_dark: bool) -> None:
    """Half of the step at most is far where kernels without a known cost take the rest:
    it may be near, which is not enough to call it healthy.
    """
    report = adding(10, unknown)

    assert not report.verdict.healthy
    assert (CANNOT_TELL in report.verdict.summary) is is_dark


def test_without_rates_a_healthy_run_says_what_it_cannot_tell() -> None:
    builder = trace().steps(6, period=100)
    for at in range(0, 600, 100):
        builder.busy("GPU:0", (at, at + 99))
    report = builder.report()

    assert report.verdict.healthy
    assert CANNOT_TELL in report.verdict.summary
