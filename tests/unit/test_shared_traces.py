"""Real traces that others recorded: what is read of each agrees with an independent
count. What is said of each stands in tests/golden.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from support.shared_traces import FOLDER, needs_shared_traces, shared_trace_files

import tfadvisor
from tfadvisor.timeline.host_build import SELECTION, build_host
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.intervals import union_of
from tfadvisor.trace import messages
from tfadvisor.trace.decode import decode_file
from tfadvisor.vocabulary import DeviceKind

pytestmark = needs_shared_traces

COPY_WORDS = ("memcpy", "memset", "copybuffer", "fillbuffer")


@pytest.mark.parametrize(
    "path", shared_trace_files(), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_nothing_is_written_beside_a_trace(path: Path) -> None:
    before = sorted((one, one.stat().st_mtime_ns) for one in path.parent.iterdir())

    with suppress(tfadvisor.TraceError):
        tfadvisor.analyze(path)

    assert (
        sorted((one, one.stat().st_mtime_ns) for one in path.parent.iterdir()) == before
    )


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
    copies = (
        name
        for device in active
        for name in (device.ops.names[row] for row in device.ops.name)
    )

    assert len(active) == devices
    if part.startswith("34"):
        assert (
            sum(not any(word in name.lower() for word in COPY_WORDS) for name in copies)
            == kernels
        )
    else:
        assert sum(len(device.ops) for device in active) == kernels
    kernel_time = sum(device.compute.length() for device in active) / 1e9
    with_copies = (
        sum(union_of(device.compute, device.transfer).length() for device in active)
        / 1e9
    )
    assert kernel_time - 0.1 <= busy_ms <= with_copies + 0.1


@pytest.mark.parametrize(
    "path", shared_trace_files(), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_kernel_counts_equal_a_count_by_plain_protobuf(path: Path) -> None:
    if "CORRUPT" in path.name:
        return
    host = build_host(decode_file(path, SELECTION))
    space = messages.XSpace.FromString(path.read_bytes())
    counted: dict[str, int] = {}
    for plane in space.planes:
        if plane.name.startswith(b"/device:GPU"):
            streams = [
                line for line in plane.lines if line.name.startswith(b"Stream #")
            ]
            counted[plane.name.decode().removeprefix("/device:")] = sum(
                len(line.events) for line in streams
            )

    assert {
        device.name: len(device.ops)
        for device in host.devices
        if device.kind is DeviceKind.GPU
    } == counted


def test_byte_identical_hosts_are_one() -> None:
    report = tfadvisor.analyze(
        FOLDER / "tfprof-demo" / "plugins" / "profile" / "GPU-multi-worker"
    ).report

    assert len(report.run.hosts) == 1
    assert report.metrics["host_skew_fraction"].value is None
    assert "hosts-left-out" in {note.rule_id for note in report.capture}


def test_three_all_reduces_a_tpu_chip_and_the_barrier_before_each() -> None:
    host = timeline("*2cc1243f*")

    assert [int((device.ops.kind == 1).sum()) for device in host.active_devices()] == [
        6,
        6,
        6,
        6,
    ]


@pytest.mark.parametrize(
    ("run", "step_ms"),
    [("cpu-b-20221031-190907", 78.79), ("cpu-b-20221101-154759", 162.69)],
)
def test_one_batch_of_keras_on_a_cpu_lasts_as_long_as_tensorflow_says(
    run: str, step_ms: float
) -> None:
    report = tfadvisor.analyze(
        FOLDER / "keras-one-batch" / run / "host.xplane.pb"
    ).report

    assert report.steps.time_ms is not None
    assert report.steps.time_ms.median == pytest.approx(step_ms, rel=0.05)


def test_a_librarys_fused_attention_is_matrix_work() -> None:
    """te_fused_attn_backward_ffi has no HLO of its own; half of the step is in its
    line.
    """
    (path,) = sorted(FOLDER.rglob("934987a2fc2f.xplane.pb"))
    report = tfadvisor.analyze(path).report
    attention = [op for op in report.ops if "te_fused_attn" in (op.op or "")]

    assert sum(op.share for op in attention if op.tensor_cores) > 0.4
