"""The same traces in XProf: equal where both define a number alike, and the difference
where XProf is wrong.

The faults are numbered as in benchmarks/real-traces-beside-xprof.md. Values are worked out on
paper. XProf nests the events of a thread in the order of the file, so builders add them
in order of start, as profilers do.
"""

from __future__ import annotations

import gzip
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from support.places import FIXTURES
from support.shared_traces import needs_shared_traces, shared_trace_files
from support.trace_builder import TraceBuilder, trace
from support.xprof_answers import (
    Table,
    needs_xprof,
    xprof_answer,
    xprof_overview,
    xprof_steps,
)

import tfadvisor
from tfadvisor.timeline.host_build import SELECTION, build_host
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.names.kernels import kernel_kind
from tfadvisor.trace import messages
from tfadvisor.trace.columns import LONGEST_NAME
from tfadvisor.trace.decode import decode_file
from tfadvisor.vocabulary import DeviceKind

pytestmark = needs_xprof

approx = pytest.approx
PS_PER_US = 1_000_000
HALF = "volta_h884gemm_fp16_nn"
SINGLE = "volta_sgemm_nn"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32"
NOT_MEASURED = "No step time measured"


def gpu_traces() -> list[object]:
    """Of the shared traces those that XProf's kernel statistics are about."""
    without = (
        "reactant-cpu",
        "xprof-tpu-inference-2",
        "tpu-v6e-pallas",
        "cpu-b-",
        "t4-silent-",
        "keras-callback-pc",
    )  # no kernel was recorded in these
    return [
        one
        for one in shared_trace_files()
        if not (isinstance(one, Path) and any(map(str(one).__contains__, without)))
    ]


def copy(builder: TraceBuilder, name: str, start: float, end: float) -> None:
    """A copy to GPU 0, with the driver call 3 µs before."""
    link = {"correlation_id": 1_000_000 + round(start)}
    builder.call("cuMemcpyHtoDAsync_v2", start - 3, start - 2, device_id=0, **link)
    details = "kind_src:pinned kind_dst:device size:4096 dest:0 async:1"
    builder.on_line(
        "/device:GPU:0",
        f"Stream #2({name})",
        name,
        start,
        end,
        memcpy_details=details,
        **link,
    )


def vector_a(copy_name: str = "MemcpyH2D") -> TraceBuilder:
    """8 steps of 1,000 µs: input 10–410, copy 415–445, kernels of 80 at 480, 580, 680,
    AllReduce 800–900.
    """
    builder = trace()
    for at in range(0, 8000, 1000):
        builder.step(at, at + 1000).call("IteratorGetNext", at + 10, at + 410)
        copy(builder, copy_name, at + 415, at + 445)
        for number, (start, name) in enumerate(
            ((480, HALF), (580, SINGLE), (680, SINGLE))
        ):
            launched = (at + 450 + 2 * number, at + 451 + 2 * number)
            builder.kernel(
                "GPU:0", name, at + start, at + start + 80, launched=launched
            )
        builder.kernel(
            "GPU:0",
            ALL_REDUCE,
            at + 800,
            at + 900,
            launched=(at + 460, at + 461),
            stream=5,
        )
    return builder


def vector_a_of_jax() -> TraceBuilder:
    """The kernels of A in JAX without step markers: a call of a jitted function a
    period, no HLO in the trace.
    """
    builder = trace()
    stats: dict[str, Any] = {"hlo_module": "jit_step", "program_id": 7}
    for at in range(0, 8000, 1000):
        builder.call("PjitFunction(step)", at + 420, at + 470)
        for number, (start, name) in enumerate(
            ((480, HALF), (580, SINGLE), (680, SINGLE))
        ):
            launched = (at + 450 + 2 * number, at + 451 + 2 * number)
            stats["hlo_op"] = f"dot.{number}"
            builder.kernel(
                "GPU:0", name, at + start, at + start + 80, launched=launched, **stats
            )
    return builder


def vector_b() -> TraceBuilder:
    """4 steps of 1,000 µs. GPU 0 computes 200 and is 500 in NCCL, GPU 1 computes 500
    and is 200 in NCCL.
    """
    builder = trace()
    for at in range(0, 4000, 1000):
        builder.step(at, at + 1000)
        for device, compute, launch in (("GPU:0", 200, at + 1), ("GPU:1", 500, at + 5)):
            builder.kernel(
                device,
                SINGLE,
                at + 10,
                at + 10 + compute,
                launched=(launch, launch + 1),
            )
            meet = at + 10 + compute
            builder.kernel(
                device,
                ALL_REDUCE,
                meet,
                at + 710,
                launched=(launch + 2, launch + 3),
                stream=5,
            )
    return builder


def test_vector_a_step_time_there_is_first_to_last_device_event_without_the_gap(
    tmp_path: Path,
) -> None:
    """Fault 2. 415 to 900 of each 1,000 µs is 485."""
    builder = vector_a()
    metrics = builder.measure()
    theirs = xprof_steps(builder.write(tmp_path)).column("stepTimeMs")

    assert theirs == [approx(0.485)] * len(theirs)
    assert len(theirs) in (6, 8)  # since 2.24 without the first and last of more than 5
    assert metrics.value("step_time_ms") == approx(1.0)
    assert metrics.value("steps_counted") == 8


def test_vector_a_waiting_for_input_and_launching_never_reach_xprofs_steps(
    tmp_path: Path,
) -> None:
    """Fault 1. Host events are left out of a GPU's steps: 0 of 400 µs of input. 485 −
    270 − 100 are "all others", 23.7%.
    """
    builder = vector_a()
    steps, metrics = xprof_steps(builder.write(tmp_path)), builder.measure()

    assert_each(steps, "infeedTimeMs", 0)
    assert_each(steps, "kernelLaunchTimeMs", 0)
    assert_each(steps, "otherTimeMs", 0.115)
    assert "POTENTIALLY input-bound because 23.7%" in steps.words["input_conclusion"]
    assert metrics.value("input_bound_fraction") == approx(0.4)
    assert builder.report().verdict.bottleneck == "input"


def test_vector_a_a_copy_named_memcpyh2d_is_fp32_compute_there(tmp_path: Path) -> None:
    """Fault 3. 240 + 30 of compute, of which 80 in 16 bits; here 240 of compute, 30 of
    copies and 80 of 240.
    """
    builder = vector_a()
    folder, metrics = builder.write(tmp_path), builder.measure()
    steps = xprof_steps(folder)

    assert_each(steps, "deviceComputeTimeMs", 0.270)
    assert_each(steps, "deviceCollectivesTimeMs", 0.100)
    assert xprof_overview(folder)["device_compute_16bit_percent"] == "29.6%"
    assert metrics.value("compute_fraction") == approx(0.24)
    assert metrics.value("exposed_collective_fraction") == approx(0.1)
    assert metrics.value("transfer_fraction") == approx(0.03)
    assert metrics.value("h2d_bytes_per_step") == 4096
    assert metrics.value("fp16_kernel_share") == approx(80 / 240)


def test_vector_a_with_memcpyhtod_differs_from_a_for_xprof_only(tmp_path: Path) -> None:
    """A′, fault 3 the other way round: the copy's 30 of 485 µs become XProf's input,
    6.2%.
    """
    builder = vector_a("MEMCPYHtoD")
    folder, metrics, as_before = (
        builder.write(tmp_path),
        builder.measure(),
        vector_a().measure(),
    )
    steps = xprof_steps(folder)

    assert_each(steps, "deviceComputeTimeMs", 0.240)
    assert_each(steps, "infeedTimeMs", 0.030)
    assert "MODERATELY input-bound because 6.2%" in steps.words["input_conclusion"]
    assert xprof_overview(folder)["device_compute_16bit_percent"] == "33.3%"
    assert {name: metrics.value(name) for name in metrics} == {
        name: as_before.value(name) for name in as_before
    }


def test_vector_a_of_jax_without_markers_has_no_steps_there_and_eight_here(
    tmp_path: Path,
) -> None:
    """A″, fault 5: and since no HLO resolves the kernels' ops, all 7,280 µs from 480 to
    7,760 are idle there.
    """
    builder = vector_a_of_jax()
    folder, report = builder.write(tmp_path), builder.report()
    steps = xprof_steps(folder)
    (device, *_) = [
        row
        for row in xprof_answer(folder, "framework_op_stats")[0].rows
        if row["host_or_device"] == "Device"
    ]

    assert steps.rows == []
    assert NOT_MEASURED in steps.words["input_conclusion"]
    assert (device["operation"], device["total_time"]) == ("IDLE", approx(7280))
    assert report.steps.source == "module"
    assert len(report.steps.each) + len(report.steps.set_aside) == 8
    assert {round(step.duration_ms, 6) for step in report.steps.each} == {1.0}
    assert report.metrics["compute_fraction"].value == approx(0.24)


def test_vector_a_idle_time_there_holds_every_kernel_without_a_framework_op(
    tmp_path: Path,
) -> None:
    """Fault 6. From 415 to 7,900 XProf calls all 7,485 µs idle; the GPU works 30 + 240
    + 100 of each 1,000.
    """
    builder = vector_a()
    (idle,) = [
        row["total_time"]
        for row in xprof_answer(builder.write(tmp_path), "framework_op_stats")[0].rows
        if row["host_or_device"] == "Device"
    ]

    assert idle == approx(7485)
    assert builder.measure().value("device_busy_fraction") == approx(0.37)


def test_vector_b_two_gpus_of_a_host_are_one_core_there(tmp_path: Path) -> None:
    """Fault 7. Compute of any GPU hides the other's waiting: 500 + 200 of 700. Here GPU
    0's 300 in NCCL are skew.
    """
    builder = vector_b()
    steps, metrics = xprof_steps(builder.write(tmp_path)), builder.measure()

    assert_each(steps, "stepTimeMs", 0.7)
    assert_each(steps, "deviceComputeTimeMs", 0.5)
    assert_each(steps, "deviceCollectivesTimeMs", 0.2)
    assert_each(steps, "otherTimeMs", 0)
    assert "NOT input-bound" in steps.words["input_conclusion"]
    assert metrics.value("step_time_ms") == approx(1.0)
    assert metrics.value("compute_fraction") == approx((200 + 500) / 2000)
    assert metrics.value("exposed_collective_fraction") == approx((500 + 200) / 2000)
    assert metrics.value("device_skew_fraction") == approx(0.3)
    assert metrics.value("device_busy_fraction") == approx(0.7)


def test_bf16_counts_as_32_bit_there(tmp_path: Path) -> None:
    """Fault 4. 60 µs in bf16, 20 in fp32: XProf finds no 16-bit time in 80 µs,
    tfadvisor 60.
    """
    builder = trace()
    for at in (0, 100, 200):
        builder.step(at, at + 100)
        builder.kernel(
            "GPU:0",
            "ampere_bf16_s16816gemm_bf16_128x64_nn",
            at + 10,
            at + 70,
            launched=(at + 1, at + 2),
        )
        builder.kernel(
            "GPU:0",
            "ampere_sgemm_128x64_nn",
            at + 70,
            at + 90,
            launched=(at + 3, at + 4),
        )

    assert (
        xprof_overview(builder.write(tmp_path))["device_compute_16bit_percent"]
        == "0.0%"
    )
    assert builder.measure().value("fp16_kernel_share") == approx(0.75)


def test_from_launch_to_start_is_measured_here_only(tmp_path: Path) -> None:
    """Fault 8. A's first kernel of a step starts 480 − 451 after its launch; the
    AllReduce counts in neither.
    """
    builder = vector_a()
    steps = xprof_steps(builder.write(tmp_path))

    assert not any("latency" in name.lower() for name in (*steps.words, *steps.rows[0]))
    assert builder.measure().value("kernel_launch_latency_us") == approx(29)


def test_a_keras_loop_on_a_cpu_has_no_step_time_there(tmp_path: Path) -> None:
    """Fault 9, on a recorded trace: every step is marked "Profiled batch" all
    the same.
    """
    data = gzip.decompress(
        (FIXTURES / "tf-healthy-keras" / "trace.xplane.pb.gz").read_bytes()
    )
    (tmp_path / "host.xplane.pb").write_bytes(data)
    marks = sum(
        b"Profiled batch" in plane.event_metadata[event.metadata_id].name
        for plane in messages.XSpace.FromString(data).planes
        for line in plane.lines
        for event in line.events
    )
    report = tfadvisor.analyze(tmp_path / "host.xplane.pb").report

    assert NOT_MEASURED in xprof_steps(tmp_path).words["input_conclusion"]
    assert report.steps.source == "marker"
    assert len(report.steps.each) + len(report.steps.set_aside) == marks >= 5


def test_without_copies_and_gaps_the_whole_breakdown_agrees(tmp_path: Path) -> None:
    """One GPU busy or in NCCL all the time: compute 0–300 and 600–1,000, NCCL 200–600,
    which compute hides for 100.
    """
    builder = trace()
    for at in range(0, 4000, 1000):
        builder.step(at, at + 1000)
        builder.kernel("GPU:0", HALF, at, at + 300, launched=(at, at + 0.5))
        builder.kernel(
            "GPU:0", ALL_REDUCE, at + 200, at + 600, launched=(at + 1, at + 2), stream=5
        )
        builder.kernel("GPU:0", SINGLE, at + 600, at + 1000, launched=(at + 3, at + 4))
    folder, metrics = builder.write(tmp_path), builder.measure()
    steps = xprof_steps(folder)

    assert_each(steps, "stepTimeMs", 1.0)
    assert_each(steps, "deviceComputeTimeMs", 0.7)
    assert_each(steps, "deviceCollectivesTimeMs", 0.3)
    assert xprof_overview(folder)["device_compute_16bit_percent"] == "42.9%"
    assert metrics.value("step_time_ms") == approx(1.0)
    assert metrics.value("compute_fraction") == approx(0.7)
    assert metrics.value("exposed_collective_fraction") == approx(0.3)
    assert metrics.value("fp16_kernel_share") == approx(300 / 700)


@pytest.mark.parametrize(
    ("build", "span"), [(vector_a, 485), (vector_b, 700)], ids=["A", "B"]
)
def test_what_the_devices_span_in_a_step_agrees(
    tmp_path: Path, build: Any, span: int
) -> None:
    """XProf's step time is that span; here it is from a step's first device event to
    its last one's end.
    """
    builder = build()
    (timeline,) = builder.timelines()
    starts = timeline.steps.starts.tolist()
    ours = []
    for lo, hi in zip(starts, timeline.steps.ends.tolist(), strict=True):
        inside = [
            (start, end)
            for device in timeline.devices
            for start, end in zip(
                device.ops.start.tolist(), device.ops.end.tolist(), strict=True
            )
            if lo <= start < hi
        ]
        ours.append(max(end for _, end in inside) - min(start for start, _ in inside))

    assert_each(xprof_steps(builder.write(tmp_path)), "stepTimeMs", span / 1000)
    assert ours == [span * PS_PER_US] * (8 if build is vector_a else 4)


def assert_each(steps: Table, column: str, ms: float) -> None:
    """There are steps, and each says this."""
    assert steps.column(column) == [approx(ms, abs=1e-9)] * max(len(steps.rows), 1)


KERNELS_OF_A = {SINGLE: (16, 1280.0), ALL_REDUCE: (8, 800.0), HALF: (8, 640.0)}
KERNELS_OF_B = {SINGLE: (8, 2800.0), ALL_REDUCE: (8, 2800.0)}


@pytest.mark.parametrize(
    ("build", "expected"),
    [(vector_a, KERNELS_OF_A), (vector_b, KERNELS_OF_B)],
    ids=["A", "B"],
)
def test_kernel_counts_and_times_agree(
    tmp_path: Path, build: Any, expected: dict[str, tuple[int, float]]
) -> None:
    """By name over all GPUs, in µs; neither counts copies among kernels."""
    builder = build()
    theirs = kernels_of_xprof(builder.write(tmp_path))
    ours = kernels_of_tfadvisor(builder.timeline())
    ours = {
        name: numbers for name, numbers in ours.items() if not name.startswith("Memcpy")
    }

    assert theirs == {
        name: (count, approx(time)) for name, (count, time) in expected.items()
    }
    assert ours == {
        name: (count, approx(time)) for name, (count, time) in expected.items()
    }


@pytest.mark.parametrize(
    ("name", "uses_tensor_cores"),
    [
        ("volta_h884gemm_64x128_ldg8_nn", True),
        ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", True),
        ("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn", True),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_nn", True),
        (
            "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_kernel",
            True,
        ),
        (
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off",
            True,
        ),
        ("volta_sgemm_128x64_nn", False),
        ("ampere_sgemm_32x128_tn", False),
        ("maxwell_scudnn_128x32_relu_interior_nn_v1", False),
    ],
)
def test_tensor_core_flags_agree_on_the_names_that_xprof_knows(
    tmp_path: Path, name: str, uses_tensor_cores: bool
) -> None:
    assert flag_of_xprof(tmp_path, name) is uses_tensor_cores
    assert kernel_kind(name).tensor_cores is uses_tensor_cores


@pytest.mark.parametrize(
    "name",
    [
        "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT",
        "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT",
        "void "
        "cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<cutlass::bfloat16_t>>>",
    ],
)
def test_tensor_core_kernels_since_hopper_are_missed_there(
    tmp_path: Path, name: str
) -> None:
    """Fault 4. cuBLAS' `nvjet`, which runs on Tensor Cores only, and FlashAttention 3
    are in no list of XProf's.
    """
    assert flag_of_xprof(tmp_path, name) is False
    assert kernel_kind(name).tensor_cores is True


@needs_shared_traces
@pytest.mark.parametrize(
    "path", gpu_traces(), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_kernels_of_recorded_traces_agree_by_name_number_and_time(
    tmp_path: Path, path: Path
) -> None:
    """XProf cuts each run to whole nanoseconds, and has kernels only: events with
    `kernel_details`, on GPUs.
    """
    shutil.copy(path, tmp_path)
    theirs = kernels_of_xprof(tmp_path)
    ours = kernels_of_tfadvisor(build_host(decode_file(path, SELECTION)))
    ours = {
        name: numbers for name, numbers in ours.items() if not name.startswith("Memcpy")
    }

    assert theirs
    assert {name: count for name, (count, _) in theirs.items()} == {
        name: count for name, (count, _) in ours.items()
    }
    for name, (count, time) in theirs.items():
        assert time == approx(ours[name][1], rel=0, abs=count * 1e-3 + 1e-6), name


def kernels_of_xprof(folder: Path) -> dict[str, tuple[int, float]]:
    """Name -> (how often, µs in all). XProf keeps launches of another shape in rows of
    their own.
    """
    found: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for row in xprof_answer(folder, "kernel_stats")[0].rows:
        name = row["kernel_name"][:LONGEST_NAME]  # cut where tfadvisor reads it
        count, time = found[name]
        found[name] = (
            count + round(row["occurrences"]),
            time + row["total_duration_us"],
        )
    return dict(found)


def kernels_of_tfadvisor(host: HostTimeline) -> dict[str, tuple[int, float]]:
    """Name -> (how often, µs in all), over all GPUs."""
    found: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for device in host.devices:
        if device.kind is DeviceKind.GPU:
            ops = device.ops
            for row, length in zip(
                ops.name.tolist(), (ops.end - ops.start).tolist(), strict=True
            ):
                count, time = found[ops.names[row]]
                found[ops.names[row]] = (count + 1, time + length / PS_PER_US)
    return dict(found)


def flag_of_xprof(folder: Path, name: str) -> bool:
    builder = trace().step(0, 100).kernel("GPU:0", name, 10, 60, launched=(1, 2))
    builder.plane_stat(
        "/device:GPU:0",
        device_vendor="Nvidia",
        compute_cap_major=9,
        compute_cap_minor=0,
    )
    (row,) = xprof_answer(builder.write(folder), "kernel_stats")[0].rows
    assert row["kernel_name"] == name
    return bool(row["is_kernel_using_tensor_core"])
