"""Which way metrics improve and how they scatter, for some of which anyone can
say it.
"""

from __future__ import annotations

import pytest

import tfadvisor.metrics  # noqa: F401
from tfadvisor.metrics.registry import registered_metrics
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, Scatter

METRICS = registered_metrics()

DIRECTIONS = {
    "more": """
        input_overlap_fraction input_hideable_fraction allreduce_bus_gb_s
        allreduce_efficiency collective_overlap_fraction compute_fraction device_busy_fraction
        device_concurrency_fraction flops_utilization memory_bandwidth_utilization fp16_kernel_share
        tensor_core_kernel_share graph_kernel_share
        steps_counted step_confidence memory_capacity_bytes
    """,
    "less": """
        step_time_ms input_bound_fraction host_fraction kernel_launch_gap_fraction compile_fraction transfer_fraction
        exposed_collective_fraction idle_fraction kernels_per_step h2d_bytes_per_step retraces_in_steady_state
        dropped_events fp32_matrix_share peak_memory_fraction late_host_fraction
    """,
    "neither": "model_parameters devices_per_host compute_capability",
}


@pytest.mark.parametrize("better", DIRECTIONS)
def test_which_way_is_better(better: str) -> None:
    for name in DIRECTIONS[better].split():
        assert METRICS[name].better is Better(better), name


def test_bandwidths_and_utilizations_are_never_better_for_being_less() -> None:
    """What a process reads from storage is work that a cache would spare it, so that
    rate is neither.
    """
    for name, one in METRICS.items():
        if (one.unit is Unit.GB_S and not name.startswith("storage_")) or name.endswith(
            "_utilization"
        ):
            assert one.better is Better.MORE, name


def test_what_varies_between_runs_of_one_program_is_not_taken_for_exact() -> None:
    """Counts and bytes come from the program, but for those that depend on the trace's
    length or on an allocator's state.
    """
    for name in ("steps_counted", "first_steps_set_aside", "memory_calls_per_step"):
        assert METRICS[name].scatter is Scatter.COUNTED, name
    for name in (
        "kernels_per_step",
        "h2d_bytes_per_step",
        "fp16_kernel_share",
        "eager_op_share",
    ):
        assert METRICS[name].scatter is Scatter.EXACT, name
    for name in ("input_bound_fraction", "matrix_kernel_share"):
        assert METRICS[name].scatter is Scatter.SHARE, name
    for name in ("step_time_ms", "kernel_launch_latency_us"):
        assert METRICS[name].scatter is Scatter.FACTOR, name


def test_times_and_rates_never_claim_to_be_exact() -> None:
    for name, one in METRICS.items():
        if one.unit in (Unit.MS, Unit.US, Unit.GB_S):
            assert one.scatter is Scatter.FACTOR, name
