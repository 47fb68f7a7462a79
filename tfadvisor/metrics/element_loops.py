"""Loops of the program's own that go through elements in Python within the steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.metrics.python_time import held_up_by_python, lines_that_call
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_device, class_shares
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import ProgramSource, RunPlace, RunShare
    from tfadvisor.causes.range_index import RangeIndex


class _InLoop(NamedTuple):
    """A line of the program that runs for each element of a loop."""

    fraction: float
    place: RunPlace
    head: str
    """Of that loop, which may call the function of the line."""
    by: RunPlace | None = None
    """The line of the loop that calls that function, or another one that does."""


_LoopAround = Callable[[str, int], str]
"""(file, line) -> the head of the loop around that line in its function, "" for none.
"""


@once
def _of_loop(question: Question) -> Sequence[_InLoop]:
    """Of the thread that dispatches the steps, most time first; fractions of the steps.
    Raises MetricAbsent.
    """
    account, source = question.settings.account, question.settings.source
    if account is None or source is None:
        raise MetricAbsent("samples of the run, or the program's files, are not there")
    around = source.element_loop
    return _lines_in_loops(source, account.python_at, account.calls, around, around)


@once
def _of_pipeline(question: Question) -> Sequence[_InLoop]:
    """Of the threads of an input pipeline, where the source shows that they go through
    single numbers; fractions of these threads' time in Python. Raises MetricAbsent.
    """
    account, source = question.settings.account, question.settings.source
    if account is None or account.pipeline is None or source is None:
        raise MetricAbsent("no samples of a pipeline that runs Python lie beside it")
    lines, calls = account.pipeline.lines, account.pipeline.calls
    own, calling = source.loop_of_numbers, source.calling_loop
    return _lines_in_loops(source, lines, calls, own, calling)


def _lines_in_loops(
    source: ProgramSource,
    lines: Sequence[RunShare],
    calls: Sequence[RunShare],
    own: _LoopAround,
    calling: _LoopAround,
) -> list[_InLoop]:
    """own: the loop around a line itself. calling: around one that calls its
    function.
    """
    found = []
    for share in lines:
        for place in share.places:
            head = own(place.file, place.line)
            by = None if head else _caller(source, calls, place, calling)
            if by is not None:
                head = calling(by.file, by.line)
            if head:
                found.append(_InLoop(share.fraction, place, head, by))
    return found


def _caller(
    source: ProgramSource,
    calls: Sequence[RunShare],
    place: RunPlace,
    calling: _LoopAround,
) -> RunPlace | None:
    """The line in a loop that calls the function of a line, or one that calls that, all
    of single numbers; None for none.
    """
    callees = [place]
    for callee in callees:
        if not source.is_of_numbers(callee.file, callee.line):
            continue
        for by in lines_that_call(calls, callee):
            if calling(by.file, by.line):
                return by
            if not any(by.function == known.function for known in callees):
                callees.append(by)
    return None


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
    """How much of step time at most Python of the program or NumPy holds up on lines
    that lie in a loop of their function, which calls nothing compiled, or in a function
    of single numbers that such a loop calls: what samples of the whole run find there,
    and no more than Python can hold up. Of an input pipeline's Python that share in
    loops over single numbers, as far as the steps wait for input.
    """
    of_run = sum(each.fraction for each in _in_loops(question))
    return min(of_run, held_up_by_python(question))


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


@fact
def element_loop_caller(question: Question) -> str:
    """The line of that loop that calls the function of that line, where it lies in one:
    `update (train.py:52)`.
    """
    by = _in_loops(question)[0].by
    if by is None:
        raise MetricAbsent("that line lies in the loop itself")
    return place_in_words(by.file, by.line, by.function)


@fact
def element_loop_callee(question: Question) -> str:
    """The function of that line, where the loop calls it and it goes on from each
    element to others, as up a tree: `__setitem__`.
    """
    first, source = _in_loops(question)[0], question.settings.source
    place = first.place
    if first.by is None or not place.function or source is None:
        raise MetricAbsent("that line lies in the loop itself")
    if not source.goes_on(place.file, place.line):
        raise MetricAbsent("that function goes through no others by itself")
    return place.function


def _range_index(question: Question) -> RangeIndex:
    """On that line. Raises MetricAbsent."""
    place, source = _in_loops(question)[0].place, question.settings.source
    known = source.range_index(place.file, place.line) if source else None
    if known is None:
        raise MetricAbsent("that line indexes by no range")
    return known


@fact
def range_indexed(question: Question) -> str:
    """What that line takes by an index for each number of a range: `data[rows]`."""
    return _range_index(question).taken


@fact
def range_of_index(question: Question) -> str:
    """That range: `range(i - n, i)`."""
    return _range_index(question).range


@fact
def range_as_slice(question: Question) -> str:
    """The slice that takes the same: `data[i - n:i]`."""
    return _range_index(question).slice
