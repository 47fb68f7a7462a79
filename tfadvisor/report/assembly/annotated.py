"""The program's own lines with what each costs, as line profilers show them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from tfadvisor.advice.findings import CaptureNote
from tfadvisor.causes import ProgramSource
from tfadvisor.causes.source_files import DIFFERS, ParsedFile
from tfadvisor.causes.walked import first_line
from tfadvisor.causes.witness import functions_around
from tfadvisor.metrics import MetricAbsent, class_shares, counted_hosts
from tfadvisor.report.assembly.attribution import named_time
from tfadvisor.report.model import AnnotatedFile, LineCost, SourcePart
from tfadvisor.timeline.attribution import Spent
from tfadvisor.timeline.run import RunSummary
from tfadvisor.vocabulary import TimeClass

_SHORT_FILE = 300
"""Lines of a file that is shown whole."""
_MOST_LINES = 2_000
"""Of all files together."""
_LEAST = 0.0005
"""Share of the step below which a line is said to cost nothing."""
_LONGEST = 400
"""Characters of a line."""
_Costs = dict[int, dict[str, float]]
"""Share of the step by line and class."""


def annotated(run: RunSummary, source: ProgramSource) -> tuple[AnnotatedFile, ...]:
    """The files whose lines take time, the costliest first; empty without steps."""
    try:
        shares = class_shares(run)
    except MetricAbsent:
        return ()
    by_file: dict[str, _Costs] = {}
    for kind, named in named_time(run, shares, source).items():
        for spent in named:
            place = spent.place
            if place.file and place.line:
                costs = by_file.setdefault(place.file, {})
                classes = costs.setdefault(place.line, {})
                classes[kind.label] = classes.get(kind.label, 0.0) + spent.fraction

    dispatches = _dispatches(run, source)
    files = []
    left = _MOST_LINES
    for file in sorted(by_file, key=lambda file: -_sum(by_file[file])):
        parsed = source.files.read(file)
        if parsed is None:
            continue
        known = _annotated(file, parsed, by_file[file], dispatches, left)
        if known.costs:
            files.append(known)
            left -= sum(len(part.lines) for part in known.parts)
    return tuple(files)


def on_files(
    files: Sequence[AnnotatedFile], source: ProgramSource | None
) -> Iterator[CaptureNote]:
    """Files that are no longer what ran."""
    for shown in files:
        if shown.state == DIFFERS:
            text = f"{shown.file} differs from what ran: its lines may be others."
            yield CaptureNote("source", text, "", "")
    for file in source.files.left_out() if source is not None else ():
        text = f"{file} differs from what ran, so its lines are not shown."
        do = "--source DIR shows them as they are now."
        yield CaptureNote("source", text, do, "")


def _dispatches(run: RunSummary, source: ProgramSource) -> dict[tuple[str, int], float]:
    """In a step, by file and line; of several hosts a mean."""
    hosts = counted_hosts(run)
    steps = sum(host.steps.steady_count for host in hosts)
    found: dict[tuple[str, int], float] = {}
    for host in hosts:
        for call in host.evidence.dispatched:
            line = source.line_of(
                Spent(
                    TimeClass.LAUNCH,
                    file=call.file,
                    line=call.line,
                    function=call.function,
                    called=call.called,
                )
            )
            place = call.file, line
            found[place] = found.get(place, 0.0) + call.count / max(steps, 1)
    return found


def _sum(costs: _Costs) -> float:
    return sum(sum(classes.values()) for classes in costs.values())


def _annotated(
    file: str,
    parsed: ParsedFile,
    costs: _Costs,
    dispatches: Mapping[tuple[str, int], float],
    most: int,
) -> AnnotatedFile:
    """most: lines that are shown."""
    known = []
    for line in sorted(costs):
        classes = costs[line]
        fraction = sum(classes.values())
        if fraction >= _LEAST and line <= len(parsed.lines):
            known.append(
                LineCost(line, fraction, classes, dispatches.get((file, line)))
            )
    parts = _parts(parsed, [cost.line for cost in known], most)
    return AnnotatedFile(file, parsed.state, _sum(costs), tuple(known), parts)


def _parts(
    parsed: ParsedFile, lines: Sequence[int], most: int
) -> tuple[SourcePart, ...]:
    spans = [(1, len(parsed.lines))]
    if len(parsed.lines) > _SHORT_FILE:
        spans = _joined(_span(parsed.tree, line) for line in lines)
    parts = []
    for first, last in spans:
        shown = parsed.lines[first - 1 : min(last, first + most - 1)]
        most -= len(shown)
        if shown:
            cut = tuple(line[:_LONGEST].rstrip() for line in shown)
            parts.append(SourcePart(first, cut))
    return tuple(parts)


def _span(tree: ast.Module, line: int) -> tuple[int, int]:
    """First and last line of the outermost function around one; itself where none
    is.
    """
    for function in functions_around(tree, line):
        return first_line(function), function.end_lineno or line
    return line, line


def _joined(spans: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order, those that overlap or touch as one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found
