"""What the trace lacks of the devices' work, and what of it is the capture's own."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.units import PS_PER_MS, Unit
from tfadvisor.vocabulary import Better


@fact
def unrecorded_device(question: Question) -> str:
    """What on a host shows that an accelerator worked although the trace holds none of its events, as a clause:
    `the allocator GPU_0_bfc gave out memory`.
    """
    proofs = [host.capture.unrecorded.proof for host in question.run.hosts if host.capture.unrecorded.proof]
    if not proofs:
        raise MetricAbsent("the trace holds the work of every accelerator that its hosts show at work")
    return proofs[0]


@metric(unit=Unit.FRACTION, better=Better.LESS)
def lost_launches_fraction(question: Question) -> float:
    """Share of the hosts' kernel launches that no event on a device answers, over the whole trace. Launches and events
    are matched by correlation id.
    """
    hosts = [host.capture.unrecorded for host in question.run.hosts]
    launches = sum(one.launches for one in hosts)
    if not launches:
        raise MetricAbsent("the trace shows no launches of single kernels that could be compared with their executions")
    return sum(one.launches_lost for one in hosts) / launches


@metric(unit=Unit.FRACTION, better=Better.LESS)
def lost_runs_fraction(question: Question) -> float:
    """Share of the runs of XLA programs launched by the hosts that no device shows, over the whole trace."""
    hosts = [host.capture.unrecorded for host in question.run.hosts]
    runs = sum(one.runs for one in hosts)
    if not runs:
        raise MetricAbsent("the trace does not show when the hosts launch XLA programs")
    return sum(one.runs_lost for one in hosts) / runs


@metric(unit=Unit.MS, better=Better.NEITHER)
def capture_work_ms(question: Question) -> float:
    """Time before the first and after the last step in which the profiler is started or stopped, for the host where it
    is longest. No step holds this time.
    """
    return max(sum(host.capture.work_ps) for host in question.run.hosts) / PS_PER_MS


@metric(unit=Unit.FRACTION, better=Better.LESS)
def unnamed_op_share(question: Question) -> float:
    """Share of the counted steps' compute, summed over events, in programs whose ops the trace does not name: it tells
    when the program runs, and its name.
    """
    unnamed = total = 0
    for host in question.run.hosts:
        for device in host.devices:
            rows = device.ops.of_class(DeviceClass.COMPUTE)
            total += int(device.ops.total_ps[rows].sum())
            unnamed += int(device.ops.total_ps[rows][device.ops.whole_programs()[rows]].sum())
    if not total:
        raise MetricAbsent("no op begins in a counted step")
    return unnamed / total
