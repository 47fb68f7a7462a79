"""What a step compares and counts outside of its layers."""

from __future__ import annotations

from pytest import approx
from support.trace_builder import trace

from tfadvisor.metrics.registry import Metrics


def measured(*ops: tuple[str, float]) -> Metrics:
    """Four steps of 100 µs, in each of which the ops run one after the other."""
    builder = trace()
    for begin in (0, 100, 200, 300):
        at: float = begin
        builder.step(begin, begin + 100)
        for name, length in ops:
            builder.on_line("/host:CPU", "tf_Compute/1", name, at, at + length)
            at += length
    return builder.measure()


def test_a_metric_of_many_thresholds() -> None:
    """8 + 2 compare, 20 more count; the layer's and the gradient's comparisons, and the loss's logarithm, are no metric's."""
    metrics = measured(
        ("net/conv/Conv2D:Conv2D", 30),
        ("net/mask/Greater:Greater", 5),
        ("gradient_tape/Sum:Sum", 5),
        ("Log:Log", 6),
        ("Greater:Greater", 8),
        ("LogicalAnd_1:LogicalAnd", 2),
        ("Cast_3:Cast", 12),
        ("Sum_2:Sum", 8),
    )

    assert metrics.value("comparing_fraction") == approx(0.10)
    assert metrics.value("counting_fraction") == approx(0.30)
    assert metrics.fact("counting_ops") == "Cast, Greater, Sum, LogicalAnd"


def test_without_names_of_layers_nothing_is_told() -> None:
    metrics = measured(
        ("Greater:Greater", 60),
    )

    assert metrics.value("counting_fraction") is None
