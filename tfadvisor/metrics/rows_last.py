"""Python that copies all rows of an array in each step, to take some of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_device, class_shares
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.vocabulary import Better, TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import RunPlace, RunShare
    from tfadvisor.causes.rows_last import RowsLast


class Found(msgspec.Struct, frozen=True):
    """The line that copies, and where its rows are taken."""

    fraction: float
    of_pipeline: float
    """Of the time that a pipeline's threads spend in Python; 0 for the loop's."""
    place: RunPlace
    known: RowsLast


@once
def _rows_last(question: Question) -> Found:
    """Of the lines that do so the costliest. Raises MetricAbsent."""
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    lines = sorted(_lines(question), key=lambda line: -line[0])
    for fraction, share, place, calls in lines:
        callers = [
            by.line
            for callee, by in (call.places for call in calls)
            if (callee.file, callee.function, by.file)
            == (place.file, place.function, place.file)
        ]
        known = source.rows_last(place.file, place.line, callers)
        if known is not None:
            return Found(fraction, share, place, known)
    raise MetricAbsent("no line is known to copy all rows of which some are taken")


def _lines(
    question: Question,
) -> Iterator[tuple[float, float, RunPlace, tuple[RunShare, ...]]]:
    """(share of the steps, of a pipeline's Python, line, which calls there are). Of the
    loop no more than the trace has of such time; of a pipeline as far as the step waits
    for it.
    """
    account = question.settings.account
    if account is None:
        return
    shares = class_shares(question.run)
    most = shares[TimeClass.HOST] + shares[TimeClass.INPUT]
    for share in account.python_at:
        yield min(share.fraction, most), 0.0, share.places[0], account.calls
    if account.pipeline is not None:
        for share in account.pipeline.lines:
            of_steps = share.fraction * shares[TimeClass.INPUT]
            calls = account.pipeline.calls
            yield of_steps, share.fraction, share.places[0], calls


@metric(needs=(a_device,))
def rows_last_fraction(question: Question) -> float:
    """Share of step time in which no device works while Python is on a line that
    selects columns of all rows of an array by a list, which copies them, where by the
    source only some rows of the result are then taken. By samples of the run; of an
    input pipeline as far as the step waits for it.
    """
    return _rows_last(question).fraction


@metric(better=Better.NEITHER)
def rows_last_pipeline_share(question: Question) -> float:
    """Share of that line in the time that an input pipeline's threads spend in Python;
    0 where the thread that dispatches the steps runs it.
    """
    return _rows_last(question).of_pipeline


@fact
def rows_last_line(question: Question) -> str:
    """That line: `columns (train.py:20)`."""
    place = _rows_last(question).place
    return place_in_words(place.file, place.line, place.function)


@fact
def rows_last_columns(question: Question) -> str:
    """The selection of columns: `self.values[:, [3, 4]]`."""
    return _rows_last(question).known.columns


@fact
def rows_last_rows(question: Question) -> str:
    """What takes the rows: `table.columns(names).rows(index)`."""
    return _rows_last(question).known.rows


@fact
def rows_last_place(question: Question) -> str:
    """Where these are taken: `__getitem__ (train.py:62)`."""
    known = _rows_last(question).known
    return place_in_words(known.file, known.line, known.function)
