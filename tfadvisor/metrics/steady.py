"""Sums over the steps that count, which several metrics share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tfadvisor.arrays import zeros
from tfadvisor.metrics.registry import MetricAbsent, Question, once
from tfadvisor.timeline import StepSource
from tfadvisor.timeline.attribution import Spent
from tfadvisor.timeline.host import HostCost
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.run import RunSummary
from tfadvisor.timeline.summary import DeviceSummary, HostSummary
from tfadvisor.units import PS_PER_MS
from tfadvisor.vocabulary import DeviceKind, TimeClass

_MOSTLY = 0.5
"""From this share of the kernels, by number, what is true of them is true of the step.
"""


@once
def counted_hosts(run: RunSummary) -> list[HostSummary]:
    """The hosts that sums over steps are about.

    Where some hosts have distinct steps, the whole window of another is no step. Where
    some hosts have devices, the time of a coordinator without any is no device's.
    """
    told_apart = [
        host for host in run.hosts if host.steps.source is not StepSource.WHOLE_TRACE
    ] or list(run.hosts)
    return [host for host in told_apart if host.devices] or told_apart


@once
def periods_ms(run: RunSummary) -> np.ndarray:
    """Periods of the counted steps of the counted hosts, ms. Raises MetricAbsent when
    there are none.
    """
    found = [
        (host.steps.ends - host.steps.starts)[host.steps.steady()]
        for host in counted_hosts(run)
    ]
    together = np.concatenate(found) / PS_PER_MS if found else np.empty(0)
    if not len(together) or not together.sum():
        raise MetricAbsent("the trace holds no step")
    return together


@once
def class_shares(run: RunSummary) -> dict[TimeClass, float]:
    """Share of step time per class over all counted steps and the devices that take
    part in them; sums to 1.
    """
    totals = zeros(TimeClass)
    for host in counted_hosts(run):
        totals += host.breakdown[host.counted].sum(axis=0)
    if not totals.sum():
        raise MetricAbsent("the trace holds no step")
    return {
        time_class: float(totals[time_class] / totals.sum()) for time_class in TimeClass
    }


def share_of_spent(run: RunSummary, parts: Iterable[Spent]) -> float:
    """Share of step time of parts of what the counted hosts' time is spent on."""
    ps, whole = zeros(TimeClass), zeros(TimeClass)
    for part in parts:
        ps[part.kind] += part.ps
    for host in counted_hosts(run):
        for part in host.evidence.spent:
            whole[part.kind] += part.ps
    shares = class_shares(run)
    return sum(
        shares[kind] * float(ps[kind] / whole[kind]) for kind in TimeClass if ps[kind]
    )


def share(question: Question, time_class: TimeClass) -> float:
    """One class's share of step time. Absent when no step is known: shares of an
    arbitrary window mean nothing.
    """
    a_device(question.run)
    return class_shares(question.run)[time_class]


def needs_own_launches(run: RunSummary) -> None:
    """Raises MetricAbsent where the recording itself makes the gaps between kernels:
    XLA then launches one by one what a CUDA graph launches at once."""
    if not any(host.capture.graphs_off for host in run.hosts):
        return
    tables = [device.ops for host in run.hosts for device in host.devices]
    every = sum(int(table.count.sum()) for table in tables)
    if (
        sum(int(table.count[table.module >= 0].sum()) for table in tables)
        >= _MOSTLY * every
    ):
        raise MetricAbsent(
            "XLA launched its CUDA graphs kernel by kernel because it was profiled, "
            "so the gaps are not the program's"
        )


def a_device(run: RunSummary) -> None:
    """Raises MetricAbsent when no device works, or none whose steps are known while
    those of other hosts are.
    """
    if not any(host.devices for host in run.hosts):
        raise MetricAbsent("no device computes anything in this trace")
    if not any(host.devices for host in counted_hosts(run)):
        raise MetricAbsent("the trace shows no steps of the hosts whose devices work")


def known_steps(run: RunSummary) -> None:
    """Raises MetricAbsent when the trace shows no steps."""
    if all(host.steps.source is StepSource.WHOLE_TRACE for host in run.hosts):
        raise MetricAbsent(
            "the trace has no step markers and no rhythm that shows steps"
        )


def accelerators(run: RunSummary) -> list[tuple[HostSummary, DeviceSummary]]:
    """Active GPUs and TPUs with their hosts. Raises MetricAbsent when there are
    none.
    """
    found = [
        (host, device)
        for host in counted_hosts(run)
        for device in host.devices
        if device.kind is not DeviceKind.CPU
    ]
    if not found:
        raise MetricAbsent("this run used no accelerator")
    return found


def accelerated(run: RunSummary) -> list[HostSummary]:
    """The hosts of these. Raises as accelerators."""
    return list({id(host): host for host, _ in accelerators(run)}.values())


def gpus(run: RunSummary) -> list[tuple[HostSummary, DeviceSummary]]:
    """Active GPUs with their hosts. Raises MetricAbsent when there are none."""
    return _of_kind(run, DeviceKind.GPU)


def tpus(run: RunSummary) -> list[tuple[HostSummary, DeviceSummary]]:
    """Active TPUs with their hosts. Raises MetricAbsent when there are none."""
    return _of_kind(run, DeviceKind.TPU)


def _of_kind(
    run: RunSummary,
    kind: DeviceKind,
) -> list[tuple[HostSummary, DeviceSummary]]:
    found = [
        (host, device)
        for host in counted_hosts(run)
        for device in host.devices
        if device.kind is kind
    ]
    if not found:
        raise MetricAbsent(f"this run used no {kind.value.upper()}")
    return found


def hosts_of_several(run: RunSummary) -> list[HostSummary]:
    """The counted hosts with several active devices. Raises MetricAbsent when there are
    none.
    """
    found = [host for host in counted_hosts(run) if len(host.devices) > 1]
    if not found:
        raise MetricAbsent("no host of this run has several active devices")
    return found


def hosts_with_work(run: RunSummary) -> list[HostSummary]:
    """The hosts whose devices work in counted steps. Raises MetricAbsent when there are
    fewer than two.
    """
    working = [host for host in counted_hosts(run) if host.devices and counted_ps(host)]
    if len(working) < 2:
        raise MetricAbsent("the run has a single host with device work")
    return working


@once
def device_steps(run: RunSummary) -> int:
    """Counted steps times the devices that take part in them, at least 1: what per-step
    sums are divided by.
    """
    return max(sum(int(host.counted.sum()) for host in counted_hosts(run)), 1)


@once
def device_ps(run: RunSummary) -> int:
    """Summed length of the counted steps of the devices that take part in them: what
    shares are divided by, ps.
    """
    counted = [host.breakdown[host.counted] for host in counted_hosts(run)]
    return sum(int(mask.sum()) for mask in counted)


def counted_ps(host: HostSummary) -> int:
    """Summed length of a host's counted steps, ps."""
    return host.steps.steady_ps


def spent(hosts: Sequence[HostSummary], cost: HostCost) -> float:
    """What hosts spend of their counted steps on something, as a share of these steps'
    time.
    """
    return sum(host.costs[cost] for host in hosts) / max(sum(map(counted_ps, hosts)), 1)


def counted_steps(hosts: Sequence[HostSummary]) -> int:
    """How many counted steps hosts have together. Raises MetricAbsent when there are
    none.
    """
    steps = sum(host.steps.steady_count for host in hosts)
    if not steps:
        raise MetricAbsent("the trace holds no counted step")
    return steps


def covered_per_step(
    run: RunSummary,
    devices: list[tuple[HostSummary, DeviceSummary]],
    kind: DeviceClass,
) -> float:
    """Time in which events of a class run, per counted step and device, ps."""
    total = sum(
        int(device.covered_ps[host.steps.steady(), kind].sum())
        for host, device in devices
    )
    return total / device_steps(run)


# What metrics need of a run, beside known_steps and a_device: requirements that
# `@metric` and `@fact` list and the registry checks first.
an_accelerator = accelerators
a_gpu = gpus
several_hosts = hosts_with_work
