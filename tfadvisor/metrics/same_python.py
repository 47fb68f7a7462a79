"""Functions of the program that Python runs again and again in the steps, or in an
input pipeline, with the same result each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_device, class_shares
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import RunPlace, SameAgain

_LEAST = 0.05
"""Of the step; below it nobody asks the source."""


class _Call(NamedTuple):
    """A function of the program and what it takes."""

    fraction: float
    """Of step time."""
    function: RunPlace
    caller: RunPlace
    where: str


class _Same(NamedTuple):
    """One that gives the same each time."""

    at: _Call
    known: SameAgain


@once
def _same(question: Question) -> _Same:
    """Of those that take a twentieth of the step the largest. Raises MetricAbsent."""
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    calls = [call for call in _calls(question) if call.fraction >= _LEAST]
    for call in sorted(calls, key=lambda call: -call.fraction):
        place, by = call.function, call.caller
        named = place.file, place.line, place.function
        known = source.same_again(named, (by.file, by.line))
        if known is not None:
            return _Same(call, known)
    raise MetricAbsent(
        "by the source no function that takes a twentieth of the step gives the same "
        "each time"
    )


def _calls(question: Question) -> Iterator[_Call]:
    """Of the loop no more than the trace has of such time while no device works; of a
    pipeline as far as the step waits for it.
    """
    account = question.settings.account
    if account is None:
        return
    shares = class_shares(question.run)
    of_python = shares[TimeClass.HOST] + shares[TimeClass.INPUT]
    for share in account.calls:
        place, by = share.places
        yield _Call(min(share.fraction, of_python), place, by, "loop")
    for share in () if account.pipeline is None else account.pipeline.calls:
        place, by = share.places
        fraction = share.fraction * shares[TimeClass.INPUT]
        yield _Call(fraction, place, by, "pipeline")


@metric(needs=(a_device,))
def same_python_fraction(question: Question) -> float:
    """Share of step time in which no device works while Python is in the function of
    the program that takes most of those which, by the source, give the same in each
    call: with all that it calls, by samples of the run. Of an input pipeline that share
    of its Python, as far as the step waits for input. Functions below a twentieth of
    the step do not count.
    """
    return _same(question).at.fraction


@metric(needs=(a_device,))
def same_python_share(question: Question) -> float:
    """Share of that time in all of the step's time of Python and of input in which no
    device works, where the thread that dispatches the steps calls that function.
    """
    at = _same(question).at
    if at.where != "loop":
        raise MetricAbsent(f"an input pipeline calls {at.function.function}")
    shares = class_shares(question.run)
    return at.fraction / (shares[TimeClass.HOST] + shares[TimeClass.INPUT])


@fact
def same_python_call(question: Question) -> str:
    """That call, as the program writes it: `mel_filters()`."""
    return _same(question).known.call


@fact
def same_python_kind(question: Question) -> str:
    """What is called: property, method, function, or bare, a function without
    arguments.
    """
    known = _same(question).known
    is_bare = known.kind == "function" and known.is_bare
    return "bare" if is_bare else known.kind


@fact
def same_python_where(question: Question) -> str:
    """What calls it: loop, the thread that dispatches the steps, or pipeline."""
    return _same(question).at.where


@fact
def same_python_function(question: Question) -> str:
    """The name of that function: `mel_filters`."""
    return _same(question).known.name


@fact
def same_python_head(question: Question) -> str:
    """How the source begins it: `def mel_filters():`."""
    return _same(question).known.head


@fact
def same_python_line(question: Question) -> str:
    """The line that calls it: `features (train.py:49)`."""
    by = _same(question).at.caller
    return place_in_words(by.file, by.line, by.function)


@fact
def same_python_place(question: Question) -> str:
    """The line of that function that takes most: `mel_filters (train.py:36)`."""
    place = _same(question).at.function
    return place_in_words(place.file, place.line, place.function)
