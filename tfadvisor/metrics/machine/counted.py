"""The counters of a run's hosts as metrics ask for them: what they grew by, on the host where it was worst."""

from __future__ import annotations

import math
from collections.abc import Callable

from tfadvisor.arrays import median
from tfadvisor.machine.file import Counted, Reading
from tfadvisor.metrics.registry import MetricAbsent, Question
from tfadvisor.metrics.steady import periods_ms

_NONE = "the recording has no counters of its machine; `tfadvisor run` and `tfadvisor.profile()` write them"
_NOT_TOLD = "the recorded machine does not tell it"


def known_counters(question: Question) -> None:
    """A file with counters beside the trace of some host."""
    of_hosts(question)


def of_hosts(question: Question) -> list[Counted]:
    """Those that can be used. Raises MetricAbsent without any."""
    counters = question.run.counters
    found = [one.counted for one in counters if one.counted is not None]
    if not found:
        raise MetricAbsent(next((one.why for one in counters if one.why), _NONE))
    return found


def largest(question: Question, ask: Callable[[Counted], float | None]) -> float:
    """Of the hosts that can answer. Raises MetricAbsent where none can."""
    found = [value for one in of_hosts(question) if (value := ask(one)) is not None]
    if not found:
        raise MetricAbsent(_NOT_TOLD)
    return max(found)


def smallest(question: Question, ask: Callable[[Counted], float | None]) -> float:
    """As largest."""
    return -largest(question, lambda one: None if (value := ask(one)) is None else -value)


def grown(one: Counted, name: str) -> float | None:
    """What a counter grew by while the window was open; None where it was not recorded, or ran backwards."""
    before, after = getattr(one.opened, name), getattr(one.closed, name)
    return None if before is None or after is None or after < before else after - before


def a_second(one: Counted, name: str) -> float | None:
    """The same per second."""
    value = grown(one, name)
    return None if value is None else value / one.seconds


def per_step(question: Question, name: str) -> float:
    """The same per step of median length, on the host where it grew most. Needs known steps."""
    seconds = float(median(periods_ms(question.run))) / 1000
    return largest(question, lambda one: None if (rate := a_second(one, name)) is None else rate * seconds)


def share(one: Counted, part: str, *wholes: str) -> float | None:
    """One counter's growth over that of several; None where any was not recorded or none grew."""
    values = [grown(one, name) for name in wholes]
    portion = grown(one, part)
    known = [value for value in values if value is not None]
    if portion is None or len(known) < len(values) or not math.fsum(known):
        return None
    return min(portion / math.fsum(known), 1.0)


def ends(one: Counted) -> tuple[Reading, Reading]:
    """At both ends of the window."""
    return one.opened, one.closed
