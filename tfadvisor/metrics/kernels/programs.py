"""What the compiled programs say of their ops: where they come from, how much they compute, how near the device's peak."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import needs_device
from tfadvisor.timeline.devices.peaks import Peaks
from tfadvisor.timeline.devices.registry import peaks_of
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps
from tfadvisor.units import PS_PER_S, Unit
from tfadvisor.vocabulary import Better

_ENOUGH_KNOWN = 0.5
"""Ratios are given only when they rest on at least this share of the compute time."""


def _hottest(question: Question) -> tuple[HotOps, Peaks]:
    """Of the first host's first device. Raises MetricAbsent when nothing computes."""
    needs_device(question.run)
    host = next(host for host in question.run.hosts if host.devices)
    if host.program is None or not host.program.hot_ops.compute_ps:
        raise MetricAbsent("no op begins in a counted step")
    return host.program.hot_ops, peaks_of(host.program_device.kind, host.program_device.properties)


@metric(unit=Unit.FRACTION, better=Better.MORE)
def flops_utilization(question: Question) -> float:
    """Arithmetic of the hottest ops, counted from their shapes, over what the device could do in their time in 16-bit
    matrix operations.
    """
    found, peaks = _hottest(question)
    if peaks.flops is None:
        raise MetricAbsent("the trace does not say how fast the device is")
    known = _counted(found, [one for one in found.ops if one.known is not None and one.known.flops is not None])
    done = sum((one.known.flops or 0) * one.count for one in known if one.known is not None)
    return done / (sum(one.total_ps for one in known) / PS_PER_S) / peaks.flops


@metric(unit=Unit.FRACTION, better=Better.MORE)
def memory_bandwidth_utilization(question: Question) -> float:
    """Bytes that the hottest ops read and write, counted from their shapes, over what device memory could deliver in
    their time. It exceeds 1 where caches serve some of the reads.
    """
    found, peaks = _hottest(question)
    if peaks.bytes_per_s is None:
        raise MetricAbsent("the trace does not say how fast the device's memory is")
    known = _counted(found, [one for one in found.ops if one.known is not None])
    moved = sum(one.known.cost.bytes * one.count for one in known if one.known is not None)
    return moved / (sum(one.total_ps for one in known) / PS_PER_S) / peaks.bytes_per_s


def _counted(found: HotOps, known: list[HotOp]) -> list[HotOp]:
    if sum(one.total_ps for one in known) < _ENOUGH_KNOWN * found.compute_ps:
        raise MetricAbsent("the trace does not hold the HLO of most of the compute time")
    return known


@metric(unit=Unit.COUNT, better=Better.NEITHER)
def model_parameters(question: Question) -> float:
    """Number of model parameters: as given with `--params`, else the floating-point arguments that the hottest program
    returns and whose names do not suggest an optimizer's state. Where parameters are sharded, one device's part.
    """
    if question.settings.parameters is not None:
        return float(question.settings.parameters)
    found = [host.program.hot_ops for host in question.run.hosts if host.program is not None]
    if not found:
        raise MetricAbsent("no device computes anything in this trace, and --params was not given")
    if found[0].parameters is None:
        raise MetricAbsent(f"{found[0].why}: give the number of model parameters with --params")
    return float(found[0].parameters)
