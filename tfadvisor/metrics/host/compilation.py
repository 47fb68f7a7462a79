"""Tracing and compilation inside steps that should run compiled code."""

from __future__ import annotations

from tfadvisor.metrics.needs import known_steps
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better


@metric(unit=Unit.COUNT, needs=(known_steps,), better=Better.LESS)
def retraces_in_steady_state(question: Question) -> float:
    """Number of functions traced or compiled during the counted steps. Each new compilation counts."""
    if all(host.steps.thread < 0 for host in question.run.hosts):
        raise MetricAbsent("no host thread drives the steps, so compilation cannot be seen")
    return float(sum(one.times for host in question.run.hosts for one in host.evidence.compiles))


@fact
def recompiled_function(question: Question) -> str:
    """The function whose compilation takes most of the counted steps' time: `train_step`."""
    found = [one for host in question.run.hosts for one in host.evidence.compiles]
    if not found:
        raise MetricAbsent("nothing is compiled in a counted step")
    return max(found, key=lambda one: one.compile_ps).function


@fact
def recompiled_arguments(question: Question) -> str:
    """Whether the programs of that function take arrays of the same types and dimensions: same or differ. The same means
    that a Python value changed, or that the function itself is made anew.
    """
    found = [one for host in question.run.hosts for one in host.evidence.compiles]
    if not found:
        raise MetricAbsent("nothing is compiled in a counted step")
    same = max(found, key=lambda one: one.compile_ps).same_arguments
    if same is None:
        raise MetricAbsent("the trace does not hold two programs of the function")
    return "same" if same else "differ"
