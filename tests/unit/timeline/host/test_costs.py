"""What costs a host time, on timelines worked out on paper."""

from __future__ import annotations

from support.trace_builder import PS_PER_US, trace

from tfadvisor.timeline.host.host_costs import HostCost


def test_a_cost_counts_where_no_device_works_and_in_counted_steps() -> None:
    """cudaMalloc from 10 to 50 of each step, under a kernel until 30: 20 µs are left,
    in each of three steps. The one after the last step is no cost of a step."""
    builder = trace().steps(3, period=100)
    for at in (0, 100, 200):
        builder.busy("GPU:0", (at, at + 30), (at + 60, at + 90)).call(
            "cudaMalloc", at + 10, at + 50
        )
    (host,) = builder.call("cudaMalloc", 400, 450).build().hosts

    assert host.costs[HostCost.ALLOCATING] == 60 * PS_PER_US


def test_waiting_counts_whether_devices_work_or_not() -> None:
    """A wait from 10 to 95 in each of two steps while a kernel runs until 90."""
    builder = trace().steps(2, period=100)
    for at in (0, 100):
        builder.busy("GPU:0", (at, at + 90)).call("BlockUntilReady", at + 10, at + 95)
    (host,) = builder.build().hosts

    assert host.costs[HostCost.WAITING] == 170 * PS_PER_US


def test_every_cost_is_there_and_without_its_cause_it_is_nothing() -> None:
    (host,) = (
        trace().steps(2, period=100).busy("GPU:0", (0, 90), (100, 190)).build().hosts
    )

    assert host.costs == dict.fromkeys(HostCost, 0)
