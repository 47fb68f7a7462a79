"""Real traces that others recorded: each ends in a report that agrees with an
independent count, or in one clear error.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.shared_traces import FOLDER, needs_shared_traces, shared_trace_files

import tfadvisor
from tfadvisor.timeline.build_host import SELECTION, build_host
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.intervals import union_of
from tfadvisor.trace import messages
from tfadvisor.trace.decode import decode_file
from tfadvisor.vocabulary import DeviceKind, Severity

pytestmark = needs_shared_traces

COPY_WORDS = ("memcpy", "memset", "copybuffer", "fillbuffer")


@pytest.mark.parametrize(
    "path", shared_trace_files(), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_a_report_or_one_clear_error(path: Path) -> None:
    before = sorted((one, one.stat().st_mtime_ns) for one in path.parent.iterdir())
    try:
        report = tfadvisor.analyze(path).report
    except tfadvisor.TraceError as error:
        assert "CORRUPT" in path.name
        assert "byte 1 of 1,365,940" in str(error)
    else:
        assert report.broken == ()
        assert sum(report.breakdown.values()) == pytest.approx(1, abs=1e-6)
        for name, metric in report.metrics.items():
            assert (metric.value is None) == (metric.reason is not None), name
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


def test_xla_passes_named_after_collectives_are_none() -> None:
    report = tfadvisor.analyze(next(FOLDER.glob("reactant-cpu/**/*.xplane.pb"))).report

    assert report.metrics["collectives_per_step"].value is None
    assert [device.name for device in report.run.devices] == [
        "CPU:0"
    ]  # one program, whose ops have no names
    assert report.verdict.bottleneck == "unknown"


def test_three_all_reduces_a_tpu_chip_and_the_barrier_before_each() -> None:
    host = timeline("*2cc1243f*")

    assert [int((device.ops.kind == 1).sum()) for device in host.active_devices()] == [
        6,
        6,
        6,
        6,
    ]


@pytest.mark.parametrize(
    ("run", "longest_ms"),
    [
        ("t4-a-20231107-181856", 10.7),
        ("t4-a-20231107-181932", 10.7),
        ("t4-a-20231107-184716", 13.1),
        ("t4-b-20221104-212610", 9.1),
        ("t4-b-20221104-213654", 9.1),
    ],
)
def test_one_batch_of_keras_on_a_gpu_is_compute_bound_and_the_callback_is_not_blamed(
    run: str, longest_ms: float
) -> None:
    """The step ends with the function's last device work; the viewer's steps of three
    of them last 33 to 63 ms.
    """
    report = tfadvisor.analyze(
        FOLDER / "keras-one-batch" / run / "host.xplane.pb"
    ).report
    worth = [
        one for one in report.findings if one.severity.rank >= Severity.MEDIUM.rank
    ]

    assert report.steps.count == 1
    assert report.steps.time_ms is not None
    assert report.steps.time_ms.median < longest_ms
    assert report.verdict.bottleneck == "compute"
    assert worth and all(one.category in ("precision", "kernel") for one in worth)
    assert report.findings[0] == worth[0]
    assert report.run.devices[0].model == "Tesla T4"


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
    assert report.verdict.bottleneck == "compute"
    assert not [
        one for one in report.findings if one.severity.rank >= Severity.LOW.rank
    ]


def test_a_gpu_whose_work_was_not_recorded_is_said_first() -> None:
    report = tfadvisor.analyze(
        FOLDER / "keras-one-batch" / "t4-silent-20221106-002705" / "host.xplane.pb"
    ).report

    assert report.verdict.bottleneck == "unknown"
    assert report.verdict.summary.startswith("The GPU's work was not recorded")
    assert report.run.devices == ()
    assert not [one for one in report.findings if one.category != "capture"]


def test_a_librarys_fused_attention_is_matrix_work() -> None:
    """te_fused_attn_backward_ffi has no HLO of its own; half of the step is in its
    line, and no finding blames that line.
    """
    (path,) = sorted(FOLDER.rglob("934987a2fc2f.xplane.pb"))
    report = tfadvisor.analyze(path).report
    attention = [op for op in report.ops if "te_fused_attn" in (op.op or "")]

    assert sum(op.share for op in attention if op.tensor_cores) > 0.4
    assert not any(
        place.line == 77 for one in report.findings for place in one.locations
    )
