"""What a metric's numbers are like: which way is worse, how they scatter between runs of one program, and their floor."""

from __future__ import annotations

from math import log

import msgspec

_MORE_IS_BETTER = frozenset({
    "allreduce_bus_gb_s",
    "allreduce_efficiency",
    "allreduce_fitted_gb_s",
    "bf16_kernel_share",
    "collective_overlap_fraction",
    "compute_fraction",
    "device_busy_fraction",
    "device_concurrency_fraction",
    "flops_utilization",
    "fp16_kernel_share",
    "fp8_kernel_share",
    "graph_kernel_share",
    "memory_bandwidth_utilization",
    "memory_capacity_bytes",
    "step_confidence",
    "steps_counted",
    "tensor_core_kernel_share",
    "tf32_kernel_share",
})  # fmt: skip
_COUNTED_TIMES = frozenset({"first_steps_set_aside", "steps_counted", "allocations_per_step", "memory_calls_per_step"})
"""Counts and bytes are the same in every run of a program but for these."""
_EXACT_SHARES = frozenset({
    "bf16_kernel_share",
    "eager_op_share",
    "fp16_kernel_share",
    "fp32_kernel_share",
    "fp32_matrix_share",
    "fp64_kernel_share",
    "fp8_kernel_share",
    "graph_kernel_share",
    "tensor_core_kernel_share",
    "tf32_kernel_share",
    "unknown_matrix_precision_share",
    "unknown_precision_share",
})  # fmt: skip
"""Shares of kernel time that hardly depend on how fast the machine is."""

_EXACT = 0.001
"""Spread that is believed of what does not scatter: changes from about 0.5 % on are then told at any level in use."""


class Nature(msgspec.Struct, frozen=True):
    """How a metric is judged.

    worse: up, down or both. exact: the same in every run of an unchanged program but for rounding. by_factor: changes are
    factors (times, rates) rather than differences. floor: no two runs are nearer than this, relative to the value;
    absolute_floor: the same in the metric's unit, for values near 0. assumed: the spread between runs while too few are
    known, relative (by_factor) or in the metric's unit.
    """

    worse: str
    exact: bool
    by_factor: bool
    floor: float
    absolute_floor: float
    assumed: float

    def scaled(self, value: float) -> float:
        """The scale on which runs scatter evenly: logarithms of factors."""
        return log(value) if self.by_factor else value

    def floor_at(self, centre: float) -> float:
        """The smallest spread that is believed, on the scale."""
        return self.floor if self.by_factor else max(self.floor * abs(centre), self.absolute_floor)


def nature_of(metric: str, unit: str, worse: str | None = None) -> Nature:
    """By unit, and by name where a metric is not like others of its unit."""
    worse = worse or ("down" if metric in _MORE_IS_BETTER else "up")
    if metric in _EXACT_SHARES:
        return Nature(worse, True, False, _EXACT, 0.001, 0.0)
    if unit in ("count", "bytes"):
        exact = metric not in _COUNTED_TIMES
        return Nature(worse, exact, False, _EXACT, 0.002 if unit == "count" else 16.0, 1.0)
    if unit == "fraction":
        return Nature(worse, False, False, 0.01, 0.005, 0.05)
    return Nature(worse, False, True, 0.01, 0.0, 0.10)
