"""Metrics by name: one function a question, its unit and meaning beside it, evaluated
once a report.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, TypeVar, overload

import msgspec

from tfadvisor.errors import SourceUnread
from tfadvisor.timeline.attribution import largest_places
from tfadvisor.timeline.run import RunSummary
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, Scatter, TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import ProgramSource, RunAccount


class MetricAbsent(Exception):
    """The trace cannot answer; the message says why, as the end of a sentence."""


class Settings(msgspec.Struct, frozen=True):
    """What no trace records: model parameters and bandwidth between devices in GB/s,
    as the user gave them, the program's files, and what samples of the whole run say.
    """

    parameters: int | None = None
    bandwidth_gb_s: float | None = None
    source: ProgramSource | None = None
    account: RunAccount | None = None


class Question(msgspec.Struct, frozen=True, weakref=True):
    """What a metric function gets: the timeline and the user's settings."""

    run: RunSummary
    settings: Settings


Need = Callable[[RunSummary], object]
"""A requirement by name: raises MetricAbsent, with the reason, when the run lacks it.
"""


class Metric(msgspec.Struct, frozen=True):
    """A registered metric."""

    name: str
    unit: Unit
    about: str
    """Its public definition: one sentence or two."""
    better: Better
    scatter: Scatter
    compute: Callable[[Question], float]
    """Checks the needs, then answers. Raises MetricAbsent."""


class Fact(msgspec.Struct, frozen=True):
    """A registered text about the run that rules quote: a stage's name, a function's, a
    frame's.
    """

    name: str
    about: str
    find: Callable[[Question], str]
    """Checks the needs, then answers. Raises MetricAbsent."""


class Measured(msgspec.Struct, frozen=True):
    """One metric's outcome."""

    value: float | None
    """None when the trace cannot give it."""
    unit: Unit
    reason: str
    """Why there is no value, as the end of a sentence; "" with one."""
    about: str
    broken: bool = False
    """The function itself failed."""
    better: Better = Better.LESS
    scatter: Scatter = Scatter.FACTOR


_METRICS: dict[str, Metric] = {}
_FACTS: dict[str, Fact] = {}
PLACES = frozenset(f"{kind.label}_place" for kind in TimeClass)
"""Names by which rules ask where in the program a class of time is spent."""
_SCATTER = {
    Unit.FRACTION: Scatter.SHARE,
    Unit.COUNT: Scatter.EXACT,
    Unit.BYTES: Scatter.EXACT,
}
"""How metrics of a unit differ between runs unless they say otherwise; all other units
by factors.
"""
A = TypeVar("A", float, str)
Asked = Callable[[Question], A]


@overload
def metric(function: Asked[float], /) -> Asked[float]: ...
@overload
def metric(
    *,
    unit: Unit = ...,
    better: Better = ...,
    needs: tuple[Need, ...] = ...,
    scatter: Scatter | None = ...,
) -> Callable[[Asked[float]], Asked[float]]: ...
def metric(
    function: Asked[float] | None = None,
    /,
    *,
    unit: Unit = Unit.FRACTION,
    better: Better = Better.LESS,
    needs: tuple[Need, ...] = (),
    scatter: Scatter | None = None,
) -> Asked[float] | Callable[[Asked[float]], Asked[float]]:
    """Registers a function as the metric of its name; its docstring is the public
    definition. A bare `@metric` is a share of which less is better.

    needs: checked in their order before each call, by whomever. Raises ValueError for a
    name given twice, or without words.
    """

    def register(function: Asked[float]) -> Asked[float]:
        name, about = _name_and_about(function)
        checked = _after(needs, function)
        varies = scatter or _SCATTER.get(unit, Scatter.FACTOR)
        _METRICS[name] = Metric(name, unit, about, better, varies, checked)
        return checked

    return register if function is None else register(function)


@overload
def fact(function: Asked[str], /) -> Asked[str]: ...
@overload
def fact(*, needs: tuple[Need, ...]) -> Callable[[Asked[str]], Asked[str]]: ...
def fact(
    function: Asked[str] | None = None,
    /,
    *,
    needs: tuple[Need, ...] = (),
) -> Asked[str] | Callable[[Asked[str]], Asked[str]]:
    """Registers a function as the fact of its name, as `metric` does: `@fact`, or
    `@fact(needs=…)`.
    """

    def register(function: Asked[str]) -> Asked[str]:
        name, about = _name_and_about(function)
        checked = _after(needs, function)
        _FACTS[name] = Fact(name, about, checked)
        return checked

    return register if function is None else register(function)


def _name_and_about(function: Callable[[Question], object]) -> tuple[str, str]:
    name = function.__name__
    about = " ".join((function.__doc__ or "").split())
    if name in _METRICS or name in _FACTS:
        raise ValueError(f"{name} is registered twice")
    if not about and sys.flags.optimize < 2:  # PYTHONOPTIMIZE=2 leaves docstrings out
        raise ValueError(
            f"{name} has no docstring, which is its definition in the reference"
        )
    return name, about


def _after(needs: tuple[Need, ...], function: Asked[A]) -> Asked[A]:
    """The function, asked only where the needs are met."""
    if not needs:
        return function

    @wraps(function)
    def checked(question: Question) -> A:
        for need in needs:
            need(question.run)
        return function(question)

    return checked


def registered_metrics() -> Mapping[str, Metric]:
    """All metrics by name."""
    return _METRICS


def registered_facts() -> Mapping[str, Fact]:
    """All facts by name."""
    return _FACTS


class Metrics(Mapping[str, Measured]):
    """Every metric of one run. Facts are beside them: `fact(name)` gives the text, or
    None and `why_no_fact` the reason.
    """

    def __init__(
        self,
        values: Mapping[str, Measured],
        facts: Mapping[str, tuple[str | None, str]],
        broken: Sequence[tuple[str, str]] = (),
        places: Mapping[str, str] = {},
    ) -> None:
        """Facts map a name to (text, "") or (None, reason). broken: facts that failed,
        as (name, reason). places: as largest_places gives them."""
        self._places = places
        self._values = dict(values)
        self._facts = dict(facts)
        self._broken_facts = tuple(broken)

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

    def place(self, name: str) -> str:
        """Of a class of time, or of the op that a fact names: `save (train.py:42)`; ""
        where none is known.
        """
        return self._places.get(name, "") if name in PLACES else self.fact(name) or ""

    def why_no_fact(self, name: str) -> str:
        """Why a fact is absent."""
        return self._facts[name][1]

    def broken(self) -> list[tuple[str, str]]:
        """Metrics and facts whose function failed, each with what went wrong."""
        metrics = [
            (name, value.reason) for name, value in self._values.items() if value.broken
        ]
        return [*metrics, *self._broken_facts]

    def has_fact(self, name: str) -> bool:
        """Whether there is a fact of this name at all."""
        return name in self._facts


def measure(run: RunSummary, settings: Settings | None = None) -> Metrics:
    """Evaluates every registered metric and fact. One that raises anything but
    MetricAbsent is reported as broken.
    """
    question = Question(run, settings or Settings())
    values = {
        name: _measured(registered, question) for name, registered in _METRICS.items()
    }
    answers = {
        name: _told(registered.find, question) for name, registered in _FACTS.items()
    }
    facts = {name: (text, reason) for name, (text, reason, _) in answers.items()}
    broken = [(name, reason) for name, (_, reason, failed) in answers.items() if failed]
    places = largest_places(
        spent for host in run.hosts for spent in host.evidence.spent
    )
    return Metrics(values, facts, broken, places)


def _measured(registered: Metric, question: Question) -> Measured:
    value, reason, broken = _told(
        lambda asked: float(registered.compute(asked)), question
    )
    if value is not None and not math.isfinite(value):
        value = None
        reason = "broken: the result is not a finite number"
        broken = True
    return Measured(
        value,
        registered.unit,
        reason,
        registered.about,
        broken,
        registered.better,
        registered.scatter,
    )


def _told(ask: Asked[A], question: Question) -> tuple[A | None, str, bool]:
    """(the answer, why there is none, whether that is because the function failed)."""
    try:
        return ask(question), "", False
    except (MetricAbsent, SourceUnread) as absent:
        return None, str(absent), False
    except Exception as error:
        return None, f"broken: {type(error).__name__}: {error}", True


# Work that several metrics of one report share is done once.


Q = TypeVar("Q")
T = TypeVar("T")


def once(function: Callable[[Q], T]) -> Callable[[Q], T]:
    """Remembers the answer, or why there is none, to the question (or run) asked about
    last: a report asks about one.
    """
    held: list[tuple[weakref.ref[Q], T | None, str | None]] = []

    @wraps(function)
    def answer(question: Q) -> T:
        if not held or held[0][0]() is not question:
            found = None
            absent = None
            try:
                found = function(question)
            except MetricAbsent as error:
                absent = str(error)
            held[:] = [(weakref.ref(question), found, absent)]
        _, found, absent = held[0]
        if absent is not None:
            raise MetricAbsent(absent)
        return found  # type: ignore[return-value]

    return answer
