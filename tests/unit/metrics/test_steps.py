"""What lies between steps, exact to 1 ps."""

from __future__ import annotations

from support.exactly import picoseconds, picoseconds_of, us
from support.trace_builder import trace


def test_a_gap_is_known_even_where_the_next_step_begins_with_a_kernel() -> None:
    """Kernels fill the first 70 of each 100: 30 idle before each boundary, and work
    begins right on it.
    """
    builder = (
        trace()
        .steps(4, period=100)
        .busy("GPU:0", *((t, t + 70) for t in (0, 100, 200, 300)))
    )

    metrics = builder.measure()

    assert picoseconds(metrics, "inter_step_gap_ms") == us(30)
    assert picoseconds_of(metrics, "inter_step_gap_fraction", 100) == us(30)


def test_a_gap_is_known_where_a_kernel_ends_with_its_step() -> None:
    """The last 70 of each 100: the 30 after each boundary."""
    builder = (
        trace()
        .steps(4, period=100)
        .busy("GPU:0", *((t + 30, t + 100) for t in (0, 100, 200, 300)))
    )

    assert picoseconds(builder.measure(), "inter_step_gap_ms") == us(30)


def test_gaps_of_different_length_are_averaged_to_the_picosecond() -> None:
    """Around 100: 80 to 112; around 200: 190 to 203; around 300: 285 to 300.000003. (32
    + 13 + 15.000003) / 3.
    """
    builder = (
        trace()
        .steps(4, period=100)
        .busy("GPU:0", (10, 80), (112, 190), (203, 285), (300.000003, 390))
    )

    metrics = builder.measure()

    assert picoseconds(metrics, "inter_step_gap_ms") == us(20.000001)
    assert picoseconds_of(metrics, "inter_step_gap_fraction", 100) == us(20.000001)


def test_a_gap_is_time_in_which_no_device_of_the_host_works() -> None:
    """GPU 0 pauses from 80 to 120, GPU 1 from 95 to 105, and a copy on GPU 0 takes 95
    to 97 of it: 8.
    """
    builder = trace().steps(2, period=100)
    builder.busy("GPU:0", (10, 80), (120, 190)).busy("GPU:1", (10, 95), (105, 190))

    metrics = builder.copy("GPU:0", "H2D", 95, 97).measure()

    assert picoseconds(metrics, "inter_step_gap_ms") == us(8)


def test_a_boundary_across_which_a_device_works_counts_with_a_gap_of_0() -> None:
    """(0 + 30) / 2."""
    builder = (
        trace().steps(3, period=100).busy("GPU:0", (10, 110), (120, 180), (210, 290))
    )

    assert picoseconds(builder.measure(), "inter_step_gap_ms") == us(15)


def test_steps_that_were_placed_on_the_device_have_gaps_too() -> None:
    """The host dispatches ten steps in 100 µs; the device takes 960 for each and pauses
    40 between two.
    """
    builder = trace()
    for index in range(10):
        builder.step(index * 10, index * 10 + 9)
        start = 20 + index * 1000
        builder.kernel(
            "GPU:0", "k", start, start + 960, launched=(index * 10 + 1, index * 10 + 5)
        )

    metrics = builder.measure()

    assert picoseconds(metrics, "step_time_ms") == us(1000)
    assert picoseconds(metrics, "inter_step_gap_ms") == us(40)


def test_gaps_of_all_hosts_are_averaged() -> None:
    """Host a: one gap of 10. Host b: two of 40. (10 + 40 + 40) / 3, over a mean period
    of 100.
    """
    builder = trace().host("a").steps(2, period=100).busy("GPU:0", (0, 90), (100, 190))
    builder.host("b").steps(3, period=100).busy(
        "GPU:0", (0, 60), (100, 160), (200, 260)
    )

    metrics = builder.measure()

    assert picoseconds(metrics, "inter_step_gap_ms") == us(30)
    assert picoseconds_of(metrics, "inter_step_gap_fraction", 100) == us(30)
    assert metrics.value("steps_counted") == 2


def test_a_single_step_has_no_gap_and_says_so() -> None:
    metrics = trace().step(0, 100).busy("GPU:0", (0, 50)).measure()

    assert metrics.value("inter_step_gap_ms") is None
    assert "two counted steps" in metrics["inter_step_gap_ms"].reason


def test_a_host_without_steps_of_its_own_is_no_long_step_of_the_run() -> None:
    """A coordinator that marks nothing and has no device is recorded for 5,000 µs
    beside steps of 100.
    """
    builder = (
        trace()
        .host("worker")
        .steps(4, period=100)
        .busy("GPU:0", *((t, t + 60) for t in (0, 100, 200, 300)))
    )
    builder.host("coordinator").call("waiting for workers", 0, 5000)

    metrics = builder.measure()

    assert picoseconds(metrics, "step_time_ms") == us(100)
    assert metrics.value("steps_counted") == 4
    assert picoseconds_of(metrics, "compute_fraction", 400) == us(240)
    assert metrics.value("kernels_per_step") == 1


def test_a_coordinator_that_marks_steps_but_has_no_device_is_no_device_either() -> None:
    """Its two steps of 500 would be two more device-steps in which nothing computes."""
    builder = (
        trace()
        .host("worker")
        .steps(4, period=100)
        .busy("GPU:0", *((t, t + 60) for t in (0, 100, 200, 300)))
    )
    builder.host("coordinator").steps(2, period=500)

    metrics = builder.measure()

    assert picoseconds(metrics, "step_time_ms") == us(100)
    assert metrics.value("steps_counted") == 4
    assert picoseconds_of(metrics, "compute_fraction", 400) == us(240)
    assert metrics.value("kernels_per_step") == 1


def test_a_host_with_devices_but_without_steps_does_not_dilute_those_with_steps() -> (
    None
):
    """Host b's one kernel in a trace without markers or rhythm is no step: shares are
    host a's.
    """
    builder = (
        trace()
        .host("a")
        .steps(4, period=100)
        .busy("GPU:0", *((t, t + 60) for t in (0, 100, 200, 300)))
    )
    builder.host("b").busy("GPU:0", (0, 10), (4000, 4010))

    metrics = builder.measure()

    assert picoseconds_of(metrics, "compute_fraction", 400) == us(240)
    assert metrics.value("kernels_per_step") == 1
    assert metrics.value("steps_counted") == 4


def test_a_run_whose_only_devices_have_no_steps_has_no_device_shares() -> None:
    builder = (
        trace()
        .host("a")
        .steps(4, period=100)
        .host("b")
        .busy("GPU:0", (0, 10), (4000, 4010))
    )

    metrics = builder.measure()

    assert metrics.value("compute_fraction") is None
    assert "no steps" in metrics["compute_fraction"].reason
    assert not any(one.broken for one in metrics.values())
