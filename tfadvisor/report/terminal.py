"""The report for a terminal: the verdict, where the step goes, and the fixes worth most, in one screen."""

from __future__ import annotations

import io
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

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
from tfadvisor.report_model import Finding, Fix, Report, Severity
from tfadvisor.units import Unit, duration, in_words, percent

_COLOURS = {
    "compute": "green",
    "collective": "magenta",
    "transfer": "yellow",
    "compile": "cyan",
    "input": "red",
    "launch": "bright_blue",
    "host": "bright_red",
    "idle": "bright_black",
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
    Severity.CRITICAL: "bold white on red",
    Severity.HIGH: "bold red",
    Severity.MEDIUM: "bold yellow",
    Severity.LOW: "bold cyan",
    Severity.INFO: "dim",
}
_SHOWN = 3
_WIDEST = 110


class _Console(Console):
    """A console that lets a closed pipe be known, instead of ending the process as rich does."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def print_report(report: Report, out: TextIO, *, details: bool = False) -> None:
    """Writes to a stream; colours only on a terminal and without NO_COLOR."""
    console = _Console(file=out, highlight=False, markup=False, emoji=False)
    if not out.isatty() or console.width > _WIDEST:
        console = _Console(file=out, highlight=False, markup=False, emoji=False, width=_WIDEST)
    _head(console, report)
    _where_the_step_goes(console, report)
    _findings(console, report, details)
    _capture(console, report, details)
    if details:
        _steps(console, report)
        _metrics(console, report)
        _not_applicable(console, report)
    _broken(console, report)
    _footer(console, report, details)


def as_text(report: Report, *, details: bool = False) -> str:
    """The same as a string without colours."""
    out = io.StringIO()
    print_report(report, out, details=details)
    return out.getvalue()


def _head(console: Console, report: Report) -> None:
    console.print(Text(run_line(report), style="bold"))
    console.print(Text(steps_line(report), style="dim"))
    console.print()
    style = "bold black on green" if report.verdict.healthy else "bold white on red"
    if report.verdict.bottleneck == "unknown":
        style = "bold black on yellow"
    line = Text.assemble((f" {verdict_name(report)} ", style), "  ", one_line(report.verdict.summary))
    console.print(line)
    console.print()


def _where_the_step_goes(console: Console, report: Report) -> None:
    parts = shares(report)
    if not parts:
        return
    width = min(console.width - 2, 78)
    bar, legend = Text("  "), Text("  ")
    for name, cells in _cells(parts, width):
        bar.append(_FILL[name] * cells, style=_COLOURS[name])
    for name, share in sorted(parts, key=lambda item: -item[1]):
        legend.append(_FILL[name], style=_COLOURS[name])
        legend.append(f" {name} {percent(share)}   ")
    console.print(bar)
    console.print(legend)
    console.print()


def _cells(parts: list[tuple[str, float]], width: int) -> list[tuple[str, int]]:
    """Whole cells per class that add up to the width: each gets the cells between its rounded edges."""
    cells, edge, total = [], 0.0, sum(share for _, share in parts)
    for name, share in parts:
        following = edge + share / total
        cells.append((name, round(following * width) - round(edge * width)))
        edge = following
    return cells


def _findings(console: Console, report: Report, details: bool) -> None:
    found = advice(report)
    worth = [one for one in found if one.severity.rank >= Severity.MEDIUM.rank]
    shown = found if details else (worth or found)[:_SHOWN]
    if not found:
        console.print(Text("Nothing to change was found.", style="green"))
        console.print()
    for number, finding in enumerate(shown, start=1):
        _finding(console, number, finding, details)
    if len(found) > len(shown):
        more = len(found) - len(shown)
        console.print(Text(f"{more} smaller finding{'s' if more > 1 else ''} more with --details.", style="dim"))
        console.print()


def _finding(console: Console, number: int, finding: Finding, details: bool) -> None:
    head = Text.assemble(
        (f"{number}. ", "bold"),
        (f"{finding.severity.value.upper()}", _SEVERITY_STYLE[finding.severity]),
        "  ",
        (one_line(finding.title), "bold"),
    )
    saving = saving_words(finding.saving)
    if saving:
        head.append(f"  saves {saving}", style="green")
    console.print(head)
    _indented(console, Text(one_line(finding.summary)))
    if finding.caveat:
        _indented(console, Text(finding.caveat, style="yellow"))
    for location in finding.locations:
        place = f"{location.file}:{location.line}" if location.line is not None else location.file
        _indented(console, Text.assemble(("where  ", "dim"), (one_line(f"{place} in {location.op}"), "cyan")))
    if details:
        for evidence in finding.evidence:
            _indented(console, Text.assemble(("seen   ", "dim"), evidence_words(evidence)))
    for fix in finding.fixes if details else finding.fixes[:1]:
        _fix(console, fix, details)
    if details:
        for source in finding.source:
            _indented(console, Text(f"source {source.doc} {source.section} {source.url}", style="dim"))
        _indented(console, Text(f"rule   {finding.rule_id}", style="dim"))
    elif len(finding.fixes) > 1:
        others = len(finding.fixes) - 1
        _indented(console, Text(f"{others} other way{'s' if others > 1 else ''} with --details", style="dim"))
    console.print()


def _fix(console: Console, fix: Fix, details: bool) -> None:
    _indented(console, Text.assemble(("fix    ", "bold green"), one_line(fix.do)))
    for line in printable(fix.snippet).splitlines():
        console.print(Text(f"       {line}", style="cyan"), soft_wrap=True)
    if fix.side_effect:
        _indented(console, Text.assemble(("note   ", "dim"), (one_line(fix.side_effect), "dim")))
    if details:
        _indented(console, Text.assemble(("valid  ", "dim"), (one_line(fix.valid_for), "dim")))


def _indented(console: Console, text: Text) -> None:
    console.print(Padding(text, (0, 0, 0, 3), expand=False))


def _capture(console: Console, report: Report, details: bool) -> None:
    if not report.capture:
        return
    console.print(Text("About this trace", style="bold"))
    for note in report.capture:
        _indented(console, Text(f"• {one_line(note.note)} {one_line(note.do)}"))
        if details:
            for line in printable(note.snippet).splitlines():
                console.print(Text(f"       {line}", style="cyan"), soft_wrap=True)
    console.print()


def _steps(console: Console, report: Report) -> None:
    table = Table(title="Steps", title_justify="left", box=None, pad_edge=False)
    names = [name for name, _ in shares(report)]
    for column in ("step", "period", *names):
        table.add_column(column, justify="left" if column == "step" else "right")
    for step in report.steps.each[:20]:
        row = [one_line(step.name), duration(step.duration_ms), *(percent(step.breakdown[name]) for name in names)]
        table.add_row(*map(Text, row))
    console.print(table)
    if len(report.steps.each) > 20:
        console.print(Text(f"{len(report.steps.each) - 20} more in --format json", style="dim"))
    for aside in report.steps.set_aside:
        console.print(
            Text(f"{one_line(aside.name)}: {duration(aside.duration_ms)}, set aside: {aside.reason}", style="dim")
        )
    console.print()


def _metrics(console: Console, report: Report) -> None:
    table = Table(title="Metrics", title_justify="left", box=None, pad_edge=False)
    table.add_column("metric")
    table.add_column("value", justify="right")
    table.add_column("")
    for name, metric in report.metrics.items():
        if metric.value is None:
            table.add_row(
                Text(name, style="dim"), Text("–", style="dim"), Text(one_line(metric.reason or ""), style="dim")
            )
        else:
            table.add_row(Text(name), Text(in_words(metric.value, Unit(metric.unit))), Text(""))
    console.print(table)
    console.print()


def _not_applicable(console: Console, report: Report) -> None:
    if not report.not_applicable:
        return
    console.print(Text("Not applicable", style="bold"))
    for one in report.not_applicable:
        _indented(console, Text(f"{one.rule_id}: {one_line(one.reason)}", style="dim"))
    console.print()


def _broken(console: Console, report: Report) -> None:
    for one in report.broken:
        console.print(Text(f"BROKEN {one_line(one.name)}: {one_line(one.error)}", style="bold red"))
    if report.broken:
        console.print()


def _footer(console: Console, report: Report, details: bool) -> None:
    if not details:
        console.print(Text("--details for all evidence and fixes, --format json|markdown for other forms", style="dim"))
