"""The hottest ops of the first device, whatever it is, with what the trace's HLO says of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfadvisor.metrics.registry import MetricAbsent, Question
from tfadvisor.metrics.remember import once
from tfadvisor.metrics.steady import needs_device
from tfadvisor.timeline.op_in_program import InProgram
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps


@once
def first_device_ops(question: Question) -> HotOps:
    """Raises MetricAbsent when nothing computes."""
    needs_device(question.run)
    program = next(host.program for host in question.run.hosts if host.devices)
    if program is None or not program.hot_ops.compute_ps:
        raise MetricAbsent("no op begins in a counted step")
    return program.hot_ops


@once
def known_ops(question: Question) -> HotOps:
    """The same where the HLO knows any of them. Raises MetricAbsent."""
    found = first_device_ops(question)
    if not any(one.known is not None for one in found.ops):
        raise MetricAbsent("the trace carries no HLO of the step's program")
    return found


def known_where(question: Question, wanted: Callable[[InProgram], bool]) -> list[HotOp]:
    """Those of known_ops of which the HLO says what is wanted, the hottest first. Raises MetricAbsent."""
    return [one for one in known_ops(question).ops if one.known is not None and wanted(one.known)]


def count_per_step(question: Question, chosen: Sequence[HotOp]) -> float:
    """How often these ops run in a counted step of the first device, a mean."""
    host = next(host for host in question.run.hosts if host.devices)
    steps = int((host.takes_part[host.program.device if host.program else 0] & host.steps.steady()).sum())
    return sum(one.count for one in chosen) / max(steps, 1)
