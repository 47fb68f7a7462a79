"""The page's rows of collectives and devices, worked out on paper."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.trace_builder import TraceBuilder, trace

from tfadvisor.report.assembly.rows import collectives_by_name, devices_by_name

PROGRAM = hlo.module(
    hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[1000000]"),
        hlo.op(
            11,
            "all-reduce",
            "f32[1000000]",
            1,
            channel=1,
            extra=hlo.replica_groups(range(2)),
        ),
    )
)


def two_devices() -> TraceBuilder:
    """4 steps of 1,000 µs. GPU 0 computes 200 and is in NCCL from 200 to 700; GPU 1
    computes 600 and joins at 500.
    """
    builder = trace().steps(4, period=1000).program("jit_step", PROGRAM)
    stats = {"hlo_module": "jit_step", "hlo_op": "all-reduce.11"}
    for at in (0, 1000, 2000, 3000):
        builder.busy("GPU:0", (at, at + 200)).collective(
            "GPU:0", at + 200, at + 700, **stats
        )
        builder.busy("GPU:1", (at, at + 600)).collective(
            "GPU:1", at + 500, at + 700, **stats
        )
    return builder


def test_a_collective_has_its_wait_its_exposed_share_and_its_bandwidth() -> None:
    """Calls of 500 and 200 µs, 350 in the median. GPU 0 waits 300, GPU 1 not at all:
    150 in the mean. So 200 µs are left for 4 MB, all of which each of two devices
    sends: 20 GB/s. Of 700 µs, 100 are under computation."""
    (row,) = collectives_by_name(two_devices().build())

    assert (row.kind, row.bytes, row.group, row.devices, row.count_per_step) == (
        "all-reduce",
        4_000_000,
        2,
        2,
        1,
    )
    assert (row.median_ms, row.ms_per_step) == pytest.approx((0.35, 0.35))
    assert row.exposed == pytest.approx(6 / 7)
    assert row.wait_ms == pytest.approx(0.15)
    assert row.bus_gb_s == pytest.approx(20)


def test_what_devices_wait_in_steps_that_do_not_count_is_no_wait_of_the_collective() -> (
    None
):
    """Of the four steps the last alone counts, in which both devices join at 500."""
    builder = trace().steps(4, period=1000)
    for at, joined in ((0, 200), (1000, 200), (2000, 200), (3000, 500)):
        builder.busy("GPU:0", (at, at + joined)).collective(
            "GPU:0", at + joined, at + 700
        )
        builder.busy("GPU:1", (at, at + 500)).collective("GPU:1", at + 500, at + 700)

    (row,) = collectives_by_name(builder.build(chosen=(3, 4)))

    assert (row.median_ms, row.wait_ms) == (pytest.approx(0.2), 0)


def test_a_device_has_its_wait_and_how_often_it_is_last() -> None:
    first, second = devices_by_name(two_devices().build(), most_cells=100)

    assert (first.wait_ms, first.last_share) == (pytest.approx(0.3), 0)
    assert (second.wait_ms, second.last_share) == (0, 1)
    assert (first.class_ms["compute"], second.class_ms["compute"]) == pytest.approx(
        (0.2, 0.6)
    )
    assert (
        first.class_ms["collective"],
        second.class_ms["collective"],
    ) == pytest.approx((0.5, 0.1))


@pytest.mark.parametrize(
    ("cells", "shown"), [(8, (0, 1, 2, 3)), (7, (0, 2)), (3, (0, 3)), (1, (0,))]
)
def test_many_devices_times_steps_are_thinned_out(
    cells: int, shown: tuple[int, ...]
) -> None:
    """2 devices times 4 steps are 8 cells: every step, every 2nd, every 3rd,
    every 8th.
    """
    assert {one.step for one in devices_by_name(two_devices().build(), cells)} == {
        shown
    }
