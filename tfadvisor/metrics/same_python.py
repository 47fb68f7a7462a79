"""Functions of the program that Python runs again and again in the steps, or in an
input pipeline, with the same result each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.metrics.python_time import InPython, of_python, python_calls
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_device
from tfadvisor.timeline.names.frames import place_in_words

if TYPE_CHECKING:
    from tfadvisor.causes import SameAgain

_LEAST = 0.05
"""Of the step; below it nobody asks the source."""


class _Same(NamedTuple):
    """A function that gives the same each time."""

    at: InPython
    known: SameAgain


@once
def _same(question: Question) -> _Same:
    """Of those that take a twentieth of the step the largest. Raises MetricAbsent."""
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    calls = [call for call in python_calls(question) if call.fraction >= _LEAST]
    for call in sorted(calls, key=lambda call: -call.fraction):
        place, by = call.share.places
        named = place.file, place.line, place.function
        known = source.same_again(named, (by.file, by.line))
        if known is not None:
            return _Same(call, known)
    raise MetricAbsent(
        "by the source no function that takes a twentieth of the step gives the same "
        "each time"
    )


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
    if not at.is_of_loop:
        raise MetricAbsent(f"an input pipeline calls {at.share.places[0].function}")
    return at.fraction / of_python(question)


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
    return "loop" if _same(question).at.is_of_loop else "pipeline"


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
    by = _same(question).at.share.places[1]
    return place_in_words(by.file, by.line, by.function)


@fact
def same_python_place(question: Question) -> str:
    """The line of that function that takes most: `mel_filters (train.py:36)`."""
    place = _same(question).at.share.places[0]
    return place_in_words(place.file, place.line, place.function)
