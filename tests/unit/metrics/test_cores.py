"""Who had the cores."""

from __future__ import annotations

import pytest
from support.counters import grew, measured

from tfadvisor.trace.counters import HostCounters

CORES = {"cores": 4, "allowed_cores": 4}


def test_of_four_cores_the_program_had_two_and_others_one() -> None:
    """In 10 s of 4 cores: 30 s busy, 20 of them the program's, 8 s idle, 2 s for
    storage.
    """
    metrics = measured(
        grew(
            CORES,
            busy_seconds=30,
            idle_seconds=8,
            iowait_seconds=2,
            stolen_seconds=0,
            program_seconds=20,
        )
    )

    assert metrics.value("program_cores") == pytest.approx(2)
    assert metrics.value("other_cores") == pytest.approx(1)


def test_what_the_hypervisor_takes_is_neither_the_programs_nor_anothers() -> None:
    """Of 40 s of cores 20 busy, all the program's, 12 stolen, 8 idle."""
    metrics = measured(
        grew(
            CORES,
            busy_seconds=20,
            idle_seconds=8,
            iowait_seconds=0,
            stolen_seconds=12,
            program_seconds=20,
        )
    )

    assert metrics.value("other_cores") == 0
    assert metrics.value("stolen_core_share") == pytest.approx(0.3)


def test_ticks_that_are_counted_late_make_no_negative_core() -> None:
    assert (
        measured(grew(CORES, busy_seconds=19.9, program_seconds=20)).value(
            "other_cores"
        )
        == 0
    )


def test_waiting_is_a_share_of_what_could_have_run() -> None:
    """6 s on a core, 2 s ready without one."""
    assert measured(grew(ran_seconds=6, waited_seconds=2)).value(
        "core_wait_share"
    ) == pytest.approx(0.25)


def test_throttled_periods_are_a_share_of_all() -> None:
    metrics = measured(grew(periods=100, throttled_periods=80))

    assert metrics.value("throttled_fraction") == pytest.approx(0.8)


def test_without_a_quota_there_is_nothing_to_throttle() -> None:
    assert (
        measured(grew(CORES))["throttled_fraction"].reason
        == "the recorded machine does not tell it"
    )


@pytest.mark.parametrize(
    ("settings", "cores", "threads", "why"),
    [
        (CORES, 4, 1, "cores that the process may run on=4"),
        (
            {"cores": 64, "allowed_cores": 64, "quota_cores": 2},
            2,
            32,
            "cores that the process may run on=64",
        ),
        (
            {"cores": 64, "allowed_cores": 8},
            8,
            1,
            "cores that the process may run on=8",
        ),
        ({**CORES, "quota_cores": 16}, 4, 1, "cores that the process may run on=4"),
        ({**CORES, "variables": {"OMP_NUM_THREADS": "16"}}, 4, 4, "OMP_NUM_THREADS=16"),
        (
            {**CORES, "variables": {"OMP_NUM_THREADS": "12,2"}},
            4,
            3,
            "OMP_NUM_THREADS=12",
        ),
        (
            {**CORES, "variables": {"OMP_NUM_THREADS": "many"}},
            4,
            1,
            "cores that the process may run on=4",
        ),
        (
            {**CORES, "variables": {"TF_NUM_INTRAOP_THREADS": "8"}},
            4,
            2,
            "TF_NUM_INTRAOP_THREADS=8",
        ),
        (
            {**CORES, "threads": {"intra_op": 2, "inter_op": 8}},
            4,
            2,
            "inter_op threads=8",
        ),
    ],
)
def test_threads_are_those_asked_for_over_the_cores_that_may_be_used(
    settings: dict[str, object], cores: float, threads: float, why: str
) -> None:
    metrics = measured(grew(settings))

    assert metrics.fact("whole_cores") == str(int(cores))


def test_half_a_core_is_set_as_one() -> None:
    assert measured(grew({**CORES, "quota_cores": 0.5})).fact("whole_cores") == "1"


def test_of_several_hosts_the_worst_counts_and_one_without_counters_none() -> None:
    one, other = (
        grew(CORES, busy_seconds=12, program_seconds=10),
        grew(CORES, busy_seconds=18, program_seconds=10),
    )

    metrics = measured(one, HostCounters("lost"), other)

    assert metrics.value("other_cores") == pytest.approx(0.8)


def test_a_counter_that_ran_backwards_is_not_believed() -> None:
    assert (
        measured(grew(CORES, busy_seconds=-5, program_seconds=1)).value("other_cores")
        is None
    )


def test_without_counters_the_reason_says_how_to_get_them() -> None:
    told = measured()["other_cores"].reason

    assert (
        told == "the recording has no counters of its machine; `tfadvisor run` and "
        "`tfadvisor.profile()` write them"
    )


def test_counters_that_cannot_be_used_say_why() -> None:
    assert measured(HostCounters("host", None, "host.machine.json has version 9"))[
        "other_cores"
    ].reason == ("host.machine.json has version 9")
