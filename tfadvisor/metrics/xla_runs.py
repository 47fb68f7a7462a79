"""What XLA's runtime for GPUs does on the host in each step: loops that it runs turn by
turn, and CUDA graphs that it brings up to date.
"""

from __future__ import annotations

from tfadvisor.metrics.capture import OF_UPDATES
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_gpu, counted_hosts, counted_steps, share, spent
from tfadvisor.timeline.host import HostCost, XlaRuns
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.summary import ProgramSummary
from tfadvisor.units import PS_PER_MS, PS_PER_US, Unit
from tfadvisor.vocabulary import TimeClass


def _runs(question: Question) -> list[XlaRuns]:
    return [host.evidence.xla for host in counted_hosts(question.run)]


def _program(question: Question) -> ProgramSummary:
    """Of the first host. Raises MetricAbsent where nothing computes."""
    for host in counted_hosts(question.run):
        if host.program is not None:
            return host.program
    raise MetricAbsent("no device computes anything in this trace")


def _idle(question: Question, cost: HostCost) -> float:
    return min(
        spent(counted_hosts(question.run), cost), share(question, TimeClass.LAUNCH)
    )


# Loops.


@once
def _turns(question: Question) -> int:
    turns = sum(runs.turns for runs in _runs(question))
    if not turns:
        raise MetricAbsent("no loop of a compiled program is run turn by turn")
    return turns


@metric(needs=(a_gpu,))
def host_loop_fraction(question: Question) -> float:
    """Share of step time in which no device works while the host runs a while loop of a
    compiled program turn by turn. It is part of kernel_launch_gap_fraction.
    """
    _turns(question)
    return _idle(question, HostCost.LOOP_TURNS)


@metric(unit=Unit.COUNT, needs=(a_gpu,))
def host_loop_turns_per_step(question: Question) -> float:
    """Number of these turns per step, those of loops inside of others too."""
    return _turns(question) / counted_steps(counted_hosts(question.run))


@metric(unit=Unit.US, needs=(a_gpu,))
def host_loop_turn_us(question: Question) -> float:
    """Time of the host in loops, over the number of turns."""
    ps = sum(runs.turns_ps for runs in _runs(question))
    return ps / _turns(question) / PS_PER_US


@metric(unit=Unit.COUNT, needs=(a_gpu,))
def host_loop_reads_per_step(question: Question) -> float:
    """Number of copies to the host per step within these turns: of a loop's condition,
    where the number of turns is not known when the program is compiled.
    """
    _turns(question)
    reads = sum(runs.reads for runs in _runs(question))
    return reads / counted_steps(counted_hosts(question.run))


@fact(needs=(a_gpu,))
def host_loop(question: Question) -> str:
    """The outermost of these loops that takes most time, with its line: `while.3
    (train.py:81)`.
    """
    _turns(question)
    name = max(_runs(question), key=lambda runs: runs.turns_ps).loop
    file, line = _program(question).loop_line
    return place_in_words(file, line, name) if file else name


# CUDA graphs.


@once
def _updates(question: Question) -> int:
    updates = sum(runs.updates for runs in _runs(question))
    if not updates:
        raise MetricAbsent("no CUDA graph is updated in a counted step")
    return updates


@metric(needs=(a_gpu,))
def graph_update_fraction(question: Question) -> float:
    """Share of step time in which no device works while XLA writes the addresses of
    buffers into CUDA graphs (command buffers) that it has: a quarter of what is
    recorded of it, since recording takes the rest. It is part of
    kernel_launch_gap_fraction.
    """
    _updates(question)
    return (1 - OF_UPDATES) * _idle(question, HostCost.GRAPH_UPDATES)


@metric(unit=Unit.COUNT, needs=(a_gpu,))
def graph_updates_per_step(question: Question) -> float:
    """Number of these updates per step."""
    return _updates(question) / counted_steps(counted_hosts(question.run))


@metric(unit=Unit.MS, needs=(a_gpu,))
def graph_update_ms(question: Question) -> float:
    """Mean time of one of them on the host, a quarter of the recorded one."""
    ps = sum(runs.updates_ps for runs in _runs(question))
    return (1 - OF_UPDATES) * ps / _updates(question) / PS_PER_MS


@metric(unit=Unit.COUNT, needs=(a_gpu,))
def kept_arguments(question: Question) -> float:
    """Number of arrays of floats that the program which takes most time returns
    changed, as far as types tell, and that are not donated: each result gets memory of
    its own.
    """
    return float(_program(question).kept_arguments)


@metric(unit=Unit.COUNT, needs=(a_gpu,))
def operation_copies(question: Question) -> float:
    """Number of kernels of the program that takes most time that are one and the same
    product or convolution of the user's program, of which there are most.
    """
    return float(_program(question).copies[3])


@fact(needs=(a_gpu,))
def copied_operation(question: Question) -> str:
    """That operation, with its line: `Dense_0/dot_general (model.py:11)`."""
    operation, file, line, count = _program(question).copies
    if not count:
        raise MetricAbsent(
            "the trace carries no HLO that says where products come from"
        )
    return place_in_words(file, line, operation)
