"""Collectives on built traces: exposed, covered, waited for, and against the ideal;
exact to 1 ps.
"""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.exactly import picoseconds, picoseconds_of, us
from support.trace_builder import TraceBuilder, trace

from tfadvisor.metrics.registry import Settings

approx = pytest.approx
MODULE = {"hlo_module": "jit_step"}


def program(*floats: int, group: int = 4) -> bytes:
    """jit_step with one all-reduce.N of that many floats among the group, N =
    11, 12, …
    """
    everyone = hlo.replica_groups(range(group))
    parameters = [
        hlo.op(index + 1, "parameter", f"f32[{size}]", number=index)
        for index, size in enumerate(floats)
    ]
    reductions = [
        hlo.op(
            index + 11,
            "all-reduce",
            f"f32[{size}]",
            index + 1,
            channel=1,
            extra=everyone,
        )
        for index, size in enumerate(floats)
    ]
    return hlo.module(hlo.computation(1, *parameters, *reductions))


def two_devices() -> TraceBuilder:
    """4 steps of 1,000. GPU 0 computes 200 and is in NCCL from 200 to 700; GPU 1
    computes 500 and joins at 500.
    """
    builder = trace().steps(4, period=1000)
    for at in (0, 1000, 2000, 3000):
        builder.busy("GPU:0", (at, at + 200)).collective("GPU:0", at + 200, at + 700)
        builder.busy("GPU:1", (at, at + 500)).collective("GPU:1", at + 500, at + 700)
    return builder


def test_only_what_computation_leaves_bare_is_exposed() -> None:
    """Collective 40 to 100 under computation 0 to 60 and 70 to 75.000001: 60 to 70 and 75.000001 to 100 are exposed,
    34.999999 of 120; the other 25.000001 of its 60 are covered."""
    builder = trace().steps(2, period=120)
    for at in (0, 120):
        builder.busy("GPU:0", (at, at + 60), (at + 70, at + 75.000001)).collective(
            "GPU:0", at + 40, at + 100
        )

    metrics = builder.measure()

    assert picoseconds_of(metrics, "exposed_collective_fraction", 120) == us(34.999999)
    assert picoseconds_of(metrics, "collective_overlap_fraction", 60) == us(25.000001)
    assert metrics.value("collectives_per_step") == 1
    assert picoseconds(metrics, "allreduce_ms_per_step") == us(60)


def test_collectives_beside_each_other_are_covered_one_by_one_and_exposed_once() -> (
    None
):
    """10 to 50 and 20 to 60, computation until 30: 20 and 10 of their 80 are covered;
    exposed is 30 to 60.
    """
    builder = trace().step(0, 100).busy("GPU:0", (0, 30)).collective("GPU:0", 10, 50)
    builder.on_line(
        "/device:GPU:0", "Stream #6(Compute)", "ncclDevKernel_AllReduce_Sum_f32", 20, 60
    )

    metrics = builder.measure()

    assert picoseconds_of(metrics, "collective_overlap_fraction", 80) == us(30)
    assert picoseconds_of(metrics, "exposed_collective_fraction", 100) == us(30)
    assert metrics.value("collectives_per_step") == 2
    assert picoseconds(metrics, "allreduce_ms_per_step") == us(50)


def test_waiting_for_the_last_device_is_told_from_the_exchange() -> None:
    """Of each 1,000, GPU 0 waits 300 and GPU 1 nothing; both exchange for 200."""
    metrics = two_devices().measure()

    assert picoseconds_of(metrics, "collective_wait_fraction", 2000) == us(300)
    assert picoseconds_of(metrics, "exposed_collective_fraction", 2000) == us(700)
    assert picoseconds_of(metrics, "exposed_transfer_fraction", 2000) == us(400)
    assert picoseconds(metrics, "allreduce_ms_per_step") == us(350)


def test_waiting_that_computation_hides_costs_nothing() -> None:
    """GPU 0 is in the collective from 200 and computes until 450, GPU 1 joins at 500:
    it waits bare for 50 only, although 250 of its 500 are exposed in all."""
    builder = (
        trace().step(0, 1000).busy("GPU:0", (0, 450)).collective("GPU:0", 200, 700)
    )

    metrics = builder.busy("GPU:1", (0, 500)).collective("GPU:1", 500, 700).measure()

    assert picoseconds_of(metrics, "collective_wait_fraction", 2000) == us(50)
    assert picoseconds_of(metrics, "exposed_transfer_fraction", 2000) == us(400)


def test_where_computation_pauses_during_a_wait_all_that_is_exposed_may_be_waiting_but_no_more() -> (
    None
):
    """GPU 0 computes until 300 and from 310 to 600 in its collective from 200 to 700;
    GPU 1 joins at 500. Bare are 10 in the wait and 100 after it, 110 in all."""
    builder = (
        trace()
        .step(0, 1000)
        .busy("GPU:0", (0, 300), (310, 600))
        .collective("GPU:0", 200, 700)
    )

    metrics = builder.busy("GPU:1", (0, 500)).collective("GPU:1", 500, 700).measure()

    assert picoseconds_of(metrics, "collective_wait_fraction", 2000) == us(110)
    assert picoseconds_of(metrics, "exposed_collective_fraction", 2000) == us(310)


def test_waits_of_collectives_that_overlap_count_once() -> None:
    """GPU 0 waits in two collectives at once, from 5 to 90 of a step of 100."""
    builder = trace().step(0, 100).busy("GPU:0", (0, 1)).busy("GPU:1", (0, 90))
    for stream, name in ((5, "all-reduce.1"), (6, "all-reduce.2")):
        for device, start in (("GPU:0", 5), ("GPU:1", 90)):
            builder.on_line(
                f"/device:{device}", f"Stream #{stream}(Compute)", name, start, 100
            )

    metrics = builder.measure()

    assert picoseconds_of(metrics, "collective_wait_fraction", 200) == us(85)
    assert picoseconds_of(metrics, "exposed_collective_fraction", 200) == us(105)


def test_waits_beyond_the_end_of_the_last_counted_step_do_not_count() -> None:
    """The collective begins at 60 in a step that ends at 100; GPU 1 joins at 180: 40 of
    the 120 lie in the step.
    """
    builder = trace().step(0, 100).busy("GPU:0", (0, 60)).collective("GPU:0", 60, 200)

    metrics = builder.busy("GPU:1", (0, 180)).collective("GPU:1", 180, 200).measure()

    assert picoseconds_of(metrics, "collective_wait_fraction", 200) == us(40)


def test_waiting_is_a_mean_over_all_devices_as_exposed_time_is() -> None:
    """As with two devices, beside a host whose GPU never communicates: 300 and 700 of
    three devices' 3,000.
    """
    builder = (
        two_devices().host("lonely").steps(4, period=1000).busy("GPU:0", (0, 4000))
    )

    metrics = builder.measure()

    assert picoseconds_of(metrics, "collective_wait_fraction", 3000) == us(300)
    assert picoseconds_of(metrics, "exposed_collective_fraction", 3000) == us(700)
    assert metrics.value("collectives_per_step") == approx(2 / 3)


@pytest.mark.parametrize("marked", [True, False])
def test_waiting_between_hosts_whose_clocks_differ_by_seconds(marked: bool) -> None:
    """Three hosts, clocks 0, 5 s and 3 s ahead. They arrive at 200, 500 and 300 of each
    1,000, all leave at 700.

    Waits of 300, 0 and 200; without markers a step begins with its dispatch, all else
    being the same.
    """
    builder = trace()
    for host, ahead, arrival in (("a", 0, 200), ("b", 5e6, 500), ("c", 3e6, 300)):
        builder.host(host).clock(ahead)
        for at in range(0, 8000, 1000):
            if marked:
                builder.step(at, at + 1000)
            else:
                builder.call("PjitFunction(step)", at, at + 4)
            builder.kernel(
                "GPU:0",
                "gemm",
                at + 5,
                at + arrival,
                launched=(at + 1, at + 3),
                **MODULE,
            )
            builder.collective("GPU:0", at + arrival, at + 700)

    metrics = builder.measure()

    # Without markers the last dispatch has no successor: its step is cut off.
    assert metrics.value("steps_counted") == (8 if marked else 7)
    assert picoseconds_of(metrics, "collective_wait_fraction", 3000) == us(500)
    assert picoseconds_of(metrics, "exposed_collective_fraction", 3000) == us(
        500 + 200 + 400
    )
    assert picoseconds_of(metrics, "host_skew_fraction", 1000) == us(300)
    assert metrics.fact("late_host") == "b"


def test_where_clocks_cannot_be_aligned_waiting_is_unknown_and_the_rest_stands() -> (
    None
):
    """Host b calls another collective, so nothing ties the two clocks."""
    builder = (
        trace()
        .host("a")
        .step(0, 1000)
        .busy("GPU:0", (0, 200))
        .collective("GPU:0", 200, 700)
    )
    builder.host("b").step(0, 1000).busy("GPU:0", (0, 500)).collective(
        "GPU:0", 500, 700, "ncclDevKernel_AllGather_RING"
    )

    metrics = builder.measure()

    assert picoseconds_of(metrics, "exposed_collective_fraction", 2000) == us(700)
    assert picoseconds_of(metrics, "exposed_transfer_fraction", 2000) == us(700)
    assert metrics.value("collective_wait_fraction") is None
    assert "clocks" in metrics["collective_wait_fraction"].reason


def test_collectives_outside_of_steps_are_not_of_the_steps() -> None:
    """Both collectives run after the only step."""
    builder = trace().step(0, 100)
    for device in ("GPU:0", "GPU:1"):
        builder.busy(device, (0, 50)).collective(device, 150, 180)

    metrics = builder.measure()

    assert metrics.value("collectives_per_step") == 0
    assert picoseconds(metrics, "allreduce_ms_per_step") == 0
    assert metrics.value("exposed_collective_fraction") == 0
    for name in ("collective_wait_fraction", "collective_overlap_fraction"):
        assert metrics.value(name) is None
        assert "counted step" in metrics[name].reason


def test_collectives_without_length_break_nothing() -> None:
    builder = trace().step(0, 100)
    for device in ("GPU:0", "GPU:1"):
        builder.busy(device, (0, 50)).collective(device, 60, 60)

    metrics = builder.measure()

    assert not any(one.broken for one in metrics.values())
    assert metrics.value("collectives_per_step") == 1
    assert metrics.value("exposed_collective_fraction") == 0
    assert metrics.value("collective_overlap_fraction") is None


def test_one_device_without_collectives_says_so() -> None:
    metrics = trace().step(0, 100).busy("GPU:0", (0, 50)).measure()

    assert metrics.value("collectives_per_step") is None
    assert "single device" in metrics["collectives_per_step"].reason


def test_an_asynchronous_collective_lasts_until_it_is_done() -> None:
    """Two TPUs: started at 10, computing 12 to 40, waited for from 40 to 90. Of its 80,
    28 are covered; the start's 2 and the wait's 50 are exposed."""
    builder = trace().step(0, 100)
    for device in ("TPU:0", "TPU:1"):
        for name, start, end in (
            ("fusion.1", 0, 10),
            ("all-reduce-start.1", 10, 12),
            ("fusion.2", 12, 40),
            ("all-reduce-done.1", 40, 90),
        ):
            builder.on_line(f"/device:{device}", "XLA Ops", name, start, end)

    metrics = builder.measure()

    assert metrics.value("collectives_per_step") == 1
    assert picoseconds(metrics, "allreduce_ms_per_step") == us(80)
    assert picoseconds_of(metrics, "collective_overlap_fraction", 80) == us(28)
    assert picoseconds_of(metrics, "exposed_collective_fraction", 100) == us(52)


def test_an_allreduce_of_known_bytes_against_its_ideal() -> None:
    """250 M floats are 10^9 bytes; among four devices a ring sends 1.5 times as much.

    At 100 GB/s that is 15 ms, the naive ideal of 4 bytes a parameter 10 ms. The
    AllReduce takes 40 ms on the two devices that come first and 25 on the others, so
    32.5 with and 25 without waiting: bus bandwidth 1.5 GB / 25 ms = 60 GB/s.
    """
    builder = trace().steps(2, period=100_000).program("jit_step", program(250_000_000))
    for at in (0, 100_000):
        for device, start in (
            ("GPU:0", 50_000),
            ("GPU:1", 65_000),
            ("GPU:2", 50_000),
            ("GPU:3", 65_000),
        ):
            builder.busy(device, (at, at + 10))
            builder.collective(
                device, at + start, at + 90_000, hlo_op="all-reduce.11", **MODULE
            )

    metrics = builder.measure(Settings(parameters=250_000_000, bandwidth_gb_s=100.0))

    assert metrics.value("allreduce_bytes_per_step") == 1e9
    assert metrics.value("collective_message_bytes") == 1e9
    assert metrics.fact("combine_threshold_bytes") == "1000000000"
    assert picoseconds(metrics, "allreduce_ideal_ms") == us(10_000)
    assert picoseconds(metrics, "allreduce_ring_ideal_ms") == us(15_000)
    assert picoseconds(metrics, "allreduce_ms_per_step") == us(32_500)
    assert metrics.value("allreduce_efficiency") == approx(10 / 32.5, rel=1e-12)
    assert metrics.value("allreduce_bus_gb_s") == approx(60, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "share"),
    [
        ("NVIDIA H100 80GB HBM3", 60 / 450),
        ("NVIDIA H800", 60 / 200),
        ("NVIDIA A100-SXM4-80GB", 60 / 300),
        ("Tesla V100-SXM2-16GB", 60 / 150),
        ("NVIDIA GB200", 60 / 900),
        ("NVIDIA H100 PCIe", None),
        ("NVIDIA L4", None),
        ("AMD Instinct MI300X", None),
    ],
)
def test_bus_bandwidth_against_the_links_of_the_model(
    model: str, share: float | None
) -> None:
    """10^9 bytes among two devices in 16 2/3 ms are 60 GB/s. NVLink carries half of
    what its data sheets add up each way.
    """
    builder = (
        trace()
        .steps(2, period=100_000)
        .program("jit_step", program(250_000_000, group=2))
    )
    for device in ("GPU:0", "GPU:1"):
        builder.plane_stat(f"/device:{device}", gpu_device_name=model)
        for at in (0, 100_000):
            builder.busy(device, (at, at + 10))
            builder.collective(
                device,
                at + 50_000,
                at + 50_000 + 50_000 / 3,
                hlo_op="all-reduce.11",
                **MODULE,
            )

    metrics = builder.measure()

    assert metrics.value("allreduce_nvlink_share") == (
        None if share is None else approx(share, rel=1e-9)
    )
    if share is None:
        assert "NVLink" in metrics["allreduce_nvlink_share"].reason


def test_bytes_without_hlo_are_unknown_and_without_bandwidth_there_is_no_ideal() -> (
    None
):
    metrics = two_devices().measure()

    for name in (
        "allreduce_bytes_per_step",
        "allreduce_bus_gb_s",
        "collective_message_bytes",
    ):
        assert metrics.value(name) is None
        assert "how large the messages are" in metrics[name].reason
    assert metrics.value("allreduce_ideal_ms") is None
    assert metrics.value("allreduce_ring_ideal_ms") is None
    assert "messages" in metrics["allreduce_ring_ideal_ms"].reason


def test_messages_of_several_sizes_add_up() -> None:
    """1, 4 and 16 MB."""
    builder = (
        trace()
        .steps(2, period=2000)
        .program("jit_step", program(250_000, 1_000_000, 4_000_000))
    )
    for at, slower in ((0, 0), (2000, 7)):
        for number, (start, length) in enumerate(
            ((0, 40), (100, 100), (300, 340)), start=11
        ):
            op = {"hlo_op": f"all-reduce.{number}", **MODULE}
            builder.collective("GPU:0", at + start, at + start + length + slower, **op)
            builder.collective("GPU:1", at + start, at + start + length + slower, **op)

    metrics = builder.measure()

    assert metrics.value("collective_message_bytes") == 4e6
    assert metrics.value("allreduce_bytes_per_step") == 21e6


def test_an_allreduce_that_not_all_devices_were_seen_in_keeps_its_waiting() -> None:
    """GPU 1's trace lacks the second AllReduce: 40 with waiting for it, 20 without for
    the first, over two devices.

    10^6 bytes in a ring of two are 10^6 sent: three calls of them in 20 + 20 + 40 µs.
    """
    builder = (
        trace().step(0, 200).program("jit_step", program(250_000, 250_000, group=2))
    )
    first, second = (
        {"hlo_op": f"all-reduce.{number}", **MODULE} for number in (11, 12)
    )
    builder.collective("GPU:0", 0, 50, **first).collective("GPU:1", 30, 50, **first)

    metrics = builder.collective("GPU:0", 60, 100, **second).measure()

    assert picoseconds(metrics, "allreduce_ms_per_step") == us((50 + 40 + 20) / 2)
    assert metrics.value("allreduce_bus_gb_s") == approx(3e6 / 80e-6 / 1e9, rel=1e-12)


def test_collectives_that_are_no_allreduce_count_as_collectives_only() -> None:
    builder = trace().step(0, 100)
    for device in ("GPU:0", "GPU:1"):
        builder.collective(device, 10, 30, "ncclDevKernel_AllGather_RING_LL")
        builder.collective(
            device, 40, 60, "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"
        )

    metrics = builder.measure()

    assert metrics.value("collectives_per_step") == 2
    for name in ("allreduce_ms_per_step", "allreduce_bytes_per_step"):
        assert metrics.value(name) is None
        assert "AllReduce" in metrics[name].reason


@pytest.mark.parametrize(
    ("group", "words"),
    [(range(64), "span 64 devices, and this trace holds 2"), (range(2), "not counted")],
)
def test_nobody_is_late_where_devices_are_missing_from_the_trace(
    group: range, words: str
) -> None:
    """GPU:1 comes 20 of 100 µs late to a sum of two, or of 64 devices."""
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f32[8]"),
            hlo.op(
                2,
                "all-reduce",
                "f32[8]",
                1,
                name="all-reduce.1",
                extra=hlo.replica_groups(list(group)),
            ),
        )
    )
    builder = trace().program("jit_step", program)
    stats = {"hlo_op": "all-reduce.1", "hlo_module": "jit_step", "program_id": 7}
    for step in range(4):
        at = step * 100
        builder.step(at, at + 100).busy("GPU:0", (at, at + 40)).busy(
            "GPU:1", (at, at + 60)
        )
        builder.collective("GPU:0", at + 40, at + 90, run_id=step, **stats)
        builder.collective("GPU:1", at + 60, at + 90, run_id=step, **stats)
    metrics = builder.measure()

    assert (metrics.value("late_device_fraction") is None) == (len(group) > 2)
    assert (metrics.value("allreduce_bus_gb_s") is None) == (len(group) > 2)


def many_and_two(long: float) -> TraceBuilder:
    """One step of 1,000 µs: ten collectives of 10 µs, and two of `long`."""
    builder = trace().step(0, 1000)
    for index in range(10):
        builder.collective("GPU:0", 20 * index, 20 * index + 10)
    return builder.collective("GPU:0", 300, 300 + long).collective(
        "GPU:0", 600, 600 + long
    )


def test_many_short_messages_cost_no_more_than_they_take() -> None:
    """Two of twelve take 100 µs, ten times the median of 10: 200 of 1,000 µs; the other
    ten take 100.
    """
    metrics = many_and_two(100).measure()

    assert metrics.value("long_collective_fraction") == approx(0.2)
    assert metrics.value("short_collective_fraction") == approx(0.1)
    assert metrics.fact("long_collectives") == "2 of 12"


def test_messages_of_up_to_ten_times_the_median_are_none_too_long() -> None:
    metrics = many_and_two(99).measure()

    assert metrics.value("long_collective_fraction") == 0
    assert metrics.value("short_collective_fraction") == approx(0.298)
    assert metrics.fact("long_collectives") is None
