"""What a report says about itself: machines, what else ran meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tfadvisor.report.model import GpuInfo, MachineInfo, Report
from tfadvisor.tallies import listed
from tfadvisor.units import Unit, count, counted, percent, size

_MACHINES = 4
"""Each with its own line; of more, the rest is counted."""


_CROWDED = 0.25
"""Of the cores, for other processes: of two cores a program then has one and a half."""
_WAITS = 0.1
"""Of the time that threads could have run: less changes no finding's order."""


def about_lines(report: Report) -> list[str]:
    """Beside the report's capture notes."""
    return [*_machines(report), *_meanwhile(report)]


def crowded_words(report: Report) -> str:
    """That other programs took cores while this one waited for some, "" without that:
    the first thing to know of a recording. Of several machines the metrics do not tell
    whether it was the same one, nor of a part of a machine whether others ran on that.
    """
    cores = _only_cores(report)
    others = _value(report, "other_cores")
    waits = _value(report, "core_wait_share")
    if cores is None or others is None or waits is None:
        return ""
    if others < _CROWDED * cores or waits < _WAITS:
        return ""
    of = counted(count(cores), "core", "cores")
    return (
        f"Other programs kept {others:.1f} of {of} busy, and threads of this one "
        f"waited for a core {percent(waits)} of the time that they could have run: "
        "times may be longer than on a calm machine."
    )


def _only_cores(report: Report) -> int | None:
    """Of the only machine, where the program may run on all of them."""
    machines = report.machines or ()
    machine = machines[0] if len(machines) == 1 else None
    if machine is None or machine.quota_cores is not None:
        return None
    is_whole = machine.allowed_cores in (None, machine.cores)
    return machine.cores if is_whole else None


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


def _machine(machine: MachineInfo) -> str:
    parts = [
        _cores(machine),
        size(machine.memory_bytes) if machine.memory_bytes is not None else "",
    ]
    parts.append(
        ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    )
    parts += [
        _gpus(machine.gpus),
        ", ".join(
            f"{name} threads {number}" for name, number in machine.threads.items()
        ),
    ]
    parts.append(
        " ".join(f"{name}={value}" for name, value in machine.variables.items())
    )
    return "; ".join(filter(None, parts))


def _cores(machine: MachineInfo) -> str:
    if machine.cores is None:
        return ""
    words = counted(count(machine.cores), "core", "cores")
    if machine.allowed_cores is not None and machine.allowed_cores < machine.cores:
        words = f"{count(machine.allowed_cores)} of {words}"
    if machine.quota_cores is None:
        return words
    return f"{words} with a quota of {count(round(machine.quota_cores, 2))}"


def _gpus(gpus: Iterable[GpuInfo]) -> str:
    words = Counter(map(_gpu, gpus))
    return ", ".join(
        f"{number} × {text}" if number > 1 else text for text, number in words.items()
    )


def _gpu(gpu: GpuInfo) -> str:
    parts = [f"driver {gpu.driver}" if gpu.driver else ""]
    if gpu.clock_mhz is not None and gpu.highest_clock_mhz is not None:
        parts.append(f"{gpu.clock_mhz:,.0f} of {gpu.highest_clock_mhz:,.0f} MHz")
    if gpu.power_limit_w is not None:
        less = (
            gpu.usual_power_limit_w is not None
            and gpu.power_limit_w < gpu.usual_power_limit_w
        )
        usual = f" instead of {gpu.usual_power_limit_w:,.0f} W" if less else ""
        parts.append(f"power limit {gpu.power_limit_w:,.0f} W{usual}")
    parts += [f"held down by {reason}" for reason in gpu.slowed_by]
    about = ", ".join(filter(None, parts))
    return f"{gpu.name} ({about})" if about else gpu.name


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


def _value(report: Report, name: str) -> float | None:
    metric = report.metrics.get(name)
    return None if metric is None else metric.value


def _told(report: Report, name: str) -> str:
    """A metric in words, "" for what is not known or not worth a word."""
    metric = report.metrics.get(name)
    if metric is None or metric.value is None:
        return ""
    if Unit(metric.unit) is Unit.COUNT:
        if metric.value >= 0.05 or name.endswith("_cores"):
            return f"{metric.value:.1f}"
        return ""
    return percent(metric.value) if metric.value >= 0.005 else ""
