"""Peaks of devices by their planes' properties, worked out on paper."""

from __future__ import annotations

import pytest

from tfadvisor.timeline.devices.device_kinds import peaks_of
from tfadvisor.timeline.devices.protocol import Peaks
from tfadvisor.timeline.names.models import _rows
from tfadvisor.vocabulary import DeviceKind

GPU, TPU = DeviceKind.GPU, DeviceKind.TPU

V100 = {
    "core_count": 80,
    "clock_rate": 1_530_000,
    "compute_cap_major": 7,
    "compute_cap_minor": 0,
}


def test_a_v100() -> None:
    """80 multiprocessors · 1.53 GHz · 1,024 operations: 125.3 TFLOP/s, the vector in
    XProf's own tests.
    """
    peaks = peaks_of(GPU, {**V100, "memory_bandwidth": 900_000_000_000})

    assert peaks.flops == pytest.approx(125.3376e12)
    assert peaks.bytes_per_s == 900e9


def test_a_tpu_states_its_peaks() -> None:
    peaks = peaks_of(
        TPU,
        {
            "peak_teraflops_per_second": 918.0,
            "peak_hbm_bw_gigabytes_per_second": 1638.0,
        },
    )

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
        ("NVIDIA GeForce RTX 4060", 30.2e12, 60.5e12, 15.1e12),
        ("NVIDIA GeForce RTX 4060 Ti", 44.1e12, 88.3e12, 22.1e12),
        ("NVIDIA GeForce RTX 4070", 58.3e12, 116.6e12, 29.1e12),
        ("NVIDIA GeForce RTX 4070 SUPER", 71e12, 141.9e12, 35.5e12),
        ("NVIDIA GeForce RTX 4070 Ti", 80.2e12, 160.4e12, 40.1e12),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", 88.2e12, 176.4e12, 44.1e12),
        ("NVIDIA GeForce RTX 4080 SUPER", 104.4e12, 208.9e12, 52.2e12),
        ("NVIDIA GeForce RTX 5050", 26.3e12, 52.6e12, 13.2e12),
        ("NVIDIA GeForce RTX 5060", 38.4e12, 76.7e12, 19.2e12),
        ("NVIDIA GeForce RTX 5060 Ti", 47.4e12, 94.8e12, 23.7e12),
        (
            "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
            438.9e12,
            877.8e12,
            219.4e12,
        ),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", None, None, None),
        (
            "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
            503.8e12,
            1007.6e12,
            251.9e12,
        ),
        ("NVIDIA GB10", None, None, None),
        ("AMD Instinct MI210", 181e12, None, None),
        ("AMD Instinct MI300X OAM", 1307.4e12, 2614.9e12, 653.7e12),
    ],
)
def test_models_by_name(
    name: str, flops: float | None, fp8: float | None, tf32: float | None
) -> None:
    peaks = peaks_of(GPU, {"gpu_device_name": name})

    assert (peaks.flops, peaks.fp8_flops, peaks.tf32_flops) == (flops, fp8, tf32)


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce RTX 4070 Laptop GPU",
        "NVIDIA GeForce RTX 5070 Ti Laptop GPU",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        "NVIDIA RTX 4090 D",
        "NVIDIA RTX 5090 D",
    ],
)
def test_a_part_or_a_relative_of_a_model_is_another(name: str) -> None:
    assert peaks_of(GPU, {"gpu_device_name": name}) == Peaks(None, None)


def test_the_planes_bandwidth_is_that_of_the_very_card() -> None:
    """Of A100 with 80 GB: 2,039 GB/s, where those of 40 GB have 1,555."""
    assert (
        peaks_of(
            GPU,
            {
                "gpu_device_name": "NVIDIA A100-SXM4-80GB",
                "memory_bandwidth": 2_039_000_000_000,
            },
        ).bytes_per_s
        == 2039e9
    )


def test_a_card_for_games_of_unknown_model_sums_at_half_speed() -> None:
    """20 multiprocessors · 2.5 GHz · 512."""
    card = {
        "gpu_device_name": "NVIDIA GeForce RTX 3050",
        "core_count": 20,
        "clock_rate": 2_500_000,
    }

    assert peaks_of(
        GPU, {**card, "compute_cap_major": 8, "compute_cap_minor": 6}
    ).flops == pytest.approx(25.6e12)


def test_what_the_maker_does_not_state_is_reckoned() -> None:
    """188 multiprocessors · 2.43 GHz · 1,024; the data sheet has 120 TFLOP/s in fp32
    and 1,597 GB/s.
    """
    card = {
        "gpu_device_name": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "core_count": 188,
    }
    known = peaks_of(
        GPU,
        {
            **card,
            "clock_rate": 2_430_000,
            "compute_cap_major": 12,
            "compute_cap_minor": 0,
        },
    )

    assert known.flops == pytest.approx(467.80416e12)
    assert (known.fp32_flops, known.bytes_per_s, known.fp8_flops) == (
        120e12,
        1597e9,
        None,
    )


@pytest.mark.parametrize(
    "row", [row for row in _rows("models.txt") if row[0].startswith("nvidia rtx ")]
)
def test_tensor_cores_keep_the_rates_of_their_generation(row: list[str]) -> None:
    """To each fp32 operation of an RTX card, TF32 does one or two, bf16 twice as many
    as TF32, and fp8 twice as many as bf16; older cards lack TF32, those before Ada fp8.
    """
    bf16, fp8, tf32, fp32 = (None if one == "-" else float(one) for one in row[1:5])

    assert fp32
    if bf16 and tf32:
        assert bf16 / tf32 == pytest.approx(2, rel=0.005)
        assert tf32 / fp32 == pytest.approx(
            1 if "pro" not in row[0] and " a" not in row[0] else 2, rel=0.005
        )
    if fp8:
        assert bf16 and fp8 / bf16 == pytest.approx(2, rel=0.005)


@pytest.mark.parametrize(("minor", "expected"), [(0, 1638e9), (4, 3276e9)])
def test_amds_planes_count_one_transfer_a_clock_since_mi300(
    minor: int, expected: float
) -> None:
    plane = {
        "device_vendor": "AMD",
        "memory_bandwidth": 1_638_000_000_000,
        "compute_cap_major": 9,
        "compute_cap_minor": minor,
    }

    assert peaks_of(GPU, plane).bytes_per_s == expected


def test_a_tpu_by_its_model() -> None:
    assert peaks_of(TPU, {"device_type_string": "TPU v5e"}) == Peaks(197e12, 819e9)
    assert peaks_of(TPU, {"device_type_string": "TPU7x"}) == Peaks(
        1153.5e12, 3690e9, fp8_flops=2307e12
    )


def test_an_unknown_generation_has_no_known_arithmetic() -> None:
    """Pascal has no Tensor Cores; its bandwidth is stated all the same."""
    peaks = peaks_of(
        GPU,
        {
            **V100,
            "compute_cap_major": 6,
            "compute_cap_minor": 1,
            "memory_bandwidth": 484_440_000_000,
        },
    )

    assert peaks.flops is None
    assert peaks.bytes_per_s == 484.44e9


def test_amd_fills_the_capability_with_other_numbers() -> None:
    """9.0 of an MI200 is no Hopper."""
    amd = {
        **V100,
        "device_vendor": "AMD",
        "compute_cap_major": 9,
        "compute_cap_minor": 0,
    }

    assert peaks_of(GPU, amd).flops is None


def test_nothing_stated_nothing_known() -> None:
    for kind in DeviceKind:
        assert peaks_of(kind, {}) == Peaks(None, None)
