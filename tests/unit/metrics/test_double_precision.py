"""Time in 64-bit floats, by HLO and by kernels' names."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps

approx = pytest.approx


def test_hlo_tells_which_results_are_of_64_bits() -> None:
    """30 and 20 of 100 µs; a tuple counts by its parts."""
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f64[8,8]"),
            hlo.op(
                2, "dot", "f64[8,8]", 1, 1, name="wide", extra=hlo.dot_numbers([1], [0])
            ),
            hlo.op(3, "custom-call", "(c128[8], s32[8])", 1, name="spectrum"),
            hlo.op(4, "convert", "f32[8,8]", 2, name="narrow"),
            hlo.op(5, "add", "s64[8]", 1, 1, name="numbers"),
        )
    )
    kernels = (
        ("g", 30.0, "wide"),
        ("c", 20.0, "spectrum"),
        ("n", 15.0, "narrow"),
        ("a", 5.0, "numbers"),
    )
    metrics = gpu_steps(*kernels, program=program).measure()

    assert metrics.value("double_precision_fraction") == approx(0.5)
    assert metrics.fact("double_precision_op") == "wide"


def test_kernels_names_tell_where_there_is_no_hlo() -> None:
    """40 of 100 µs in doubles, 20 in 16 bits, 30 of which no name tells."""
    doubles, halves = (
        ("sm80_xmma_gemm_f64f64_f64f64", 40.0),
        ("sm80_xmma_gemm_f16f16_f16f16", 20.0),
    )
    metrics = gpu_steps(doubles, halves, ("some_kernel", 30.0)).measure()

    assert metrics.value("double_precision_fraction") == approx(0.4)


def test_neither_hlo_nor_names_tell() -> None:
    metrics = gpu_steps(("some_kernel", 40)).measure()

    assert metrics.value("double_precision_fraction") is None
    assert "precision" in metrics["double_precision_fraction"].reason
