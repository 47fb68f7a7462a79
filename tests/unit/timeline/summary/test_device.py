"""A device in small tables: exact sums, counts by op, copies, first starts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.kernel_launches import KernelLaunch, kernel_launch
from tfadvisor.timeline.summary.device import SMALL_KERNEL_PS, DeviceSummary, OpTable

PS = 1_000_000


def summary(builder: TraceBuilder) -> DeviceSummary:
    (host,) = builder.build().hosts
    (device,) = host.devices
    return device


def rows(table: OpTable) -> list[tuple[Any, ...]]:
    """(name, op, module, class, count, ps, small) by row, sorted."""
    texts = (*table.names, "")
    columns = (
        table.name,
        table.op,
        table.module,
        table.kind,
        table.count,
        table.total_ps,
        table.small,
    )
    return sorted(
        (texts[name], texts[op], texts[module], DeviceClass(kind), count, total, small)
        for name, op, module, kind, count, total, small in zip(
            *(one.tolist() for one in columns), strict=True
        )
    )


def test_sums_of_long_times_are_exact_to_the_picosecond() -> None:
    """Five kernels of 2^52 + 1 ps, 75 minutes each: 5 · 2^52 + 5 has no double."""
    length = 2**52 + 1
    assert int(float(5 * length)) != 5 * length
    builder = trace().step(0, Fraction(6 * length, PS))
    for index in range(5):
        builder.busy(
            "GPU:0", (Fraction(index * length, PS), Fraction((index + 1) * length, PS))
        )

    found = summary(builder)

    assert found.ops.total_ps.tolist() == [5 * length]
    assert found.covered_ps[0, DeviceClass.COMPUTE] == 5 * length
    assert found.lengths.values.tolist() == [length] * 5


def test_one_row_for_each_name_op_module_and_class() -> None:
    builder = trace().step(0, 1000)
    line = ("/device:GPU:0", "Stream #1(Compute)")
    builder.on_line(*line, "gemm", 0, 20, hlo_op="dot.1", hlo_module="jit_step")
    builder.on_line(*line, "gemm", 30, 35, hlo_op="dot.1", hlo_module="jit_step")
    builder.on_line(*line, "gemm", 40, 61, hlo_op="dot.2", hlo_module="jit_step")
    builder.on_line(*line, "gemm", 70, 92, hlo_op="dot.1", hlo_module="jit_eval")
    builder.on_line(*line, "gemm", 100, 123)
    builder.collective("GPU:0", 200, 240).copy("GPU:0", "H2D", 300, 303)

    assert rows(summary(builder).ops) == [
        ("MemcpyH2D", "", "", DeviceClass.H2D, 1, 3 * PS, 1),
        ("gemm", "", "", DeviceClass.COMPUTE, 1, 23 * PS, 0),
        ("gemm", "dot.1", "jit_eval", DeviceClass.COMPUTE, 1, 22 * PS, 0),
        ("gemm", "dot.1", "jit_step", DeviceClass.COMPUTE, 2, 25 * PS, 1),
        ("gemm", "dot.2", "jit_step", DeviceClass.COMPUTE, 1, 21 * PS, 0),
        (
            "ncclDevKernel_AllReduce_Sum_f32",
            "",
            "",
            DeviceClass.COLLECTIVE,
            1,
            40 * PS,
            0,
        ),
    ]


def test_a_kernel_is_small_below_10_us() -> None:
    """One ps decides."""
    assert SMALL_KERNEL_PS == 10 * PS
    builder = (
        trace()
        .step(0, 100)
        .busy("GPU:0", (0, 9.999999), (20, 30), (40, 40), (50, 60.000001))
    )

    assert rows(summary(builder).ops) == [
        ("some_kernel", "", "", DeviceClass.COMPUTE, 4, 30 * PS, 2),
    ]


def test_what_lies_outside_of_counted_steps_is_left_out_of_the_table_but_not_of_the_steps_time() -> (
    None
):
    """Markers of 60 every 100: the third is cut off. Before the first step and after
    the last nothing counts.
    """
    builder = trace()
    for at in (100, 200, 300):
        builder.step(at, at + 60)
    builder.busy("GPU:0", (0, 20), (110, 140), (190, 220), (310, 350), (400, 500))

    found = summary(builder)

    assert rows(found.ops) == [
        ("some_kernel", "", "", DeviceClass.COMPUTE, 2, 60 * PS, 0)
    ]
    assert found.lengths.values.tolist() == [30 * PS, 30 * PS]
    assert found.launches.kernels == 2
    assert (found.covered_ps[:, DeviceClass.COMPUTE] / PS).tolist() == [40, 20, 40]


def test_the_first_start_of_each_step_is_where_work_in_it_begins() -> None:
    """At once where an event of the step before goes on; with a copy too; a step in
    which nothing runs has none.
    """
    builder = (
        trace().steps(4, period=100).busy("GPU:0", (10, 30), (90, 120), (310, 320))
    )

    found = summary(builder.copy("GPU:0", "H2D", 125, 130).busy("GPU:0", (128, 129)))

    assert [
        first if first < 0 else first / PS for first in found.first_start.tolist()
    ] == [10, 100, -1, 310]


def test_copies_are_counted_by_memory_and_size() -> None:
    """To the device: 100 and 200 pageable, 300 pinned, one of 0 bytes, one that does
    not say. Back: 50 pinned.
    """
    builder = trace().step(0, 1000).busy("GPU:0", (0, 10))
    for at, size, memory in (
        (20, 100, "pageable"),
        (40, 200, "pageable"),
        (60, 300, "pinned"),
        (80, 0, "device"),
    ):
        builder.copy("GPU:0", "H2D", at, at + 5, size=size, memory=memory)
    builder.copy("GPU:0", "H2D", 100, 105).copy("GPU:0", "D2H", 120, 125, size=50)

    copies = summary(builder).copies

    assert set(copies) == {DeviceClass.H2D, DeviceClass.D2H}
    to_device, back = copies[DeviceClass.H2D], copies[DeviceClass.D2H]
    assert (to_device.count, to_device.bytes, to_device.unsized) == (5, 600, 1)
    assert (to_device.pageable, to_device.pinned) == (2, 1)
    assert (back.count, back.bytes, back.unsized, back.pageable, back.pinned) == (
        1,
        50,
        0,
        0,
        1,
    )


@pytest.mark.parametrize("start", [150, 100])
def test_a_device_that_works_after_the_steps_only_has_empty_tables(
    start: float,
) -> None:
    """A step ends before its last instant: what begins at 100 is not in 0 to 100."""
    found = summary(trace().step(0, 100).busy("GPU:0", (start, start + 20)))

    assert rows(found.ops) == []
    assert found.lengths.values.tolist() == []
    assert found.first_start.tolist() == [-1]
    assert found.covered_ps.sum() == 0


def test_how_a_kernel_was_launched_stands_in_its_row() -> None:
    """Three launches of one kernel in two ways. The way of 20 µs has 128 threads, 4
    warps, of 122 registers: 3,904 a warp in units of 256 are 4,096, so a V100's 65,536
    hold 16 warps of the 64 that it has room for.
    """
    many = "regs:122 shm:12288 grid:2,6,36 block:128,1,1"
    few = (
        "regs:16 static_shared:0 dynamic_shared:512 grid:3,1,1 block:64,2,1 occ_pct:75"
    )
    builder = (
        trace()
        .step(0, 100)
        .plane_stat("/device:GPU:0", compute_cap_major=7, compute_cap_minor=0)
    )
    line = ("/device:GPU:0", "Stream #1(Compute)")
    builder.on_line(*line, "gemm", 0, 20, kernel_details=many)
    builder.on_line(*line, "gemm", 30, 35, kernel_details=few)
    builder.on_line(*line, "gemm", 40, 45, kernel_details=few)
    builder.on_line(*line, "late", 50, 55, kernel_details=few)
    builder.on_line(*line, "silent", 60, 65)

    found = summary(builder)

    launches = {
        found.ops.names[found.ops.name[row]]: found.launch_of(found.ops, row)
        for row in range(3)
    }
    assert launches == {
        "gemm": KernelLaunch((2, 6, 36), (128, 1, 1), 122, 12288, 0.25),
        "late": KernelLaunch((3, 1, 1), (64, 2, 1), 16, 512, 0.75),
        "silent": None,
    }
    assert found.ops.ways.tolist() == [2, 1, 1]


def test_what_no_gpu_could_run_is_no_launch() -> None:
    """As some recordings of 2020 hold it: pieces of memory that nobody wrote to."""
    assert (
        kernel_launch(
            "regs:112 shm:512 grid:140302689396144,6834654160,1 "
            "block:31377856,0,6965527264",
            (7, 0),
        )
        is None
    )
    assert kernel_launch("regs:1", (7, 0)) is None
    found = kernel_launch(
        " grid:1280,1,1 block:256,1,1 private_mem:0 group_mem:32 occ_pct:0", (9, 4)
    )
    assert found == KernelLaunch((1280, 1, 1), (256, 1, 1), None, 32, None)


def test_a_copy_of_a_tpu_is_counted_once() -> None:
    """It is started at 10, waited for from 60 to 90, and shown from 10 to 90 on a line
    of its own: of the step it takes the wait. Eight rows of 128 floats are 4,096 bytes.
    """
    plane, arrays = (
        "/device:TPU:0",
        "f32[8,128]{1,0:T(8,128)}, f32[8,128]{1,0:T(8,128)S(5)}",
    )
    start = f"%copy-start.4 = ({arrays}, u32[]) copy-start(f32[8,128]{{1,0}} %x)"
    done = (
        f"%copy-done.4 = f32[8,128]{{1,0:T(8,128)}} copy-done(({arrays}, u32[]) "
        "%copy-start.4)"
    )
    builder = (
        trace()
        .step(0, 100)
        .on_line(plane, "XLA Ops", start, 10, 11)
        .on_line(plane, "XLA Ops", done, 60, 90)
    )
    builder.on_line(plane, "XLA Ops", "%fusion.1 = f32[8] fusion(f32[8] %y)", 11, 60)

    assert (
        summary(builder).ops.total_ps.tolist()
        == summary(
            builder.on_line(plane, "Async XLA Ops", start, 10, 90, hlo_op="copy-done.4")
        ).ops.total_ps.tolist()
    )
    found = summary(builder)

    totals = found.copies[DeviceClass.H2D]
    assert (totals.count, totals.bytes, totals.unsized) == (1, 4096, 0)
    assert found.covered_ps[0, DeviceClass.H2D] == 80 * PS


def test_a_program_counts_in_each_step_that_its_ops_begin_in() -> None:
    """Training runs in three of four steps, in the second of them twice with the
    evaluation in between, which runs in the fourth too.
    """
    builder = trace().steps(4, period=100)
    ran = (
        (10, "jit_train"),
        (110, "jit_train"),
        (130, "jit_evaluate"),
        (150, "jit_train"),
        (210, "jit_train"),
        (310, "jit_evaluate"),
    )
    for at, module in ran:
        launched = (at - 5, at - 4)
        stats = {"launched": launched, "hlo_module": module}
        builder.kernel("GPU:0", "fusion", at, at + 10, **stats)

    found = summary(builder)

    name_of = found.ops.module_of()
    counts = {name_of(row): found.steps_with(row) for row in range(len(found.ops))}
    assert counts == {"jit_train": 3, "jit_evaluate": 2}
