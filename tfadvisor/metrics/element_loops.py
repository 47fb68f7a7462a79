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
    from tfadvisor.causes.costly_calls import MadeCall
    from tfadvisor.causes.range_index import RangeIndex
    from tfadvisor.causes.rows_at_once import RowsAtOnce


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
    of single numbers; or that calls it for one row after another, where NumPy can do
    all at once. None for none.
    """
    for by in lines_that_call(calls, place):
        rows = source.rows_at_once(by.file, by.line)
        if rows is not None and rows.called == place.function:
            return by
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


# What the same costs less by, where the source shows it.


class _Change(NamedTuple):
    words: str
    before: str
    after: str
    cost: str


@once
def _change(question: Question) -> _Change:
    """Of the loop whose line takes most. Raises MetricAbsent."""
    first, source = _in_loops(question)[0], question.settings.source
    by = first.by or first.place
    if source is None:
        raise MetricAbsent("the program's files are not there")
    made = source.costly_call(first.place.file, first.place.line, "host")
    if made is not None and made.own and made.known.calls[0] in _SEARCHES:
        return _of_search(first, made)
    rows = source.rows_at_once(by.file, by.line)
    if rows is not None:
        return _of_rows(rows, by)
    index = source.range_index(first.place.file, first.place.line)
    if index is None:
        raise MetricAbsent("the source does not show that other operations do the same")
    return _of_range(first, index)


_SEARCHES = ("list.index()", "x in list")
"""As costly_calls.yaml has them."""


def _of_search(first: _InLoop, made: MadeCall) -> _Change:
    return _Change(
        f"`{made.words}` on {first.place.words}: {made.known.why}. {made.known.change} "
        "Are the same elements looked up again in later steps, as in each epoch? Then "
        "do it once for all, before the loop.",
        f"{first.head}:\n    {made.words}                # goes through the list",
        made.own,
        made.known.cost,
    )


def _of_rows(rows: RowsAtOnce, by: RunPlace) -> _Change:
    loop = place_in_words(by.file, rows.loop_line, rows.loop)
    return _Change(
        f"{loop} calls `{rows.call}` in each round, on small arrays: a call of NumPy "
        "costs as much on one row as on hundreds. No round makes what it is given, so "
        "compute it for all rows in one call, before the loop, and look the results "
        "up.",
        f"{rows.loop}:\n    {rows.call}",
        rows.once,
        "Sums in another order differ in the last digits.",
    )


def _of_range(first: _InLoop, index: RangeIndex) -> _Change:
    return _Change(
        f"`{index.taken}` is indexed by a range of Python, `{index.range}`, of which "
        "NumPy makes an array of indexes, number by number. Take a slice, "
        f"`{index.slice}`, or all rows at once: of all windows, which are a view, "
        "those that begin where they shall.",
        f"{first.head}:\n    {index.taken}",
        f"{index.slice}                           # no index for each number\n"
        "# or all rows at once, without the loop\n"
        "windows = np.lib.stride_tricks.sliding_window_view(data, length, axis=0)\n"
        "samples = windows[rows - length]",
        "A slice that begins below 0 takes other rows than such a range. The axis of "
        "the window comes last in the view.",
    )


@fact
def element_change(question: Question) -> str:
    """What costs less than that loop, where the program's source shows what it does: it
    searches a list, calls a function of NumPy's operations for one row after another,
    or indexes by a range.
    """
    return _change(question).words


@fact
def element_change_before(question: Question) -> str:
    """The same as the program has it."""
    return _change(question).before


@fact
def element_change_after(question: Question) -> str:
    """The same as it costs less, in the program's own names."""
    return _change(question).after


@fact
def element_change_cost(question: Question) -> str:
    """What that costs or alters besides."""
    return _change(question).cost


@fact
def list_searched(question: Question) -> str:
    """What the line that takes most of such loops looks up in a list, which goes
    through its elements one by one: `vocabulary.index(word)`.
    """
    place, source = _in_loops(question)[0].place, question.settings.source
    made = source.costly_call(place.file, place.line, "host") if source else None
    if made is None or not made.own or made.known.calls[0] not in _SEARCHES:
        raise MetricAbsent("that line searches no list of the program's")
    return made.words
