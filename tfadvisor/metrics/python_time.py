"""Which lines and functions of the program take the steps' time in Python, by samples
of the run: of the loop, and of the threads of an input pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes import WAITING
from tfadvisor.metrics.registry import Question
from tfadvisor.metrics.steady import class_shares
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import RunPlace, RunShare


class InPython(NamedTuple):
    """A line, or a function with all that it calls."""

    fraction: float
    """Of step time, at most: of the loop no more than Python can hold up there, of a
    pipeline as far as the steps wait for it.
    """
    share: RunShare
    """Of the steps, or of the time that the pipeline's threads spend in Python."""
    calls: tuple[RunShare, ...]
    """The program's functions that come there again and again."""
    is_of_loop: bool
    """Whether the thread that dispatches the steps runs it."""


def of_python(question: Question) -> float:
    """Share of step time of Python and of input, in which no device works."""
    shares = class_shares(question.run)
    return shares[TimeClass.HOST] + shares[TimeClass.INPUT]


_WAITS = 0.05
"""Of the steps. A thread that dispatches and waits for the devices for longer: what it
does before may be hidden then.
"""
_OPEN = (TimeClass.HOST, TimeClass.INPUT, TimeClass.LAUNCH, TimeClass.IDLE)


def held_up_by_python(question: Question) -> float:
    """Share of step time, at most, that Python of the thread that dispatches can hold
    up: that in which no device works while it runs. A thread of JAX that hardly waits
    for the devices is what the step waits for, so its Python takes its time whatever
    they work on meanwhile: then all time in which no device works, nor anything
    compiles.
    """
    if not sets_the_pace(question):
        return of_python(question)
    shares = class_shares(question.run)
    return float(sum(shares[each] for each in _OPEN))


def sets_the_pace(question: Question) -> bool:
    """Whether the steps dispatch ahead, as JAX's do, and hardly wait for the devices,
    in them or behind them.
    """
    account = question.settings.account
    if account is None or question.run.hosts[0].capture.framework != "jax":
        return False
    steps, *others = account.lasting.parts
    waits = sum(part.fraction for part in others if part.what == WAITING)
    waits += sum(part.fraction for part in steps.statements if part.what == WAITING)
    return waits < _WAITS * steps.fraction


def python_lines(question: Question) -> Iterator[InPython]:
    """The program's innermost lines; none without samples."""
    account = question.settings.account
    if account is not None:
        yield from _of_loop(question, account.python_at, account.calls)
        if account.pipeline is not None:
            pipeline = account.pipeline
            yield from _of_pipeline(question, pipeline.lines, pipeline.calls)


def lines_that_call(calls: Sequence[RunShare], place: RunPlace) -> Iterator[RunPlace]:
    """The lines that call the function of a line."""
    for call in calls:
        callee, by = call.places
        if (callee.file, callee.function) == (place.file, place.function):
            yield by


def _of_loop(
    question: Question, shares: Sequence[RunShare], calls: tuple[RunShare, ...]
) -> Iterator[InPython]:
    most = held_up_by_python(question)
    for share in shares:
        yield InPython(min(share.fraction, most), share, calls, is_of_loop=True)


def _of_pipeline(
    question: Question, shares: Sequence[RunShare], calls: tuple[RunShare, ...]
) -> Iterator[InPython]:
    waits = class_shares(question.run)[TimeClass.INPUT]
    for share in shares:
        yield InPython(share.fraction * waits, share, calls, is_of_loop=False)
