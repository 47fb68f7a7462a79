"""What makes the device run dry between steps although nothing loads, computes or compiles on the host."""

from __future__ import annotations

import math

from tfadvisor.metrics.needs import a_device, an_accelerator, known_steps
from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import accelerators, counted_hosts, needs_steps, share
from tfadvisor.metrics.time.steps import inter_step_gap_fraction
from tfadvisor.timeline.summary.host import HostSummary
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, TimeClass


def _steps(hosts: list[HostSummary]) -> int:
    return max(sum(int(host.steps.steady().sum()) for host in hosts), 1)


def _driven(question: Question) -> list[HostSummary]:
    """The hosts whose driving thread is known. Raises MetricAbsent when there are none."""
    needs_steps(question.run)
    found = [host for host in counted_hosts(question.run) if host.steps.thread >= 0]
    if not found:
        raise MetricAbsent("no host thread drives the steps")
    return found


@metric(unit=Unit.COUNT, better=Better.LESS)
def waits_per_step(question: Question) -> float:
    """Number of times per step that the driving thread blocks until something else is done: block_until_ready, reading
    a value, a full queue of dispatches. Uninterrupted waits count as one.
    """
    hosts = _driven(question)
    return sum(host.evidence.calls.waits for host in hosts) / _steps(hosts)


@metric(unit=Unit.FRACTION, needs=(a_device,), better=Better.LESS)
def turnaround_fraction(question: Question) -> float:
    """Share of step time without device work around step boundaries that input, Python and compilation do not explain:
    from the device's end over the waiting host to the next launch. A host that dispatches ahead has none.
    """
    explained = math.fsum(share(question, one) for one in (TimeClass.INPUT, TimeClass.HOST, TimeClass.COMPILE))
    left = share(question, TimeClass.LAUNCH) + share(question, TimeClass.IDLE)
    return min(max(inter_step_gap_fraction(question) - explained, 0.0), left)


@metric(unit=Unit.COUNT, needs=(known_steps, an_accelerator), better=Better.LESS)
def loss_scaling_ops_per_step(question: Question) -> float:
    """Number of TensorFlow ops of a dynamic loss scale per step, known by their names: tests of the gradients, and
    branches on them on the host.
    """
    hosts = _with_accelerators(question)
    return sum(host.evidence.calls.loss_scaling for host in hosts) / _steps(hosts)


def _with_accelerators(question: Question) -> list[HostSummary]:
    needs_steps(question.run)
    return list({id(host): host for host, _ in accelerators(question.run)}.values())
