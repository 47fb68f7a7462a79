"""The collectives of one device as a table."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support import hlo_builder as hlo
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.devices.collective_calls import CollectiveCalls

PS = 1_000_000
Event = tuple[str, float, float]


def calls(builder: TraceBuilder) -> CollectiveCalls:
    (host,) = builder.build().hosts
    return host.devices[0].collectives


def tpu(*events: Event, line: str = "XLA Ops") -> TraceBuilder:
    """One TPU in one step of 1,000."""
    builder = trace().step(0, 1000)
    for name, start, end in events:
        builder.on_line("/device:TPU:0", line, name, start, end)
    return builder


def spans(found: CollectiveCalls) -> list[tuple[str, float, float]]:
    return [
        (found.labels[label], start / PS, end / PS)
        for label, start, end in zip(
            found.label.tolist(), found.start.tolist(), found.end.tolist(), strict=True
        )
    ]


def test_a_call_is_labelled_by_its_op_and_keeps_its_kernels_name() -> None:
    nccl = "ncclDevKernel_AllReduce_Sum_f32"
    builder = (
        trace()
        .step(0, 1000)
        .collective("GPU:0", 0, 10, nccl, hlo_op="all-reduce.7", hlo_module="jit_step")
    )

    found = calls(builder.collective("GPU:0", 20, 30, nccl))

    assert spans(found) == [("all-reduce.7", 0, 10), (nccl, 20, 30)]
    assert [found.labels[row] for row in found.kernel.tolist()] == [nccl, nccl]
    assert [
        found.modules[row] if row >= 0 else None for row in found.module.tolist()
    ] == ["jit_step", None]


def test_labels_are_distinct_even_where_rows_share_a_name() -> None:
    """An event's own name, and another's op of the same name."""
    builder = trace().step(0, 1000).collective("GPU:0", 0, 10, "all-reduce.7")

    found = calls(
        builder.collective(
            "GPU:0", 20, 30, "ncclDevKernel_AllReduce_Sum_f32", hlo_op="all-reduce.7"
        )
    )

    assert sorted(found.labels) == ["all-reduce.7", "ncclDevKernel_AllReduce_Sum_f32"]
    assert spans(found) == [("all-reduce.7", 0, 10), ("all-reduce.7", 20, 30)]


@pytest.mark.parametrize(
    ("kernels", "exposed", "exposed_from"),
    [
        ([], 60, 40),
        ([(0, 40), (100, 120)], 60, 40),
        ([(0, 100)], 0, 100),
        ([(40, 100)], 0, 100),
        ([(30, 55)], 45, 55),
        ([(70, 130)], 30, 40),
        ([(30, 50), (60, 70), (90, 95)], 35, 50),
        ([(30, 50), (45, 99.999999)], 0.000001, 99.999999),
    ],
)
def test_what_computation_leaves_bare(
    kernels: list[tuple[float, float]], exposed: float, exposed_from: float
) -> None:
    """Of a collective from 40 to 100."""
    found = calls(
        trace()
        .step(0, 1000)
        .collective("GPU:0", 40, 100)
        .busy("GPU:0", (200, 201), *kernels)
    )

    assert found.exposed_ps.tolist() == [round(exposed * PS)]
    assert found.exposed_from.tolist() == [round(exposed_from * PS)]


def test_a_call_without_length_is_never_bare() -> None:
    found = calls(
        trace().step(0, 1000).collective("GPU:0", 40, 40).busy("GPU:0", (0, 10))
    )

    assert (found.exposed_ps.tolist(), found.exposed_from.tolist()) == ([0], [40 * PS])


def test_the_done_half_ends_the_call() -> None:
    """Started at 10, waited for from 40 to 90; a fusion covers 12 to 40."""
    found = calls(
        tpu(
            ("all-reduce-start.1", 10, 12),
            ("fusion.2", 12, 40),
            ("all-reduce-done.1", 40, 90),
        )
    )

    assert spans(found) == [("all-reduce-start.1", 10, 90)]
    assert found.exposed_ps.tolist() == [(2 + 50) * PS]
    assert found.exposed_from.tolist() == [10 * PS]


def test_halves_belong_together_by_number_also_where_names_hold_their_definition() -> (
    None
):
    """Two in flight; the first started is done last."""
    one, other = (
        "%all-gather-{}.1 = bf16[8]{{0}} x(%p)",
        "%all-gather-{}.2 = bf16[8]{{0}} x(%p)",
    )
    found = calls(
        tpu(
            (one.format("start"), 10, 11),
            (other.format("start"), 20, 21),
            (other.format("done"), 30, 50),
            (one.format("done"), 60, 70),
        )
    )

    assert spans(found) == [
        (one.format("start"), 10, 70),
        (other.format("start"), 20, 50),
    ]


def test_each_call_has_its_own_done() -> None:
    """Of three calls in a loop the second lacks its done, as traces drop events."""
    found = calls(
        tpu(
            ("all-reduce-start.1", 10, 12),
            ("all-reduce-done.1", 20, 30),
            ("all-reduce-start.1", 110, 112),
            ("all-reduce-start.1", 210, 212),
            ("all-reduce-done.1", 220, 230),
        )
    )

    assert [(start, end) for _, start, end in spans(found)] == [
        (10, 30),
        (110, 112),
        (210, 230),
    ]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([("all-reduce-done.1", 20, 30), ("fusion.1", 40, 50)], [(20, 30)]),
        ([("all-reduce-start.1", 10, 12)], [(10, 12)]),
        ([("all-reduce-start.1", 10, 12), ("all-reduce-done.2", 20, 30)], [(10, 12)]),
        ([("all-reduce-done.1", 5, 8), ("all-reduce-start.1", 10, 12)], [(10, 12)]),
        (
            [("all-reduce.1", 10, 12), ("all-reduce-done.1", 20, 30)],
            [(10, 12), (20, 30)],
        ),
    ],
)
def test_halves_that_miss_each_other(
    events: Sequence[Event], expected: list[tuple[float, float]]
) -> None:
    found = calls(tpu(*events))

    assert [(start, end) for _, start, end in spans(found)] == expected


def test_bytes_and_group_are_the_programs() -> None:
    """bf16[1024] among 8, as the HLO says; of another op or another program nothing is
    known.
    """
    body = hlo.computation(
        1,
        hlo.op(1, "parameter", "bf16[1024]"),
        hlo.op(
            2,
            "all-reduce",
            "bf16[1024]",
            1,
            name="all-reduce.7",
            extra=hlo.replica_groups(range(8)),
        ),
    )
    builder = trace().step(0, 1000).program("jit_step", hlo.module(body))
    for at, op, module in (
        (0, "all-reduce.7", "jit_step"),
        (20, "all-reduce.8", "jit_step"),
        (40, "all-reduce.7", "other"),
    ):
        builder.collective("GPU:0", at, at + 10, hlo_op=op, hlo_module=module)

    found = calls(builder.collective("GPU:0", 60, 70))

    assert found.bytes.tolist() == [2048, -1, -1, -1]
    assert found.group.tolist() == [8, 0, 0, 0]


def test_damaged_hlo_leaves_sizes_unknown() -> None:
    whole = hlo.module(hlo.computation(1, hlo.op(1, "parameter", "bf16[1024]")))
    builder = trace().step(0, 1000).program("jit_step", whole[:-3])

    found = calls(
        builder.collective("GPU:0", 0, 10, hlo_op="all-reduce.7", hlo_module="jit_step")
    )

    assert (found.bytes.tolist(), found.group.tolist()) == ([-1], [0])


def test_steps_and_keys_are_the_calls_own() -> None:
    """Steps from 100 to 300; one call before them, one in each, one after."""
    builder = trace().step(100, 200).step(200, 300).busy("GPU:0", (0, 5))
    for run, at in enumerate((50, 199, 200, 300)):
        builder.collective("GPU:0", at, at + 2, run_id=40 + run)

    found = calls(builder.collective("GPU:0", 310, 320))

    assert found.step.tolist() == [-1, 0, 1, -1, -1]
    assert found.key.tolist() == [40, 41, 42, 43, -1]


def test_a_device_without_collectives_has_an_empty_table() -> None:
    found = calls(trace().step(0, 100).busy("GPU:0", (0, 50)))

    assert len(found) == 0
    assert found.labels == ()


def test_the_type_is_told_by_the_name_where_there_is_no_hlo() -> None:
    found = calls(
        trace()
        .step(0, 1000)
        .collective("GPU:0", 0, 10, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL")
    )

    assert found.dtypes == ("bf16",)


def test_a_receive_ends_where_it_is_waited_for_and_a_wait_without_a_start_is_a_call() -> (
    None
):
    """recv.2 begins at 10 and is waited for until 60; nothing on the device starts what
    all-reduce-done.7 waits for.
    """
    builder = trace().step(0, 100)
    for name, start, end in (
        ("recv.2", 10, 11),
        ("fusion.1", 11, 40),
        ("recv-done.2", 40, 60),
        ("all-reduce-done.7", 70, 90),
    ):
        builder.on_line(
            "/device:TPU:0", "XLA Ops", f"%{name} = f32[8] op(%p)", start, end
        )

    (device,) = builder.build().hosts[0].devices

    calls = device.collectives
    assert (calls.start // 1_000_000).tolist() == [10, 70]
    assert (calls.end // 1_000_000).tolist() == [60, 90]
    assert (calls.exposed_ps // 1_000_000).tolist() == [1 + 20, 20]
