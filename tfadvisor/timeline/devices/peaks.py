"""What a device could do at most: arithmetic and memory bandwidth, as far as its plane's properties tell.

TPU planes state both. GPU planes state clock, number of multiprocessors and memory bandwidth; operations per cycle come from
NVIDIA's white papers (dense 16-bit Tensor-Core products, a multiply and an add each), as in XProf's table of capabilities.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

_FLOPS_PER_CYCLE = {
    (7, 0): 1024,
    (7, 5): 1024,
    (8, 0): 2048,
    (8, 6): 1024,
    (8, 7): 1024,
    (8, 9): 1024,
    (9, 0): 4096,
    (10, 0): 8192,
}
"""Dense fp16/bf16 operations a cycle and multiprocessor by compute capability."""


class Peaks(msgspec.Struct, frozen=True):
    """flops: 16-bit matrix operations per second, None when unknown. bytes_per_s: of device memory, None likewise."""

    flops: float | None
    bytes_per_s: float | None


def peaks_of(properties: Mapping[str, float | int | str]) -> Peaks:
    """From a device plane's stats."""
    stated = _number(properties, "peak_teraflops_per_second")
    if stated:
        bandwidth = _number(properties, "peak_hbm_bw_gigabytes_per_second")
        return Peaks(stated * 1e12, bandwidth * 1e9 if bandwidth else None)
    cores, clock_khz = _number(properties, "core_count"), _number(properties, "clock_rate")
    capability = (
        int(_number(properties, "compute_cap_major") or 0),
        int(_number(properties, "compute_cap_minor") or 0),
    )
    per_cycle = _FLOPS_PER_CYCLE.get(capability) if properties.get("device_vendor", "Nvidia") == "Nvidia" else None
    flops = cores * clock_khz * 1e3 * per_cycle if cores and clock_khz and per_cycle else None
    bandwidth = _number(properties, "memory_bandwidth")
    if bandwidth and properties.get("device_vendor") == "AMD":
        bandwidth *= 2  # its plane counts one transfer a clock of memory that makes two: 2.66 TB/s for MI300X's 5.3
    return Peaks(flops, bandwidth or None)


def _number(properties: Mapping[str, float | int | str], name: str) -> float | None:
    value = properties.get(name)
    return float(value) if isinstance(value, int | float) else None
