"""Short rounds that Python drives one by one, and that one compiled loop could do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.metrics.capture import framework
from tfadvisor.metrics.one_by_one import step_function
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import class_shares, counted_hosts, counted_steps
from tfadvisor.tallies import added_up
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.names.program_calls import jitted_function
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import ProgramSource, Rounds, RowByRow

_MOST_STEPS = 0.5
"""Of the counted steps, that a round is called in."""


class _Driven(NamedTuple):
    function: str
    rounds: Rounds


@once
def _driven(question: Question) -> _Driven:
    """Raises MetricAbsent."""
    source = _source_of_jax(question)
    functions = _functions(question, source)
    for function in functions:
        found = source.driven_rounds(function)
        if found is not None:
            return _Driven(function, found)
    raise MetricAbsent(f"no loop does nothing but rounds of {_any_of(functions)}")


def _source_of_jax(question: Question) -> ProgramSource:
    """Raises MetricAbsent for other programs, and without their files."""
    if framework(question) != "jax":
        raise MetricAbsent("the program is not written in JAX")
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    return source


def _any_of(functions: Sequence[str]) -> str:
    return " or ".join(functions) or "a compiled function"


def _functions(question: Question, source: ProgramSource) -> list[str]:
    """Compiled functions that may be the round: the step, else those of the program
    that most steps call, of few ops as they are after fusion.
    """
    step = step_function(question.run)
    if step is not None:
        return [step]
    hosts = counted_hosts(question.run)
    called = added_up(
        (jitted_function(name) or "", many)
        for host in hosts
        for name, many in host.evidence.calls.by_name.items()
    )
    often = _MOST_STEPS * counted_steps(hosts)
    named = sorted(name for name, many in called.items() if name and many >= often)
    return [name for name in named if source.defines(name)]


@fact
def driven_function(question: Question) -> str:
    """The compiled function that this loop calls in each round: `leap`."""
    return _driven(question).function


@metric
def driven_rounds_fraction(question: Question) -> float:
    """Share of step time in which no device works, but for what waits for input or
    compiles, where the program's source shows that the loop around the step does
    nothing but its rounds: each needs what the one before gave, and its number or a
    random key; what it collects is read by none. Of JAX alone.
    """
    _driven(question)
    return _without_work(question)


def _without_work(question: Question) -> float:
    """Share of step time in which no device works, but for input and compiling."""
    shares = class_shares(question.run)
    waits = (TimeClass.LAUNCH, TimeClass.HOST, TimeClass.IDLE)
    return sum(shares[kind] for kind in waits)


@fact
def driven_loop(question: Question) -> str:
    """That loop's first line, with the function around it: `sampler (train.py:28)`."""
    found = _driven(question).rounds
    return place_in_words(found.file, found.line, found.function or "the loop")


@fact
def driven_loop_lines(question: Question) -> str:
    """Its lines, six at most."""
    return _driven(question).rounds.lines


@fact
def driven_loop_collects(question: Question) -> str:
    """Whether it keeps or yields something of each round: yes or no."""
    return "yes" if _driven(question).rounds.collects else "no"


# Calls for one row each, which need nothing of each other.


class _OfRows(NamedTuple):
    file: str
    call: RowByRow


@once
def _of_rows(question: Question) -> _OfRows:
    """Raises MetricAbsent."""
    source = _source_of_jax(question)
    functions = _functions(question, source)
    for found in map(source.row_by_row, functions):
        if found is not None:
            return _OfRows(*found)
    raise MetricAbsent(
        f"no loop is known to call {_any_of(functions)} for one row after another"
    )


@metric
def row_calls_fraction(question: Question) -> float:
    """Share of step time in which no device works, but for what waits for input or
    compiles, where the program's source shows that a loop calls the step for one row
    after another, and that no call needs what another gave. Of JAX alone.
    """
    _of_rows(question)
    return _without_work(question)


@fact
def row_call_line(question: Question) -> str:
    """The line of that call: `train.py:40`."""
    found = _of_rows(question)
    return place_in_words(found.file, found.call.line, "")


@fact
def row_call_loop(question: Question) -> str:
    """The head of the loop: `for x, y in zip(xs, ys)`."""
    return _of_rows(question).call.head


@fact
def row_call_function(question: Question) -> str:
    """What is called, as the program writes it: `predict`."""
    return _of_rows(question).call.called


@fact
def row_call_axes(question: Question) -> str:
    """Which of its arguments are rows, for jax.vmap: `(None, 0)`."""
    return _of_rows(question).call.axes


@fact
def row_call_arguments(question: Question) -> str:
    """What one call for all gets: `model, xs`."""
    return _of_rows(question).call.arguments
