"""Metrics by name: one function a question, its unit and meaning beside it, evaluated once a report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import msgspec

from tfadvisor.timeline.run.run_timeline import RunTimeline
from tfadvisor.units import Unit


class MetricAbsent(Exception):
    """The trace cannot answer; the message says why, as the end of a sentence."""


class Settings(msgspec.Struct, frozen=True):
    """What the user told us that no trace can hold: model parameters, and bandwidth between devices in GB/s."""

    parameters: int | None = None
    bandwidth_gb_s: float | None = None


class Question(msgspec.Struct, frozen=True, weakref=True):
    """What a metric function gets: the timeline and the user's settings."""

    run: RunTimeline
    settings: Settings


class Metric(msgspec.Struct, frozen=True):
    """A registered metric."""

    name: str
    unit: Unit
    about: str
    compute: Callable[[Question], float]


class Fact(msgspec.Struct, frozen=True):
    """A registered text about the run that rules quote: a stage's name, a function's, a frame's."""

    name: str
    about: str
    find: Callable[[Question], str]


class Measured(msgspec.Struct, frozen=True):
    """One metric's outcome: a value, or None and the reason. broken: the function itself failed."""

    value: float | None
    unit: Unit
    reason: str
    about: str
    broken: bool = False


_METRICS: dict[str, Metric] = {}
_FACTS: dict[str, Fact] = {}


def metric(
    name: str, *, unit: Unit, about: str
) -> Callable[[Callable[[Question], float]], Callable[[Question], float]]:
    """Registers a function as the metric of that name. about: one sentence that defines it."""

    def register(function: Callable[[Question], float]) -> Callable[[Question], float]:
        if name in _METRICS or name in _FACTS:
            raise ValueError(f"metric {name} is registered twice")
        _METRICS[name] = Metric(name, unit, about, function)
        return function

    return register


def fact(name: str, *, about: str) -> Callable[[Callable[[Question], str]], Callable[[Question], str]]:
    """Registers a function as the fact of that name."""

    def register(function: Callable[[Question], str]) -> Callable[[Question], str]:
        if name in _METRICS or name in _FACTS:
            raise ValueError(f"fact {name} is registered twice")
        _FACTS[name] = Fact(name, about, function)
        return function

    return register


def registered_metrics() -> Mapping[str, Metric]:
    """All metrics by name."""
    return _METRICS


def registered_facts() -> Mapping[str, Fact]:
    """All facts by name."""
    return _FACTS


class Metrics(Mapping[str, Measured]):
    """Every metric of one run. Facts are beside them: `fact(name)` gives the text, or None and `why_no_fact` the reason."""

    def __init__(self, values: Mapping[str, Measured], facts: Mapping[str, tuple[str | None, str]]) -> None:
        """Facts map a name to (text, "") or (None, reason)."""
        self._values = dict(values)
        self._facts = dict(facts)

    def __getitem__(self, name: str) -> Measured:
        """The outcome of one metric."""
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        """Names in order of registration."""
        return iter(self._values)

    def __len__(self) -> int:
        """Number of metrics."""
        return len(self._values)

    def value(self, name: str) -> float | None:
        """A metric's number, None when absent."""
        return self._values[name].value

    def fact(self, name: str) -> str | None:
        """A fact's text, None when absent."""
        return self._facts[name][0]

    def why_no_fact(self, name: str) -> str:
        """Why a fact is absent."""
        return self._facts[name][1]

    def has_fact(self, name: str) -> bool:
        """Whether there is a fact of this name at all."""
        return name in self._facts


def measure(run: RunTimeline, settings: Settings | None = None) -> Metrics:
    """Evaluates every registered metric and fact. One that raises anything but MetricAbsent is reported as broken."""
    question = Question(run, settings or Settings())
    values = {name: _measured(one, question) for name, one in _METRICS.items()}
    facts: dict[str, tuple[str | None, str]] = {}
    for name, one in _FACTS.items():
        try:
            facts[name] = (one.find(question), "")
        except MetricAbsent as absent:
            facts[name] = (None, str(absent))
        except Exception as error:
            facts[name] = (None, f"broken: {type(error).__name__}: {error}")
    return Metrics(values, facts)


def _measured(one: Metric, question: Question) -> Measured:
    try:
        value = float(one.compute(question))
    except MetricAbsent as absent:
        return Measured(None, one.unit, str(absent), one.about)
    except Exception as error:
        return Measured(None, one.unit, f"broken: {type(error).__name__}: {error}", one.about, broken=True)
    if not math.isfinite(value):
        return Measured(None, one.unit, "broken: the result is not a finite number", one.about, broken=True)
    return Measured(value, one.unit, "", one.about)
