"""How much of the cores a tf.data pipeline takes from a step that computes on them, without an accelerator."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import counted_hosts, counted_ps
from tfadvisor.timeline.summary.host import HostSummary
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, DeviceKind


@metric(unit=Unit.FRACTION, better=Better.LESS)
def input_core_share(question: Question) -> float:
    """Share of the cores' time that the ops of a tf.data pipeline take in a run without an accelerator, whose step
    computes on the same cores. As many cores count as threads compute or prepare batches.
    """
    taken = available = 0
    for host in _hosts_that_share(question):
        taken += host.evidence.cores.preparing_ps
        available += max(host.evidence.cores.computing, host.evidence.cores.preparing) * counted_ps(host)
    return taken / available


@metric(unit=Unit.COUNT, better=Better.LESS)
def input_busy_threads(question: Question) -> float:
    """Mean number of threads that run ops of a tf.data pipeline in a run without an accelerator."""
    hosts = _hosts_that_share(question)
    return sum(host.evidence.cores.preparing_ps for host in hosts) / sum(map(counted_ps, hosts))


def _hosts_that_share(question: Question) -> list[HostSummary]:
    if any(device.kind is not DeviceKind.CPU for host in question.run.hosts for device in host.devices):
        raise MetricAbsent("this run computes on an accelerator, not on the cores that prepare its batches")
    found = [host for host in counted_hosts(question.run) if host.evidence.cores.preparing and counted_ps(host)]
    if not found:
        raise MetricAbsent("no op of a tf.data pipeline runs in a counted step")
    return found
