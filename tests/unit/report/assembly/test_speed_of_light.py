"""The least time of a step with what is above it, worked out on paper."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps

from tfadvisor.report.model import Report

GPU = {
    "gpu_device_name": "NVIDIA H100 80GB HBM3",
    "memory_bandwidth": 1_000_000_000_000,
    "compute_cap_major": 9,
    "compute_cap_minor": 0,
}
WIDE = "f32[1000000]"
"""4 MB: 4 µs at 1,000 GB/s."""
PLACE = hlo.metadata("jit(step)/add", "/home/me/train.py", 42)


def a_report() -> Report:
    """Steps of 100 µs: an addition of 12 µs at least takes 24, a copy of 8 takes 32, and
    an unknown kernel 10.
    """
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", WIDE),
            hlo.op(2, "parameter", WIDE, number=1),
            hlo.op(3, "add", WIDE, 1, 2, name="add.3", metadata=PLACE),
            hlo.op(4, "copy", WIDE, 3, name="copy.4"),
        )
    )
    kernels = (("add", 24, "add.3"), ("copy", 32, "copy.4"), ("other", 10))
    return gpu_steps(*kernels, program=program, **GPU).report()


def test_the_least_time_and_the_gaps_add_up_to_the_step() -> None:
    light = a_report().speed_of_light

    assert light is not None
    assert light.ms == pytest.approx(0.020)
    assert light.fraction == pytest.approx(0.20)
    assert light.ms + sum(one.ms for one in light.gaps) == pytest.approx(0.1)


def test_each_kind_of_op_has_what_it_takes_and_what_is_above() -> None:
    light = a_report().speed_of_light

    assert light is not None
    gaps = {one.what: one for one in light.gaps}
    added = gaps["elementwise ops"]
    assert (added.ms, added.takes_ms) == pytest.approx((0.012, 0.024))
    assert added.reached == pytest.approx(0.5)
    assert added.limit == "memory bandwidth"
    assert [(one.file, one.line) for one in added.places] == [("train.py", 42)]
    assert gaps["ops that only move data"].ms == pytest.approx(0.024)
    unknown = gaps["kernels without a known cost"]
    assert (unknown.ms, unknown.reached) == (pytest.approx(0.010), None)


def test_time_without_computing_is_a_gap_as_a_whole() -> None:
    light = a_report().speed_of_light

    assert light is not None
    others = [one for one in light.gaps if one.limit is None]
    assert sum(one.ms for one in others) == pytest.approx(0.044)


def test_where_it_is_not_known_the_report_says_why() -> None:
    report = gpu_steps(("other", 24)).report()

    assert report.speed_of_light is None
    assert report.speed_of_light_absent == (
        "the trace does not say how fast the device and its memory are"
    )
    assert report.to_dict()["speed_of_light"] is None
