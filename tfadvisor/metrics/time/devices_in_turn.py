"""What it costs that the devices of a host work one after the other instead of together."""

from __future__ import annotations

from tfadvisor.metrics.needs import known_steps
from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import counted_hosts, counted_ps
from tfadvisor.timeline.summary.host import HostSummary
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, TimeClass

_BUSY = [TimeClass.COMPUTE, TimeClass.COLLECTIVE, TimeClass.TRANSFER]


@metric(unit=Unit.FRACTION, needs=(known_steps,), better=Better.LESS)
def taking_turns_fraction(question: Question) -> float:
    """Share by which a step would be shorter if the devices of a host did all their work at the same time, on the host
    where it is most. It is 0 when all devices work whenever one does.
    """
    several = [host for host in counted_hosts(question.run) if len(host.devices) > 1 and counted_ps(host)]
    if not several:
        raise MetricAbsent("no host of this run has several active devices")
    return max(_turns(host) for host in several)


def _turns(host: HostSummary) -> float:
    """(when any device works - each one's even part of the work) / step time."""
    works = int(host.breakdown[:, host.steps.steady()][:, :, _BUSY].sum())
    if not works or not host.device_time.concurrency:
        return 0.0
    return max(works / host.device_time.concurrency - works / len(host.devices), 0.0) / counted_ps(host)
