"""Busy time, kernels and copied bytes of devices, counted a second time: plain protobuf
messages in plain Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.shared_traces import needs_shared_traces, shared_trace_files
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.host_build import SELECTION, build_host
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.intervals import union_of
from tfadvisor.timeline.names.classes import COPIES, DeviceClass
from tfadvisor.timeline.timeline_parts import Device
from tfadvisor.trace import messages
from tfadvisor.trace.columns import LONGEST_NAME
from tfadvisor.trace.decode import decode_file
from tfadvisor.vocabulary import DeviceKind

COPY_STARTS = ("memcpy", "memset", "__amd_rocclr_copybuffer", "__amd_rocclr_fillbuffer")
PS_PER_US = 1_000_000
DIRECTIONS = {"h2d": DeviceClass.H2D, "d2h": DeviceClass.D2H, "d2d": DeviceClass.D2D}


class Counted:
    """What one device plane's raw lines hold. lines: a line's id -> spans. copied: H2D,
    D2H or D2D -> bytes.

    Of a TPU, spans are by the chip's clock. fitted: ids of lines without it beside
    lines that have it: their times are an estimate, so only their number counts here.
    """

    def __init__(self) -> None:
        self.lines: dict[int, list[tuple[int, int]]] = {}
        self.fitted: set[int] = set()
        self.kernels: Counter[str] = Counter()
        self.copies = 0
        self.copied: Counter[str] = Counter()

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Of all lines."""
        return [span for line in self.lines.values() for span in line]

    def busy_within(self, lo: int, hi: int) -> int:
        """How long any of the events runs between two times."""
        return length([(max(start, lo), min(end, hi)) for start, end in self.spans])


def length(spans: list[tuple[int, int]]) -> int:
    """Of the union of spans that overlap as they like."""
    total, reached = 0, -(1 << 62)
    for start, end in sorted(spans):
        total += max(end - max(start, reached), 0)
        reached = max(reached, end)
    return total


def counted(data: bytes) -> dict[str, Counted]:
    """`GPU:0` -> its counts."""
    found: dict[str, Counted] = {}
    for plane in messages.XSpace.FromString(data).planes:
        name = plane.name.decode()
        if not name.startswith(("/device:GPU:", "/device:TPU:")) or " " in name:
            continue
        one = found.setdefault(name.removeprefix("/device:"), Counted())
        by_chip, by_host = set(), set()
        for line in plane.lines:
            is_raw = (
                line.name in (b"XLA Ops", b"Async XLA Ops")
                if "TPU" in name
                else line.name.startswith(b"Stream #")
            )
            waits = (
                "TPU" in name and line.name == b"XLA TraceMe"
            )  # for the other cores; all else there is no work
            for event in line.events if is_raw or waits else ():
                if (
                    waits
                    and plane.event_metadata[event.metadata_id].name != b"barrier-cores"
                ):
                    continue
                if event.WhichOneof("data") != "num_occurrences":
                    (by_chip if add(one, plane, line, event) else by_host).add(line.id)
        one.fitted = by_host if by_chip else set()
    return found


def add(one: Counted, plane: Any, line: Any, event: Any) -> bool:
    """Counts one event; whether it has times of the chip's own clock."""
    name = plane.event_metadata[event.metadata_id].name.decode()
    stats = dict(numbers_and_texts(plane, event))
    by_chip = "device_offset_ps" in stats
    start = (
        stats["device_offset_ps"]
        if by_chip
        else line.timestamp_ns * 1000 + event.offset_ps
    )
    duration = stats["device_duration_ps"] if by_chip else event.duration_ps
    one.lines.setdefault(line.id, []).append((start, start + duration))
    if not name.lower().startswith(COPY_STARTS):
        one.kernels[name[:LONGEST_NAME]] += 1
        return by_chip
    one.copies += 1
    direction = name.lower().removeprefix("memcpy").replace("to", "2")
    if "memcpy_details" in stats and direction in DIRECTIONS:
        words = dict(word.split(":", 1) for word in stats["memcpy_details"].split())
        one.copied[direction] += int(words.get("size", words.get("num_bytes", "0")))
    return by_chip


def numbers_and_texts(plane: Any, event: Any) -> Iterator[tuple[str, Any]]:
    """The event's stats."""
    for stat in event.stats:
        key = plane.stat_metadata[stat.metadata_id].name.decode()
        kind = stat.WhichOneof("value")
        if kind == "ref_value":
            yield key, plane.stat_metadata[stat.ref_value].name.decode()
        elif kind == "str_value":
            yield key, stat.str_value.decode()
        elif kind in ("uint64_value", "int64_value"):
            yield key, getattr(stat, kind)


def assert_counts_agree(host: HostTimeline, data: bytes) -> None:
    """Every GPU and TPU of the trace, and the shares of step time in the breakdown."""
    expected = counted(data)
    devices = {
        device.name: device
        for device in host.devices
        if device.kind is not DeviceKind.CPU
    }
    assert set(devices) == set(expected)
    for name, one in expected.items():
        device = devices[name]
        for line in set(one.lines) - one.fitted:
            mine = device.ops.stream == line
            ran = list(
                zip(
                    device.ops.start[mine].tolist(),
                    device.ops.end[mine].tolist(),
                    strict=True,
                )
            )
            assert sorted(ran) == sorted(one.lines[line]), name
        if not one.fitted:
            assert union_of(
                device.compute, device.collective, device.transfer
            ).length() == length(one.spans), name
        if device.kind is DeviceKind.GPU:
            assert kernels_of(device) == one.kernels, name
            assert (
                sum(device.ops.kind == kind for kind in COPIES).sum() == one.copies
            ), name
            assert {
                key: bytes_of(device, kind) for key, kind in DIRECTIONS.items()
            } == {key: one.copied[key] for key in DIRECTIONS}, name
        else:
            assert len(device.ops) == sum(one.kernels.values()), name
    lo, hi = host.steps.starts.tolist(), host.steps.ends.tolist()
    for row, device in zip(
        host.breakdown, host.active_devices(), strict=False
    ):  # without any, one row of the host's
        busy = row[:, :3].sum(axis=1).tolist()  # compute, collective, transfer
        if device.kind is not DeviceKind.CPU and not expected[device.name].fitted:
            assert busy == [
                expected[device.name].busy_within(*step)
                for step in zip(lo, hi, strict=True)
            ], device.name


def kernels_of(device: Device) -> Counter[str]:
    ops = device.ops
    rows = [
        row
        for row, kind in zip(ops.name.tolist(), ops.kind.tolist(), strict=True)
        if kind not in COPIES
    ]
    return Counter(ops.names[row] for row in rows)


def bytes_of(device: Device, kind: DeviceClass) -> int:
    pairs = zip(device.ops.kind.tolist(), device.ops.bytes.tolist(), strict=True)
    return sum(size for one, size in pairs if one == kind and size > 0)


@needs_shared_traces
@pytest.mark.parametrize(
    "path",
    [one for one in shared_trace_files() if "CORRUPT" not in str(one)],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_recorded_traces(path: Path) -> None:
    assert_counts_agree(build_host(decode_file(path, SELECTION)), path.read_bytes())


def overlapping_streams() -> TraceBuilder:
    builder = (
        trace()
        .steps(3, period=100)
        .busy("GPU:0", (0, 30), (20, 25), (10, 60))
        .busy("GPU:0", (50, 80), stream=2)
    )
    return (
        builder.collective("GPU:0", 75, 95)
        .copy("GPU:0", "H2D", 90, 110, size=512)
        .busy("GPU:1", (250, 310))
    )


def derived_lines() -> TraceBuilder:
    builder = trace().step(0, 100).busy("GPU:0", (10, 20))
    for line in ("Steps", "TensorFlow Ops", "XLA Ops - from #1", "Launch Stats"):
        builder.on_line("/device:GPU:0", line, "MatMul", 0, 100)
    return builder


def copies_of_all_kinds() -> TraceBuilder:
    builder = (
        trace()
        .step(0, 100)
        .copy("GPU:0", "H2D", 0, 10, size=1 << 40)
        .copy("GPU:0", "D2H", 5, 20, size=7)
    )
    builder.copy("GPU:0", "D2D", 30, 40, size=9).copy(
        "GPU:0", "H2D", 50, 60, size=1
    ).copy("GPU:0", "P2P", 60, 70, size=3)
    details = "kind_src:device kind_dst:device num_bytes:100"
    builder.on_line(
        "/device:GPU:0",
        "Stream #4(MemcpyD2D)",
        "MEMCPYDtoD",
        70,
        80,
        memcpy_details=details,
    )
    return builder.on_line(
        "/device:GPU:0", "Stream #4(Memset)", "Memset", 80, 85
    ).empty_device("GPU:1")


def two_kinds_of_tpu_lines() -> TraceBuilder:
    builder = (
        trace()
        .on_line("/device:TPU:0", "XLA Modules", "jit_f(1)", 0, 90)
        .empty_device("TPU:1")
    )
    builder.on_line(
        "/device:TPU:0", "XLA Ops", "%fusion.1 = f32[8]{0} fusion(…)", 10, 30
    )
    builder.on_line(
        "/device:TPU:0", "XLA Ops", "%copy-done = f32[8]{0} copy-done(…)", 30, 40
    )
    return builder.on_line(
        "/device:TPU:0",
        "Async XLA Ops",
        "%copy-start = f32[8]{0} copy-start(…)",
        25,
        60,
    )


def the_chips_clock() -> TraceBuilder:
    """By the host's clock 10–40 and 40–90, by the chip's 12–32 and 50–90."""
    builder = trace()
    for fitted, chip in (((10, 40), (12, 32)), ((40, 90), (50, 90))):
        stats = {
            "device_offset_ps": chip[0] * PS_PER_US,
            "device_duration_ps": (chip[1] - chip[0]) * PS_PER_US,
        }
        builder.on_line(
            "/device:TPU:0",
            "XLA Ops",
            "%fusion.1 = f32[8]{0} fusion(…)",
            *fitted,
            **stats,
        )
    return builder


@pytest.mark.parametrize(
    ("build", "device", "busy_us"),
    [
        (overlapping_streams, "GPU:0", 110),
        (overlapping_streams, "GPU:1", 60),
        (derived_lines, "GPU:0", 10),
        (copies_of_all_kinds, "GPU:0", 65),
        (copies_of_all_kinds, "GPU:1", 0),
        (two_kinds_of_tpu_lines, "TPU:0", 50),
        (the_chips_clock, "TPU:0", 60),
    ],
)
def test_built_traces(build: Any, device: str, busy_us: int) -> None:
    """The busy times are worked out on paper: a second count may be as wrong as the
    first.
    """
    builder = build()

    assert length(counted(builder.bytes())[device].spans) == busy_us * PS_PER_US
    assert_counts_agree(builder.timeline(), builder.bytes())


SPAN = st.tuples(st.integers(0, 400), st.integers(0, 60)).map(
    lambda one: (float(one[0]), float(sum(one)))
)
EVENT = st.tuples(
    st.sampled_from(["GPU:0", "GPU:1"]),
    st.sampled_from(["k", "nccl", "H2D", "D2H"]),
    SPAN,
)


@settings(max_examples=60)
@given(st.lists(EVENT, max_size=25), st.integers(1, 4))
def test_any_events(
    events: list[tuple[str, str, tuple[float, float]]], steps: int
) -> None:
    builder = trace().steps(steps, period=100)
    for number, (device, what, (start, end)) in enumerate(events):
        if what == "k":
            builder.busy(device, (start, end), stream=1 + number % 3)
        elif what == "nccl":
            builder.collective(device, start, end)
        else:
            builder.copy(device, what, start, end, size=number)

    assert_counts_agree(builder.timeline(), builder.bytes())
