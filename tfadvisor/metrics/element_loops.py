"""Loops of the program's own that go through elements in Python within the steps."""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.causes import RunShare
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_device, class_shares
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.units import Unit
from tfadvisor.vocabulary import TimeClass


@once
def _in_loops(question: Question) -> Sequence[tuple[RunShare, str]]:
    """(a line, the head of the loop that it is in), most time first. Raises
    MetricAbsent.
    """
    account, source = question.settings.account, question.settings.source
    if account is None or source is None:
        raise MetricAbsent("samples of the run, or the program's files, are not there")
    found = []
    for share in account.python_at:
        (place,) = share.places
        loop = source.element_loop(place.file, place.line)
        if loop:
            found.append((share, loop))
    if not found:
        raise MetricAbsent("no line in a loop over elements is seen in the steps")
    return found


@metric(unit=Unit.FRACTION, needs=(a_device,))
def element_loop_fraction(question: Question) -> float:
    """For how much of step time at most no device works while Python of the program or
    NumPy runs on lines that lie in a loop of their function, which calls nothing
    compiled: what samples of the whole run find there, and no more than the trace has
    of Python and of input while no device works.
    """
    of_run = sum(share.fraction for share, _ in _in_loops(question))
    shares = class_shares(question.run)
    return min(of_run, shares[TimeClass.HOST] + shares[TimeClass.INPUT])


@fact
def element_loop(question: Question) -> str:
    """The head of the loop whose line takes most of that: `for j in range(i, n)`."""
    return _in_loops(question)[0][1]


@fact
def element_loop_line(question: Question) -> str:
    """That line: `make_problem (train.py:18)`."""
    place = _in_loops(question)[0][0].places[0]
    return place_in_words(place.file, place.line, place.function)
