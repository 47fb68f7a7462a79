"""Peaks of devices by their planes' properties, worked out on paper."""

from __future__ import annotations

import pytest

from tfadvisor.timeline.devices.protocol import Peaks
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


@pytest.mark.parametrize(
    ("name", "flops", "fp8", "tf32"),
    [
        ("NVIDIA H100 80GB HBM3", 989.4e12, 1978.9e12, 494.7e12),
        ("NVIDIA H100 NVL", 835.5e12, 1670.5e12, 417.5e12),
        ("NVIDIA H20", 148e12, 296e12, 74e12),
        ("NVIDIA A100-SXM4-80GB", 312e12, None, 156e12),
        ("NVIDIA GeForce RTX 4090", 165.2e12, 330.3e12, 82.6e12),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 503.8e12, 1007.6e12, 251.9e12),
        ("NVIDIA GB10", None, None, None),
        ("AMD Instinct MI210", 181e12, None, None),
        ("AMD Instinct MI300X OAM", 1307.4e12, 2614.9e12, 653.7e12),
    ],
)
def test_models_by_name(name: str, flops: float | None, fp8: float | None, tf32: float | None) -> None:
    peaks = peaks_of(GPU, {"gpu_device_name": name})

    assert (peaks.flops, peaks.fp8_flops, peaks.tf32_flops) == (flops, fp8, tf32)


@pytest.mark.parametrize(
    "name", ["NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA RTX 4090 D"]
)
def test_a_part_or_a_relative_of_a_model_is_another(name: str) -> None:
    assert peaks_of(GPU, {"gpu_device_name": name}) == Peaks(None, None)


def test_the_planes_bandwidth_is_that_of_the_very_card() -> None:
    """Of A100 with 80 GB: 2,039 GB/s, where those of 40 GB have 1,555."""
    assert (
        peaks_of(GPU, {"gpu_device_name": "NVIDIA A100-SXM4-80GB", "memory_bandwidth": 2_039_000_000_000}).bytes_per_s
        == 2039e9
    )


def test_a_card_for_games_of_unknown_model_sums_at_half_speed() -> None:
    """46 multiprocessors · 2.5 GHz · 512."""
    card = {"gpu_device_name": "NVIDIA GeForce RTX 4070", "core_count": 46, "clock_rate": 2_500_000}

    assert peaks_of(GPU, {**card, "compute_cap_major": 8, "compute_cap_minor": 9}).flops == pytest.approx(58.88e12)


@pytest.mark.parametrize(("minor", "expected"), [(0, 1638e9), (4, 3276e9)])
def test_amds_planes_count_one_transfer_a_clock_since_mi300(minor: int, expected: float) -> None:
    plane = {
        "device_vendor": "AMD",
        "memory_bandwidth": 1_638_000_000_000,
        "compute_cap_major": 9,
        "compute_cap_minor": minor,
    }

    assert peaks_of(GPU, plane).bytes_per_s == expected


def test_a_tpu_by_its_model() -> None:
    assert peaks_of(TPU, {"device_type_string": "TPU v5e"}) == Peaks(197e12, 819e9)
    assert peaks_of(TPU, {"device_type_string": "TPU7x"}) == Peaks(1153.5e12, 3690e9, fp8_flops=2307e12)


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
