"""What a device could do at most, arithmetic and memory bandwidth, where its plane states both."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tfadvisor.timeline.names import stats


class Peaks(msgspec.Struct, frozen=True):
    """Of one device."""

    flops: float | None
    """16-bit matrix operations per second, None when unknown."""
    bytes_per_s: float | None
    """Of device memory, None when unknown."""


UNKNOWN = Peaks(None, None)


def stated_peaks(properties: Mapping[str, float | int | str]) -> Peaks | None:
    """As TPU planes state them; None where a plane states none."""
    flops = number(properties, stats.PEAK_TERAFLOPS_PER_SECOND)
    if not flops:
        return None
    bandwidth = number(properties, stats.PEAK_HBM_GIGABYTES_PER_SECOND)
    return Peaks(flops * 1e12, bandwidth * 1e9 if bandwidth else None)


def number(properties: Mapping[str, float | int | str], name: str) -> float | None:
    """One property as a number; None where it is missing or a text."""
    value = properties.get(name)
    return float(value) if isinstance(value, int | float) else None
