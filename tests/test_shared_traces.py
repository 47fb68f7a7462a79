"""Real traces that others recorded: each ends in a report that agrees with an independent count, or in one clear error."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.shared_traces import FOLDER, needs_shared_traces, shared_trace_files

import tfadvisor
from tfadvisor.timeline.build import SELECTION, build_host
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.intervals import union_of
from tfadvisor.vocabulary import DeviceKind
from tfadvisor.xplane import messages
from tfadvisor.xplane.decode import decode_file

pytestmark = needs_shared_traces

COPY_WORDS = ("memcpy", "memset", "copybuffer", "fillbuffer")


@pytest.mark.parametrize("path", shared_trace_files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_report_or_one_clear_error(path: Path) -> None:
    before = sorted((one, one.stat().st_mtime_ns) for one in path.parent.iterdir())
    try:
        report = tfadvisor.analyze(path)
    except tfadvisor.TraceError as error:
        assert "CORRUPT" in path.name
        assert "byte 1 of 1,365,940" in str(error)
    else:
        assert report.broken == ()
        assert sum(report.breakdown.values()) == pytest.approx(1, abs=1e-6)
        for name, metric in report.metrics.items():
            assert (metric.value is None) == (metric.reason is not None), name
    assert sorted((one, one.stat().st_mtime_ns) for one in path.parent.iterdir()) == before


def timeline(part: str) -> HostTimeline:
    (path, *_) = sorted(FOLDER.rglob(part))
    return build_host(decode_file(path, SELECTION))


@pytest.mark.parametrize(
    ("part", "devices", "kernels", "busy_ms"),
    [
        ("jax08_gemm/*.xplane.pb", 1, 54, 3.4),
        ("jax08_elementwise/*.xplane.pb", 1, 75, 3.8),
        ("jax08_attention/*.xplane.pb", 1, 105, 3.8),
        ("934987a2fc2f.xplane.pb", 1, 150, 12.1),
        ("34.83.195.179_6003.xplane.pb", 2, 665 * 2, 14.8 * 2),
    ],
)
def test_devices_kernels_and_busy_time_are_what_their_index_says(
    part: str, devices: int, kernels: int, busy_ms: float
) -> None:
    host = timeline(part)
    active = host.active_devices()
    copies = (name for device in active for name in (device.ops.names[row] for row in device.ops.name))

    assert len(active) == devices
    if part.startswith("34"):
        assert sum(not any(word in name.lower() for word in COPY_WORDS) for name in copies) == kernels
    else:
        assert sum(len(device.ops) for device in active) == kernels
    kernel_time = sum(device.compute.length() for device in active) / 1e9
    with_copies = sum(union_of(device.compute, device.transfer).length() for device in active) / 1e9
    assert kernel_time - 0.1 <= busy_ms <= with_copies + 0.1


@pytest.mark.parametrize("path", shared_trace_files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_kernel_counts_equal_a_count_by_plain_protobuf(path: Path) -> None:
    if "CORRUPT" in path.name:
        return
    host = build_host(decode_file(path, SELECTION))
    space = messages.XSpace.FromString(path.read_bytes())
    counted: dict[str, int] = {}
    for plane in space.planes:
        if plane.name.startswith(b"/device:GPU"):
            streams = [line for line in plane.lines if line.name.startswith(b"Stream #")]
            counted[plane.name.decode().removeprefix("/device:")] = sum(len(line.events) for line in streams)

    assert {device.name: len(device.ops) for device in host.devices if device.kind is DeviceKind.GPU} == counted


def test_byte_identical_hosts_are_one() -> None:
    report = tfadvisor.analyze(FOLDER / "tfprof-demo" / "plugins" / "profile" / "GPU-multi-worker")

    assert len(report.run.hosts) == 1
    assert report.metrics["host_skew_fraction"].value is None
    assert "duplicate-host-files" in {note.rule_id for note in report.capture}


def test_xla_passes_named_after_collectives_are_none() -> None:
    report = tfadvisor.analyze(next(FOLDER.glob("reactant-cpu/**/*.xplane.pb")))

    assert report.metrics["collectives_per_step"].value is None
    assert report.run.devices == ()
    assert report.verdict.bottleneck == "unknown"


def test_three_all_reduces_a_tpu_chip() -> None:
    host = timeline("*2cc1243f*")

    assert [int((device.ops.kind == 1).sum()) for device in host.active_devices()] == [3, 3, 3, 3]
