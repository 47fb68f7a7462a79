"""How work reaches the devices: latency, number of dispatches, size of what is
dispatched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from tfadvisor.arrays import distinct, falses, median
from tfadvisor.metrics.place_causes import launches_for_arguments
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import (
    a_device,
    a_gpu,
    counted_hosts,
    device_ps,
    device_steps,
    gpus,
    known_steps,
    needs_own_launches,
    share,
)
from tfadvisor.printable import short_kernel
from tfadvisor.timeline import Distribution, percentile_of
from tfadvisor.timeline.host import HostCalls
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.collective_events import is_fusion
from tfadvisor.timeline.names.device_events import is_whole_graph
from tfadvisor.timeline.names.host_events import op_type
from tfadvisor.timeline.summary import DeviceSummary, OpTable
from tfadvisor.units import PS_PER_US, Unit
from tfadvisor.vocabulary import Better, DeviceKind, Scatter, TimeClass

_NUMBERED = re.compile(r"[._]\d+$")
_HUNDREDS = 200
_DIFFERENT_PROGRAMS = 4
_PROGRAMS_OF_ONE_OP = 8
"""Programs without named ops are single ops where a step runs so many, and of so many
kinds.
"""
_SHORT_PS = 100 * PS_PER_US
_CUT_OFF = 0.1
"""Of a count, that the ends of a recording may add to it or take from it."""
_PRODUCTS = ("MatMul", "Conv", "Einsum")


@metric(unit=Unit.US)
def kernel_launch_latency_us(question: Question) -> float:
    """Median time from the end of a kernel's launch call to the kernel's start, for
    kernels whose stream was free by then. Kernels that queue behind others do not
    count.
    """
    return percentile_of(_latencies(question), 50) / PS_PER_US


@metric(unit=Unit.US)
def kernel_launch_latency_us_p95(question: Question) -> float:
    """95th percentile of the time from the end of a kernel's launch call to the
    kernel's start, for kernels whose stream was free by then.
    """
    return percentile_of(_latencies(question), 95) / PS_PER_US


def _latencies(question: Question) -> list[Distribution]:
    together = [device.launches.latency for _, device in gpus(question.run)]
    if not any(map(len, together)):
        raise MetricAbsent(
            "no kernel in a counted step is linked to its launch and found its "
            "stream free"
        )
    return together


@metric(needs=(a_gpu,), better=Better.MORE)
def queued_kernel_fraction(question: Question) -> float:
    """Share of the kernels' time in kernels that were launched before their GPU had
    finished what came before them. Near 1 the host is ahead and the GPU sets the pace;
    near 0 the GPU waits for every launch.
    """
    found = [device.launches for _, device in gpus(question.run)]
    linked = sum(launches.linked_ps for launches in found)
    if not linked:
        raise MetricAbsent("no kernel in a counted step is linked to its launch")
    return sum(launches.behind_ps for launches in found) / linked


@metric(needs=(a_gpu,), better=Better.MORE)
def graph_kernel_share(question: Question) -> float:
    """Share of the kernels with a known launch, by number, that a CUDA or HIP graph
    launched (XLA: command buffers). Such kernels have no launch time of their own.
    """
    found = [device.launches for _, device in gpus(question.run)]
    if not sum(launches.linked for launches in found):
        raise MetricAbsent("no kernel in a counted step is linked to its launch")
    return sum(launches.in_graphs for launches in found) / sum(
        launches.linked for launches in found
    )


@metric(needs=(a_gpu,), better=Better.NEITHER)
def aligned_kernel_share(question: Question) -> float:
    """Share of the kernels' time, summed over kernels, whose op no event names and
    their place among the launches of the program's schedule tells: those of libraries
    in CUDA graphs.
    """
    found = [device for _, device in gpus(question.run)]
    every = sum(
        int(device.ops.total_ps[device.ops.of_class(DeviceClass.COMPUTE)].sum())
        for device in found
    )
    return sum(device.launches.aligned_ps for device in found) / max(every, 1)


@fact(needs=(a_gpu,))
def graph_detail(question: Question) -> str:
    """What the trace times of the kernels that CUDA graphs launched: `each kernel`, or
    `only the whole graph`.
    """
    names = [
        device.ops.names[row]
        for _, device in gpus(question.run)
        for row in device.ops.name.tolist()
    ]
    return "only the whole graph" if any(map(is_whole_graph, names)) else "each kernel"


@metric(unit=Unit.COUNT, needs=(known_steps, a_gpu))
def graph_launches_per_step(question: Question) -> float:
    """Number of CUDA or HIP graph launches per step and device."""
    return sum(
        device.launches.graphs for _, device in gpus(question.run)
    ) / device_steps(question.run)


@metric(needs=(a_device,))
def launch_between_kernels_fraction(question: Question) -> float:
    """The part of kernel_launch_gap_fraction in gaps shorter than 100 µs: the time from
    one kernel to the launch of the next. Longer gaps belong to the dispatch of a whole
    function.
    """
    needs_own_launches(question.run)
    total = device_ps(question.run)
    if not total:
        raise MetricAbsent("the trace holds no step")
    counted = ((host, host.counted) for host in counted_hosts(question.run))
    return (
        sum(
            int(host.device_time.short_launch_ps[steps].sum())
            for host, steps in counted
        )
        / total
    )


@metric(needs=(a_device,))
def usual_launch_gap_fraction(question: Question) -> float:
    """kernel_launch_gap_fraction of the median step: what some steps alone wait for,
    as at the end of an epoch, does not count.
    """
    needs_own_launches(question.run)
    found = []
    for host in counted_hosts(question.run):
        steps = host.breakdown[host.counted]
        found.append(steps[:, TimeClass.LAUNCH] / np.maximum(steps.sum(axis=1), 1))
    shares = np.concatenate(found) if found else np.empty(0)
    if not len(shares):
        raise MetricAbsent("the trace holds no step")
    return median(shares)


@metric(needs=(known_steps,))
def repeated_op_fraction(question: Question) -> float:
    """Share of step time in short TensorFlow ops that a step runs by the hundred: types
    of which at least 200 run per step and device for less than 100 µs each, without
    those that take longer, products and convolutions. XLA's programs have none.
    """
    every = sum(ps for _, ps in _by_type(question).values())
    repeated = sum(ps for _, ps in _repeated(question).values())
    return repeated / every * share(question, TimeClass.COMPUTE) if every else 0.0


@once
def _by_type(question: Question) -> Mapping[str, tuple[int, int]]:
    """(number, ps) of each op type of the counted steps, over all devices."""
    return _summed(question, None)


@once
def _short_by_type(question: Question) -> Mapping[str, tuple[int, int]]:
    """The same without the ops that take 100 µs on average: one large Mul says nothing
    about hundreds of small ones.
    """
    return _summed(question, _SHORT_PS)


@lru_cache(maxsize=1 << 14)  # asked for each device of each host
def _type_of(name: str) -> str:
    return op_type(name) or short_kernel(_NUMBERED.sub("", name))


def _summed(question: Question, below_ps: int | None) -> Mapping[str, tuple[int, int]]:
    """below_ps: mean time from which an op is left out."""
    found: dict[str, tuple[int, int]] = {}
    for host in counted_hosts(question.run):
        for device in host.devices:
            ops = device.ops
            rows = device.ops.of_class(DeviceClass.COMPUTE)
            columns = (
                ops.name[rows].tolist(),
                ops.count[rows].tolist(),
                ops.total_ps[rows].tolist(),
            )
            for row, many, ps in zip(*columns, strict=True):
                if below_ps is not None and ps >= below_ps * many:
                    continue
                kind = _type_of(ops.names[row])
                number, time = found.get(kind, (0, 0))
                found[kind] = number + many, time + ps
    return found


@once
def _repeated(question: Question) -> dict[str, tuple[int, int]]:
    """The types of _by_type that repeated_op_fraction counts."""
    types = {
        kind
        for device in _working(question)
        for name in device.ops.names
        if (kind := op_type(name))
    }
    return {
        kind: (number, ps)
        for kind, (number, ps) in _short_by_type(question).items()
        if number >= _HUNDREDS * device_steps(question.run)
        and kind in types
        and not any(word in kind for word in _PRODUCTS)
    }


@metric(needs=(a_device,))
def tiny_op_fraction(question: Question) -> float:
    """Share of step time that ops cost by their number: kernel_launch_gap_fraction,
    without launches that take their arguments apart for the most part, plus
    repeated_op_fraction.
    """
    needs_own_launches(question.run)
    gaps = share(question, TimeClass.LAUNCH) - launches_for_arguments(question)
    return gaps + repeated_op_fraction(question)


@metric(needs=(a_device,))
def tiny_kernel_fraction(question: Question) -> float:
    """Share of step time in which a device runs a kernel (on a CPU: an op) shorter than
    20 µs; a mean over the devices. The waiting between them does not count.
    """
    total = device_ps(question.run)
    if not total:
        raise MetricAbsent("the trace holds no step")
    return (
        sum(
            device.tiny_ps
            for host in counted_hosts(question.run)
            for device in host.devices
        )
        / total
    )


@metric
def small_kernel_share(question: Question) -> float:
    """Share of the counted steps' kernels (on a CPU: ops), by number, that take less
    than 10 µs. A launch costs the host 2 to 10 µs, so below that the launch costs more
    than the kernel.
    """
    rows = [
        (device.ops, device.ops.of_class(DeviceClass.COMPUTE))
        for device in _working(question)
    ]
    return float(
        sum(ops.small[row].sum() for ops, row in rows)
        / sum(ops.count[row].sum() for ops, row in rows)
    )


@metric(unit=Unit.COUNT, needs=(known_steps,))
def kernels_per_step(question: Question) -> float:
    """Number of kernels (on a CPU: ops) per step and device: in most steps, where most
    have the same number; else the mean.
    """
    devices = _working(question)
    usual = {device.kernels_of_most for device in devices}
    if len(usual) == 1 and 0 not in usual:
        return usual.pop()
    kernels = sum(device.launches.kernels for device in devices)
    return kernels / device_steps(question.run)


@metric(unit=Unit.US, better=Better.NEITHER)
def median_kernel_us(question: Question) -> float:
    """Median length of a kernel (on a CPU: an op) in the counted steps."""
    return (
        percentile_of([device.lengths for device in _working(question)], 50) / PS_PER_US
    )


def _working(question: Question) -> list[DeviceSummary]:
    """The devices with kernels in counted steps. Raises MetricAbsent when there are
    none.
    """
    a_device(question.run)
    found = [
        device
        for host in counted_hosts(question.run)
        for device in host.devices
        if device.launches.kernels
    ]
    if not found:
        raise MetricAbsent("no kernel begins in a counted step")
    return found


@metric(unit=Unit.COUNT, needs=(known_steps,))
def dispatches_per_step(question: Question) -> float:
    """Number of programs and ops that the driving thread dispatches per step: in most
    steps, where most have the same number; else the mean.
    """
    steps = 0
    dispatched = 0.0
    for host in counted_hosts(question.run):
        calls = host.evidence.calls
        if calls.dispatches >= 0:
            number = host.steps.steady_count
            steps += number
            dispatched += number * _dispatches(calls, number)
    if not steps:
        raise MetricAbsent("no thread of this trace dispatches programs or ops by name")
    return dispatched / steps


def _dispatches(calls: HostCalls, steps: int) -> float:
    """Per step. Where the host is ahead of the devices, the ends of a recording cut off
    some dispatches of its first or last steps: a mean near a whole number is that one.
    """
    if calls.dispatches_of_most:
        return calls.dispatches_of_most
    mean = calls.dispatches / max(steps, 1)
    whole = round(mean)
    return whole if whole and abs(mean / whole - 1) <= _CUT_OFF else mean


@metric(needs=(a_device,), scatter=Scatter.EXACT)
def eager_op_share(question: Question) -> float:
    """Share of the counted steps' ops, by number, that were dispatched one by one
    instead of inside a compiled function. In TensorFlow these are the eager runtime's
    ops, in JAX the programs that hold no more than two ops; where the trace does not
    name a program's ops, the programs of steps that run many different ones.
    """
    eager = total = 0
    for host in question.run.hosts:
        for number, device in enumerate(host.devices):
            ops = device.ops
            rows = device.ops.of_class(DeviceClass.COMPUTE)
            total += int(ops.count[rows].sum())
            eager += int(
                ops.count[rows][_is_eager(ops, rows, host.steps.steady_count)].sum()
            )
            if device.kind is DeviceKind.CPU and number == 0:
                eager += host.evidence.calls.run_eagerly
    if not total:
        raise MetricAbsent("no op begins in a counted step")
    return min(
        eager / total,
        1.0,
    )  # those of the input pipeline are no ops of the device


def _is_eager(
    ops: OpTable,
    rows: np.ndarray,
    steps: int,
) -> np.ndarray:
    """Which of the rows were dispatched op by op. steps: how many count."""
    module = ops.module[rows]
    out = falses(rows)
    program = ops.owner()
    whole = ops.whole_programs()
    for number in distinct(program[rows][(module >= 0) & ~whole[rows]]).tolist():
        if len(distinct(ops.name[(program == number) & (ops.module >= 0)])) <= 2:
            out |= (program[rows] == number) & (module >= 0)
    many = (
        whole.sum() >= _DIFFERENT_PROGRAMS
        and ops.count[whole].sum() >= _PROGRAMS_OF_ONE_OP * steps
    )
    return out | whole[rows] if many else out


@fact(needs=(known_steps,))
def most_frequent_op(question: Question) -> str:
    """The op type that runs most often per step, with its number and mean length: `Mul,
    1,200 times per step, 1.4 µs each`.
    """
    found = _by_type(question)
    if not found:
        raise MetricAbsent("no op begins in a counted step")
    return _many_times(question, found, max(found, key=lambda kind: found[kind][0]))


def _many_times(
    question: Question,
    found: Mapping[str, tuple[int, int]],
    kind: str,
) -> str:
    number, ps = found[kind]
    per_step = number / device_steps(question.run)
    return (
        f"{kind}, {per_step:,.0f} times per step, {ps / number / PS_PER_US:.1f} µs each"
    )


@fact(needs=(a_device,))
def compiler(question: Question) -> str:
    """Compiler of what the devices run: xla when any device event belongs to an XLA
    module or is named as XLA names what it fuses, and on TPUs; else none.
    """
    devices = [device for host in question.run.hosts for device in host.devices]
    return "xla" if any(map(_is_compiled, devices)) else "none"


def _is_compiled(device: DeviceSummary) -> bool:
    if device.kind is DeviceKind.TPU or (device.ops.module >= 0).any():
        return True
    return any(is_fusion(device.ops.names[row]) for row in device.ops.name.tolist())
