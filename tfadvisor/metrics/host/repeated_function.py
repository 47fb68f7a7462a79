"""A tf.function that a step calls again and again, beside the one that trains."""

from __future__ import annotations

from tfadvisor.metrics.needs import known_steps
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.metrics.steady import counted_hosts, counted_steps, periods_ms
from tfadvisor.units import PS_PER_MS, Unit
from tfadvisor.vocabulary import Better

_TRAINS_AT_MOST = 2.0
"""Calls a step of another function, which is then what the repeated one stands beside."""


@once
def _repeated(question: Question) -> tuple[str, int, int]:
    """(name, calls, ps) of the function that takes most time of those called more than twice a step. What takes more than
    any that is called once or twice is the training itself. Raises MetricAbsent where none is left.
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
    return name, *calls[name]


@metric(unit=Unit.COUNT, needs=(known_steps,), better=Better.LESS)
def repeated_function_calls_per_step(question: Question) -> float:
    """Calls per step of the tf.function that takes most time of those that run more than twice a step, beside a larger one
    that does not.
    """
    return _repeated(question)[1] / counted_steps(counted_hosts(question.run))


@metric(unit=Unit.FRACTION, needs=(known_steps,), better=Better.LESS)
def repeated_function_fraction(question: Question) -> float:
    """Share of step time that the driving thread spends in these calls."""
    window = float(periods_ms(question.run).sum()) * PS_PER_MS
    return min(_repeated(question)[2] / window, 1.0)


@fact
def repeated_function(question: Question) -> str:
    """The name of that function: `next_token`."""
    return _repeated(question)[0]
