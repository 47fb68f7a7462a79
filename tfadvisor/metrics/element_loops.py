"""Loops of the program's own that go through elements in Python within the steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.metrics.python_time import lines_that_call, of_python
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_device, class_shares
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import ProgramSource, RunPlace, RunShare


class _InLoop(NamedTuple):
    """A line of the program that runs for each element of a loop."""

    fraction: float
    place: RunPlace
    head: str
    """Of that loop, which may call the function of the line."""


@once
def _of_loop(question: Question) -> Sequence[_InLoop]:
    """Of the thread that dispatches the steps, most time first; fractions of the steps.
    Raises MetricAbsent.
    """
    account, source = question.settings.account, question.settings.source
    if account is None or source is None:
        raise MetricAbsent("samples of the run, or the program's files, are not there")
    found = []
    for share in account.python_at:
        (place,) = share.places
        loop = source.element_loop(place.file, place.line) or next(
            (
                source.element_loop(by.file, by.line)
                for by in lines_that_call(account.calls, place)
                if source.calling_loop(by.file, by.line, place.function)
            ),
            "",
        )
        if loop:
            found.append(_InLoop(share.fraction, place, loop))
    return found


@once
def _of_pipeline(question: Question) -> Sequence[_InLoop]:
    """Of the threads of an input pipeline, where the source shows that they go through
    single numbers; fractions of these threads' time in Python. Raises MetricAbsent.
    """
    account, source = question.settings.account, question.settings.source
    if account is None or account.pipeline is None or source is None:
        raise MetricAbsent("no samples of a pipeline that runs Python lie beside it")
    pipeline = account.pipeline
    return [
        _InLoop(share.fraction, place, loop)
        for share in pipeline.lines
        for place in share.places
        if (loop := _loop_in_pipeline(source, place, pipeline.calls))
    ]


def _loop_in_pipeline(
    source: ProgramSource, place: RunPlace, calls: Sequence[RunShare]
) -> str:
    own = source.loop_of_numbers(place.file, place.line)
    called = (
        source.calling_loop(by.file, by.line, place.function)
        for by in lines_that_call(calls, place)
    )
    return own or next(filter(None, called), "")


@once
def _in_loops(question: Question) -> Sequence[_InLoop]:
    """Of both, as shares of the steps: of a pipeline as far as these wait for it. Most
    time first. Raises MetricAbsent.
    """
    waits = class_shares(question.run)[TimeClass.INPUT]
    found = [*_of_loop(question)]
    if question.settings.account is not None and question.settings.account.pipeline:
        found += [
            each._replace(fraction=each.fraction * waits)
            for each in _of_pipeline(question)
        ]
    if not found:
        raise MetricAbsent("no line in a loop over elements is seen in the steps")
    return sorted(found, key=lambda each: -each.fraction)


@metric(unit=Unit.FRACTION, needs=(a_device,))
def element_loop_fraction(question: Question) -> float:
    """For how much of step time at most no device works while Python of the program or
    NumPy runs on lines that lie in a loop of their function, which calls nothing
    compiled, or in a function of single numbers that such a loop calls: what samples of
    the whole run find there, and no more than the trace has of Python and of input
    while no device works. Of an input pipeline's Python that share in loops over single
    numbers, as far as the steps wait for input.
    """
    of_run = sum(each.fraction for each in _in_loops(question))
    return min(of_run, of_python(question))


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def pipeline_loop_share(question: Question) -> float:
    """Of the time that an input pipeline's threads spend in Python, the share of lines
    in loops that, by the source, go through single numbers. By samples of the run.
    """
    return sum(each.fraction for each in _of_pipeline(question))


@fact
def element_loop(question: Question) -> str:
    """The head of the loop whose line takes most of that: `for j in range(i, n)`."""
    return _in_loops(question)[0].head


@fact
def element_loop_line(question: Question) -> str:
    """That line: `make_problem (train.py:18)`."""
    place = _in_loops(question)[0].place
    return place_in_words(place.file, place.line, place.function)
