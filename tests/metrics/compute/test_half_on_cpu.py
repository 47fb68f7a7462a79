"""Mixed precision on a CPU, by TensorFlow's names."""

from __future__ import annotations

import pytest
from pytest import approx
from support.trace_builder import TraceBuilder, trace


def steps(conversions: int, name: str = "gradient_tape/net/norm_{}/Cast_5/Cast:Cast") -> TraceBuilder:
    """Four steps of 1,000 µs: 300 in a convolution, 200 in its gradient, 100 in a product, the rest elsewhere."""
    builder = trace().steps(4, period=1000).thread("tf_Compute/1")
    for at in range(0, 4000, 1000):
        builder.call("net/conv/convolution:_MklNativeConv2D", at, at + 300)
        builder.call("gradient_tape/net/conv/convolution/G:_MklNativeConv2DBackpropFilter", at + 300, at + 500)
        builder.call("net/dense/MatMul:_FusedMatMul", at + 500, at + 600)
        for number in range(conversions):
            builder.call(name.format(number), at + 600 + 10 * number, at + 610 + 10 * number)
    return builder


def test_a_step_whose_tapes_convert_floats() -> None:
    assert steps(4).measure().value("half_on_cpu_fraction") == approx(0.6)


def test_three_conversions_are_no_policy() -> None:
    assert steps(3).measure().value("half_on_cpu_fraction") == 0


@pytest.mark.parametrize(
    "name", ["net/norm_{}/Cast:Cast", "gradient_tape/net/norm_{}/moments/Cast:Cast", "compile_loss/Cast_{}:Cast"]
)
def test_conversions_of_labels_and_of_counts_are_no_policy(name: str) -> None:
    assert steps(9, name).measure().value("half_on_cpu_fraction") == 0


def test_an_accelerator_has_units_for_16_bits() -> None:
    metrics = steps(9).busy("GPU:0", (0, 900)).measure()

    assert metrics.value("half_on_cpu_fraction") is None
    assert "accelerator" in metrics["half_on_cpu_fraction"].reason
