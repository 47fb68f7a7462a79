"""What the compiled programs say of their ops: where they come from, how much they compute, how near the device's peak."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.metrics.steady import needs_device, share
from tfadvisor.timeline.devices.peaks import Peaks
from tfadvisor.timeline.devices.registry import peaks_of
from tfadvisor.timeline.names.devices import instruction_name
from tfadvisor.timeline.names.kernels import short_name
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps
from tfadvisor.units import PS_PER_S, Unit, percent
from tfadvisor.vocabulary import Better, TimeClass

_ENOUGH_KNOWN = 0.5
"""Ratios are given only when they rest on at least this share of the compute time."""


def _hottest(question: Question) -> tuple[HotOps, Peaks]:
    """Of the first host's first device. Raises MetricAbsent when nothing computes."""
    needs_device(question.run)
    host = next(host for host in question.run.hosts if host.devices)
    if host.program is None or not host.program.hot_ops.compute_ps:
        raise MetricAbsent("no op begins in a counted step")
    return host.program.hot_ops, peaks_of(host.program_device.kind, host.program_device.properties)


@fact
def hottest_op(question: Question) -> str:
    """The op that takes most compute time, with its share of it: `fusion.3 of jit_train_step, 38% of compute time`."""
    found, _ = _hottest(question)
    top = found.ops[0]
    where = f" of {top.module}" if top.module else ""
    return f"{short_name(top.name())}{where}, {percent(top.total_ps / found.compute_ps)} of compute time"


@fact
def hottest_op_place(question: Question) -> str:
    """The hottest op with a known place in the user's program: `fusion.3 (train.py:42)`."""
    found, _ = _hottest(question)
    for one in found.ops:
        if one.place():
            return one.place()
    raise MetricAbsent("the trace holds no HLO with source lines")


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


@once
def _memory_bound(question: Question) -> list[HotOp]:
    """The hottest ops, of those whose HLO tells all they compute, of which memory takes longer than arithmetic at best."""
    found, peaks = _hottest(question)
    if peaks.flops is None or peaks.bytes_per_s is None:
        raise MetricAbsent("the trace does not say how fast the device and its memory are")
    known = _counted(found, [one for one in found.ops if one.known is not None and one.known.flops is not None])
    costs = [(one, one.known.flops or 0, one.known.cost.bytes) for one in known if one.known is not None]
    return [one for one, flops, moved in costs if moved / peaks.bytes_per_s > flops / peaks.flops]


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def memory_bound_fraction(question: Question) -> float:
    """Share of step time in ops of which memory takes longer than arithmetic even at the device's full speed of both: bytes
    over its memory's bandwidth against operations over its peak in 16 bits, counted from their shapes.
    """
    mine, (found, _) = _memory_bound(question), _hottest(question)
    return sum(one.total_ps for one in mine) / found.compute_ps * share(question, TimeClass.COMPUTE)


@fact
def memory_bound_op(question: Question) -> str:
    """The op of memory_bound_fraction that takes most time, with its share of the compute time."""
    mine, (found, _) = _memory_bound(question), _hottest(question)
    if not mine:
        raise MetricAbsent("arithmetic takes longer than memory in all of the hottest ops")
    return f"{short_name(instruction_name(mine[0].name()))}, {percent(mine[0].total_ps / found.compute_ps)} of compute time"


@fact
def memory_bound_place(question: Question) -> str:
    """The same with its place in the user's program: `fusion.3 (train.py:42)`."""
    for one in _memory_bound(question):
        if one.place():
            return one.place()
    raise MetricAbsent("the trace holds no HLO that says where these ops come from")


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
