"""Tracing and compilation inside steps that should run compiled code."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import needs_steps
from tfadvisor.units import Unit


@metric(
    "retraces_in_steady_state",
    unit=Unit.COUNT,
    about="Functions traced or compiled during the counted steps; each new compilation counts.",
)
def retraces_in_steady_state(question: Question) -> float:
    """0 when the driving thread is known and compiles nothing."""
    needs_steps(question.run)
    if all(host.steps.thread < 0 for host in question.run.hosts):
        raise MetricAbsent("no host thread drives the steps, so compilation cannot be seen")
    return float(sum(one.times for host in question.run.hosts for one in host.evidence.compiles))


@fact("recompiled_function", about="The function whose compilation takes most of the counted steps' time.")
def recompiled_function(question: Question) -> str:
    """`train_step`."""
    found = [one for host in question.run.hosts for one in host.evidence.compiles]
    if not found:
        raise MetricAbsent("nothing is compiled in a counted step")
    return max(found, key=lambda one: one.compile_ps).function
