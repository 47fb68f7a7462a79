"""What a device could do at most, arithmetic and memory bandwidth, where its plane states both."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.devices import known_model


class Peaks(msgspec.Struct, frozen=True):
    """Of one device."""

    flops: float | None
    """16-bit matrix operations per second, None when unknown."""
    bytes_per_s: float | None
    """Of device memory, None when unknown."""
    fp8_flops: float | None = None
    """Matrix operations per second in 8-bit floats, likewise."""
    tf32_flops: float | None = None
    """In fp32 rounded to TF32, likewise."""
    fp32_flops: float | None = None
    """In fp32, likewise."""


UNKNOWN = Peaks(None, None)


def stated_peaks(properties: Mapping[str, float | int | str]) -> Peaks | None:
    """As TPU planes state them; None where a plane states none."""
    flops = number(properties, stats.PEAK_TERAFLOPS_PER_SECOND)
    if not flops:
        return None
    bandwidth = number(properties, stats.PEAK_HBM_GIGABYTES_PER_SECOND)
    return Peaks(flops * 1e12, bandwidth * 1e9 if bandwidth else None)


def peaks_of_model(name: str) -> Peaks | None:
    """As its maker states them; None for a model that is not known."""
    model = known_model(name)
    if model is None:
        return None
    bf16, fp8, tf32, fp32 = (
        None if one is None else one * 1e12 for one in (model.bf16, model.fp8, model.tf32, model.fp32)
    )
    bandwidth = None if model.bandwidth is None else model.bandwidth * 1e9
    return Peaks(bf16, bandwidth, fp8_flops=fp8, tf32_flops=tf32, fp32_flops=fp32)


def number(properties: Mapping[str, float | int | str], name: str) -> float | None:
    """One property as a number; None where it is missing or a text."""
    value = properties.get(name)
    return float(value) if isinstance(value, int | float) else None
