"""Several devices of a host: how even, how simultaneous; exact to 1 ps."""

from __future__ import annotations

import pytest
from support.exactly import picoseconds_of, us
from support.trace_builder import trace


def test_skew_is_the_difference_between_the_busiest_and_the_least_busy_in_the_same_step() -> (
    None
):
    """Steps of 100: 60 against 20.000001, then 30 against 50: (39.999999 + 20) of 200,
    whoever is busier.
    """
    builder = trace().steps(2, period=100)
    builder.busy("GPU:0", (0, 60), (100, 130)).busy("GPU:1", (0, 20.000001), (100, 150))

    metrics = builder.measure()

    assert picoseconds_of(metrics, "device_skew_fraction", 200) == us(59.999999)
    assert (
        metrics.fact("busiest_device")
        == "GPU:0 computes 0.045 ms per step, the others 0.035 ms on average"
    )


def test_devices_that_take_turns_work_at_a_concurrency_of_1_over_n() -> None:
    """Four devices, 25 of each 100 one after the other: 100 of work in 100 of time,
    over 4.
    """
    builder = trace().steps(2, period=100)
    for at in (0, 100):
        for number in range(4):
            builder.busy(f"GPU:{number}", (at + number * 25, at + number * 25 + 25))

    assert builder.measure().value("device_concurrency_fraction") == 1 / 4


def test_devices_that_work_at_once_have_a_concurrency_of_1() -> None:
    builder = trace().steps(2, period=100)
    for number in range(4):
        builder.busy(f"GPU:{number}", (10, 40), (110, 180))

    assert builder.measure().value("device_concurrency_fraction") == 1


def test_devices_that_overlap_in_part() -> None:
    """0 to 60 and 40 to 100: 120 of work in 100 of time, over 2."""
    builder = trace().step(0, 100).busy("GPU:0", (0, 60)).busy("GPU:1", (40, 100))

    assert builder.measure().value("device_concurrency_fraction") == 0.6


def test_concurrency_is_that_of_the_host_where_it_is_least() -> None:
    builder = (
        trace().host("a").step(0, 100).busy("GPU:0", (0, 100)).busy("GPU:1", (0, 100))
    )
    builder.host("b").step(0, 100).busy("GPU:0", (0, 50)).busy("GPU:1", (50, 100))

    assert builder.measure().value("device_concurrency_fraction") == 0.5


def test_devices_that_work_outside_of_steps_only_have_no_concurrency() -> None:
    metrics = (
        trace()
        .step(0, 100)
        .busy("GPU:0", (200, 300))
        .busy("GPU:1", (200, 300))
        .measure()
    )

    assert metrics.value("device_concurrency_fraction") is None
    assert (
        "no device works in a counted step"
        in metrics["device_concurrency_fraction"].reason
    )


def test_stagger_is_how_much_later_the_last_device_begins() -> None:
    """Steps of 100: devices begin 5, 9 and 17.000001 into the first step, at once in
    the second: 12.000001 of 200.
    """
    builder = trace().steps(2, period=100)
    for number, start in enumerate((5, 9, 17.000001)):
        builder.busy(f"GPU:{number}", (start, 50), (120, 150))

    assert picoseconds_of(builder.measure(), "launch_stagger_fraction", 200) == us(
        12.000001
    )


def test_steps_in_which_a_device_rests_say_nothing_of_stagger() -> None:
    """GPU 1 works in the second of three steps only, where it begins 30 after GPU 0: 30
    of 100.
    """
    builder = (
        trace()
        .steps(3, period=100)
        .busy("GPU:0", (0, 50), (110, 150), (200, 250))
        .busy("GPU:1", (140, 150))
    )

    assert picoseconds_of(builder.measure(), "launch_stagger_fraction", 100) == us(30)


def test_a_single_device_is_not_uneven() -> None:
    metrics = trace().step(0, 100).busy("GPU:0", (0, 60)).measure()

    for name in (
        "device_skew_fraction",
        "device_concurrency_fraction",
        "launch_stagger_fraction",
    ):
        assert metrics.value(name) is None
        assert "several" in metrics[name].reason
    assert metrics.fact("busiest_device") is None


def test_a_host_without_steps_says_nothing_of_its_devices_while_others_have_steps() -> (
    None
):
    """Host b's devices work one after the other in a trace without steps; host a's at
    once, 10 apart in compute.
    """
    builder = trace().host("a").steps(2, period=100)
    builder.busy("GPU:0", (0, 60), (100, 160)).busy("GPU:1", (0, 50), (100, 150))
    builder.host("b").busy("GPU:0", (0, 900)).busy("GPU:1", (5000, 5010))

    metrics = builder.measure()

    assert picoseconds_of(metrics, "device_skew_fraction", 200) == us(20)
    assert metrics.value("device_concurrency_fraction") == (220 / 120) / 2


def test_devices_with_equal_shards_run_equally_many_ops() -> None:
    """Three ops against one of the same step: (3 - 1) / 3."""
    builder = (
        trace()
        .step(0, 100)
        .busy("GPU:0", (0, 10), (20, 30), (40, 50))
        .busy("GPU:1", (0, 60))
    )

    assert builder.measure().value("op_count_skew") == pytest.approx(2 / 3, abs=1e-12)
    assert (
        trace().step(0, 100).busy("GPU:0", (0, 10)).measure().value("op_count_skew")
        is None
    )


def test_gpus_of_one_tensorflow_process_that_run_the_same_kernels_are_replicas() -> (
    None
):
    """Two of three kernels are the same, then one of three; then one GPU."""
    both = trace().call("EagerLocalExecute: __inference_step_1", 0, 9).step(0, 100)
    for name in ("relu", "sgemm"):
        both.busy("GPU:0", (0, 9), name=name).busy("GPU:1", (0, 9), name=name)
    both.busy("GPU:1", (20, 30), name="other")
    assert both.measure().fact("replicas") == "several"

    parts = trace().call("EagerLocalExecute: __inference_step_1", 0, 9).step(0, 100)
    for name in ("relu", "a", "b"):
        parts.busy("GPU:0", (0, 9), name=name)
    for name in ("relu", "c", "d"):
        parts.busy("GPU:1", (0, 9), name=name)
    assert parts.measure().fact("replicas") == "parts"

    one = trace().call("EagerLocalExecute: __inference_step_1", 0, 9).step(0, 100)
    one.busy("GPU:0", (0, 9))
    assert one.measure().fact("replicas") == "one"


def test_an_op_of_a_second_replica_tells_of_several_on_any_device() -> None:
    builder = trace().call("EagerLocalExecute: __inference_step_1", 0, 9).step(0, 100)
    builder.call("replica_1/sequential/dense/MatMul:MatMul", 10, 20)
    builder.busy("GPU:0", (10, 20))

    assert builder.measure().fact("replicas") == "several"
