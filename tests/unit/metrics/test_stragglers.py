"""Who is late, by how much, and why; exact to 1 ps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from support.exactly import picoseconds_of, us
from support.trace_builder import TraceBuilder, trace

STEPS = 6
AHEAD = {"a": 0, "b": 5e6, "c": 12e6}
"""How far each host's clock is ahead, µs."""


def run_of_hosts(
    arrival: Mapping[str, Callable[[int], float]],
    steps: int = STEPS,
    markers: bool = True,
) -> TraceBuilder:
    """Steps of 1,000 in which each host's GPU computes from 0 to its arrival and all
    leave the collective at 900.
    """
    builder = trace()
    for host, arrives in arrival.items():
        builder.host(host).clock(AHEAD[host])
        for index in range(steps):
            at = index * 1000
            if markers:
                builder.step(at, at + 1000)
            builder.busy("GPU:0", (at, at + arrives(index))).collective(
                "GPU:0", at + arrives(index), at + 900
            )
    return builder


def constant(time: float) -> Callable[[int], float]:
    return lambda index: time


def test_the_host_that_comes_last_is_named_with_what_it_costs() -> None:
    """a at 200, b at 650.000001, c at 300: all waiting is for b; without b's delay the
    first would wait 450.000001 less.

    The waiting, 450.000001 + 0 + 350.000001, is a mean over the three.
    """
    metrics = run_of_hosts(
        {"a": constant(200), "b": constant(650.000001), "c": constant(300)}
    ).measure()

    assert picoseconds_of(metrics, "host_skew_fraction", 1000) == us(450.000001)
    assert picoseconds_of(metrics, "late_host_fraction", 1000) == us(450.000001)
    assert metrics.fact("late_host") == "b"
    assert picoseconds_of(metrics, "collective_wait_fraction", 3000) == us(800.000002)


def test_hosts_that_take_turns_are_nobodys_fault() -> None:
    """Each of three is 300 later than the others every third step: a third of the
    waiting is for each.
    """
    turns = {
        host: (lambda index, turn=turn: 600 if index % 3 == turn else 300)
        for turn, host in enumerate("abc")
    }

    metrics = run_of_hosts(turns).measure()

    assert picoseconds_of(metrics, "host_skew_fraction", 1000) == us(300)
    assert metrics.value("late_host_fraction") == 0


def test_two_hosts_that_alternate_are_nobodys_fault() -> None:
    alternating = {
        "a": lambda index: 600 if index % 2 else 300,
        "b": lambda index: 300 if index % 2 else 600,
    }

    metrics = run_of_hosts(alternating).measure()

    assert metrics.value("late_host_fraction") == 0


def test_a_host_that_is_late_most_of_the_time_costs_what_it_was_late() -> None:
    """b is 400 late in four of six steps, a 200 in two: 1,600 of 2,000 is waiting for
    b, of 6,000 in all.
    """
    metrics = run_of_hosts(
        {
            "a": lambda index: 500 if index < 2 else 300,
            "b": lambda index: 300 if index < 2 else 700,
        }
    ).measure()

    assert picoseconds_of(metrics, "late_host_fraction", 6000) == us(1600)
    assert picoseconds_of(metrics, "host_skew_fraction", 6000) == us(2000)


def test_hosts_that_arrive_together_wait_for_nobody() -> None:
    metrics = run_of_hosts({"a": constant(300), "b": constant(300)}).measure()

    assert metrics.value("host_skew_fraction") == 0
    assert metrics.value("late_host_fraction") == 0


def test_a_host_recorded_for_longer_does_not_thin_out_the_waiting() -> None:
    """a is recorded for eight steps, b for the last four of them: b is 300 late in each
    step that both traces hold.
    """
    builder = trace().host("a")
    for index in range(8):
        at = index * 1000
        builder.call("train", at, at + 1000, step_num=index, _r=1)
        builder.busy("GPU:0", (at, at + 200)).collective("GPU:0", at + 200, at + 900)
    builder.host("b").clock(5e6)
    for index in range(4, 8):
        at = index * 1000
        builder.call("train", at, at + 1000, step_num=index, _r=1)
        builder.busy("GPU:0", (at, at + 500)).collective("GPU:0", at + 500, at + 900)

    metrics = builder.measure()

    assert metrics.value("steps_counted") == 4
    assert picoseconds_of(metrics, "host_skew_fraction", 1000) == us(300)
    assert picoseconds_of(metrics, "late_host_fraction", 1000) == us(300)
    assert metrics.fact("late_host") == "b"


def test_a_collective_that_only_the_last_step_holds_is_a_small_share_of_all_steps() -> (
    None
):
    """Eight steps of 1,000 and one collective, in which the first host waits 400: 400
    of 8,000.
    """
    builder = trace()
    for host, arrival in (("a", 200), ("b", 600)):
        builder.host(host).clock(AHEAD[host]).steps(8, period=1000)
        builder.busy("GPU:0", *((at, at + 100) for at in range(0, 8000, 1000)))
        builder.collective("GPU:0", 6400, 6900).collective(
            "GPU:0", 7000 + arrival, 7900
        )

    metrics = builder.measure()

    assert picoseconds_of(metrics, "host_skew_fraction", 8000) == us(400)


def test_a_host_that_does_not_communicate_among_others_is_left_out_of_the_waiting() -> (
    None
):
    """Host c only computes; a and b still meet, b 300 late."""
    builder = run_of_hosts({"a": constant(200), "b": constant(500)})
    builder.host("c").steps(STEPS, period=1000).busy("GPU:0", (0, 100))

    metrics = builder.measure()

    assert metrics.fact("late_host") == "b"
    assert picoseconds_of(metrics, "late_host_fraction", 1000) == us(300)


def test_what_the_late_host_does_meanwhile_is_the_reason() -> None:
    """Both GPUs compute 200. b loads its batch from 0 to 310 first, which is 31% of its
    step, and arrives at 510.
    """
    builder = trace()
    for host, load in (("a", 0), ("b", 310)):
        builder.host(host).clock(AHEAD[host])
        for at in range(0, 6000, 1000):
            builder.step(at, at + 1000)
            if load:
                builder.call("load_batch", at, at + load)
            builder.busy("GPU:0", (at + load, at + load + 200)).collective(
                "GPU:0", at + load + 200, at + 1000
            )

    metrics = builder.measure()

    assert metrics.fact("late_host") == "b"
    assert metrics.fact("late_host_class") == "input"
    assert (
        metrics.fact("late_host_reason")
        == "loading input 31% of its step time, the others 0%"
    )


def test_hosts_without_collectives_differ_by_what_they_compute() -> None:
    """30 and 50.000001 of 100 a step."""
    builder = trace().host("a").steps(2, period=100).busy("GPU:0", (0, 30), (100, 130))

    metrics = (
        builder.host("b")
        .steps(2, period=100)
        .busy("GPU:0", (0, 50.000001), (100, 150.000001))
        .measure()
    )

    assert picoseconds_of(metrics, "host_skew_fraction", 100) == us(20.000001)
    assert metrics.value("late_host_fraction") is None


def test_hosts_whose_clocks_cannot_be_aligned_differ_by_what_they_compute() -> None:
    """Each calls a collective of its own name; they compute 200 and 500 of 1,000."""
    builder = (
        trace()
        .host("a")
        .step(0, 1000)
        .busy("GPU:0", (0, 200))
        .collective("GPU:0", 200, 700)
    )
    builder.host("b").step(0, 1000).busy("GPU:0", (0, 500)).collective(
        "GPU:0", 500, 700, "ncclDevKernel_Broadcast_RING"
    )

    assert picoseconds_of(builder.measure(), "host_skew_fraction", 1000) == us(300)


def test_steps_of_very_different_length_are_at_most_all_skew() -> None:
    """100 of 100 against 0.5 of 1: 99.5 over a mean period of 50.5 would be 197%."""
    builder = (
        trace()
        .host("a")
        .step(0, 100)
        .busy("GPU:0", (0, 100))
        .host("b")
        .step(0, 1)
        .busy("GPU:0", (0, 0.5))
    )

    assert builder.measure().value("host_skew_fraction") == 1


def test_one_host_has_no_skew_between_hosts() -> None:
    metrics = (
        trace().step(0, 100).busy("GPU:0", (0, 50)).busy("GPU:1", (0, 70)).measure()
    )

    assert metrics.value("host_skew_fraction") is None
    assert "single host" in metrics["host_skew_fraction"].reason


def test_the_late_device_of_a_host_is_named() -> None:
    """GPU 1 joins 300 after GPU 0 and 200 after GPU 2, in every step of 1,000."""
    builder = trace().steps(4, period=1000)
    for at in range(0, 4000, 1000):
        for device, arrival in (("GPU:0", 200), ("GPU:1", 500), ("GPU:2", 300)):
            builder.busy(device, (at, at + arrival)).collective(
                device, at + arrival, at + 700
            )

    metrics = builder.measure()

    assert picoseconds_of(metrics, "late_device_fraction", 1000) == us(300)
    assert picoseconds_of(metrics, "uneven_work_fraction", 1000) == us(300)
    assert metrics.fact("late_device") == "GPU:1"


def test_devices_that_take_turns_are_nobodys_fault() -> None:
    builder = trace().steps(4, period=1000)
    for index, at in enumerate(range(0, 4000, 1000)):
        for number in (0, 1):
            arrival = 500 if index % 2 == number else 200
            builder.busy(f"GPU:{number}", (at, at + arrival)).collective(
                f"GPU:{number}", at + arrival, at + 700
            )

    metrics = builder.measure()

    assert metrics.value("late_device_fraction") == 0
    assert picoseconds_of(metrics, "device_skew_fraction", 1000) == us(300)


def test_the_late_device_is_of_the_host_on_which_it_costs_most() -> None:
    """On a the devices are 50 apart, on b 250; b's second GPU is also what a waits for:
    a at 250, b at 500.
    """
    builder = trace()
    for host, arrivals in (("a", (200, 250)), ("b", (250, 500))):
        builder.host(host).clock(AHEAD[host])
        for at in range(0, 4000, 1000):
            builder.step(at, at + 1000)
            for number, arrival in enumerate(arrivals):
                builder.busy(f"GPU:{number}", (at, at + arrival))
                builder.collective(f"GPU:{number}", at + arrival, at + 700)

    metrics = builder.measure()

    assert metrics.fact("late_device") == "GPU:1 of b"
    assert picoseconds_of(metrics, "late_device_fraction", 1000) == us(250)
    assert picoseconds_of(metrics, "late_host_fraction", 1000) == us(250)
    assert picoseconds_of(metrics, "collective_wait_fraction", 4000) == us(
        300 + 250 + 250
    )


def test_a_host_whose_collectives_lie_outside_of_its_steps_does_not_hide_anothers_late_device() -> (
    None
):
    """Host a marks nothing where the four devices meet, and marks steps after that; b
    marks all of its steps.
    """
    builder = trace()
    for host, first in (("a", 4000), ("b", 0)):
        builder.host(host).clock(AHEAD[host])
        for index, at in enumerate(range(first, first + 4000, 1000)):
            builder.call(f"train {host}", at, at + 1000, step_num=index, _r=1)
        for at in range(0, 4000, 1000):
            for number, arrival in enumerate((200, 500)):
                builder.busy(f"GPU:{number}", (at, at + arrival))
                builder.collective(f"GPU:{number}", at + arrival, at + 700)

    metrics = builder.measure()

    assert metrics.fact("late_device") == "GPU:1 of b"
    assert picoseconds_of(metrics, "late_device_fraction", 1000) == us(300)
    assert metrics.value("late_host_fraction") == 0


def test_lateness_is_a_share_of_steps_even_when_the_first_host_has_none() -> None:
    """b is 300 late in each step of 1,000. The first host's trace holds no step; its
    window is another length.
    """
    builder = trace()
    for host, arrival in (("a", 200), ("b", 500), ("c", 200)):
        builder.host(host).clock(AHEAD[host])
        for at in range(0, 3000, 1000):
            if host != "a":
                builder.step(at, at + 1000)
            builder.busy("GPU:0", (at, at + arrival)).collective(
                "GPU:0", at + arrival, at + 700
            )
    builder.host("a").busy("GPU:0", (3250, 3300))

    metrics = builder.measure()

    assert metrics.value("steps_counted") == 3
    assert picoseconds_of(metrics, "late_host_fraction", 1000) == us(300)
    assert metrics.fact("late_host") == "b"


def test_without_collectives_uneven_work_is_the_difference_in_compute_time() -> None:
    """60 and 45 of 100."""
    metrics = (
        trace().step(0, 100).busy("GPU:0", (0, 60)).busy("GPU:1", (0, 45)).measure()
    )

    assert metrics.value("late_device_fraction") is None
    assert picoseconds_of(metrics, "uneven_work_fraction", 100) == us(15)
