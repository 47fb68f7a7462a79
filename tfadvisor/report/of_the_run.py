"""Where the run goes, in words that all forms share."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tfadvisor.advice.findings import CaptureNote
from tfadvisor.causes import WAITING, RunAccount, RunPart, RunPlace, RunShare
from tfadvisor.printable import cut, one_line
from tfadvisor.report.model import Report, StepsInfo
from tfadvisor.units import duration, percent

RUN = "Where the run goes"
_WORTH_A_WORD = 0.01
"""From this share of the run on a part is named in the line."""
_OTHER_TIME, _OTHER_STEPS, _ANOTHER_STEP = 0.1, 0.2, 2.0
"""Of a step of the window: what one that is not recorded differs by to be mentioned,
and to be explained. From the factor on it is another step.
"""
_WORTH_A_LINE = 0.05
"""Of the steps."""
_LONGEST_STATEMENT = 32
"""Characters of one in the line."""
_NEARLY_ALL, _MOST_STATEMENTS = 0.9, 4


class RunRow(msgspec.Struct, frozen=True):
    """A part of the run in words. depth: 0, or 1 for what it consists of."""

    depth: int
    share: str
    time: str
    turns: str
    """`4 × 1.2 s`, `seen 3 times`; "" for the steps."""
    what: str
    where: str


def run_words(report: Report) -> str:
    """`28 s since the first step: steps 45%, first batch of each epoch 50%
    (train.py:46), evaluate 5% (train.py:84)`; "" where it is not known.
    """
    account = report.run_account
    if account is None:
        return ""
    shown = [part for part in account.parts if part.fraction >= _WORTH_A_WORD]
    parts = [_in_line(part) for part in shown]
    rest = account.parts[len(shown) :]
    if rest:
        share = percent(sum(part.fraction for part in rest))
        seen = sum(part.seen for part in rest)
        parts.append(f"{len(rest)} more {share} (seen {_times(seen)})")
    return (
        f"{duration(1000 * account.seconds)} since the {account.since}: "
        f"{', '.join(parts)}"
    )


def before_words(report: Report) -> str:
    """`Before it 12 s: imports 7.1 s, compiling 3.2 s, other 1.7 s`; "" for
    nothing.
    """
    account = report.run_account
    if account is None or not account.before.parts:
        return ""
    parts = ", ".join(
        f"{part.what} {duration(1000 * part.seconds)}" for part in account.before.parts
    )
    return f"Before it {duration(1000 * account.before.seconds)}: {parts}"


def unrecorded_words(report: Report) -> str:
    """` (50 ms while nothing is recorded)`: how long a step is then, where that is
    another time, or that it is another step; "" where it is the same.
    """
    account = report.run_account
    times = _unlike(account, report.steps, _OTHER_TIME)
    if account is None or times is None:
        return _estimated_words(report)
    recorded, alone = times
    if account.is_of_parts(recorded):
        return f" (parts of a round of {duration(alone)})"
    if max(times) >= _ANOTHER_STEP * min(times):
        return f" (a round of the loop takes {duration(alone)})"
    return f" ({duration(alone)} while nothing is recorded)"


def _estimated_words(report: Report) -> str:
    """` (about 19 ms without the recording)`, where nobody timed that and it is much
    less.
    """
    tracer = report.metrics.get("tracer_fraction")
    steps = report.steps.time_ms
    is_timed = report.run_account is not None and report.run_account.step_ms is not None
    if is_timed or steps is None or tracer is None or (tracer.value or 0) < _OTHER_TIME:
        return ""
    alone = steps.median * (1 - (tracer.value or 0))
    return f" (about {duration(alone)} without the recording)"


def other_steps(account: RunAccount | None, steps: StepsInfo) -> Iterator[CaptureNote]:
    """Which step is which, where those of the window are not like those around it."""
    times = _unlike(account, steps, _OTHER_STEPS)
    if times is not None:
        text = (
            f"A step takes {duration(times[0])} in the recorded window, and "
            f"{duration(times[1])} while nothing is recorded: shares and findings "
            "about the step are of the former, where the run goes is of the latter."
        )
        yield CaptureNote("other-steps", text, "", "")


def _unlike(
    account: RunAccount | None, steps: StepsInfo, least: float
) -> tuple[float, float] | None:
    """How long a step is in the window, and while nothing is recorded, ms, where they
    differ by more than this share of the former. A whole trace is no step.
    """
    if account is None or account.step_ms is None or steps.time_ms is None:
        return None
    if steps.source == "whole-trace":
        return None
    recorded, alone = steps.time_ms.median, account.step_ms
    return (recorded, alone) if abs(alone / recorded - 1) > least else None


def unknown_words(report: Report) -> str:
    """What of the program the report cannot know; "" where it does."""
    if report.run_account is not None or not report.run_account_absent:
        return ""
    return f"{RUN}: not known, because {one_line(report.run_account_absent)}"


def run_rows(report: Report) -> list[RunRow]:
    """All parts, each with what it consists of."""
    account = report.run_account
    if account is None:
        return []
    rows = []
    for part in account.parts:
        rows.append(_row(0, part))
        rows += [_row(1, inner) for inner in part.parts]
    return rows


class StatementRow(msgspec.Struct, frozen=True):
    """A statement of the loop in words."""

    share: str
    """Of the run."""
    where: str
    text: str
    """The line itself; "" for unknown."""
    does: str
    """`waiting for the devices`; "" for nothing else than it says."""


def statement_rows(report: Report) -> list[StatementRow]:
    """The statements that take most of the steps; empty where one takes nearly all, and
    where they are not known.
    """
    account = report.run_account
    steps = None if account is None else account.parts[0]
    if steps is None or not steps.statements:
        return []
    worth = max(_WORTH_A_LINE * steps.fraction, _WORTH_A_WORD)
    shown = [
        share for share in steps.statements if share.fraction >= worth and share.places
    ]
    takes_all = bool(shown) and shown[0].fraction >= _NEARLY_ALL * steps.fraction
    if not shown or takes_all:
        return []
    return [
        StatementRow(
            percent(share.fraction),
            _place(share.places[0]),
            one_line(share.places[0].text),
            share.what if share.what == WAITING else "",
        )
        for share in shown[:_MOST_STATEMENTS]
    ]


def statements_note(report: Report) -> str:
    """What the statements' shares are of, where calls return before devices are done;
    "" where a call lasts as long as its work.
    """
    kinds = {device.kind for device in report.run.devices}
    if report.run.framework == "tensorflow" and kinds == {"cpu"}:
        return ""
    return "by where the main thread is, which may wait there for earlier work"


def _in_line(part: RunPart) -> str:
    if part.kind == "steps":
        return f"{part.what} {percent(part.fraction)}"
    what = _named(part)
    words = f"{what} {percent(part.fraction)}"
    places = [_place(place) for place in part.places[:1]]
    notes = [place for place in places if place not in what]
    if part.turns == 1:
        notes.append("once")
    return f"{words} ({', '.join(notes)})" if notes else words


def _named(part: RunPart) -> str:
    """A statement that only its place names is shown itself, if its text is known."""
    first = part.places[0] if part.places else None
    if first is not None and first.text and part.what == _place(first):
        return cut(one_line(first.text), _LONGEST_STATEMENT)
    return one_line(part.what)


def _row(depth: int, part: RunShare) -> RunRow:
    turns = f"seen {_times(part.seen)}"
    if isinstance(part, RunPart) and part.turns:
        each = duration(1000 * part.seconds / part.turns)
        turns = f"{part.turns:,} × {each}"
    return RunRow(
        depth,
        percent(part.fraction),
        duration(1000 * part.seconds),
        turns,
        one_line(part.what),
        ", ".join(map(_place, part.places)),
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def _place(place: RunPlace) -> str:
    return one_line(f"{place.file}:{place.line}")
