"""Runs of a session that one round makes with the same feeds, by samples and source."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.metrics.capture import framework
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.units import Unit

if TYPE_CHECKING:
    from tfadvisor.causes import RunPart, RunPlace, SessionRuns


class _Runs(NamedTuple):
    known: SessionRuns
    place: RunPlace
    """Of the second largest."""
    shares: tuple[float, ...]
    """Of the steps, the largest first."""


@once
def _runs(question: Question) -> _Runs:
    """Raises MetricAbsent."""
    account, source = question.settings.account, question.settings.source
    if framework(question) != "tensorflow" or account is None or source is None:
        raise MetricAbsent("no samples and files of a program of TensorFlow are there")
    steps = account.parts[0]
    for part in steps.statements:
        place = next(iter(part.places), None)
        known = None if place is None else source.session_runs(place.file, place.line)
        if known is None or place is None:
            continue
        mine = [each for each in steps.statements if _is_one(each, place, known)]
        if len(mine) > 1:
            shares = tuple(each.fraction / steps.fraction for each in mine)
            return _Runs(known, mine[1].places[0], shares)
    raise MetricAbsent("no round is seen in several runs of a session with equal feeds")


def _is_one(part: RunPart, place: RunPlace, known: SessionRuns) -> bool:
    at = next(iter(part.places), None)
    return (
        at is not None
        and at.file == place.file
        and any(first <= at.line <= last for first, last in known.lines)
    )


@metric(unit=Unit.FRACTION)
def repeated_runs_share(question: Question) -> float:
    """Share of the steps' time in runs of a session that a round makes beside the
    longest one with the same feeds, of TensorFlow 1: each computes again what it needs.
    By samples of the run and the program's source.
    """
    return sum(_runs(question).shares[1:])


@metric(unit=Unit.COUNT)
def repeated_runs(question: Question) -> float:
    """How many runs of a session a round makes with the same feeds."""
    return float(len(_runs(question).known.lines))


@fact
def repeated_runs_place(question: Question) -> str:
    """The line of the second longest: `train (train.py:64)`."""
    place = _runs(question).place
    return place_in_words(place.file, place.line, place.function)


@fact
def repeated_runs_shown(question: Question) -> str:
    """The first two, a line each."""
    return _runs(question).known.shown


@fact
def repeated_runs_together(question: Question) -> str:
    """One run that fetches the same."""
    return _runs(question).known.together
