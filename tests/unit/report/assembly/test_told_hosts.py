"""A report of many hosts lists the steps of those that matter, and says so."""

from __future__ import annotations

from support.trace_builder import TraceBuilder, trace


def hosts(count: int, slow: int) -> TraceBuilder:
    """Each marks three steps of 100 µs, the slow one of 300."""
    builder = trace()
    for number in range(count):
        builder.host(f"w{number:03}")
        length = 300 if number == slow else 100
        for index in range(3):
            at = index * length
            builder.call("train", at, at + length, step_num=index, _r=1).busy(
                "GPU:0", (at, at + length // 2)
            )
    return builder


def test_up_to_64_hosts_are_all_listed() -> None:
    steps = hosts(64, slow=7).report().steps

    assert len({step.host for step in steps.each}) == 64
    assert "--host" not in steps.about


def test_of_more_hosts_the_slowest_is_among_64() -> None:
    """Of 200 hosts at even places, 0, 3, 6 …, host 101 would not be listed: it is
    because it is the slowest.
    """
    steps = hosts(200, slow=101).report().steps
    listed = {step.host for step in steps.each}

    assert len(listed) == 64
    assert {"w000", "w101"} <= listed
    assert steps.about.endswith(
        "each step is listed of 64 of 200 hosts, --host NAME lists another's"
    )
    assert len(steps.each) == 64 * 3
