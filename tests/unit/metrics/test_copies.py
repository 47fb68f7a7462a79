"""Copies: time exact to 1 ps, bytes, and the kind of host memory."""

from __future__ import annotations

import pytest
from support.exactly import picoseconds, us
from support.trace_builder import TraceBuilder, trace

from tfadvisor.metrics.copies import copy_rates


def copying() -> TraceBuilder:
    """Two steps of 100 on a GPU that computes 0 to 50 of each.

    Each step: 4,000 bytes from pageable memory from 10 to 20, and 6,000 from pinned
    memory from 15 to 35.000001, so that some copy to the device runs for 25.000001; 500
    bytes back from 60 to 61. The second step has one more from pageable memory of 2,000
    bytes, 70 to 72.
    """
    builder = trace().steps(2, period=100)
    for at in (0, 100):
        builder.busy("GPU:0", (at, at + 50))
        builder.copy("GPU:0", "H2D", at + 10, at + 20, size=4000, memory="pageable")
        builder.copy("GPU:0", "H2D", at + 15, at + 35.000001, size=6000)
        builder.copy("GPU:0", "D2H", at + 60, at + 61, size=500)
    return builder.copy("GPU:0", "H2D", 170, 172, size=2000, memory="pageable")


def test_copies_that_overlap_count_once_in_time_and_one_by_one_in_bytes() -> None:
    """(25.000001 + 25.000001 + 2) / 2 µs and (10,000 + 12,000) / 2 bytes a step."""
    metrics = copying().measure()

    assert picoseconds(metrics, "h2d_ms_per_step") == us(26.000001)
    assert metrics.value("h2d_bytes_per_step") == 11_000
    assert picoseconds(metrics, "d2h_ms_per_step") == us(1)
    assert metrics.value("d2h_bytes_per_step") == 500
    assert metrics.value("d2h_copies_per_step") == 1


def test_pageable_copies_are_told_by_number() -> None:
    """Three of the five to the device, none of the two back."""
    assert copying().measure().value("pageable_copy_share") == 3 / 7


def test_copies_of_unknown_memory_are_neither() -> None:
    metrics = (
        trace()
        .step(0, 100)
        .busy("GPU:0", (0, 10))
        .copy("GPU:0", "H2D", 20, 30)
        .measure()
    )

    assert metrics.value("pageable_copy_share") is None
    assert "what kind of host memory" in metrics["pageable_copy_share"].reason


def test_copies_outside_of_counted_steps_do_not_count() -> None:
    """Markers of 60 every 100: the last step is cut off, and its copy with it."""
    builder = (
        trace()
        .steps(3, period=100, span=60)
        .busy("GPU:0", (0, 50), (100, 150), (200, 250))
    )
    builder.copy("GPU:0", "H2D", 60, 70, size=10).copy(
        "GPU:0", "H2D", 210, 290, size=1_000_000
    )

    metrics = builder.measure()

    assert picoseconds(metrics, "h2d_ms_per_step") == us(5)
    assert metrics.value("h2d_bytes_per_step") == 5


def test_copies_are_a_mean_over_devices_and_hosts() -> None:
    """Device-steps: 2 + 2 of host a, 1 of host b. 10 and 30 on a's devices in the first
    step alone, 60 on b: 100 / 5.
    """
    builder = trace().host("a").steps(2, period=100)
    for device, end in (("GPU:0", 10), ("GPU:1", 30)):
        builder.busy(device, (50, 60), (150, 160)).copy(
            device, "H2D", 0, end, size=end * 100
        )
    builder.host("b").step(0, 100).busy("GPU:0", (80, 90)).copy(
        "GPU:0", "H2D", 0, 60, size=6000
    )

    metrics = builder.measure()

    assert picoseconds(metrics, "h2d_ms_per_step") == us(20)
    assert metrics.value("h2d_bytes_per_step") == 2000


def test_copies_in_are_hidden_only_as_far_as_computation_lasts() -> None:
    """Of 100: computes 0 to 11, copies in 20 to 60 and back 70 to 80: 11 of the 40 can
    hide, the 10 back can be left out.
    """
    builder = trace().steps(2, period=100)
    for at in (0, 100):
        builder.busy("GPU:0", (at, at + 11))
        builder.copy("GPU:0", "H2D", at + 20, at + 60, size=4000).copy(
            "GPU:0", "D2H", at + 70, at + 80, size=1000
        )

    metrics = builder.measure()

    assert metrics.value("transfer_fraction") == pytest.approx(0.5, abs=1e-12)
    assert metrics.value("hideable_copy_fraction") == pytest.approx(0.21, abs=1e-12)
    assert metrics.value("unhideable_copy_fraction") == pytest.approx(0.29, abs=1e-12)
    assert metrics.fact("hideable_copies") == "in"


@pytest.mark.parametrize(
    ("within", "between", "expected"), [(20, 10, "within"), (10, 20, "between")]
)
def test_copies_on_a_device_and_between_devices_are_told_apart(
    within: float, between: float, expected: str
) -> None:
    builder = trace().step(0, 100).busy("GPU:0", (0, 50))
    builder.copy("GPU:0", "D2D", 50, 50 + within).copy("GPU:0", "P2P", 75, 75 + between)

    assert builder.measure().fact("hideable_copies") == expected


def test_copies_that_fit_beside_the_computation_can_all_be_hidden() -> None:
    """Of 100: computes 50, copies in 20 after it."""
    metrics = (
        trace()
        .step(0, 100)
        .busy("GPU:0", (0, 50))
        .copy("GPU:0", "H2D", 60, 80, size=10)
        .measure()
    )

    assert metrics.value("hideable_copy_fraction") == pytest.approx(0.2, abs=1e-12)
    assert metrics.value("unhideable_copy_fraction") == 0


def test_a_cpu_has_no_copies_to_hide() -> None:
    assert trace().step(0, 100).measure().value("hideable_copy_fraction") is None


def test_the_rate_of_copies_stands_beside_what_their_link_carries() -> None:
    """11,000 bytes a step in 26.000001 µs; three of five copies from the host are of
    pageable memory, and none of the two back.
    """
    builder = copying().plane_stat(
        "/device:GPU:0", compute_cap_major=7, compute_cap_minor=5
    )

    metrics = builder.measure()

    assert metrics.value("h2d_gb_s") == pytest.approx(0.423, abs=0.001)
    assert metrics.fact("host_link") == "PCIe 3, up to 16 GB/s one way"


def test_a_superchip_is_not_linked_to_its_host_by_pcie() -> None:
    builder = copying().plane_stat(
        "/device:GPU:0", compute_cap_major=9, device_type_string="NVIDIA GH200 480GB"
    )

    assert builder.measure().fact("host_link") is None


def test_nobody_says_what_links_an_older_gpu_to_the_host() -> None:
    builder = copying().plane_stat("/device:GPU:0", compute_cap_major=6)

    assert builder.measure().fact("host_link") is None


@pytest.mark.parametrize(
    ("microseconds", "memory", "meaning"),
    [
        (1000 / 13, "pinned", "near what the link can do"),
        (250, "pinned", "below the link's rate"),
        (250, "pageable", "pageable memory, which the driver copies twice"),
    ],
)
def test_a_rate_says_what_it_is_due_to(
    microseconds: float, memory: str, meaning: str
) -> None:
    """1,000,000 bytes over a PCIe 3 link of 16 GB/s: in 250 µs 4 GB/s, at 13 GB/s 81%
    of it.
    """
    builder = trace().step(0, 1000).busy("GPU:0", (0, 50))
    builder.copy("GPU:0", "H2D", 100, 100 + microseconds, 1_000_000, memory)
    builder.plane_stat("/device:GPU:0", compute_cap_major=7, compute_cap_minor=0)

    (rate,) = copy_rates(builder.build())

    assert (rate.way, rate.bytes) == ("host to device", 1_000_000)
    assert rate.gb_s == pytest.approx(1000 / microseconds, rel=1e-6)
    assert rate.meaning == f"{meaning}: PCIe 3 carries up to 16 GB/s one way"


def test_a_rate_of_copies_of_unknown_size_is_not_known() -> None:
    builder = trace().step(0, 1000).busy("GPU:0", (0, 50))

    (rate,) = copy_rates(builder.copy("GPU:0", "H2D", 100, 200).build())

    assert (rate.bytes, rate.gb_s, rate.meaning) == (None, None, "")
    assert rate.ms == pytest.approx(0.1)


def test_small_copies_say_nothing_of_their_link() -> None:
    """Three of 500 bytes to 6,000: starting them takes most of their time."""
    rates = copy_rates(copying().build())

    assert {rate.meaning for rate in rates} == {
        "small copies: starting one takes most of its time"
    }
