"""Every metric name of the contract exists, with a unit, and is absent only with a
reason.
"""

from __future__ import annotations

import pytest
from support.trace_builder import trace

import tfadvisor.metrics  # noqa: F401
from tfadvisor.metrics.registry import registered_facts, registered_metrics

CONTRACT = """
input_bound_fraction inter_step_gap_ms inter_step_gap_fraction kernel_launch_latency_us kernel_launch_latency_us_p95
kernel_launch_gap_fraction fp16_kernel_share unknown_precision_share tensor_core_kernel_share device_busy_fraction
host_op_share small_kernel_share h2d_ms_per_step d2h_ms_per_step d2d_ms_per_step h2d_bytes_per_step d2h_bytes_per_step
d2d_bytes_per_step allreduce_ms_per_step allreduce_ideal_ms allreduce_efficiency collectives_per_step
exposed_collective_fraction device_skew_fraction host_skew_fraction compile_fraction retraces_in_steady_state
eager_op_share peak_memory_fraction dropped_events
""".split()


@pytest.mark.parametrize("name", CONTRACT)
def test_the_metric_exists(name: str) -> None:
    assert name in registered_metrics()


def test_every_metric_and_fact_says_what_it_is() -> None:
    for one in [*registered_metrics().values(), *registered_facts().values()]:
        assert len(one.about) > 20, one.name
        assert one.about.endswith("."), one.name


TRACES = {
    "empty host": trace().call("anything", 0, 1),
    "one kernel": trace().busy("GPU:0", (0, 1)),
    "marked steps without devices": trace().steps(3, period=10),
    "tpu": trace().on_line("/device:TPU:0", "XLA Ops", "fusion.1", 0, 10),
    "cpu": trace().step(0, 10).thread("tf_Compute/1").call("a:MatMul", 0, 5),
    "marker without length": trace().step(5, 5).busy("GPU:0", (0, 1)),
}


@pytest.mark.parametrize("name", TRACES)
def test_absent_metrics_have_a_reason_and_none_breaks(name: str) -> None:
    for metric, measured in TRACES[name].measure().items():
        assert not measured.broken, (metric, measured.reason)
        assert (measured.value is None) == bool(measured.reason), metric


FRACTIONS = [name for name in CONTRACT if name.endswith(("_fraction", "_share"))]


@pytest.mark.parametrize("name", TRACES)
def test_fractions_lie_between_0_and_1(name: str) -> None:
    metrics = TRACES[name].measure()
    for fraction in FRACTIONS:
        value = metrics.value(fraction)
        assert value is None or 0 <= value <= 1, fraction
