"""What holds on any timeline: made ones with random hosts, devices, streams, steps,
launches and collectives.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import hlo_builder as hlo
from support.trace_builder import TraceBuilder, trace

from tfadvisor.metrics.registry import MetricAbsent, Settings, measure, registered_facts
from tfadvisor.metrics.steady import class_shares
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.intervals import Intervals, union, union_of
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.run.meetings import Meetings
from tfadvisor.timeline.run.run_summary import merge
from tfadvisor.timeline.summary.host_summary import HostSummary, summarize
from tfadvisor.timeline.timeline_parts import Device
from tfadvisor.units import Unit
from tfadvisor.vocabulary import TimeClass

COLLECTIVES = (
    "ncclDevKernel_AllReduce_Sum_f32",
    "all-reduce.1",
    "all-reduce-start.2",
    "all-reduce-done.2",
    "all-gather.3",
)
CALLS = (
    "load_batch",
    "PjitFunction(step)",
    "backend_compile",
    "BlockUntilReady",
    "IteratorGetNext",
    "anything",
)
ABOVE_ONE = {"allreduce_efficiency"}
"""Shares of an ideal that the trace may beat."""


EVERYONE = hlo.replica_groups(range(4))
PROGRAM = hlo.module(
    hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[1000]"),
        hlo.op(2, "parameter", "f32[9000]", number=1),
        hlo.op(11, "all-reduce", "f32[1000]", 1, extra=EVERYONE),
        hlo.op(12, "all-reduce", "f32[9000]", 2, extra=EVERYONE),
    )
)
"""The HLO of jit_step; nothing is known of the size of its all-gather.13."""


@st.composite
def spans(draw: st.DrawFn, most: int) -> list[tuple[int, int]]:
    """(start, end) in whole µs; some without length, a few that end before they
    begin.
    """
    found = []
    for _ in range(draw(st.integers(0, most))):
        start = draw(st.integers(0, 600))
        found.append((start, start + draw(st.sampled_from((-3, 0, 1, 9, 10, 40, 130)))))
    return found


def add_gpu(draw: st.DrawFn, builder: TraceBuilder, device: str) -> None:
    stream = st.integers(1, 3)
    for start, end in draw(spans(5)):
        if draw(st.booleans()):
            launch = max(start - draw(st.integers(-5, 60)), 0)
            builder.kernel(
                device,
                "gemm",
                start,
                end,
                launched=(launch, launch + 2),
                stream=draw(stream),
            )
        else:
            builder.busy(device, (start, end), stream=draw(stream))
    for start, end in draw(spans(2)):
        kind, size = (
            draw(st.sampled_from(("H2D", "D2H", "D2D"))),
            draw(st.sampled_from((None, 0, 4096))),
        )
        builder.copy(
            device,
            kind,
            start,
            end,
            size,
            memory=draw(st.sampled_from(("pinned", "pageable"))),
        )
    for index, (start, end) in enumerate(draw(spans(5))):
        stats = {"run_id": index // 2} if draw(st.booleans()) else {}
        line = f"Stream #{draw(stream)}(Compute)"
        builder.on_line(
            f"/device:{device}",
            line,
            draw(st.sampled_from(COLLECTIVES)),
            start,
            end,
            **stats,
        )
    if draw(st.booleans()):
        graph = draw(st.integers(0, 500))
        builder.call("cuGraphLaunch", graph, graph + 2, correlation_id=900_000)
        for start in range(graph, graph + 30, 10):
            builder.on_line(
                f"/device:{device}",
                "Stream #1(Compute)",
                "node",
                start,
                start + 8,
                correlation_id=900_000,
            )


def add_shared(
    draw: st.DrawFn,
    builder: TraceBuilder,
    device: str,
    shared: list[tuple[str, int, int]],
) -> None:
    """Collectives of all devices: each arrives when it likes and leaves with the
    others; traces lack some.
    """
    op = {"hlo_module": "jit_step"}
    for name, start, end in shared:
        if draw(st.integers(0, 9)):
            arrival = min(start + draw(st.integers(0, 40)), end)
            builder.collective(
                device,
                arrival,
                end,
                "ncclDevKernel_AllReduce_Sum_f32",
                hlo_op=name,
                **op,
            )


def add_cpu(draw: st.DrawFn, builder: TraceBuilder, ordinal: int) -> None:
    builder.thread(f"tf_XLAEigen/{ordinal}")
    for name in ("dot.1", "all-reduce.1"):
        for start, end in draw(spans(4)):
            stats: dict[str, object] = {
                "run_id": start // 100,
                "hlo_module": "jit_step",
            }
            produced = draw(st.integers(1, 5))
            builder.call(
                name,
                start,
                end,
                hlo_op=name,
                device_ordinal=ordinal,
                _p=produced,
                **stats,
            )
            if draw(st.booleans()):
                builder.call(f"end: {name}", end + 5, end + 6, _c=produced)
    builder.thread("python")


@st.composite
def runs(draw: st.DrawFn) -> TraceBuilder:
    """One to three hosts with other clocks, numbers of steps and of devices; steps may
    overlap, or be missing.
    """
    builder = trace()
    name = st.sampled_from(("all-reduce.11", "all-reduce.12", "all-gather.13"))
    shared = [(draw(name), start, max(start, end)) for start, end in draw(spans(6))]
    for host in range(draw(st.integers(1, 3))):
        builder.host(f"host-{host}").clock(
            draw(st.sampled_from((0, 5_000_000, 17)))
        ).program("jit_step", PROGRAM)
        builder.call("begin", 0, 1)
        first, period = (
            draw(st.integers(0, 3)),
            draw(st.sampled_from((0, 1, 50, 100, 100, 100, 220))),
        )
        span = draw(st.sampled_from((0, 1, period, period, period // 2, period * 2)))
        for number in range(first, first + draw(st.integers(0, 5))):
            builder.call(
                "train", number * period, number * period + span, step_num=number, _r=1
            )
        for start, end in draw(spans(5)):
            builder.call(draw(st.sampled_from(CALLS)), start, end)
        add = add_gpu if draw(st.integers(0, 4)) else add_cpu
        for number in range(draw(st.integers(0, 3))):
            add(draw, builder, f"GPU:{number}" if add is add_gpu else number)
            if add is add_gpu:
                add_shared(draw, builder, f"GPU:{number}", shared)
    return builder


@settings(max_examples=200)
@given(runs())
@pytest.mark.slow
def test_what_holds_on_any_timeline_holds(builder: TraceBuilder) -> None:
    timelines = builder.timelines()
    summaries = [summarize(timeline) for timeline in timelines]
    run = merge("made", "made", summaries)

    for timeline, summary in zip(timelines, summaries, strict=True):
        check_breakdown(timeline)
        check_devices(timeline, summary)
    check_meetings(run.meetings)
    check_shares(class_shares_or_none(run))
    for settings_ in (Settings(), Settings(parameters=1000, bandwidth_gb_s=1.0)):
        check_metrics(measure(run, settings_))


def check_breakdown(timeline: HostTimeline) -> None:
    """Every instant of a step belongs to one class: the classes add up to the period,
    to the picosecond.
    """
    periods = timeline.steps.ends - timeline.steps.starts

    assert (periods >= 0).all()
    assert (timeline.breakdown >= 0).all()
    assert (timeline.breakdown.sum(axis=2) == periods).all()


def instants_with_a_class(device: Device, timeline: HostTimeline) -> Intervals:
    """Where the device or the driving thread does anything known, or a launch has not
    begun yet.
    """
    ops = device.ops
    linked = (ops.launch_end >= 0) & (ops.start > ops.launch_end)
    return union_of(
        device.compute,
        device.collective,
        device.transfer,
        device.infeed,
        union(ops.launch_end[linked], ops.start[linked]),
        *timeline.classes.values(),
    )


def check_devices(timeline: HostTimeline, summary: HostSummary) -> None:
    window = timeline.capture.window[1] - timeline.capture.window[0]
    steady = summary.steps.steady()
    periods = summary.steps.ends - summary.steps.starts
    lo, hi = summary.steps.starts, summary.steps.ends
    busy_classes = [TimeClass.COMPUTE, TimeClass.COLLECTIVE, TimeClass.TRANSFER]
    assert (summary.device_time.gaps >= 0).all()
    assert 0 <= summary.device_time.concurrency <= max(len(summary.devices), 1)
    active = timeline.active_devices()
    assert len(timeline.breakdown) == max(len(active), 1)
    for device, reduced, time in zip(
        active, summary.devices, timeline.breakdown[: len(active)], strict=True
    ):
        busy = union_of(device.compute, device.collective, device.transfer)
        assert busy.length() <= window
        assert (time[:, busy_classes].sum(axis=1) == busy.within(lo, hi)).all()
        assert (time[:, TimeClass.COLLECTIVE] <= device.collective.within(lo, hi)).all()
        known = instants_with_a_class(device, timeline)
        assert (
            time[:, TimeClass.IDLE] == hi - lo - known.within(lo, hi)
        ).all()  # else two classes share an instant
        assert (reduced.covered_ps <= periods[:, None]).all()
        assert (reduced.launches.latency.values >= 0).all()
        assert (
            reduced.launches.in_graphs
            <= reduced.launches.linked
            <= reduced.launches.kernels
        )
        rows = reduced.ops.of_class(DeviceClass.COMPUTE)
        assert (
            reduced.ops.count[rows].sum()
            == len(reduced.lengths)
            == reduced.launches.kernels
        )
        assert reduced.ops.total_ps[rows].sum() == reduced.lengths.values.sum()
        assert (reduced.ops.small <= reduced.ops.count).all()
        begins = (device.ops.start[:, None] >= lo[None, steady]) & (
            device.ops.start[:, None] < hi[None, steady]
        )
        assert reduced.ops.count.sum() == begins.any(axis=1).sum()
        calls = reduced.collectives
        assert (calls.exposed_ps >= 0).all()
        assert (calls.exposed_ps <= calls.end - calls.start).all()
        assert (
            (calls.exposed_from >= calls.start) & (calls.exposed_from <= calls.end)
        ).all()
        assert (calls.exposed_ps <= calls.end - calls.exposed_from).all()
        assert len(set(calls.labels)) == len(calls.labels)


def check_meetings(meetings: Meetings) -> None:
    """Nobody waits longer than its own collective takes, and no call is in two
    meetings.
    """
    assert (len(meetings) == 0) == bool(meetings.why)
    assert (meetings.wait >= 0).all()
    assert (meetings.wait <= meetings.end - meetings.start).all()
    if len(meetings):
        assert (
            (meetings.exposed >= 0)
            & (meetings.exposed <= meetings.end - meetings.start)
        ).all()
        assert (np.diff(meetings.start.max(axis=1)) >= 0).all()


def class_shares_or_none(run) -> dict[TimeClass, float]:
    try:
        return class_shares(run)
    except MetricAbsent as absent:
        assert str(absent)
        return {}


def check_shares(shares: dict[TimeClass, float]) -> None:
    if shares:
        assert abs(sum(shares.values()) - 1) <= 1e-6
        assert all(0 <= one <= 1 for one in shares.values())


def check_metrics(metrics) -> None:
    """None is broken, an absent one says why, shares lie within 0 and 1, nothing else
    is negative.
    """
    for name, one in metrics.items():
        assert not one.broken, (name, one.reason)
        assert (one.value is None) == bool(one.reason), name
        if one.value is None:
            continue
        assert math.isfinite(one.value), name
        assert one.value >= 0, (name, one.value)
        if one.unit is Unit.FRACTION and name not in ABOVE_ONE:
            assert one.value <= 1, (name, one.value)
    for name in registered_facts():
        assert metrics.fact(name) or metrics.why_no_fact(name), name
        assert not metrics.why_no_fact(name).startswith("broken"), (
            name,
            metrics.why_no_fact(name),
        )
    waits, exposed = (
        metrics.value("collective_wait_fraction"),
        metrics.value("exposed_collective_fraction"),
    )
    if waits is not None:
        assert exposed is not None
        assert waits <= exposed
        assert (
            abs((metrics.value("exposed_transfer_fraction") or 0) - (exposed - waits))
            <= 1e-12
        )
