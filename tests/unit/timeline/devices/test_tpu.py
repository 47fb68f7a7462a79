"""TPU events on the chip's own clock, worked out on paper."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.devices.tpu import on_chip_clock

PS = 1_000_000


def op(
    builder: TraceBuilder,
    fitted: tuple[float, float],
    chip: tuple[float, float] | None = None,
) -> TraceBuilder:
    """An op between two times of the fitted clock, in µs, and between two of the
    chip's.
    """
    stats = {}
    if chip is not None:
        stats = {
            "device_offset_ps": round(chip[0] * PS),
            "device_duration_ps": round((chip[1] - chip[0]) * PS),
        }
    return builder.on_line(
        "/device:TPU:0",
        "XLA Ops",
        "%fusion.1 = f32[8]{0} fusion(f32[8]{0} %x)",
        *fitted,
        **stats,
    )


def test_the_chips_times_take_the_place_of_the_fitted_ones() -> None:
    columns = on_chip_clock(op(trace(), (0, 50), (1, 21)).decode())

    assert columns.events.start_ps.tolist() == [1 * PS]
    assert columns.events.duration_ps.tolist() == [20 * PS]


def test_a_module_moves_with_the_ops_at_its_ends() -> None:
    """Fitted, the second op begins at 60 and ends at 160; on the chip it runs from 50
    to 100, and so does its module.
    """
    builder = op(op(trace(), (0, 50), (0, 50)), (60, 160), (50, 100))
    builder.on_line("/device:TPU:0", "XLA Modules", "jit_step(1)", 60, 160)

    columns = on_chip_clock(builder.decode())

    (module,) = [
        index
        for index, row in enumerate(columns.events.row)
        if columns.names.name[row] == "jit_step(1)"
    ]
    assert columns.events.start_ps[module] == 50 * PS
    assert columns.events.duration_ps[module] == 50 * PS


def test_events_before_and_after_all_ops_move_with_the_nearest() -> None:
    """All ops are 5 µs later on the chip, and so is what lies outside of them."""
    builder = op(trace(), (100, 110), (105, 115))
    builder.on_line("/device:TPU:0", "XLA Modules", "jit_other(2)", 0, 10).on_line(
        "/device:TPU:0", "XLA Modules", "z", 500, 510
    )

    columns = on_chip_clock(builder.decode())

    assert sorted(columns.events.start_ps.tolist()) == [5 * PS, 105 * PS, 505 * PS]


def test_a_trace_without_the_chips_times_is_left_alone() -> None:
    columns = op(trace(), (0, 50)).decode()

    assert on_chip_clock(columns) is columns


def test_host_events_and_other_chips_do_not_move() -> None:
    builder = op(trace(), (0, 50), (10, 60)).call("python", 0, 70)
    builder.on_line(
        "/device:TPU:1", "XLA Ops", "%other = f32[8]{0} fusion(f32[8]{0} %x)", 0, 30
    )

    columns = on_chip_clock(builder.decode())

    names = [columns.names.name[row] for row in columns.events.row]
    assert columns.events.start_ps[names.index("python")] == 0
    assert (
        columns.events.start_ps[names.index("%other = f32[8]{0} fusion(f32[8]{0} %x)")]
        == 0
    )


def test_even_steps_come_out_even() -> None:
    """Steps of 100 µs on the chip; the fit gives 130, 70, 100, 100."""
    builder = trace()
    for at, fitted in zip((0, 100, 200, 300), (0, 130, 200, 300), strict=True):
        following = {0: 130, 130: 200, 200: 300, 300: 400}[fitted]
        op(builder, (fitted, following), (at, at + 100))
        builder.on_line(
            "/device:TPU:0", "XLA Modules", "jit_step(1)", fitted, following
        )

    metrics = builder.measure()

    assert metrics.value("step_time_ms") == pytest.approx(0.1)
    assert metrics.value("step_time_spread") == 0


def test_what_sparse_cores_run_is_beside_the_device() -> None:
    """In steps of 100 µs one sparse core runs ops for 40, another for 30, of which 10
    at the same time: 60 on one of two TPUs.
    """
    builder = trace().steps(2, period=100)
    for at in (0, 100):
        for device in ("TPU:0", "TPU:1"):
            builder.on_line(
                f"/device:{device}",
                "XLA Ops",
                "%fusion.1 = f32[8] fusion(%x)",
                at,
                at + 50,
            )
        builder.on_line(
            "/device:TPU:0 SparseCore 0",
            "Sparse Core Ops",
            "%all-gather.7 = f32[8] all-gather(%p)",
            at,
            at + 40,
        )
        builder.on_line(
            "/device:TPU:0 SparseCore 1",
            "Sparse Core Ops",
            "%sort.1 = f32[8] sort(%p)",
            at + 30,
            at + 60,
        )
        builder.on_line(
            "/device:TPU:0 SparseCore 1",
            "Sparse Core Modules",
            "jit_step(1)",
            at,
            at + 100,
        )

    metrics = builder.measure()

    assert metrics.value("sparse_core_fraction") == pytest.approx(60 / 200)
    assert metrics.value("device_busy_fraction") == pytest.approx(0.5)
    without = (
        trace()
        .steps(2, period=100)
        .on_line("/device:TPU:0", "XLA Ops", "%fusion.1 = f32[8] fusion(%x)", 0, 190)
    )
    assert "sparse core" in without.measure()["sparse_core_fraction"].reason
