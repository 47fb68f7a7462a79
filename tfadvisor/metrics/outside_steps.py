"""Work of the devices that lies in no step: how long it takes, and what calls it."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import counted_hosts, counted_steps
from tfadvisor.tallies import added_up
from tfadvisor.timeline.host import OutsideSteps
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.names.host_events import called_function, calls_function
from tfadvisor.timeline.names.program_calls import jitted_function
from tfadvisor.units import PS_PER_MS, Unit
from tfadvisor.vocabulary import Better


@once
def _outside(question: Question) -> OutsideSteps:
    """Of the host on which it takes most."""
    found = [
        host.evidence.outside
        for host in counted_hosts(question.run)
        if host.evidence.outside is not None
    ]
    if not found:
        raise MetricAbsent("all work of the devices lies in steps")
    return max(found, key=lambda outside: outside.ps)


@metric(better=Better.NEITHER)
def outside_steps_fraction(question: Question) -> float:
    """Share of the recorded time, from the first work of a device to the last, that
    lies in no step, counted or not, and in which nothing is compiled.
    """
    outside = _outside(question)
    return outside.ps / outside.of_ps


@metric(unit=Unit.MS, better=Better.NEITHER)
def outside_steps_ms(question: Question) -> float:
    """The same in milliseconds."""
    return _outside(question).ps / PS_PER_MS


@metric(better=Better.MORE)
def outside_busy_share(question: Question) -> float:
    """Share of that time in which any device works."""
    outside = _outside(question)
    return outside.busy_ps / outside.ps


@metric(unit=Unit.COUNT, better=Better.NEITHER)
def outside_waits(question: Question) -> float:
    """How often the driving thread blocks in it, as where it reads a value."""
    return float(_outside(question).waits)


def _function(name: str) -> str | None:
    """The compiled function that a dispatch calls."""
    return called_function(name) if calls_function(name) else jitted_function(name)


@once
def _call(question: Question) -> tuple[str, int, str]:
    """(compiled function that is called most often, how often, where). One that
    most of the counted steps call may be a step that nothing marks.
    """
    hosts = counted_hosts(question.run)
    in_steps = added_up(
        (_function(name), count)
        for host in hosts
        for name, count in host.evidence.calls.by_name.items()
    )
    often = counted_steps(hosts) / 2
    for call in _outside(question).calls:
        function = _function(call.name)
        if function and in_steps.get(function, 0) < often:
            place = place_in_words(call.file, call.line, call.function)
            return function, call.count, place if call.file else ""
    raise MetricAbsent("no compiled function is called outside of the steps alone")


@metric(unit=Unit.COUNT, better=Better.NEITHER)
def outside_calls(question: Question) -> float:
    """How often the compiled function is called there that is called most often, of
    those that are not called in most of the counted steps.
    """
    return float(_call(question)[1])


@fact
def outside_function(question: Question) -> str:
    """That function: `eval_step`."""
    return _call(question)[0]


@fact
def outside_place(question: Question) -> str:
    """The function of the program that calls it: `evaluate (train.py:80)`. Needs Python
    frames.
    """
    place = _call(question)[2]
    if not place:
        raise MetricAbsent("the trace holds no Python frames around these calls")
    return place
