"""What Python of the loop makes for its step, by samples of the whole run and by the
program's own lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.causes import WAITING, RunPart
from tfadvisor.metrics.python_time import held_up_by_python, sets_the_pace
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_device, class_shares, counted_hosts, spent
from tfadvisor.timeline.host import HostCost
from tfadvisor.vocabulary import TimeClass

_MOSTLY = 0.5
"""Of a statement's time in Python, below which it runs or calls what is compiled."""


@once
def _making(question: Question) -> Sequence[tuple[RunPart, float]]:
    """The loop's statements that make what its step takes, with their shares of the
    steps' time, the largest first. Raises MetricAbsent.
    """
    account, source = question.settings.account, question.settings.source
    if account is None or source is None:
        raise MetricAbsent("samples of the run, or the program's files, are not there")
    steps = account.parts[0]
    known = [share for share in steps.statements if _may_make(share)]
    step_lines = frozenset(
        share.places[0].line
        for share in known
        if share.in_python < _MOSTLY * share.fraction
    )
    found = []
    for share in known:
        place = share.places[0]
        if share.in_python and source.can_be_made_ahead(
            place.file, place.line, share.what, step_lines
        ):
            found.append((share, share.in_python / steps.fraction))
    if not found:
        raise MetricAbsent("no line of the loop is known to make what the step takes")
    return sorted(found, key=lambda making: -making[1])


def _may_make(share: RunPart) -> bool:
    """Of a statement; one that waits for the devices may wait for the step."""
    return bool(share.places) and share.what != WAITING


def share_of_arguments(question: Question) -> float:
    """Of the steps' time, whatever the devices do meanwhile; 0 where none is known."""
    try:
        return sum(fraction for _, fraction in _making(question))
    except MetricAbsent:
        return 0.0


@metric(needs=(a_device,))
def argument_python_fraction(question: Question) -> float:
    """How much of step time at most Python of the loop holds up while it makes an
    argument of the step, of nothing that a step gives: what samples of the whole run
    find on such lines of the program, and no more than the trace has of Python while no
    device works, or than Python can hold up where nothing waits for the devices. Nobody
    knows how far both are at the same time.
    """
    of_run = sum(fraction for _, fraction in _making(question))
    in_batches = spent(counted_hosts(question.run), HostCost.BATCH_PYTHON)
    shares = class_shares(question.run)
    idle = shares[TimeClass.HOST] + min(in_batches, shares[TimeClass.INPUT])
    if sets_the_pace(question):
        idle = held_up_by_python(question)
    return min(of_run, idle)


@fact
def argument_line(question: Question) -> str:
    """The line of the loop that takes most of that time: `main (train.py:42)`."""
    return _making(question)[0][0].places[0].words


@fact
def argument_code(question: Question) -> str:
    """What stands on that line: `batch = augment(images[rows])`."""
    return _making(question)[0][0].places[0].text
