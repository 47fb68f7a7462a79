"""Numbers for fixes, worked out from the run: what to set something to."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact
from tfadvisor.metrics.steady import share
from tfadvisor.metrics.time.idle_between_steps import turnaround_fraction
from tfadvisor.metrics.trace.hardware import workload
from tfadvisor.vocabulary import TimeClass

_SMALL_REST = 0.05
_MOST_STEPS = 1024
_TINY_US = 25


@fact
def steps_per_execution(question: Question) -> str:
    """Number of steps to run per call so that Python between the calls takes less than 5% of the time, a power of two:
    `16`.
    """
    _needs_steps_that_can_wait(question)
    return _until_small(share(question, TimeClass.HOST))


@fact
def steps_between_waits(question: Question) -> str:
    """Number of steps between two waits, or two values read, at which the device stands idle for less than 5% of the
    time, a power of two: `16`.
    """
    _needs_steps_that_can_wait(question)
    return _until_small(turnaround_fraction(question))


def _needs_steps_that_can_wait(question: Question) -> None:
    """Raises MetricAbsent for inference: what a step gives is the answer, or what the next one begins with."""
    if workload(question) == "inference":
        raise MetricAbsent("the program does inference, and the result of each of its steps is wanted at once")


def _until_small(lost: float) -> str:
    """With n steps instead of one between losses l of a step whose rest is w: l / (l + n w) below 5%."""
    wanted = (1 / _SMALL_REST - 1) * lost / max(1 - lost, 1e-6)
    steps = 2
    while steps < min(wanted, _MOST_STEPS):
        steps *= 2
    return str(steps)


@fact
def tiny_op_place(question: Question) -> str:
    """The op, among the hottest that take less than 25 µs, that runs most often, with its place in the user's program:
    `loop_multiply_fusion (train.py:42)`.
    """
    found = [host.program.hot_ops for host in question.run.hosts if host.program is not None]
    tiny = [one for ops in found[:1] for one in ops.ops if one.total_ps < one.count * _TINY_US * 1_000_000]
    for one in sorted(tiny, key=lambda one: -one.count):
        if one.place():
            return one.place()
    raise MetricAbsent("the trace holds no HLO that says where tiny ops come from")
