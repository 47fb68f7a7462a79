"""What a report says of one line of the program, or of one op, as text."""

from __future__ import annotations

from collections.abc import Iterator

from tfadvisor.printable import cut, one_line
from tfadvisor.report.model import ActivityTime, Op, Place, Report
from tfadvisor.report.source_lines import annotated_files, in_columns, lines_of
from tfadvisor.report.wording import (
    few_line,
    in_few_steps,
    location_words,
    time_line,
)
from tfadvisor.units import duration, number_of, percent

_AROUND = 12
"""Lines of the program before and behind the one that is asked for."""
_MOST = 12
_LONGEST = 160


def place_text(report: Report, asked: str) -> str:
    """Of `train.py:24`, `train.py` or an op's name; "" for what the report does not
    have. A line has its neighbours with what they cost, and all that lies on it.
    """
    file, _, number = asked.rpartition(":")
    line = number_of(number)
    if line is None or not file:
        file, line = asked, None
    lines = [
        *_source(report, file, line),
        *_activities(report, file, line),
        *_ops(report, asked, file, line),
        *_findings(report, file, line),
    ]
    return "\n".join([asked, *lines]) + "\n" if lines else ""


def _source(report: Report, name: str, line: int | None) -> Iterator[str]:
    for file in annotated_files(report):
        if file.file != name:
            continue
        yield f"  {percent(file.fraction)} of the step; it {_STATES[file.state]}"
        for part in lines_of(file):
            for shown in part:
                if line is None or abs(shown.number - line) <= _AROUND:
                    mark = ">" if shown.number == line else " "
                    yield mark + cut(in_columns(shown), _LONGEST)


_STATES = {
    "same": "is what ran",
    "differs": "differs from what ran",
    "unknown": "may differ from what ran",
}


def _activities(report: Report, file: str, line: int | None) -> Iterator[str]:
    """What takes time there."""
    for kind in report.attribution:
        for activity in kind.parts:
            places = [place for part in activity.parts for place in part.places]
            if any(_is_at(place, file, line) for place in (*activity.places, *places)):
                yield from _activity(report, kind.kind, activity)


def _activity(report: Report, kind: str, activity: ActivityTime) -> Iterator[str]:
    """What lies in few steps takes no share of each."""
    if in_few_steps(activity):
        few = few_line(report, kind, activity)
        yield f"  {few.steps}, {few.time} in each: {cut(few.words, _LONGEST)}"
        return
    shown = time_line(kind, activity)
    yield f"  {shown.share} {shown.kind}: {cut(shown.words, _LONGEST)}"
    if shown.cause:
        yield f"      {cut(shown.cause, _LONGEST)}"


def _is_at(place: Place, file: str, line: int | None) -> bool:
    return bool(file) and place.file == file and line in (None, place.line)


def _ops(report: Report, asked: str, file: str, line: int | None) -> Iterator[str]:
    found = [
        op
        for op in report.ops
        if (asked and asked in (op.op, op.kernel))
        or (op.file == file and line is not None and op.line == line)
    ]
    for op in found[:_MOST]:
        yield f"  {_op(op)}"
    if len(found) > _MOST:
        yield f"  {len(found) - _MOST} smaller ops"


def _op(op: Op) -> str:
    place = f" ({op.file}:{op.line})" if op.file else ""
    words = [
        f"{one_line(op.name)}{place}",
        f"{percent(op.share)} of device time",
        f"{duration(op.ms_per_step)} a step",
        f"{op.count_per_step:.3g} times",
        *filter(None, [op.opcode, op.shape, op.module]),
    ]
    return cut(", ".join(map(one_line, words)), _LONGEST)


def _findings(report: Report, file: str, line: int | None) -> Iterator[str]:
    for finding in report.findings:
        for place in finding.locations:
            if place.file == file and line in (None, place.line):
                words = f"{finding.title} ({finding.rule_id})"
                yield f"  finding: {one_line(words)}, {location_words(place)}"
                break
