"""Gradients of filters beside their convolutions."""

from __future__ import annotations

from pytest import approx
from support.trace_builder import trace

from tfadvisor.metrics.registry import Metrics

GRADIENT = "gradient_tape/blur/depthwise/DepthwiseConv2dNativeBackpropFilter"


def measured(forward: float, gradient: float) -> Metrics:
    """Four steps of 100 µs."""
    builder = trace()
    for begin in (0, 100, 200, 300):
        middle = begin + forward
        builder.step(begin, begin + 100)
        builder.on_line("/host:CPU", "tf_Compute/1", "blur/depthwise:_MklNativeDepthwiseConv2dNative", begin, middle)
        name = f"{GRADIENT}:_MklNativeDepthwiseConv2dNativeBackpropFilter"
        builder.on_line("/host:CPU", "tf_Compute/1", name, middle, middle + gradient)
    return builder.measure()


def test_more_than_eight_times_is_dear() -> None:
    metrics = measured(4, 33)

    assert metrics.value("dear_filter_gradient_fraction") == approx(0.33)
    assert metrics.fact("dear_filter_gradient") == GRADIENT


def test_eight_times_is_not() -> None:
    metrics = measured(4, 32)

    assert metrics.value("dear_filter_gradient_fraction") == 0
    assert metrics.fact("dear_filter_gradient") is None


def test_a_gradient_whose_convolution_is_not_in_the_trace_tells_nothing() -> None:
    builder = trace().steps(4, period=100)
    for begin in (0, 100, 200, 300):
        builder.on_line("/host:CPU", "tf_Compute/1", f"{GRADIENT}:BackpropFilter", begin, begin + 60)

    assert builder.measure().value("dear_filter_gradient_fraction") == 0


def test_without_such_gradients_it_does_not_apply() -> None:
    builder = trace().steps(4, period=100)
    for begin in (0, 100, 200, 300):
        builder.on_line("/host:CPU", "tf_Compute/1", "net/dense/MatMul:MatMul", begin, begin + 60)

    assert builder.measure().value("dear_filter_gradient_fraction") is None
