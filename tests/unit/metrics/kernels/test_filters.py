"""Convolutions with long filters."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps

approx = pytest.approx


def filtered(kernel: int, output: int) -> bytes:
    numbers = hlo.window((kernel, 1, 0, 0, 1, 1)) + hlo.convolution_numbers("b0f_0io->b0f")
    return hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", f"f32[1,{kernel + output - 1},1]"),
            hlo.op(2, "parameter", f"f32[{kernel},1,1]", number=1),
            hlo.op(3, "convolution", f"f32[1,{output},1]", 1, 2, name="echo", extra=numbers),
        )
    )


@pytest.mark.parametrize(
    ("kernel", "output"),
    [
        pytest.param(1025, 16_000, id="a filter"),
        pytest.param(16_000, 1025, id="the gradient of a filter"),
        pytest.param(256, 256, id="just as long"),
    ],
)
def test_long_filters_are_applied_element_by_element(kernel: int, output: int) -> None:
    metrics = gpu_steps(("conv", 40.0, "echo"), program=filtered(kernel, output)).measure()

    assert metrics.value("long_filter_fraction") == approx(0.4)
    assert metrics.fact("long_filter_op") == "echo"


@pytest.mark.parametrize(
    ("kernel", "output"),
    [pytest.param(9, 16_000, id="short"), pytest.param(16_000, 9, id="the gradient of a short one")],
)
def test_short_filters_are_no_concern(kernel: int, output: int) -> None:
    metrics = gpu_steps(("conv", 40.0, "echo"), program=filtered(kernel, output)).measure()

    assert metrics.value("long_filter_fraction") == 0
