"""What the trace lacks of the devices' work, and what of it is the capture's own."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.units import PS_PER_MS, Unit


@fact(
    "unrecorded_device",
    about="What on a host shows that an accelerator worked although the trace holds none of its events.",
)
def unrecorded_device(question: Question) -> str:
    """`the allocator GPU_0_bfc gave out memory`, of the first such host."""
    proofs = [host.capture.unrecorded.proof for host in question.run.hosts if host.capture.unrecorded.proof]
    if not proofs:
        raise MetricAbsent("the trace holds the work of every accelerator that its hosts show at work")
    return proofs[0]


@metric(
    "lost_launches_fraction",
    unit=Unit.FRACTION,
    about="Share of the hosts' kernel launches that no event on a device answers, over the whole trace.",
)
def lost_launches_fraction(question: Question) -> float:
    """By correlation id."""
    hosts = [host.capture.unrecorded for host in question.run.hosts]
    launches = sum(one.launches for one in hosts)
    if not launches:
        raise MetricAbsent("the trace shows no launches of single kernels that could be compared with their executions")
    return sum(one.launches_lost for one in hosts) / launches


@metric(
    "lost_runs_fraction",
    unit=Unit.FRACTION,
    about="Share of the runs of XLA programs launched by the hosts that no device shows, over the whole trace.",
)
def lost_runs_fraction(question: Question) -> float:
    """By program."""
    hosts = [host.capture.unrecorded for host in question.run.hosts]
    runs = sum(one.runs for one in hosts)
    if not runs:
        raise MetricAbsent("the trace does not show when the hosts launch XLA programs")
    return sum(one.runs_lost for one in hosts) / runs


@metric(
    "capture_work_ms",
    unit=Unit.MS,
    about="Time before the first and after the last step in which the profiler is started or stopped; no step holds it.",
)
def capture_work_ms(question: Question) -> float:
    """Of the host where it is most."""
    return max(sum(host.capture.work_ps) for host in question.run.hosts) / PS_PER_MS
