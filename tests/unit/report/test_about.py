"""Lines about the machine."""

from __future__ import annotations

import msgspec
import pytest
from support.counters import grew
from support.trace_builder import trace

from tfadvisor.report.about import about_lines, crowded_words
from tfadvisor.report.assembly.report_tables import machine_infos
from tfadvisor.report.model import MetricValue, Report
from tfadvisor.trace.counters import HostCounters, MachineGpu


def report(*hosts: HostCounters, **values: float) -> Report:
    """Of a small run, with these machines and metrics; all others are not known."""
    builder = (
        trace()
        .steps(4, period=100)
        .busy("GPU:0", (0, 40), (100, 140), (200, 240), (300, 340))
    )
    made = builder.report()
    infos = machine_infos(msgspec.structs.replace(builder.build(), counters=hosts))
    metrics = {
        name: MetricValue(
            values.get(name),
            one.unit,
            None if name in values else "not told",
            one.about,
        )
        for name, one in made.metrics.items()
    }
    return msgspec.structs.replace(
        made, machines=infos or msgspec.UNSET, metrics=metrics
    )


def test_without_counters_there_is_nothing_to_say() -> None:
    assert about_lines(report()) == []


def test_a_machine_is_told_in_one_line() -> None:
    gpu = MachineGpu("NVIDIA T4", "550.54", 0.9, 1200, 1590, 60, 70, ("heat",))
    settings = {
        "cores": 64,
        "allowed_cores": 16,
        "quota_cores": 2.5,
        "memory_bytes": 32.0 * (1 << 30),
        "versions": {"python": "3.12.1", "jax": "0.10.2"},
        "variables": {"OMP_NUM_THREADS": "8"},
        "threads": {"intra_op": 4},
    }

    (line,) = about_lines(report(grew(settings, gpu, gpu)))

    assert line == (
        "Recorded on: 16 of 64 cores with a quota of 2.5; 32 GiB; python 3.12.1, jax "
        "0.10.2; 2 × NVIDIA T4 (driver 550.54, "
        "1,200 of 1,590 MHz, power limit 60 W instead of 70 W, held down by heat); "
        "intra_op threads 4; "
        "OMP_NUM_THREADS=8."
    )


def test_hosts_that_are_set_alike_share_a_line() -> None:
    hosts = [
        msgspec.structs.replace(grew({"cores": 4}), host=f"w{at}") for at in range(3)
    ]
    other = msgspec.structs.replace(grew({"cores": 1}), host="w3")

    assert about_lines(report(*hosts, other)) == [
        "w0 and 2 alike: 4 cores.",
        "w3: 1 core.",
    ]


def test_of_many_different_machines_four_are_told() -> None:
    lines = about_lines(report(*(grew({"cores": at}) for at in range(1, 8))))

    assert len(lines) == 5
    assert lines[-1] == "3 more machines are set otherwise: --format json."


def test_what_happened_meanwhile_is_told_where_it_is_worth_a_word() -> None:
    lines = about_lines(
        report(
            grew({"cores": 2}),
            program_cores=1.1,
            other_cores=0.8,
            stolen_core_share=0.001,
            major_faults_per_step=0,
            throttled_fraction=0.3,
        )
    )

    assert lines[1] == (
        "Meanwhile the program kept 1.1 of 2 cores busy, other processes 0.8, the "
        "quota stopped the program in 30% of its "
        "periods."
    )


def test_what_other_programs_took_while_it_waited_is_told_first() -> None:
    made = report(grew({"cores": 2}), other_cores=0.8, core_wait_share=0.3)

    assert crowded_words(made) == (
        "Other programs kept 0.8 of 2 cores busy, and threads of this one waited for a "
        "core 30% of the time that they could have run: times may be longer than on a "
        "calm machine."
    )


@pytest.mark.parametrize(
    "values",
    [
        {"other_cores": 0.4, "core_wait_share": 0.3},
        {"other_cores": 0.8, "core_wait_share": 0.05},
        {"other_cores": 0.8},
        {"core_wait_share": 0.3},
    ],
    ids=["a fifth of the cores", "cores were free", "waits unknown", "others unknown"],
)
def test_a_machine_with_cores_to_spare_is_not_called_crowded(
    values: dict[str, float],
) -> None:
    assert crowded_words(report(grew({"cores": 2}), **values)) == ""


@pytest.mark.parametrize(
    "hosts",
    [
        (grew({"cores": 64, "allowed_cores": 4}),),
        (grew({"cores": 64, "quota_cores": 4.0}),),
        (grew({"cores": 2}), msgspec.structs.replace(grew({"cores": 2}), host="w1")),
    ],
    ids=["on other cores", "beside a quota", "on another machine"],
)
def test_what_others_took_elsewhere_is_not_called_crowded(
    hosts: tuple[HostCounters, ...],
) -> None:
    assert crowded_words(report(*hosts, other_cores=32, core_wait_share=0.3)) == ""


def test_a_trace_without_its_machine_is_not_called_crowded() -> None:
    assert crowded_words(report(other_cores=0.8, core_wait_share=0.3)) == ""
