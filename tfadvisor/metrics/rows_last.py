"""Python that copies all rows of an array in each step, to take some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tfadvisor.metrics.python_time import InPython, lines_that_call, python_lines
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_device
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.vocabulary import Better

if TYPE_CHECKING:
    from tfadvisor.causes import RunPlace
    from tfadvisor.causes.rows_last import RowsLast


class Found(msgspec.Struct, frozen=True):
    """The line that copies, and where its rows are taken."""

    line: InPython
    known: RowsLast

    @property
    def place(self) -> RunPlace:
        """Of that line."""
        return self.line.share.places[0]


@once
def _rows_last(question: Question) -> Found:
    """Of the lines that do so the costliest. Raises MetricAbsent."""
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    for line in sorted(python_lines(question), key=lambda line: -line.fraction):
        place = line.share.places[0]
        callers = [
            by.line
            for by in lines_that_call(line.calls, place)
            if by.file == place.file
        ]
        known = source.rows_last(place.file, place.line, callers)
        if known is not None:
            return Found(line, known)
    raise MetricAbsent("no line is known to copy all rows of which some are taken")


@metric(needs=(a_device,))
def rows_last_fraction(question: Question) -> float:
    """Share of step time in which no device works while Python is on a line that
    selects columns of all rows of an array by a list, which copies them, where by the
    source only some rows of the result are then taken. By samples of the run; of an
    input pipeline as far as the step waits for it.
    """
    return _rows_last(question).line.fraction


@metric(better=Better.NEITHER)
def rows_last_pipeline_share(question: Question) -> float:
    """Share of that line in the time that an input pipeline's threads spend in Python;
    0 where the thread that dispatches the steps runs it.
    """
    line = _rows_last(question).line
    return 0.0 if line.is_of_loop else line.share.fraction


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
