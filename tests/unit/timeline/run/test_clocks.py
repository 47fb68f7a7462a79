"""How far hosts' clocks are apart, by the ends of the collectives that they share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.arrays import occurrence
from tfadvisor.timeline.run.clocks import Clocks, align

PS = 1_000_000
FIVE_SECONDS = 5e6
"""In µs."""


def clocks(builder: TraceBuilder) -> Clocks:
    return align(builder.build().hosts)


def host(
    builder: TraceBuilder,
    name: str,
    calls: Sequence[tuple[float, float]],
    *,
    ahead: float = 0,
    first_step: int | None = None,
    runs: Sequence[int] = (),
    op: str = "all-reduce.1",
) -> TraceBuilder:
    """A host whose GPU is in one collective after the other. first_step: number of the
    marked step around the first call, one step of 1,000 a call. runs: the run_id of
    each."""
    builder.host(name).clock(ahead).busy("GPU:0", (0, 1))
    for index, (start, end) in enumerate(calls):
        if first_step is not None:
            at = start // 1000 * 1000
            builder.call("train", at, at + 1000, step_num=first_step + index, _r=1)
        stats = {"run_id": runs[index]} if runs else {}
        builder.collective("GPU:0", start, end, op, **stats)
    return builder


def test_ends_align_clocks_whenever_members_begin() -> None:
    """b begins 300 later each time and ends together with a: its clock is 5 s ahead,
    not 5 s and 300 µs.
    """
    builder = host(trace(), "a", [(100, 700), (1100, 1700), (2100, 2700)])
    host(builder, "b", [(400, 700), (1400, 1700), (2400, 2700)], ahead=FIVE_SECONDS)

    assert clocks(builder) == Clocks((0, 5_000_000 * PS))


def test_a_clock_may_also_be_behind() -> None:
    builder = host(trace(), "a", [(100, 700), (1100, 1700)], ahead=FIVE_SECONDS)
    host(builder, "b", [(400, 700), (1400, 1700)])

    assert clocks(builder).offset_ps == (0, -5_000_000 * PS)


def test_the_offset_is_the_median_and_the_spread_how_far_ends_deviate() -> None:
    """Ends apart by 5 s and 1, 3, 4, 8 and 90: the median is 4, the deviations 3, 1, 0,
    4 and 86, their median 3.
    """
    starts = [0, 1000, 2000, 3000, 4000]
    builder = host(trace(), "a", [(at, at + 500) for at in starts])
    later = zip(starts, (1, 3, 4, 8, 90), strict=True)
    host(
        builder, "b", [(at, at + 500 + more) for at, more in later], ahead=FIVE_SECONDS
    )

    assert clocks(builder) == Clocks((0, 5_000_004 * PS))


def test_step_numbers_pair_calls_of_traces_that_began_at_different_steps() -> None:
    """a holds steps 0 to 3, b steps 2 to 5; by order a's first would meet b's first,
    two steps later.
    """
    calls = [(at + 100, at + 700) for at in (0, 1000, 2000, 3000)]
    builder = host(trace(), "a", calls, first_step=0)
    host(
        builder,
        "b",
        [(start + 2000, end + 2000) for start, end in calls],
        ahead=FIVE_SECONDS,
        first_step=2,
    )

    assert clocks(builder).offset_ps == (0, 5_000_000 * PS)


def test_markers_of_different_names_say_nothing_and_order_decides() -> None:
    calls = [(at + 100, at + 700) for at in (0, 1000, 2000)]
    builder = host(trace(), "a", calls, first_step=0)
    builder.host("b").clock(FIVE_SECONDS).busy("GPU:0", (0, 1))
    for index, (start, end) in enumerate(calls):
        builder.call(
            "another name", index * 1000, index * 1000 + 1000, step_num=index, _r=1
        )
        builder.collective("GPU:0", start, end, "all-reduce.1")

    assert clocks(builder).offset_ps == (0, 5_000_000 * PS)


def test_runs_of_the_program_pair_calls_before_steps_do() -> None:
    """By run_id a's second call is b's first. By order, or by the steps' numbers, the
    clocks would differ by 1,000 more.
    """
    builder = host(
        trace(),
        "a",
        [(100, 700), (1100, 1700), (2100, 2700)],
        first_step=0,
        runs=(7, 8, 9),
    )
    host(
        builder,
        "b",
        [(1400, 1700), (2400, 2700)],
        ahead=FIVE_SECONDS,
        first_step=0,
        runs=(8, 9),
    )

    assert clocks(builder).offset_ps == (0, 5_000_000 * PS)


def test_runs_that_never_agree_leave_it_to_the_steps() -> None:
    """Each process counted its own runs."""
    calls = [(100, 700), (1100, 1700), (2100, 2700)]
    builder = host(trace(), "a", calls, first_step=0, runs=(1, 2, 3))
    host(builder, "b", calls[1:], ahead=FIVE_SECONDS, first_step=1, runs=(51, 52))

    assert clocks(builder).offset_ps == (0, 5_000_000 * PS)


def test_several_calls_of_one_run_pair_in_order() -> None:
    """A loop calls the op twice in each run; b's trace lacks the first run."""
    builder = host(
        trace(),
        "a",
        [(0, 10), (20, 50), (100, 110), (120, 150), (200, 210), (220, 250)],
        runs=(1, 1, 2, 2, 3, 3),
    )
    host(
        builder,
        "b",
        [(100, 110), (120, 150), (200, 210), (220, 250)],
        ahead=FIVE_SECONDS,
        runs=(2, 2, 3, 3),
    )

    assert clocks(builder) == Clocks((0, 5_000_000 * PS))


def test_without_markers_names_that_are_called_equally_often_pair_in_order() -> None:
    """all-reduce.1 is called thrice on a and twice on b, as the trace cut one off;
    all-gather.2 twice on both.
    """
    builder = host(trace(), "a", [(0, 10), (100, 110), (200, 210)])
    builder.collective("GPU:0", 20, 60, "all-gather.2").collective(
        "GPU:0", 120, 160, "all-gather.2"
    )
    host(builder, "b", [(100, 110), (200, 210)], ahead=FIVE_SECONDS)
    builder.collective("GPU:0", 30, 60, "all-gather.2").collective(
        "GPU:0", 130, 160, "all-gather.2"
    )

    assert clocks(builder) == Clocks((0, 5_000_000 * PS))


@pytest.mark.parametrize("calls", [[(100, 110)], [(100, 110), (200, 210), (300, 310)]])
def test_what_cannot_be_paired_leaves_the_offset_open(
    calls: list[tuple[float, float]],
) -> None:
    """a calls it twice. Once or thrice on b says nothing about which is which."""
    builder = host(trace(), "a", [(100, 110), (200, 210)])

    assert clocks(host(builder, "b", calls)) == Clocks((0, None))


def test_a_single_shared_collective_is_too_little() -> None:
    builder = host(host(trace(), "a", [(100, 110)]), "b", [(105, 110)])

    assert clocks(builder).offset_ps == (0, None)


def test_different_collectives_align_nothing() -> None:
    builder = host(trace(), "a", [(100, 110), (200, 210)])

    assert clocks(
        host(builder, "b", [(100, 110), (200, 210)], op="all-gather.2")
    ).offset_ps == (0, None)


def test_the_first_host_that_communicates_sets_the_clock() -> None:
    builder = trace().host("a").busy("GPU:0", (0, 10))
    host(builder, "b", [(100, 110), (200, 210)], ahead=FIVE_SECONDS)
    host(builder, "c", [(100, 110), (200, 210)], ahead=FIVE_SECONDS + 7)

    assert clocks(builder) == Clocks((None, 0, 7 * PS))


def test_hosts_that_never_communicate_have_clocks_of_their_own() -> None:
    builder = (
        trace()
        .host("a")
        .busy("GPU:0", (0, 10))
        .host("b")
        .busy("GPU:0", (0, 10))
        .host("c")
        .busy("GPU:0", (0, 10))
    )

    assert clocks(builder) == Clocks((0, None, None))


def test_one_host_needs_no_alignment() -> None:
    assert clocks(host(trace(), "a", [(100, 110)])) == Clocks((0,))


def test_the_device_that_communicates_most_speaks_for_its_host() -> None:
    """b's first GPU shares nothing; its second holds what a has too."""
    builder = host(trace(), "a", [(100, 110), (200, 210)])
    builder.host("b").clock(FIVE_SECONDS).collective("GPU:0", 0, 5, "all-gather.2")
    builder.collective("GPU:1", 100, 110, "all-reduce.1").collective(
        "GPU:1", 200, 210, "all-reduce.1"
    )

    assert clocks(builder).offset_ps == (0, 5_000_000 * PS)


def test_occurrence_counts_equal_keys_before_each() -> None:
    assert occurrence(np.array([5, 3, 5, 5, 3, 9])).tolist() == [0, 0, 1, 2, 1, 0]
    assert occurrence(np.empty(0, np.int64)).tolist() == []
