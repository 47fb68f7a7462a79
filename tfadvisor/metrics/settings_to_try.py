"""Numbers for fixes, worked out from the run: what to set something to."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import accelerators, device_steps, needs_steps, share
from tfadvisor.metrics.waits import turnaround_fraction
from tfadvisor.timeline.classes import DeviceClass
from tfadvisor.timeline.device_summary import CopyTotals
from tfadvisor.timeline.model import TimeClass
from tfadvisor.units import Unit

_SMALL_REST = 0.05
_MOST_STEPS = 1024
_TINY_US = 25


@fact(
    "steps_per_execution",
    about="How many steps to run a call until the Python between calls takes less than 5 % of the time: a power of two.",
)
def steps_per_execution(question: Question) -> str:
    """`16`."""
    return _until_small(share(question, TimeClass.HOST))


@fact(
    "steps_between_waits",
    about="After how many steps to wait or to read a value, so that the device runs dry for less than 5 % of the time: a power "
    "of two.",
)
def steps_between_waits(question: Question) -> str:
    """`16`."""
    return _until_small(turnaround_fraction(question))


def _until_small(lost: float) -> str:
    """With n steps instead of one between losses l of a step whose rest is w: l / (l + n w) below 5 %."""
    wanted = (1 / _SMALL_REST - 1) * lost / max(1 - lost, 1e-6)
    steps = 2
    while steps < min(wanted, _MOST_STEPS):
        steps *= 2
    return str(steps)


def _host_copies(question: Question) -> list[CopyTotals]:
    needs_steps(question.run)
    kinds = (DeviceClass.H2D, DeviceClass.D2H)
    return [device.copies[kind] for _, device in accelerators(question.run) for kind in kinds if kind in device.copies]


@metric("host_copies_per_step", unit=Unit.COUNT, about="Copies between host and device a step and device, both ways.")
def host_copies_per_step(question: Question) -> float:
    """An input of a few arrays and a loss need fewer than ten."""
    return sum(one.count for one in _host_copies(question)) / max(device_steps(question.run), 1)


@metric("host_copy_bytes", unit=Unit.BYTES, about="Mean size of the copies between host and device.")
def host_copy_bytes(question: Question) -> float:
    """Of those whose details say how large they are."""
    found = _host_copies(question)
    sized = sum(one.count - one.unsized for one in found)
    if not sized:
        raise MetricAbsent("the trace does not say how large the copies are")
    return sum(one.bytes for one in found) / sized


@fact("copy_direction", about="Where most of the copying time goes.")
def copy_direction(question: Question) -> str:
    """in (host to device), out (device to host) or within (on the device and between devices)."""
    needs_steps(question.run)
    time = {"in": 0, "out": 0, "within": 0}
    for host, device in accelerators(question.run):
        covered = device.covered_ps[host.steps.steady()].sum(axis=0)
        time["in"] += int(covered[DeviceClass.H2D])
        time["out"] += int(covered[DeviceClass.D2H])
        time["within"] += int(covered[[DeviceClass.D2D, DeviceClass.P2P]].sum())
    if not any(time.values()):
        raise MetricAbsent("no copy of a counted step says from where to where")
    return max(time, key=lambda word: time[word])


@fact("copied_op", about="The op of the program that the longest copies belong to.")
def copied_op(question: Question) -> str:
    """`copy.5 of jit_train_step`."""
    time: dict[tuple[str, str], int] = {}
    for _, device in accelerators(question.run):
        ops = device.ops
        for kind in device.copies:
            for row in ops.of_class(kind).tolist():
                if ops.op[row] >= 0 and ops.module[row] >= 0:
                    key = ops.names[ops.op[row]], ops.names[ops.module[row]]
                    time[key] = time.get(key, 0) + int(ops.total_ps[row])
    if not time:
        raise MetricAbsent("the trace does not say which op a copy belongs to")
    op, module = max(time, key=lambda key: time[key])
    return f"{op} of {module}"


@fact(
    "tiny_op_place",
    about="Of the hottest ops shorter than 25 µs the one that runs most often, with its place in the program.",
)
def tiny_op_place(question: Question) -> str:
    """`loop_multiply_fusion (train.py:42)`."""
    found = [host.hot_ops for host in question.run.hosts if host.hot_ops is not None]
    tiny = [one for ops in found[:1] for one in ops.ops if one.total_ps < one.count * _TINY_US * 1_000_000]
    for one in sorted(tiny, key=lambda one: -one.count):
        if one.known is not None and one.known.file:
            return f"{one.name()} ({one.known.file}:{one.known.line})"
    raise MetricAbsent("the trace holds no HLO that says where tiny ops come from")
