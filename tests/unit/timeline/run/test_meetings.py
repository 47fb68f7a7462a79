"""Which calls of all devices belong together, and which are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.run.meetings import Meetings

PS = 1_000_000
Call = tuple[float, float]


def calls_of(
    devices: Mapping[str, Sequence[Call]],
    runs: Mapping[str, Sequence[int]] | None = None,
    op: str = "all-reduce.1",
) -> TraceBuilder:
    """One host; each device's calls of one collective, with their run_id where
    given.
    """
    builder = trace().step(0, 10_000)
    for device, calls in devices.items():
        for index, (start, end) in enumerate(calls):
            stats = {} if runs is None else {"run_id": runs[device][index]}
            builder.collective(device, start, end, op, **stats)
    return builder


def meetings(builder: TraceBuilder) -> Meetings:
    return builder.build().meetings


def starts(found: Meetings) -> list[list[float]]:
    """µs, by meeting and member."""
    return (found.start / PS).tolist() if len(found) else []


def test_members_wait_from_their_start_to_the_last_members() -> None:
    builder = calls_of({"GPU:0": [(10, 60)], "GPU:1": [(40, 60)], "GPU:2": [(25, 62)]})

    found = meetings(builder)

    assert starts(found) == [[10, 40, 25]]
    assert (found.wait / PS).tolist() == [[30, 0, 15]]
    assert (found.end / PS).tolist() == [[60, 60, 62]]
    assert (found.host.tolist(), found.device.tolist()) == ([0, 0, 0], [0, 1, 2])
    assert [found.labels[index] for index in found.label.tolist()] == ["all-reduce.1"]
    assert found.why == ""


def test_nobody_waits_longer_than_its_own_call() -> None:
    """GPU 0's call ended before GPU 1's began, as the same run_id says that they belong
    together.
    """
    found = meetings(
        calls_of(
            {"GPU:0": [(10, 30)], "GPU:1": [(50, 60)]}, {"GPU:0": [4], "GPU:1": [4]}
        )
    )

    assert (found.wait / PS).tolist() == [[20, 0]]


def test_run_ids_pair_calls_whatever_their_times() -> None:
    """GPU 0 holds runs 1, 2, 3 and GPU 1 runs 2, 3, 4: runs 2 and 3 meet, though run 2
    of one overlaps run 1 of the other."""
    builder = calls_of(
        {
            "GPU:0": [(0, 50), (100, 150), (200, 250)],
            "GPU:1": [(20, 50), (120, 150), (220, 250)],
        },
        {"GPU:0": [1, 2, 3], "GPU:1": [2, 3, 4]},
    )

    assert starts(meetings(builder)) == [[100, 20], [200, 120]]


def test_calls_of_one_run_pair_in_order() -> None:
    """Run 1 calls it twice on both; run 2 twice on GPU 0 and once on GPU 1."""
    builder = calls_of(
        {
            "GPU:0": [(0, 10), (20, 30), (40, 50), (60, 70)],
            "GPU:1": [(5, 10), (25, 30), (45, 50)],
        },
        {"GPU:0": [1, 1, 2, 2], "GPU:1": [1, 1, 2]},
    )

    assert starts(meetings(builder)) == [[0, 5], [20, 25], [40, 45]]


def test_run_ids_are_unsigned_numbers() -> None:
    """The profiler writes large ones as negative numbers."""
    builder = calls_of(
        {"GPU:0": [(0, 50)], "GPU:1": [(20, 50)]}, {"GPU:0": [-3], "GPU:1": [-3]}
    )

    assert starts(meetings(builder)) == [[0, 20]]


def test_without_run_ids_calls_that_overlap_belong_together() -> None:
    builder = calls_of(
        {"GPU:0": [(0, 50), (100, 150)], "GPU:1": [(20, 50), (120, 150)]}
    )

    assert starts(meetings(builder)) == [[0, 20], [100, 120]]


def test_a_call_that_not_all_devices_were_seen_in_is_left_out_and_the_next_one_is_not() -> (
    None
):
    """GPU 1's trace lacks the second, GPU 2's the third."""
    builder = calls_of(
        {
            "GPU:0": [(0, 50), (100, 150), (200, 250), (300, 350)],
            "GPU:1": [(20, 50), (220, 250), (320, 350)],
            "GPU:2": [(30, 50), (130, 150), (330, 350)],
        }
    )

    assert starts(meetings(builder)) == [[0, 20, 30], [300, 320, 330]]


def test_incomplete_calls_do_not_take_away_the_partner_of_a_later_one() -> None:
    """As many calls on both devices, of which only the last of one and the first of the
    other overlap.
    """
    builder = calls_of(
        {
            "GPU:0": [(0, 10), (20, 30), (40, 50)],
            "GPU:1": [(45, 50), (60, 70), (80, 90)],
        }
    )

    assert starts(meetings(builder)) == [[40, 45]]


def test_a_call_that_ends_where_another_begins_does_not_overlap_it() -> None:
    """Half-open: 40 to 50 and 50 to 60 share no instant; 55 to 60 is the partner."""
    builder = calls_of({"GPU:0": [(50, 60)], "GPU:1": [(40, 50), (55, 60)]})

    assert starts(meetings(builder)) == [[50, 55]]


def test_a_call_belongs_to_one_meeting_only() -> None:
    """GPU 0's one long call overlaps two of GPU 1's; the later is left out."""
    builder = calls_of(
        {"GPU:0": [(0, 50), (100, 150)], "GPU:1": [(10, 20), (30, 40), (110, 150)]}
    )
    both = calls_of(
        {
            "GPU:0": [(0, 50), (100, 150), (200, 250)],
            "GPU:1": [(10, 20), (30, 40), (110, 150)],
        }
    )

    assert starts(meetings(builder)) == [[0, 10], [100, 110]]
    assert starts(meetings(both)) == [[0, 10], [100, 110]]


def test_two_calls_of_the_leader_that_overlap_one_of_another_are_one_meeting() -> None:
    """GPU 0 has fewer calls and leads: its 10 to 20 and 30 to 40 both lie in GPU 1's
    first.
    """
    builder = calls_of(
        {"GPU:0": [(10, 20), (30, 40)], "GPU:1": [(0, 50), (60, 70), (80, 90)]}
    )

    assert starts(meetings(builder)) == [[10, 0]]


def test_names_are_paired_apart_and_meetings_come_in_order_of_the_last_arrival() -> (
    None
):
    builder = calls_of({"GPU:0": [(0, 40)], "GPU:1": [(30, 40)]}, op="all-reduce.9")
    builder.collective("GPU:0", 5, 20, "all-gather.2").collective(
        "GPU:1", 10, 20, "all-gather.2"
    )

    found = meetings(builder)

    assert starts(found) == [[5, 10], [0, 30]]
    assert [found.labels[index] for index in found.label.tolist()] == [
        "all-gather.2",
        "all-reduce.9",
    ]


def test_a_name_that_the_trace_holds_twice_is_one_name() -> None:
    """Some events bear the op as their own name, some name it in a stat: four meetings,
    none twice.
    """
    builder = trace().step(0, 1000)
    for device, late in (("GPU:0", 0), ("GPU:1", 5)):
        builder.collective(device, 0 + late, 10, "all-reduce.1")
        builder.collective(
            device,
            100 + late,
            110,
            "ncclDevKernel_AllReduce_Sum_f32",
            hlo_op="all-reduce.1",
        )
        builder.collective(device, 200 + late, 210, "all-reduce.1")
        builder.collective(
            device,
            300 + late,
            310,
            "ncclDevKernel_AllReduce_Sum_f32",
            hlo_op="all-reduce.1",
        )

    assert starts(meetings(builder)) == [[0, 5], [100, 105], [200, 205], [300, 305]]


def test_hosts_meet_on_the_first_ones_clock() -> None:
    """b's clock is 5 s ahead; exposed_from is on the common clock too: b computes until
    40 in the first.
    """
    builder = trace()
    for host, ahead, late in (("a", 0, 0), ("b", 5e6, 20)):
        builder.host(host).clock(ahead).busy("GPU:0", (0, 40 if late else 1))
        for at in (0, 100):
            builder.collective("GPU:0", at + 10 + late, at + 60)

    found = meetings(builder)

    assert starts(found) == [[10, 30], [110, 130]]
    assert (found.exposed_from / PS).tolist() == [[10, 40], [110, 130]]
    assert (found.exposed / PS).tolist() == [[50, 20], [50, 30]]
    assert found.host.tolist() == [0, 1]
    assert found.clocks.offset_ps == (0, 5_000_000 * PS)


def test_a_host_arrives_with_the_last_of_its_devices() -> None:
    """Hosts a and c communicate, b does not."""
    builder = trace()
    for host, arrivals in (("a", (10, 25)), ("c", (40, 15))):
        builder.host(host)
        for at in (0, 100):
            for number, arrival in enumerate(arrivals):
                builder.collective(f"GPU:{number}", at + arrival, at + 60)
    builder.host("b").busy("GPU:0", (0, 10))

    found = meetings(builder)

    assert found.host.tolist() == [0, 0, 2, 2]
    assert (found.host_arrival() / PS).tolist() == [[25, 40], [125, 140]]


def test_a_host_whose_clock_is_unknown_does_not_stand_between_the_others() -> None:
    """c's trace holds three calls of what a and b call twice."""
    builder = trace()
    for host, late, count in (("a", 0, 2), ("b", 20, 2), ("c", 30, 3)):
        builder.host(host)
        for at in range(0, count * 100, 100):
            builder.collective("GPU:0", at + late, at + 60)

    found = meetings(builder)

    assert found.host.tolist() == [0, 1]
    assert starts(found) == [[0, 20], [100, 120]]


def test_a_host_with_foreign_keys_does_not_silence_the_others() -> None:
    """Four hosts call in the runs 1 and 2; c, recorded beside them, in the runs 8 and
    9.
    """
    builder = trace()
    for host, runs in (
        ("a", (1, 2)),
        ("b", (1, 2)),
        ("c", (8, 9)),
        ("d", (1, 2)),
        ("e", (1, 2)),
    ):
        builder.host(host)
        for number, run in enumerate(runs):
            late = 20 if host == "d" else 0
            builder.collective(
                "GPU:0", number * 100 + late, number * 100 + 60, run_id=run
            )

    found = meetings(builder)

    assert found.host.tolist() == [0, 1, 3, 4]
    assert starts(found) == [[0, 0, 20, 0], [100, 100, 120, 100]]
    assert found.strangers == (2,)


def recorded_from(*first: int) -> Meetings:
    """Each host has ten calls, in the runs from its first on."""
    builder = trace()
    for host, begin in enumerate(first):
        builder.host(f"host{host}")
        for run in range(begin, begin + 10):
            builder.collective("GPU:0", run * 100, run * 100 + 60, run_id=run)
    return meetings(builder)


def test_a_host_that_shares_less_than_half_does_not_hide_the_rest() -> None:
    """The third holds runs 7 to 16, so four of the ten."""
    found = recorded_from(1, 1, 7, 1, 1)

    assert found.host.tolist() == [0, 1, 3, 4]
    assert len(found) == 10
    assert found.strangers == (2,)


def test_a_host_that_shares_half_takes_part_in_it() -> None:
    """The third holds runs 6 to 15."""
    found = recorded_from(1, 1, 6, 1, 1)

    assert found.host.tolist() == [0, 1, 2, 3, 4]
    assert len(found) == 5
    assert found.strangers == ()


def test_half_is_enough_beside_a_host_that_shares_none() -> None:
    """The third holds runs 6 to 15, the fourth 11 to 20."""
    found = recorded_from(1, 1, 6, 11, 1, 1)

    assert found.host.tolist() == [0, 1, 2, 4, 5]
    assert len(found) == 5
    assert found.strangers == (3,)


def test_a_device_that_lost_most_of_its_calls_makes_no_stranger_of_its_host() -> None:
    """The third GPU's trace has four of ten."""
    builder = trace()
    for gpu, runs in (("GPU:0", 10), ("GPU:1", 10), ("GPU:2", 4)):
        for run in range(runs):
            builder.collective(gpu, run * 100, run * 100 + 60, run_id=run + 1)

    found = meetings(builder)

    assert found.device.tolist() == [0, 1]
    assert len(found) == 10
    assert found.strangers == ()


def test_a_first_host_with_foreign_keys_does_not_set_the_clock() -> None:
    """a comes first and calls three times, so that neither keys nor order pair it with
    the others.
    """
    builder = trace()
    for host, runs in (("a", (7, 8, 9)), ("b", (1, 2)), ("c", (1, 2)), ("d", (1, 2))):
        builder.host(host)
        for number, run in enumerate(runs):
            builder.collective("GPU:0", number * 100, number * 100 + 60, run_id=run)

    found = meetings(builder)

    assert found.host.tolist() == [1, 2, 3]
    assert found.clocks.offset_ps == (None, 0, 0, 0)
    assert found.strangers == (0,)


def test_steps_of_each_member_are_those_of_its_host() -> None:
    """a marks steps of 100 from 0, b from 100 on: a's second is b's first."""
    builder = trace()
    for host, first in (("a", 0), ("b", 1)):
        builder.host(host)
        for number in range(first, 3):
            builder.call(
                "train", number * 100, number * 100 + 100, step_num=number, _r=1
            )
        for at in (0, 100, 200):
            builder.collective("GPU:0", at + 20, at + 60)

    assert meetings(builder).step.tolist() == [[0, -1], [1, 0], [2, 1]]


@pytest.mark.parametrize(
    ("builder", "reason"),
    [
        (calls_of({"GPU:0": [(0, 50)]}), "a single device works"),
        (
            calls_of({"GPU:0": [(0, 50)]}).busy("GPU:1", (0, 50)),
            "recorded on two devices",
        ),
        (
            trace().step(0, 10).busy("GPU:0", (0, 5)).busy("GPU:1", (0, 5)),
            "recorded on two devices",
        ),
        (calls_of({"GPU:0": [(0, 50)], "GPU:1": [(60, 90)]}), "cannot be paired"),
        (
            calls_of({"GPU:0": [(0, 50)]}).collective("GPU:1", 0, 50, "all-gather.2"),
            "cannot be paired",
        ),
        (
            calls_of({"GPU:0": [(7, 7), (8, 9)], "GPU:1": [(7, 7), (18, 19)]}),
            "cannot be paired",
        ),
        (
            trace()
            .host("a")
            .collective("GPU:0", 0, 5)
            .host("b")
            .collective("GPU:0", 0, 5),
            "clocks can be compared",
        ),
    ],
)
def test_no_meeting_says_why(builder: TraceBuilder, reason: str) -> None:
    found = meetings(builder)

    assert len(found) == 0
    assert reason in found.why
