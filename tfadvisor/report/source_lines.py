"""Lines of the program with what they cost, in words that every form shares."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import msgspec

from tfadvisor.printable import printable
from tfadvisor.report.model import ActivityTime, AnnotatedFile, LineCost, Report
from tfadvisor.units import percent

SOURCE = "The program's lines"
"""The title of the section."""
LEGEND = (
    "Share of the step, its classes, and dispatches a step, by line. The first line of "
    "a function bears what its own lines take where no sample says which."
)
_WORTH_A_LOOK = 0.05
"""From this share of the step on the lines of an activity are shown."""


class SourceLine(msgspec.Struct, frozen=True):
    """A line as it is shown. share, classes: "" for one that costs nothing."""

    number: int
    share: str
    classes: str
    dispatches: str
    """How many a step; "" for none that is known."""
    text: str


def annotated_files(report: Report) -> tuple[AnnotatedFile, ...]:
    """Those of the report; none where it has no source."""
    return () if isinstance(report.source, msgspec.UnsetType) else report.source


def lines_of(file: AnnotatedFile) -> Iterator[tuple[SourceLine, ...]]:
    """All lines that the report has of a file, part by part."""
    costs = {cost.line: cost for cost in file.costs}
    for part in file.parts:
        yield tuple(
            _shown(number, text, costs.get(number))
            for number, text in enumerate(part.lines, start=part.first)
        )


def in_columns(line: SourceLine) -> str:
    """`   24   30%  host        batch = jnp.array(rows)`."""
    head = f"{line.number:>5} {line.share:>5}  {line.classes:<20} {line.dispatches:>5}"
    return f"{head}  {line.text}".rstrip()


def lines_at(report: Report, activity: ActivityTime) -> tuple[SourceLine, ...]:
    """The line on which most of an activity lies, behind the loop around it, else the
    line before it; without their common indent. Empty for little time, and where the
    report has no such line.
    """
    place = next((place for place in activity.places if place.line is not None), None)
    if place is None or activity.fraction < _WORTH_A_LOOK:
        return ()
    number = place.line or 0
    known = _by_number(report, place.file)
    if number not in known:
        return ()
    before = known.get(_loop_line(activity) or number - 1)
    if before is None or not before.text.strip():
        return _without_indent(known[number])
    return _without_indent(before, known[number])


def _without_indent(*lines: SourceLine) -> tuple[SourceLine, ...]:
    texts = textwrap.dedent("\n".join(line.text for line in lines)).split("\n")
    return tuple(
        msgspec.structs.replace(line, text=text)
        for line, text in zip(lines, texts, strict=True)
    )


def _by_number(report: Report, name: str) -> dict[int, SourceLine]:
    """The lines that the report has of a file."""
    known: dict[int, SourceLine] = {}
    for file in annotated_files(report):
        if file.file == name:
            for part in lines_of(file):
                known.update((line.number, line) for line in part)
    return known


def _loop_line(activity: ActivityTime) -> int | None:
    cause = activity.cause
    if isinstance(cause, msgspec.UnsetType) or cause.witness is None:
        return None
    return cause.witness.loop_line


def _shown(number: int, text: str, cost: LineCost | None) -> SourceLine:
    line = printable(text.expandtabs(4)).replace("\n", " ")
    if cost is None:
        return SourceLine(number, "", "", "", line)
    classes = sorted(cost.classes, key=lambda name: -cost.classes[name])
    dispatches = "" if cost.dispatches is None else f"{cost.dispatches:,.1f}"
    shown = dispatches.removesuffix(".0")
    return SourceLine(number, percent(cost.fraction), ", ".join(classes), shown, line)
