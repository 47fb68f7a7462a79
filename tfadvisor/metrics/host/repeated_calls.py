"""The compiled function that a step calls again and again."""

from __future__ import annotations

from tfadvisor.metrics.kernels.programs_of_step import repeated_program
from tfadvisor.metrics.needs import known_steps
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.metrics.steady import counted_hosts, counted_steps
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_TRAINS_AT_MOST = 2.0
"""Calls per step of the function that trains; one that is called more often is repeated."""


def _function(question: Question) -> tuple[str, float]:
    """(name, calls per step) of the tf.function that takes most time of those called more than twice a step, beside a
    larger one that is called once or twice and so trains. Raises MetricAbsent where there is none.
    """
    hosts = counted_hosts(question.run)
    steps = counted_steps(hosts)
    calls: dict[str, tuple[int, int]] = {}
    for host in hosts:
        for name, (number, ps) in host.evidence.calls.function_calls.items():
            before = calls.get(name, (0, 0))
            calls[name] = (before[0] + number, before[1] + ps)
    most = max((ps for number, ps in calls.values() if number <= _TRAINS_AT_MOST * steps), default=0)
    often = [name for name, (number, ps) in calls.items() if number > _TRAINS_AT_MOST * steps and ps < most]
    if not often:
        raise MetricAbsent("the steps do not call one tf.function many times beside a larger one")
    name = max(often, key=lambda one: calls[one][1])
    return name, calls[name][0] / steps


@once
def _repeated(question: Question) -> tuple[str, float]:
    """(name, calls per step) of the tf.function, or else of the compiled program. Raises MetricAbsent without either."""
    try:
        return _function(question)
    except MetricAbsent:
        program = repeated_program(question)
        return program.name, program.per_step


@metric(unit=Unit.COUNT, needs=(known_steps,), better=Better.LESS)
def repeated_calls_per_step(question: Question) -> float:
    """Calls per step of repeated_call."""
    return _repeated(question)[1]


@fact(needs=(known_steps,))
def repeated_call(question: Question) -> str:
    """The tf.function that takes most time of those called more than twice a step beside a larger one, or else the compiled
    program that runs at least twice as often as another of the step's: `next_token`.
    """
    return _repeated(question)[0]
