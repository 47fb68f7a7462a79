"""The report for a terminal: the verdict, where the step goes, and the fixes worth
most, in one screen.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from typing import TextIO

import msgspec

from tfadvisor.advice.findings import Finding, Fix
from tfadvisor.html_fragments import as_ascii
from tfadvisor.printable import cut, cut_middle, one_line, printable, short_kernel
from tfadvisor.report.about import about_lines
from tfadvisor.report.model import ActivityTime, PlacedTime, Report
from tfadvisor.report.wording import (
    advice,
    bar_note,
    evidence_words,
    fitted,
    location_words,
    nothing_to_change,
    place_of_time,
    plan_end,
    plan_lines,
    questions,
    run_line,
    shares,
    steps_line,
    takes_words,
    time_lines,
    tried_words,
    verdict_name,
    weight_words,
    worth_words,
)
from tfadvisor.tallies import listed
from tfadvisor.units import Unit, duration, in_words, number_of, percent, size
from tfadvisor.vocabulary import Severity, TimeClass

# The one writer of text for a terminal: lines wrapped to its width, and coloured by
# rich where that is wanted.


WIDEST, NARROWEST = 110, 40
"""Columns. A line that is longer than the first is hard to read; below the second
nothing can be laid out.
"""
TITLE, DIM = "bold", "dim"


class Screen(msgspec.Struct, frozen=True):
    """What a text is written for."""

    width: int = WIDEST
    """Columns."""
    colours: bool = False
    """Whether styles are sent."""
    ascii_only: bool = False
    """Whether every character must be ASCII."""


PLAIN = Screen()
"""A file: wide, without colours, in UTF-8."""


def screen_of(out: TextIO) -> Screen:
    """What a stream can show. COLUMNS, FORCE_COLOR, NO_COLOR and TERM=dumb are
    heeded.
    """
    encoding = (
        (getattr(out, "encoding", None) or "utf-8")
        .lower()
        .replace("-", "")
        .replace("_", "")
    )
    return Screen(_width(out), _wants_colours(out), not encoding.startswith("utf"))


def _width(out: TextIO) -> int:
    given = os.environ.get("COLUMNS", "")
    if number_of(given):
        width = min(number_of(given) or 0, 1 << 15)
    elif out.isatty():
        try:
            width = os.get_terminal_size(out.fileno()).columns or WIDEST
        except (OSError, ValueError):
            width = WIDEST
    else:
        width = WIDEST
    return max(min(width, WIDEST), NARROWEST)


def _wants_colours(out: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return out.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


Piece = str | tuple[str, str]
"""Text, or text and its style as rich names it: `bold red`. Markup in it means nothing.
"""


class TextPage:
    """Text that grows line by line. Names from traces must be on one line and printable
    already.
    """

    def __init__(self, screen: Screen = PLAIN) -> None:
        """Nothing is written; `text` gives everything."""
        self.width = screen.width
        self._screen = screen
        self._lines: list[list[tuple[str, str]]] = []

    def line(self, *pieces: Piece) -> None:
        """One line, as it is."""
        self._lines.append([*map(self._shown, pieces)])

    def flowing(self, parts: Sequence[Sequence[Piece]], indent: int) -> None:
        """Parts one after the other on as many lines as they need. A part, which ends
        with its own blanks, is never broken.

        indent: of every line but the first.
        """
        line: list[tuple[str, str]] = []
        column = 0
        for part in parts:
            shown = [*map(self._shown, part)]
            length = sum(len(text) for text, _ in shown)
            blanks = len(shown[-1][0]) - len(shown[-1][0].rstrip())
            if line and column + length - blanks > self.width:
                self._lines.append(line)
                line, column = [(" " * indent, "")], indent
            for text, style in shown:
                if line and line[-1][1] == style:
                    line[-1] = (line[-1][0] + text, style)
                else:
                    line.append((text, style))
            column += length
        self._lines.append(line)

    def hanging(self, label: Piece, text: Piece, indent: int, margin: int = 0) -> None:
        """A label, and a paragraph from column `indent` on beside it. margin: columns
        before the label.

        Words are never broken, so that names and flags can be copied.
        """
        (name, label_style), (words, style) = self._shown(label), self._shown(text)
        room = max(self.width - indent, NARROWEST // 2)
        first, *others = textwrap.wrap(
            words, room, break_on_hyphens=False, break_long_words=False
        ) or [""]
        between = " " * max(indent - margin - len(name), 0)
        self._lines.append(
            [(" " * margin, ""), (name, label_style), (between, ""), (first, style)]
        )
        self._lines += [[(" " * indent, ""), (other, style)] for other in others]

    def code(self, snippet: str, style: str) -> None:
        """Lines that are never wrapped, so that they can be copied."""
        for line in printable(snippet).splitlines():
            self.line("       ", (line, style))

    def table(
        self, title: str, rows: Sequence[Sequence[str]], left: Sequence[int]
    ) -> None:
        """The first row is the heading; columns are right-aligned but for those in
        `left`, and left out where they are empty.
        """
        kept = [
            column
            for column in range(len(rows[0]))
            if any(row[column] for row in rows[1:])
        ]
        left = [at for at, column in enumerate(kept) if column in left]
        shown = [[self._shown(row[column])[0] for column in kept] for row in rows]
        widths = [max(len(row[column]) for row in shown) for column in range(len(kept))]
        self.line((title, TITLE))
        for number, row in enumerate(shown):
            cells = [
                cell.ljust(widths[column])
                if column in left
                else cell.rjust(widths[column])
                for column, cell in enumerate(row)
            ]
            self.line(("  ".join(cells).rstrip(), "" if number else DIM))
        self.line()

    def text(self) -> str:
        """Everything so far, with the codes of colours where the screen takes them."""
        if self._screen.colours:
            return _coloured(self._lines)
        return "".join(
            "".join(text for text, _ in line).rstrip() + "\n" for line in self._lines
        )

    def _shown(self, piece: Piece) -> tuple[str, str]:
        text, style = piece if isinstance(piece, tuple) else (piece, "")
        return (as_ascii(text) if self._screen.ascii_only else text), style


def _coloured(lines: Sequence[Sequence[tuple[str, str]]]) -> str:
    import io

    from rich.console import Console  # 40 ms, which a pipe or a file need not wait for
    from rich.text import Text

    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=True,
        color_system="standard",
        no_color=False,
        legacy_windows=False,
    )
    for line in lines:
        text = Text.assemble(*line)
        text.rstrip()
        console.print(text, soft_wrap=True, highlight=False, markup=False, emoji=False)
    return out.getvalue()


_SHOWN = 3
_BAR = 78
_ACTIVITIES = 6
"""Of the step; a smaller part is not printed where not all are."""
_OPS = 15
"""Rows of the table of ops."""
_OP_COLUMNS = (
    "op or kernel|its kernel|kind|share|a "
    "step|runs|precision|TC|grid|block|regs|shared|occ.|line|program"
).split("|")
"""Of the table of ops; TC: Tensor Cores."""
_ALWAYS = (0, 2, 3, 4, 5)
"""Those of them that are shown where no row fills them."""
_TEXTS = (0, 1, 2, 6, 13, 14)
"""Those of them that are no numbers."""
_SHORTEST_NAME = 24
"""Columns that a name has even where the rest is too wide; more where two names would
look alike.
"""
_NAMED = 12
"""Names that share a reason and are listed; of more their number."""
_MARGIN = 3

_CLASSES = {one.label: one for one in TimeClass}
_SEVERITY_STYLE = {
    Severity.CRITICAL: "bold bright_white on red",
    Severity.HIGH: "bold red",
    Severity.MEDIUM: "bold yellow",
    Severity.LOW: "bold cyan",
    Severity.INFO: "dim",
}


def as_text(report: Report, *, details: bool = False, screen: Screen = PLAIN) -> str:
    """The report as text. details: every finding, fix, metric and step."""
    page = TextPage(screen)
    _head(page, report)
    _where_the_step_goes(page, report, details=details, ascii_only=screen.ascii_only)
    _findings(page, report, details)
    _plan(page, report)
    _questions(page, report, details)
    _capture(page, report, details)
    if details:
        _ops(page, report)
        _steps(page, report)
        _metrics(page, report)
        _by_reason(
            page,
            "Not applicable",
            [(one.rule_id, one.reason) for one in report.not_applicable],
        )
    _broken(page, report)
    if not details:
        page.line(
            (
                "--details prints all evidence and fixes, --format json|markdown "
                "prints other formats",
                DIM,
            )
        )
    return page.text()


def _head(page: TextPage, report: Report) -> None:
    page.line((run_line(report), TITLE))
    page.line((steps_line(report), DIM))
    page.line()
    style = (
        "bold black on green" if report.verdict.healthy else "bold bright_white on red"
    )
    if report.verdict.bottleneck == "unknown":
        style = "bold black on yellow"
    elif report.verdict.bottleneck == "compute" and not report.verdict.healthy:
        style = "bold bright_white on blue"  # no fault: what devices are for
    name = f" {verdict_name(report)} "
    pieces = textwrap.wrap(one_line(report.verdict.summary), page.width - len(name) - 2)
    page.line((name, style), f"  {pieces[0]}")
    for piece in pieces[1:]:
        page.line(" " * (len(name) + 2) + piece)
    page.line()


def _where_the_step_goes(
    page: TextPage, report: Report, *, details: bool, ascii_only: bool
) -> None:
    parts = shares(report)
    if not parts:
        return
    fill = {name: one.fill[ascii_only] for name, one in _CLASSES.items()}
    cells = _cells(parts, min(page.width - 2, _BAR))
    page.line(
        "  ", *((fill[name] * number, _CLASSES[name].style) for name, number in cells)
    )
    legend: list[list[Piece]] = [["  "]]
    for name, share in sorted(parts, key=lambda item: -item[1]):
        legend.append(
            [(fill[name], _CLASSES[name].style), f" {name} {percent(share)}   "]
        )
    page.flowing(legend, indent=2)
    if note := bar_note(report):
        page.hanging("", (note, DIM), 2, 2)
    page.line()
    if details:
        _whole_tree(page, report)
    else:
        _most_of_the_step(page, report)


def _most_of_the_step(page: TextPage, report: Report) -> None:
    """The activities that take most, each on one line."""
    lines = time_lines(report, _ACTIVITIES)
    if not lines:
        return
    page.line(("Where the step goes", TITLE))
    for one in lines:
        label = f"  {one.share:>4}  {one.time:>8}  {one.kind:<10} "
        page.line(label, fitted(one.words, page.width - len(label)))
    page.line()


def _whole_tree(page: TextPage, report: Report) -> None:
    """Every class, activity and place; each level adds up to the one above."""
    if not report.attribution:
        if report.attribution_absent:
            page.line(
                (
                    "Where the step goes: not known, because "
                    f"{one_line(report.attribution_absent)}",
                    DIM,
                )
            )
            page.line()
        return
    page.line(("Where the step goes", TITLE))
    for kind in report.attribution:
        _node(page, 0, kind.fraction, kind.ms, kind.kind, TITLE)
        for activity in kind.parts:
            _node(page, 1, activity.fraction, activity.ms, _with_place(activity), "")
            for one in activity.parts:
                _node(page, 2, one.fraction, one.ms, _with_place(one), DIM)
    page.line()


def _with_place(one: ActivityTime | PlacedTime) -> str:
    place = place_of_time(one)
    return (
        f"{one.activity} ({place})"
        if place and place not in one.activity
        else one.activity
    )


def _node(
    page: TextPage, depth: int, fraction: float, ms: float, words: str, style: str
) -> None:
    label = f"  {percent(fraction):>5}  {duration(ms):>8}  {'  ' * depth}"
    page.hanging((label, style), (one_line(words), style), len(label))


def _cells(parts: list[tuple[str, float]], width: int) -> list[tuple[str, int]]:
    """Whole cells per class that add up to the width: each gets the cells between its
    rounded edges.
    """
    cells, edge, total = [], 0.0, sum(share for _, share in parts)
    for name, share in parts:
        following = edge + share / total
        cells.append((name, round(following * width) - round(edge * width)))
        edge = following
    return cells


def _findings(page: TextPage, report: Report, details: bool) -> None:
    found = advice(report)
    worth = [one for one in found if one.severity.rank >= Severity.MEDIUM.rank]
    leading = [
        one for one in found if one is found[0] or one in worth
    ]  # the first explains the verdict
    shown = found if details else (leading if worth else found)[:_SHOWN]
    if not found:
        page.line((nothing_to_change(report), "green"))
        page.line()
    for number, finding in enumerate(shown, start=1):
        _finding(page, number, finding, details)
    if len(found) > len(shown):
        more = len(found) - len(shown)
        page.line(
            (f"{more} smaller finding{'s' if more > 1 else ''}: see --details.", DIM)
        )
        page.line()


def _questions(page: TextPage, report: Report, details: bool) -> None:
    """What only the user can tell: in short a question and its place, in detail as any
    finding.
    """
    asked = questions(report)
    if not asked:
        return
    page.line(("Worth checking", TITLE))
    for number, one in enumerate(
        asked if details else asked[:_SHOWN], start=len(advice(report)) + 1
    ):
        if details:
            _finding(page, number, one, details)
            continue
        takes = takes_words(one)
        _paragraph(
            page,
            f"{one_line(one.title)}{f' ({takes})' if takes else ''}. "
            f"{one_line(one.ask or '')}",
            "",
            "• ",
            "",
        )
        for location in one.locations[:1]:
            _paragraph(page, one_line(location_words(location)), "cyan", "  where  ")
    if not details:
        if len(asked) > _SHOWN:
            _paragraph(page, f"{len(asked) - _SHOWN} more: see --details.", DIM)
        page.line()


def _finding(page: TextPage, number: int, finding: Finding, details: bool) -> None:
    severity = (weight_words(finding), _SEVERITY_STYLE[finding.severity])
    head: list[list[Piece]] = [[(f"{number}.", TITLE), " ", severity, "  "]]
    head += [[(f"{word} ", TITLE)] for word in one_line(finding.title).split()]
    if worth := worth_words(finding):
        head.append([" ", (worth, "green")])
    if finding.tier is not msgspec.UNSET:
        head.append([" ", ("(preview)", DIM)])
    page.flowing(head, indent=_MARGIN)
    if finding.ask is not msgspec.UNSET:
        _paragraph(page, one_line(finding.ask), "bold")
    _paragraph(page, one_line(finding.summary))
    if finding.caveat:
        _paragraph(page, finding.caveat, "yellow")
    tried = tried_words(finding)
    if tried:
        _paragraph(page, tried, "green", "tried: ")
    for location in finding.locations:
        _paragraph(page, one_line(location_words(location)), "cyan", "where  ")
    if details:
        for evidence in finding.evidence:
            _paragraph(page, evidence_words(evidence), "", "seen   ")
    for fix in finding.fixes if details else finding.fixes[:1]:
        _fix(page, fix, details)
    if details:
        for source in finding.source:
            _paragraph(
                page, f"{source.doc} {source.section} {source.url}", DIM, "source "
            )
        _paragraph(page, finding.rule_id, DIM, "rule   ")
    elif len(finding.fixes) > 1:
        others = len(finding.fixes) - 1
        _paragraph(
            page, f"{others} other fix{'es' if others > 1 else ''}: see --details.", DIM
        )
    page.line()


def _paragraph(
    page: TextPage, text: str, style: str = "", label: str = "", label_style: str = DIM
) -> None:
    """Under the margin; the label stands before its first line and the rest hangs below
    the text.
    """
    page.hanging((label, label_style), (text, style), _MARGIN + len(label), _MARGIN)


def _fix(page: TextPage, fix: Fix, details: bool) -> None:
    _paragraph(page, one_line(fix.do), "", "fix    ", "bold green")
    page.code(fix.snippet, "cyan")
    if fix.side_effect:
        _paragraph(page, one_line(fix.side_effect), DIM, "note   ")
    if details:
        _paragraph(page, one_line(fix.valid_for), DIM, "valid  ")


def _plan(page: TextPage, report: Report) -> None:
    changes = plan_lines(report)
    if not changes:
        return
    page.line(("Together, in this order, each on top of those before it", TITLE))
    for number, one in enumerate(changes, start=1):
        _paragraph(
            page,
            f"{one.title}: saves {one.saves}, leaves {one.leaves}",
            "",
            f"{number}. ",
            "",
        )
    if end := plan_end(report):
        _paragraph(page, end, DIM)
    page.line()


def _capture(page: TextPage, report: Report, details: bool) -> None:
    told = about_lines(report)
    if not report.capture and not told:
        return
    page.line(("About this trace", TITLE))
    for note in report.capture:
        _paragraph(page, f"{one_line(note.note)} {one_line(note.do)}", "", "• ", "")
        if details:
            page.code(note.snippet, "cyan")
    for line in told:
        _paragraph(page, one_line(line), "", "• ", "")
    page.line()


def _steps(page: TextPage, report: Report) -> None:
    names = [name for name, _ in shares(report)]
    rows = [["step", "period", *names]]
    for step in report.steps.each[:20]:
        rows.append(
            [
                one_line(step.name),
                duration(step.duration_ms),
                *(percent(step.breakdown[name]) for name in names),
            ]
        )
    page.table("Steps", rows, left=(0,))
    if len(report.steps.each) > 20:
        page.line((f"{len(report.steps.each) - 20} more: see --format json", DIM))
    for aside in report.steps.set_aside:
        words = (
            f"{one_line(aside.name)}: {duration(aside.duration_ms)}, set aside: "
            f"{aside.reason}"
        )
        page.line((words, DIM))
    page.line()


def _metrics(page: TextPage, report: Report) -> None:
    known = {name: one for name, one in report.metrics.items() if one.value is not None}
    rows = [
        [name, in_words(one.value or 0.0, Unit(one.unit))]
        for name, one in known.items()
    ]
    page.table(
        "Metrics (`tfadvisor metrics show NAME` explains one)",
        [["metric", "value"], *rows],
        left=(0,),
    )
    absent = [
        (name, one.reason or "")
        for name, one in report.metrics.items()
        if one.value is None
    ]
    _by_reason(page, "Metrics that this trace does not give", absent)


def _by_reason(page: TextPage, title: str, named: Sequence[tuple[str, str]]) -> None:
    """Names that share a reason on one line, the commonest reason first."""
    by_reason = listed((reason, name) for name, reason in named)
    if not by_reason:
        return
    page.line((title, TITLE))
    for reason, names in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        _paragraph(page, f"{one_line(reason)}: {', '.join(names[:_NAMED])}{more}", DIM)
    page.line()


def _ops(page: TextPage, report: Report) -> None:
    """What takes most time on the devices."""
    several = len({op.module for op in report.ops[:_OPS] if op.module}) > 1
    names = {f"/{op.name}" for op in report.ops[:_OPS]}
    rows = [
        [
            one_line(
                _told_apart(op.name, names)
                if op.name == op.op
                else short_kernel(op.name)
            ),
            one_line(
                short_kernel(
                    op.other_kernel.removeprefix(f"{op.name}:"), _SHORTEST_NAME
                )
            ),
            op.kind,
            percent(op.share),
            duration(op.ms_per_step),
            f"{op.count_per_step:.4g}",
            op.precision or "",
            "" if op.tensor_cores is None else "yes" if op.tensor_cores else "no",
            "×".join(map(str, op.grid or ())).removesuffix("×1").removesuffix("×1"),
            "×".join(map(str, op.block or ())).removesuffix("×1").removesuffix("×1"),
            "" if op.registers is None else f"{op.registers}",
            "" if op.shared_bytes is None else size(op.shared_bytes),
            "" if op.occupancy is None else percent(op.occupancy),
            one_line(f"{op.file}:{op.line}") if op.file and op.line else "",
            one_line(cut(op.module, _SHORTEST_NAME)) if op.module and several else "",
        ]
        for op in report.ops[:_OPS]
    ]
    if rows:
        told = [
            at
            for at in range(len(_OP_COLUMNS))
            if at in _ALWAYS or any(row[at] for row in rows)
        ]
        shown = [[row[at] for at in told] for row in (_OP_COLUMNS, *rows)]
        beside = sum(
            2 + max(len(row[place]) for row in shown) for place in range(1, len(told))
        )
        full, room = (
            {name for name, *_ in shown},
            max(page.width - beside, _SHORTEST_NAME),
        )
        widths = (
            most
            for most in range(room, 64)
            if len({cut_middle(one, most) for one in full}) == len(full)
        )
        most = next(widths, room)
        shown = [[cut_middle(name, most), *cells] for name, *cells in shown]
        left = [place for place, at in enumerate(told) if at in _TEXTS]
        page.table("What takes most time on the devices", shown, left)


def _told_apart(name: str, names: set[str]) -> str:
    """The last parts of a name, two at least, with which none of the other
    names ends.
    """
    parts = name.split("/")
    tails = ("/".join(parts[-many:]) for many in range(2, len(parts)))
    return next(
        (tail for tail in tails if sum(one.endswith(f"/{tail}") for one in names) == 1),
        name,
    )


def _broken(page: TextPage, report: Report) -> None:
    for one in report.broken:
        page.line((f"BROKEN {one_line(one.name)}: {one_line(one.error)}", "bold red"))
    if report.broken:
        page.line()
