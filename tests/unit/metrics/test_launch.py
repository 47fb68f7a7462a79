"""From launch call to kernel, exact to 1 ps."""

from __future__ import annotations

import numpy as np
import pytest
from support.exactly import picoseconds, picoseconds_of, us
from support.trace_builder import TraceBuilder, trace


def with_graph(builder: TraceBuilder, at: float, correlation: int) -> TraceBuilder:
    """A graph launched until at + 12, its first kernel 3 µs later, two more behind it
    and one on another stream.
    """
    builder.call(
        "cuGraphLaunch", at + 10, at + 12, correlation_id=correlation, device_id=0
    )
    for stream, start, end in ((1, 15, 20), (1, 20, 25), (1, 26, 30), (2, 18, 22)):
        line = f"Stream #{stream}(Compute)"
        builder.on_line(
            "/device:GPU:0",
            line,
            "node",
            at + start,
            at + end,
            correlation_id=correlation,
        )
    return builder


def test_latency_is_of_free_streams_and_queueing_is_apart() -> None:
    """`a` starts 10.000001 after its launch on a free stream, `c` 2.000003 on another.
    `b` waits 35 behind `a`, its launch having ended at 25 while `a` runs until 60.
    Median of the free ones: 6.000002."""
    builder = (
        trace()
        .step(0, 200)
        .kernel("GPU:0", "a", 20.000001, 60, launched=(5, 10))
        .kernel("GPU:0", "b", 60, 70, launched=(15, 25))
        .kernel("GPU:0", "c", 33.500003, 40, launched=(30, 31.5), stream=2)
    )

    metrics = builder.measure()

    assert picoseconds(metrics, "kernel_launch_latency_us") == us(6.000002)


def test_a_kernel_that_starts_before_its_launch_call_returns_waited_0() -> None:
    builder = trace().step(0, 100).kernel("GPU:0", "a", 8, 20, launched=(5, 10))

    assert picoseconds(builder.measure(), "kernel_launch_latency_us") == 0


def test_of_a_graph_only_the_first_kernel_has_a_latency() -> None:
    """The graph's first kernel starts 3 after the launch; a kernel launched by itself 5
    after its own: the median is 4.

    Four of the five kernels come from the graph.
    """
    builder = with_graph(trace().step(0, 100), at=0, correlation=70)
    builder.kernel("GPU:0", "single", 50, 60, launched=(40, 45))

    metrics = builder.measure()

    assert picoseconds(metrics, "kernel_launch_latency_us") == us(4)
    assert metrics.value("graph_kernel_share") == 4 / 5
    assert metrics.value("graph_launches_per_step") == 1


def test_each_launch_of_a_graph_counts_once_a_step() -> None:
    """Two launches a step over two steps: 4 latencies of 3, 16 kernels."""
    builder = trace().steps(2, period=100)
    for index in range(4):
        with_graph(builder, at=index * 50, correlation=70 + index)

    metrics = builder.measure()
    (device,) = builder.build().hosts[0].devices

    assert device.launches.latency.values.tolist() == [3_000_000] * 4
    assert (
        device.launches.linked,
        device.launches.in_graphs,
        device.launches.graphs,
    ) == (16, 16, 4)
    assert metrics.value("graph_launches_per_step") == 2


def test_latencies_of_two_gpus_come_together() -> None:
    """1 and 2 on one device, 6 on the other: the median is 2."""
    builder = trace().step(0, 100)
    builder.kernel("GPU:0", "k", 11, 20, launched=(5, 10)).kernel(
        "GPU:0", "k", 32, 40, launched=(25, 30)
    )

    metrics = builder.kernel("GPU:1", "k", 56, 60, launched=(45, 50)).measure()

    assert picoseconds(metrics, "kernel_launch_latency_us") == us(2)


def test_kernels_without_a_launch_have_no_latency_and_say_so() -> None:
    metrics = trace().step(0, 100).busy("GPU:0", (0, 10)).measure()

    assert metrics.value("kernel_launch_latency_us") is None
    assert "linked to its launch" in metrics["kernel_launch_latency_us"].reason


def test_dispatches_of_a_coordinator_without_devices_are_no_steps_dispatches() -> None:
    """Two dispatches in each of the worker's four steps; the coordinator's hundred
    belong to none.
    """
    builder = trace().host("worker").steps(4, period=100)
    for at in np.arange(0, 400, 50).tolist():
        builder.call("PjitFunction(step)", at + 1, at + 5).busy(
            "GPU:0", (at + 10, at + 40)
        )
    builder.host("coordinator")
    for at in range(100):
        builder.call(f"PjitFunction(schedule_{at})", at * 7, at * 7 + 1 + at % 5)

    assert builder.measure().value("dispatches_per_step") == 2


def test_dispatches_are_those_of_most_steps() -> None:
    """One in each of eight steps, and a second one in the last: a metric that is
    written once is no dispatch of each step.
    """
    builder = trace().steps(8, period=100)
    for at in (1, 101, 201, 301, 401, 501, 601, 701, 750):
        builder.call("PjitFunction(step)", at, at + 5)
        builder.busy("GPU:0", (at + 10, at + 30))

    assert builder.measure().value("dispatches_per_step") == 1


def test_dispatches_that_differ_from_step_to_step_are_a_mean() -> None:
    """1, 2, 3 and 4 in four steps."""
    builder = trace().steps(4, period=100)
    for at in (1, 101, 111, 201, 211, 221, 301, 311, 321, 331):
        builder.call("PjitFunction(step)", at, at + 5)
    for at in (40, 140, 240, 340):
        builder.busy("GPU:0", (at, at + 30))

    assert builder.measure().value("dispatches_per_step") == 2.5


def test_only_short_gaps_lie_between_kernels() -> None:
    """A step of 1,000 µs: a dispatch of 300 before the first kernel, and two of 50
    between kernels.
    """
    builder = (
        trace()
        .step(0, 1000)
        .call("cuLaunchKernel", 0, 300)
        .call("cuLaunchKernel", 400, 450)
    )
    builder.call("cuLaunchKernel", 700, 750).busy(
        "GPU:0", (300, 400), (450, 700), (750, 1000)
    )

    metrics = builder.measure()

    assert metrics.value("kernel_launch_gap_fraction") == 0.4
    assert metrics.value("launch_between_kernels_fraction") == 0.1


def test_a_gap_of_100_us_is_not_short() -> None:
    builder = (
        trace()
        .step(0, 1000)
        .call("cuLaunchKernel", 0, 99.999)
        .call("cuLaunchKernel", 500, 600)
    )

    metrics = builder.busy("GPU:0", (99.999, 500), (600, 1000)).measure()

    assert picoseconds_of(metrics, "launch_between_kernels_fraction", 1000) == us(
        99.999
    )


def repeating(count: int, length: float, op: str = "StridedSliceGrad") -> TraceBuilder:
    """A step of TensorFlow on a CPU: so many ops of one type on one thread, then 1,000
    µs of another.
    """
    end = count * length
    builder = trace().step(0, end + 1000).thread("tf_Compute/1")
    for number in range(count):
        builder.call(f"slice_{number % 3}:{op}", number * length, (number + 1) * length)
    return builder.call("dense:Softmax", end, end + 1000)


def test_hundreds_of_short_ops_of_one_type_cost_by_their_number() -> None:
    """200 · 20 of 5,000 µs."""
    metrics = repeating(200, 20).measure()

    assert metrics.value("repeated_op_fraction") == 0.8
    assert metrics.value("tiny_op_fraction") == 0.8


def test_fewer_or_longer_ops_and_products_are_what_they_are() -> None:
    for builder in (
        repeating(199, 20),
        repeating(200, 100),
        repeating(200, 20, op="_MklMatMul"),
    ):
        metrics = builder.measure()

        assert metrics.value("repeated_op_fraction") == 0


def test_loops_of_xla_repeat_ops_by_their_nature() -> None:
    builder = trace().step(0, 5000).thread("tf_XLAEigen/1")
    for number in range(200):
        builder.call(
            "add.1", number * 20, number * 20 + 20, hlo_op="add.1", device_ordinal=0
        )

    assert builder.measure().value("repeated_op_fraction") == 0


def test_queued_kernels_are_those_launched_while_the_device_was_busy() -> None:
    """`a` (40 long) finds an idle GPU. `b` (10) was launched by 25, while `a` ran until
    60. `c` (30) on another stream was launched by 55, while `a` still ran; `d` (20) by
    120, when all was done by 110. 40 of 100 µs queued.
    """
    builder = (
        trace()
        .step(0, 200)
        .kernel("GPU:0", "a", 20, 60, launched=(5, 10))
        .kernel("GPU:0", "b", 60, 70, launched=(15, 25))
        .kernel("GPU:0", "c", 80, 110, launched=(50, 55), stream=2)
        .kernel("GPU:0", "d", 125, 145, launched=(115, 120))
    )

    assert builder.measure().value("queued_kernel_fraction") == pytest.approx(0.4)


def test_kernels_without_a_launch_do_not_tell_whether_they_queued() -> None:
    assert (
        trace()
        .step(0, 100)
        .busy("GPU:0", (10, 90))
        .measure()
        .value("queued_kernel_fraction")
        is None
    )


def test_kernels_that_each_wait_for_their_launch_are_not_queued() -> None:
    """Three kernels of 10 µs, each launched by the moment at which the one before it
    ends, or later.
    """
    builder = trace().step(0, 100)
    for at in (10, 30, 50):
        builder.kernel("GPU:0", "tiny", at + 10, at + 20, launched=(at, at + 8))

    assert builder.measure().value("queued_kernel_fraction") == 0


def test_a_gap_before_queued_kernels_does_not_make_a_step_launch_bound() -> None:
    """Five steps of 100 µs: the function is called for 30, by which all launches are
    made; ten kernels of 7 µs follow.

    Compute 70 %, launch 30 %; nine of ten kernels queue.
    """
    builder = trace()
    for step in range(5):
        at = step * 100
        builder.step(at, at + 100).call("PjitFunction(step)", at, at + 99)
        for index in range(10):
            start = at + 30 + 7 * index
            builder.kernel(
                "GPU:0",
                "gemm",
                start,
                start + 7,
                launched=(at + 18 + index, at + 19 + index),
            )
    found = builder.report()

    assert found.breakdown["launch"] == pytest.approx(0.3)
    assert found.metrics["queued_kernel_fraction"].value == pytest.approx(0.9)
    assert (found.verdict.bottleneck, found.verdict.fraction) == (
        "compute",
        pytest.approx(0.7),
    )


def test_what_xla_fuses_proves_its_compiler_where_no_event_names_a_program() -> None:
    builder = trace().step(0, 100)

    fused = builder.busy("GPU:0", (0, 30), name="loop_add_fusion_3").measure()

    assert fused.fact("compiler") == "xla"


def test_a_kernel_of_a_library_proves_no_compiler() -> None:
    builder = trace().step(0, 100)

    plain = builder.busy("GPU:0", (0, 30), name="ampere_sgemm_128x64_tn").measure()

    assert plain.fact("compiler") == "none"


def test_what_one_step_waits_for_is_not_usual() -> None:
    """A GPU works throughout five steps of 100 µs, and for 20 µs of a sixth of 300, in
    which the host dispatches for the rest: 280 of 800 µs, and none of most steps.
    """
    builder = trace().steps(5, period=100).step(500, 800)
    for index in range(5):
        builder.busy("GPU:0", (index * 100, index * 100 + 100))
    builder.call("PjitFunction(f)", 520, 800).busy("GPU:0", (500, 520))

    metrics = builder.measure()

    assert metrics.value("kernel_launch_gap_fraction") == pytest.approx(280 / 800)
    assert metrics.value("usual_launch_gap_fraction") == 0
