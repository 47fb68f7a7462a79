"""Peaks of devices by their planes' properties, worked out on paper."""

from __future__ import annotations

import pytest

from tfadvisor.timeline.devices.peaks import Peaks
from tfadvisor.timeline.devices.registry import peaks_of
from tfadvisor.vocabulary import DeviceKind

GPU, TPU = DeviceKind.GPU, DeviceKind.TPU

V100 = {"core_count": 80, "clock_rate": 1_530_000, "compute_cap_major": 7, "compute_cap_minor": 0}


def test_a_v100() -> None:
    """80 multiprocessors · 1.53 GHz · 1,024 operations: 125.3 TFLOP/s, the vector in XProf's own tests."""
    peaks = peaks_of(GPU, {**V100, "memory_bandwidth": 900_000_000_000})

    assert peaks.flops == pytest.approx(125.3376e12)
    assert peaks.bytes_per_s == 900e9


def test_a_tpu_states_its_peaks() -> None:
    peaks = peaks_of(TPU, {"peak_teraflops_per_second": 918.0, "peak_hbm_bw_gigabytes_per_second": 1638.0})

    assert peaks.flops == 918e12
    assert peaks.bytes_per_s == 1638e9


def test_an_unknown_generation_has_no_known_arithmetic() -> None:
    """Pascal has no Tensor Cores; its bandwidth is stated all the same."""
    peaks = peaks_of(GPU, {**V100, "compute_cap_major": 6, "compute_cap_minor": 1, "memory_bandwidth": 484_440_000_000})

    assert peaks.flops is None
    assert peaks.bytes_per_s == 484.44e9


def test_amd_fills_the_capability_with_other_numbers() -> None:
    """9.0 of an MI200 is no Hopper."""
    amd = {**V100, "device_vendor": "AMD", "compute_cap_major": 9, "compute_cap_minor": 0}

    assert peaks_of(GPU, amd).flops is None


def test_nothing_stated_nothing_known() -> None:
    for kind in DeviceKind:
        assert peaks_of(kind, {}) == Peaks(None, None)
