"""Results that the loop reads in each round, though no later step needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes import WAITING
from tfadvisor.metrics.capture import framework
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_device, class_shares
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import ReadEachRound, RunPlace


class _Read(NamedTuple):
    share: float
    """Of the steps' time, in which the main thread waits on this line."""
    place: RunPlace
    known: ReadEachRound


@once
def _read(question: Question) -> _Read:
    """Raises MetricAbsent."""
    if framework(question) != "jax":
        raise MetricAbsent("the program is not written in JAX")
    account, source = question.settings.account, question.settings.source
    if account is None or source is None:
        raise MetricAbsent("samples of the run, or the program's files, are not there")
    steps = account.parts[0]
    for part in steps.statements:
        waits = [share for share in (part, *part.parts) if share.what == WAITING]
        if not waits or not part.places:
            continue
        place = part.places[0]
        known = source.read_each_round(place.file, place.line)
        if known is not None:
            return _Read(waits[0].fraction / steps.fraction, place, known)
    raise MetricAbsent(
        "no line of the loop is seen to wait for what no later step of it needs"
    )


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def result_wait_share(question: Question) -> float:
    """Share of the steps' time in which the main thread waits on one line of the loop
    for a result of its step, where by the program's source the next round may begin
    without it: no step is given it, and nothing in the loop asks for it but once in N
    rounds. By samples of the run, of JAX alone.
    """
    return _read(question).share


@metric(unit=Unit.FRACTION, needs=(a_device,))
def result_read_fraction(question: Question) -> float:
    """For how much of step time at most no device works since the host waits so: as
    much as that, and no more than the trace has without work of a device, but for what
    waits for input or compiles.
    """
    shares = class_shares(question.run)
    waits = (TimeClass.LAUNCH, TimeClass.HOST, TimeClass.IDLE)
    return min(_read(question).share, sum(shares[kind] for kind in waits))


@fact
def result_read(question: Question) -> str:
    """What waits there: `jax.device_get(loss)`."""
    return _read(question).known.read


@fact
def result_read_statement(question: Question) -> str:
    """The statement around it: `losses.append(jax.device_get(loss))`."""
    return _read(question).known.statement


@fact
def result_read_place(question: Question) -> str:
    """Its line: `run (train.py:65)`."""
    place = _read(question).place
    return place_in_words(place.file, place.line, place.function)


@fact
def result_kept(question: Question) -> str:
    """The statement without reading, where it only keeps what it reads:
    `losses.append(loss)`.
    """
    return _kept(question)[0]


@fact
def result_holder(question: Question) -> str:
    """What keeps it: `losses`."""
    return _kept(question)[1]


def _kept(question: Question) -> tuple[str, str]:
    known = _read(question).known
    if not known.kept:
        raise MetricAbsent("the line does more than keep what it reads")
    return known.kept, known.holder
