"""The report for a terminal: the verdict, where the step goes, and the fixes worth most, in one screen."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from typing import TextIO

from tfadvisor.report.model import Finding, Fix, Report
from tfadvisor.report.printable import one_line, printable
from tfadvisor.report.wording import (
    advice,
    evidence_words,
    run_line,
    saving_words,
    shares,
    steps_line,
    verdict_name,
)
from tfadvisor.units import Unit, duration, in_words, percent
from tfadvisor.vocabulary import Severity

_SHOWN = 3
_WIDEST = 110
_BAR = 78
_MARGIN = "   "

# ANSI "select graphic rendition" codes.
_BOLD, _DIM = "1", "2"
_GREEN, _YELLOW, _CYAN = "32", "33", "36"
_COLOURS = {
    "compute": "32",
    "collective": "35",
    "transfer": "33",
    "compile": "36",
    "input": "31",
    "launch": "94",
    "host": "91",
    "idle": "90",
}
_FILL = {
    "compute": "█",
    "collective": "▚",
    "transfer": "▞",
    "compile": "▒",
    "input": "▓",
    "launch": "▤",
    "host": "▥",
    "idle": "░",
}
_SEVERITY_STYLE = {
    Severity.CRITICAL: "1;97;41",
    Severity.HIGH: "1;31",
    Severity.MEDIUM: "1;33",
    Severity.LOW: "1;36",
    Severity.INFO: "2",
}


def print_report(report: Report, out: TextIO, *, details: bool = False) -> None:
    """Writes to a stream; colours only on a terminal and without NO_COLOR."""
    page = _Page(_width(out), colours=_wants_colours(out))
    _head(page, report)
    _where_the_step_goes(page, report)
    _findings(page, report, details)
    _capture(page, report, details)
    if details:
        _steps(page, report)
        _metrics(page, report)
        _not_applicable(page, report)
    _broken(page, report)
    if not details:
        page.line(page.styled("--details for all evidence and fixes, --format json|markdown for other forms", _DIM))
    out.write(page.text())
    out.flush()


def _width(out: TextIO) -> int:
    if not out.isatty():
        return _WIDEST
    try:
        return min(os.get_terminal_size(out.fileno()).columns or _WIDEST, _WIDEST)
    except (OSError, ValueError):
        return _WIDEST


def _wants_colours(out: TextIO) -> bool:
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class _Page:
    """Lines of text, wrapped to a width and coloured where that is wanted."""

    def __init__(self, width: int, *, colours: bool) -> None:
        self.width = max(width, 40)
        self._colours = colours
        self._lines: list[str] = []

    def styled(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self._colours and style else text

    def line(self, text: str = "") -> None:
        self._lines.append(text)

    def wrapped(self, text: str, style: str = "", label: str = "", label_style: str = "") -> None:
        """A paragraph under the margin; the label stands before its first line and the rest hangs below the text."""
        indent = len(_MARGIN) + len(label)
        pieces = textwrap.wrap(text, self.width - indent, break_on_hyphens=False) or [""]
        first = _MARGIN + self.styled(label, label_style) + self.styled(pieces[0], style)
        self._lines += [first, *(" " * indent + self.styled(piece, style) for piece in pieces[1:])]

    def code(self, snippet: str) -> None:
        self._lines += [f"       {self.styled(line, _CYAN)}".rstrip() for line in printable(snippet).splitlines()]

    def table(self, title: str, rows: Sequence[Sequence[str]], left: Sequence[int]) -> None:
        """The first row is the heading; columns are right-aligned but for those in `left`."""
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        self.line(self.styled(title, _BOLD))
        for number, row in enumerate(rows):
            cells = [
                cell.ljust(widths[column]) if column in left else cell.rjust(widths[column])
                for column, cell in enumerate(row)
            ]
            self.line(self.styled("  ".join(cells).rstrip(), "" if number else _DIM))
        self.line()

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def _head(page: _Page, report: Report) -> None:
    page.line(page.styled(run_line(report), _BOLD))
    page.line(page.styled(steps_line(report), _DIM))
    page.line()
    style = "1;30;42" if report.verdict.healthy else "1;97;41"
    if report.verdict.bottleneck == "unknown":
        style = "1;30;43"
    name = f" {verdict_name(report)} "
    pieces = textwrap.wrap(one_line(report.verdict.summary), page.width - len(name) - 2)
    page.line(f"{page.styled(name, style)}  {pieces[0]}")
    for piece in pieces[1:]:
        page.line(" " * (len(name) + 2) + piece)
    page.line()


def _where_the_step_goes(page: _Page, report: Report) -> None:
    parts = shares(report)
    if not parts:
        return
    bar = "".join(
        page.styled(_FILL[name] * cells, _COLOURS[name]) for name, cells in _cells(parts, min(page.width - 2, _BAR))
    )
    legend = [
        f"{page.styled(_FILL[name], _COLOURS[name])} {name} {percent(share)}"
        for name, share in sorted(parts, key=lambda item: -item[1])
    ]
    page.line(f"  {bar}")
    page.line("  " + "   ".join(legend))
    page.line()


def _cells(parts: list[tuple[str, float]], width: int) -> list[tuple[str, int]]:
    """Whole cells per class that add up to the width: each gets the cells between its rounded edges."""
    cells, edge, total = [], 0.0, sum(share for _, share in parts)
    for name, share in parts:
        following = edge + share / total
        cells.append((name, round(following * width) - round(edge * width)))
        edge = following
    return cells


def _findings(page: _Page, report: Report, details: bool) -> None:
    found = advice(report)
    worth = [one for one in found if one.severity.rank >= Severity.MEDIUM.rank]
    shown = found if details else (worth or found)[:_SHOWN]
    if not found:
        page.line(page.styled("Nothing to change was found.", _GREEN))
        page.line()
    for number, finding in enumerate(shown, start=1):
        _finding(page, number, finding, details)
    if len(found) > len(shown):
        more = len(found) - len(shown)
        page.line(page.styled(f"{more} smaller finding{'s' if more > 1 else ''} more with --details.", _DIM))
        page.line()


def _finding(page: _Page, number: int, finding: Finding, details: bool) -> None:
    saving = saving_words(finding.saving)
    head = [
        page.styled(f"{number}.", _BOLD),
        page.styled(finding.severity.value.upper(), _SEVERITY_STYLE[finding.severity]),
        "",
        page.styled(one_line(finding.title), _BOLD),
    ]
    if saving:
        head += ["", page.styled(f"saves {saving}", _GREEN)]
    page.line(" ".join(head))
    page.wrapped(one_line(finding.summary))
    if finding.caveat:
        page.wrapped(finding.caveat, _YELLOW)
    for location in finding.locations:
        place = f"{location.file}:{location.line}" if location.line is not None else location.file
        page.wrapped(one_line(f"{place} in {location.op}"), _CYAN, "where  ", _DIM)
    if details:
        for evidence in finding.evidence:
            page.wrapped(evidence_words(evidence), "", "seen   ", _DIM)
    for fix in finding.fixes if details else finding.fixes[:1]:
        _fix(page, fix, details)
    if details:
        for source in finding.source:
            page.wrapped(f"{source.doc} {source.section} {source.url}", _DIM, "source ", _DIM)
        page.wrapped(finding.rule_id, _DIM, "rule   ", _DIM)
    elif len(finding.fixes) > 1:
        others = len(finding.fixes) - 1
        page.wrapped(f"{others} other way{'s' if others > 1 else ''} with --details", _DIM)
    page.line()


def _fix(page: _Page, fix: Fix, details: bool) -> None:
    page.wrapped(one_line(fix.do), "", "fix    ", "1;32")
    page.code(fix.snippet)
    if fix.side_effect:
        page.wrapped(one_line(fix.side_effect), _DIM, "note   ", _DIM)
    if details:
        page.wrapped(one_line(fix.valid_for), _DIM, "valid  ", _DIM)


def _capture(page: _Page, report: Report, details: bool) -> None:
    if not report.capture:
        return
    page.line(page.styled("About this trace", _BOLD))
    for note in report.capture:
        page.wrapped(f"{one_line(note.note)} {one_line(note.do)}", "", "• ")
        if details:
            page.code(note.snippet)
    page.line()


def _steps(page: _Page, report: Report) -> None:
    names = [name for name, _ in shares(report)]
    rows = [["step", "period", *names]]
    for step in report.steps.each[:20]:
        rows.append(
            [one_line(step.name), duration(step.duration_ms), *(percent(step.breakdown[name]) for name in names)]
        )
    page.table("Steps", rows, left=(0,))
    if len(report.steps.each) > 20:
        page.line(page.styled(f"{len(report.steps.each) - 20} more in --format json", _DIM))
    for aside in report.steps.set_aside:
        words = f"{one_line(aside.name)}: {duration(aside.duration_ms)}, set aside: {aside.reason}"
        page.line(page.styled(words, _DIM))
    page.line()


def _metrics(page: _Page, report: Report) -> None:
    rows = [["metric", "value", ""]]
    for name, metric in report.metrics.items():
        if metric.value is None:
            rows.append([name, "–", one_line(metric.reason or "")])
        else:
            rows.append([name, in_words(metric.value, Unit(metric.unit)), ""])
    page.table("Metrics", rows, left=(0, 2))


def _not_applicable(page: _Page, report: Report) -> None:
    if not report.not_applicable:
        return
    page.line(page.styled("Not applicable", _BOLD))
    for one in report.not_applicable:
        page.wrapped(f"{one.rule_id}: {one_line(one.reason)}", _DIM)
    page.line()


def _broken(page: _Page, report: Report) -> None:
    for one in report.broken:
        page.line(page.styled(f"BROKEN {one_line(one.name)}: {one_line(one.error)}", "1;31"))
    if report.broken:
        page.line()


def as_text(report: Report, *, details: bool = False) -> str:
    """The same as a string without colours."""
    import io  # noqa: PLC0415

    out = io.StringIO()
    print_report(report, out, details=details)
    return out.getvalue()
