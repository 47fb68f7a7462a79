"""What makes the device run dry between steps although nothing loads, computes or compiles on the host."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import accelerators, counted_hosts, needs_steps, share
from tfadvisor.metrics.time.steps import inter_step_gap_fraction
from tfadvisor.timeline.summary.host import HostSummary
from tfadvisor.units import PS_PER_MS, Unit
from tfadvisor.vocabulary import TimeClass


def _steps(hosts: list[HostSummary]) -> int:
    return max(sum(int(host.steps.steady().sum()) for host in hosts), 1)


def _driven(question: Question) -> list[HostSummary]:
    """The hosts whose driving thread is known. Raises MetricAbsent when there are none."""
    needs_steps(question.run)
    found = [host for host in counted_hosts(question.run) if host.steps.thread >= 0]
    if not found:
        raise MetricAbsent("no host thread drives the steps")
    return found


@metric(
    "waits_per_step", unit=Unit.COUNT, about="How often a step's driving thread blocks until something else is done."
)
def waits_per_step(question: Question) -> float:
    """block_until_ready, reading a value, and a full queue of dispatches; waits without a break between count as one."""
    hosts = _driven(question)
    return sum(host.evidence.calls.waits for host in hosts) / _steps(hosts)


@metric(
    "turnaround_fraction",
    unit=Unit.FRACTION,
    about="Share of step time without device work around step boundaries that input, Python and compilation do not explain: "
    "the way from the device's end over the waiting host to the next launch.",
)
def turnaround_fraction(question: Question) -> float:
    """A host that dispatches ahead has none."""
    explained = sum(share(question, one) for one in (TimeClass.INPUT, TimeClass.HOST, TimeClass.COMPILE))
    left = share(question, TimeClass.LAUNCH) + share(question, TimeClass.IDLE)
    return min(max(inter_step_gap_fraction(question) - explained, 0.0), left)


@metric(
    "synchronise_calls_per_step",
    unit=Unit.COUNT,
    about="Calls of the driver that wait for a stream, an event or the device (cuStreamSynchronize and its kin) a step, over "
    "all threads of a host.",
)
def synchronise_calls_per_step(question: Question) -> float:
    """A mean; only where an accelerator works."""
    return sum(host.evidence.calls.synchronises for host in _with_accelerators(question)) / _steps(
        _with_accelerators(question)
    )


@metric(
    "synchronise_ms_per_step",
    unit=Unit.MS,
    about="Time a step inside such calls, added up over all threads of a host.",
)
def synchronise_ms_per_step(question: Question) -> float:
    """Threads of the runtime wait there as well, and hold nothing up."""
    hosts = _with_accelerators(question)
    return sum(host.evidence.calls.synchronise_ps for host in hosts) / _steps(hosts) / PS_PER_MS


@metric(
    "loss_scaling_ops_per_step",
    unit=Unit.COUNT,
    about="TensorFlow ops of a dynamic loss scale a step: tests of the gradients, and branches on them on the host.",
)
def loss_scaling_ops_per_step(question: Question) -> float:
    """By the ops' names; 0 without loss scaling."""
    hosts = _with_accelerators(question)
    return sum(host.evidence.calls.loss_scaling for host in hosts) / _steps(hosts)


def _with_accelerators(question: Question) -> list[HostSummary]:
    needs_steps(question.run)
    return list({id(host): host for host, _ in accelerators(question.run)}.values())
