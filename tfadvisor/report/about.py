"""What a report says about itself: machines, what else ran meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tfadvisor.report.model import GpuInfo, MachineInfo, Report
from tfadvisor.tallies import listed
from tfadvisor.units import Unit, count, counted, percent, size

_MACHINES = 4
"""Each with its own line; of more, the rest is counted."""


def about_lines(report: Report) -> list[str]:
    """Beside the report's capture notes."""
    return [*_machines(report), *_meanwhile(report)]


def _machines(report: Report) -> list[str]:
    machines = report.machines or ()
    by_words = listed((_machine(machine), machine.host) for machine in machines)
    notes = [
        f"{_named(hosts, len(machines))}: {words}." for words, hosts in by_words.items()
    ]
    left = len(notes) - _MACHINES
    return [
        *notes[:_MACHINES],
        *(
            [f"{count(left)} more machines are set otherwise: --format json."]
            if left > 0
            else []
        ),
    ]


def _named(
    hosts: list[str],
    all_hosts: int,
) -> str:
    if all_hosts == 1:
        return "Recorded on"
    if len(hosts) == 1:
        return f"{hosts[0]}"
    return f"{hosts[0]} and {count(len(hosts) - 1)} alike"


def _machine(one: MachineInfo) -> str:
    parts = [
        _cores(one),
        size(one.memory_bytes) if one.memory_bytes is not None else "",
    ]
    parts.append(
        ", ".join(f"{name} {version}" for name, version in one.versions.items())
    )
    parts += [
        _gpus(one.gpus),
        ", ".join(f"{name} threads {number}" for name, number in one.threads.items()),
    ]
    parts.append(" ".join(f"{name}={value}" for name, value in one.variables.items()))
    return "; ".join(filter(None, parts))


def _cores(one: MachineInfo) -> str:
    if one.cores is None:
        return ""
    words = counted(count(one.cores), "core", "cores")
    if one.allowed_cores is not None and one.allowed_cores < one.cores:
        words = f"{count(one.allowed_cores)} of {words}"
    if one.quota_cores is None:
        return words
    return f"{words} with a quota of {count(round(one.quota_cores, 2))}"


def _gpus(gpus: Iterable[GpuInfo]) -> str:
    words = Counter(map(_gpu, gpus))
    return ", ".join(
        f"{number} × {text}" if number > 1 else text for text, number in words.items()
    )


def _gpu(one: GpuInfo) -> str:
    parts = [f"driver {one.driver}" if one.driver else ""]
    if one.clock_mhz is not None and one.highest_clock_mhz is not None:
        parts.append(f"{one.clock_mhz:,.0f} of {one.highest_clock_mhz:,.0f} MHz")
    if one.power_limit_w is not None:
        less = (
            one.usual_power_limit_w is not None
            and one.power_limit_w < one.usual_power_limit_w
        )
        usual = f" instead of {one.usual_power_limit_w:,.0f} W" if less else ""
        parts.append(f"power limit {one.power_limit_w:,.0f} W{usual}")
    parts += [f"held down by {reason}" for reason in one.slowed_by]
    about = ", ".join(filter(None, parts))
    return f"{one.name} ({about})" if about else one.name


def _meanwhile(report: Report) -> list[str]:
    """The counters that say how quiet the machine was."""
    if not report.machines:
        return []
    cores = [machine.cores for machine in report.machines if machine.cores is not None]
    of = f" of {counted(count(max(cores)), 'core', 'cores')}" if cores else ""
    parts = (
        ("program_cores", f"the program kept {{}}{of} busy"),
        ("other_cores", "other processes {}"),
        ("stolen_core_share", "the hypervisor took {} of the cores' time"),
        (
            "core_wait_share",
            "threads waited for a core {} of the time that they could have run",
        ),
        ("throttled_fraction", "the quota stopped the program in {} of its periods"),
        ("major_faults_per_step", "{} pages a step came from storage"),
    )
    measured = [
        words.format(text) for name, words in parts if (text := _told(report, name))
    ]
    return [f"Meanwhile {', '.join(measured)}."] if measured else []


def _told(report: Report, name: str) -> str:
    """A metric in words, "" for what is not known or not worth a word."""
    one = report.metrics.get(name)
    if one is None or one.value is None:
        return ""
    if Unit(one.unit) is Unit.COUNT:
        if one.value >= 0.05 or name.endswith("_cores"):
            return f"{one.value:.1f}"
        return ""
    return percent(one.value) if one.value >= 0.005 else ""
