"""GPU and TPU planes: launches, copies, and lines that only repeat others."""

from __future__ import annotations

import pytest
from support.trace_builder import trace

from tfadvisor.timeline.names.classes import DeviceClass, is_derived
from tfadvisor.timeline.names.device_events import copy_bytes

PS = 1_000_000


def test_a_kernel_is_linked_to_its_launch() -> None:
    (device,) = (
        trace().kernel("GPU:0", "k", 50, 60, launched=(10, 12)).timeline().devices
    )

    assert device.ops.launch_start.tolist() == [10 * PS]
    assert device.ops.launch_end.tolist() == [12 * PS]


def test_colliding_correlation_ids_are_told_apart_by_device() -> None:
    """Two devices count their launches separately; XProf links by the id alone, the
    last writer winning.
    """
    builder = trace()
    for device, at in ((0, 10), (1, 30)):
        builder.call("cuLaunchKernel", at, at + 2, correlation_id=5, device_id=device)
        builder.on_line(
            f"/device:GPU:{device}", "Stream #1(Compute)", "k", 50, 60, correlation_id=5
        )

    first, second = builder.timeline().devices

    assert first.ops.launch_start.tolist() == [10 * PS]
    assert second.ops.launch_start.tolist() == [30 * PS]


@pytest.mark.parametrize(
    "line",
    [-(1 << 63), -(1 << 31) - 1, -(1 << 31), (1 << 31) - 1, 1 << 31, (1 << 63) - 1],
)
def test_a_line_may_have_any_id(line: int) -> None:
    from tfadvisor.trace import messages

    builder = trace().kernel("GPU:0", "k", 50, 60, launched=(10, 12))
    space = messages.XSpace.FromString(builder.bytes())
    (plane,) = (one for one in space.planes if "GPU" in str(one.name))
    plane.lines[0].id = line
    builder._spaces["host"] = space
    (device,) = builder.timeline().devices

    assert device.ops.stream.tolist() == [line]


def test_colliding_ids_of_two_hosts_never_meet() -> None:
    builder = trace()
    for host, at in (("a", 10), ("b", 30)):
        builder.host(host).call(
            "cuLaunchKernel", at, at + 2, correlation_id=1, device_id=0
        )
        builder.on_line(
            "/device:GPU:0", "Stream #1(Compute)", "k", 50, 60, correlation_id=1
        )

    one, other = builder.timelines()

    assert one.devices[0].ops.launch_start.tolist() == [10 * PS]
    assert other.devices[0].ops.launch_start.tolist() == [30 * PS]


def test_an_unlinked_kernel_says_so() -> None:
    (device,) = trace().busy("GPU:0", (0, 5)).timeline().devices

    assert device.ops.launch_start.tolist() == [-1]


def test_derived_lines_do_not_count_again() -> None:
    """Old files saved the viewer's lines; their ids start at 0xdeadbeef."""
    builder = trace().busy("GPU:0", (0, 10))
    for name in (
        "TensorFlow Ops",
        "TensorFlow Name Scope",
        "XLA Ops - from #14",
        "CUPTI overhead",
    ):
        builder.on_line("/device:GPU:0", name, "MatMul", 0, 500)

    (device,) = builder.timeline().devices

    assert device.compute.length() == 10 * PS


@pytest.mark.parametrize(
    ("name", "line_id", "expected"),
    [
        ("Stream #13(Compute)", 13, False),
        ("Stream #2", 2, False),
        ("anything", -559038737, True),
        ("anything", 0xDEADBEEF, True),
        ("Framework Ops", 3, True),
    ],
)
def test_is_derived(name: str, line_id: int, expected: bool) -> None:
    assert is_derived(name, line_id) is expected


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ("kind_src:pageable kind_dst:device size:1048576 dest:0 async:1", 1048576),
        ("num_bytes:64\nasync:1", 64),
        ("kind:Unknown size:0 dest:512 async:1", 0),
        ("nothing of the sort", -1),
        ("resize:5", -1),
    ],
)
def test_copy_bytes_in_both_spellings(details: str, expected: int) -> None:
    """XProf looks for num_bytes only and reports 0 bytes for every copy."""
    assert copy_bytes(details) == expected


def test_an_amd_copy_kernel_takes_its_direction_from_the_call() -> None:
    builder = trace().call(
        "hipMemcpyHtoDAsync", 0, 5, correlation_id=3, device_id=22244
    )
    builder.on_line(
        "/device:GPU:0",
        "Stream #16(Kernel)",
        "__amd_rocclr_copyBuffer.kd",
        10,
        30,
        correlation_id=3,
    )

    (device,) = builder.timeline().devices

    assert device.ops.kind.tolist() == [DeviceClass.H2D]
    assert device.transfer.length() == 20 * PS


def test_a_tpu_loop_is_its_body() -> None:
    builder = trace()
    for name, start, end in (
        ("%while.1 = (s32[]) while(...)", 0, 100),
        ("%fusion.1 = f32[8]", 10, 40),
    ):
        builder.on_line("/device:TPU:0", "XLA Ops", name, start, end)

    (device,) = builder.timeline().devices

    assert device.compute.length() == 30 * PS


def test_planes_of_the_same_name_are_one_device() -> None:
    from tfadvisor.trace import messages

    builder = trace().busy("GPU:0", (0, 10)).busy("GPU:1", (20, 40))
    space = messages.XSpace.FromString(builder.bytes())
    for plane in space.planes:
        plane.name = b"/device:GPU:0"
    builder._spaces["host"] = space

    (device,) = builder.timeline().devices

    assert device.compute.length() == 30 * PS


def test_device_properties_are_plane_stats() -> None:
    builder = (
        trace()
        .busy("GPU:0", (0, 10))
        .plane_stat("/device:GPU:0", gpu_device_name="NVIDIA H200", compute_cap_major=9)
    )

    (device,) = builder.timeline().devices

    assert device.model == "NVIDIA H200"
    assert device.properties["compute_cap_major"] == 9


def test_samples_of_counters_and_records_of_memory_are_no_kernels() -> None:
    builder = trace().busy("GPU:0", (0, 10))
    builder.on_line("/device:GPU:0", "_counters_", "gpu_temp_c", 3, 3, gpu_temp_c=60.0)
    builder.on_line(
        "/device:GPU:0", "Stream #2(UnifiedMemory)", "UM_GPU_PAGE_FAULT", 20, 30
    )

    (device,) = builder.timeline().devices

    assert [device.ops.names[row] for row in device.ops.name] == ["some_kernel"]
    assert device.compute.length() == 10 * PS


def test_a_copy_to_a_peer_that_a_collective_asks_for_is_communication() -> None:
    builder = trace()
    line = "Stream #20(MemcpyP2P)"
    builder.on_line(
        "/device:GPU:0",
        line,
        "MemcpyP2P",
        0,
        10,
        hlo_op="collective-permute-start.3",
        memcpy_details="size:8",
    )
    builder.on_line(
        "/device:GPU:0",
        line,
        "MemcpyP2P",
        20,
        30,
        hlo_op="copy.3",
        memcpy_details="size:8",
    )
    builder.on_line(
        "/device:GPU:0",
        line,
        "MemcpyD2D",
        40,
        50,
        hlo_op="all-gather.1",
        memcpy_details="size:8",
    )

    (device,) = builder.timeline().devices

    assert device.ops.kind.tolist() == [
        DeviceClass.COLLECTIVE,
        DeviceClass.P2P,
        DeviceClass.D2D,
    ]


def test_the_end_of_an_exchange_on_another_core_is_communication() -> None:
    """A TPU's core waits for what its sparse core reduces, and for what it gathers."""
    builder = trace()
    for at, callee in ((0, "all-reduce.clone"), (100, "gather.clone")):
        start = f"async-start.{at}"
        builder.on_line(
            "/device:TPU:0",
            "XLA Ops",
            f"%{start} = ((f32[8]), f32[8]) async-start(%p), calls=%{callee}",
            at,
            at + 1,
        )
        builder.on_line(
            "/device:TPU:0",
            "XLA Ops",
            f"%async-done.{at} = f32[8]{{0}} async-done(%{start})",
            at + 2,
            at + 9,
        )

    (device,) = builder.timeline().devices

    assert device.collective.length() == 8 * PS
    assert device.compute.length() == 8 * PS


def test_a_barrier_among_regions_is_a_wait_for_other_cores() -> None:
    builder = trace().on_line(
        "/device:TPU:0", "XLA Ops", "%fusion.1 = f32[8] fusion(%p)", 0, 10
    )
    builder.on_line("/device:TPU:0", "XLA TraceMe", "barrier-cores", 10, 25)
    builder.on_line("/device:TPU:0", "XLA TraceMe", "ep_wait_in", 2, 8)

    (device,) = builder.timeline().devices

    assert device.collective.length() == 15 * PS
    assert len(device.ops) == 2


def test_a_kernel_that_waits_for_its_own_copies_says_so_where_its_time_goes() -> None:
    """A Pallas kernel of 40 of 100 µs that waits for its DMA in 20 and 5 of them; the
    region of 90 to 95 lies in no op.
    """
    kernel = '%matmul.1 = f32[8] custom-call(%x), custom_call_target="tpu_custom_call"'
    builder = trace().steps(4, period=100)
    for at in range(0, 400, 100):
        builder.on_line("/device:TPU:0", "XLA Ops", kernel, at + 10, at + 50)
        for name, start, end in (
            ("ep_copy_in", 10, 11),
            ("ep_wait_in", 11, 31),
            ("ep_run_kernel", 31, 45),
            ("ep_wait_out", 45, 50),
            ("ep_wait_in", 90, 95),
        ):
            builder.on_line("/device:TPU:0", "XLA TraceMe", name, at + start, at + end)

    (compute,) = (one for one in builder.report().attribution if one.kind == "compute")

    assert compute.fraction == pytest.approx(0.4)
    waits, rest = compute.parts
    assert (waits.activity, round(waits.fraction, 6)) == (
        "kernels wait for their own copies (DMA)",
        0.25,
    )
    assert [one.activity for one in waits.parts] == ["matmul.1"]
    assert round(rest.fraction, 6) == 0.15


@pytest.mark.parametrize(
    ("plane", "line"),
    [
        ("/device:TPU:0 SparseCore 0", "Sparse Core Ops"),
        ("/device:TPU:0 SparseCore 0", "XLA Ops"),
        ("/device:TPU:0", "Host Offload Ops"),
        ("/device:TPU:0", "Tensor Core"),
        ("/device:TPU:0", "_counters_"),
    ],
)
def test_what_other_cores_and_counters_show_is_no_computation_of_a_tpu(
    plane: str, line: str
) -> None:
    builder = trace().on_line(
        "/device:TPU:0", "XLA Ops", "%fusion.1 = f32[8] fusion(%p)", 0, 10
    )

    devices = (
        builder.on_line(plane, line, "%all-reduce.1 = f32[8] all-reduce(%p)", 20, 90)
        .timeline()
        .devices
    )

    assert [
        (one.name, one.compute.length(), len(one.collective)) for one in devices
    ] == [("TPU:0", 10 * PS, 0)]


def test_a_kernel_without_a_name_of_its_own_has_that_of_the_op_that_launched_it() -> (
    None
):
    """As TensorFlow records it where no annotation reaches the GPU. The second call
    lies behind the op, the third in none.
    """
    builder = (
        trace()
        .step(0, 100)
        .thread("tf_gpu_private_0/1")
        .call("model/dropout/Cast:Cast", 10, 30)
    )
    builder.kernel("GPU:0", "EigenMetaKernel", 40, 50, launched=(15, 20))
    builder.kernel("GPU:0", "EigenMetaKernel", 50, 60, launched=(31, 35))
    builder.kernel("GPU:0", "named", 60, 70, launched=(20, 25), tf_op="model/mul:Mul")
    builder.thread("other").kernel(
        "GPU:0", "EigenMetaKernel", 70, 80, launched=(16, 18)
    )

    (device,) = builder.timeline().devices

    paths = [
        device.ops.names[row] if row >= 0 else "" for row in device.ops.path.tolist()
    ]
    assert paths == ["model/dropout/Cast:Cast", "", "model/mul:Mul", ""]
