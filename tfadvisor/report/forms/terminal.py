"""The report for a terminal: the verdict, where the step goes, and the fixes worth
most, in one screen.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import msgspec
from msgspec.structs import astuple

from tfadvisor.advice.findings import Finding, Fix, Verdict
from tfadvisor.printable import cut, one_line
from tfadvisor.report.about import about_lines, crowded_words
from tfadvisor.report.forms.op_table import op_table
from tfadvisor.report.light import LIGHT, light_line, light_rows
from tfadvisor.report.model import ActivityTime, PlacedTime, Report
from tfadvisor.report.of_the_run import (
    RUN,
    before_words,
    run_rows,
    run_words,
    statement_rows,
    statements_note,
    unknown_words,
)
from tfadvisor.report.source_lines import (
    LEGEND,
    SOURCE,
    annotated_files,
    in_columns,
    lines_of,
)
from tfadvisor.report.wording import (
    advice,
    bar_note,
    evidence_words,
    few_lines,
    fitted,
    head_line,
    is_surprising,
    location_words,
    nothing_to_change,
    passed_line,
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
    verdict_sentence,
    weight_words,
    worth_words,
)
from tfadvisor.tallies import listed
from tfadvisor.text_page import DIM, PLAIN, TITLE, Piece, Screen, TextPage
from tfadvisor.units import Unit, duration, in_words, percent
from tfadvisor.vocabulary import Severity, TimeClass

_SHOWN = 3
_WORTH_A_LINE = 0.05
"""Of the step, or of the run: what a minor finding takes whose change stands on the
first screen too.
"""
_BAR = 78
_ACTIVITIES, _IN_FEW_STEPS = 6, 3
"""Of the step; a smaller part is not printed where not all are."""
_OPS, _STEPS = 15, 20
"""Rows of tables."""
_NAMED = 12
"""Names that share a reason and are listed; of more their number."""
_MARGIN = 3

_CLASSES = {time_class.label: time_class for time_class in TimeClass}
_SEVERITY_STYLE = {
    Severity.CRITICAL: "bold bright_white on red",
    Severity.HIGH: "bold red",
    Severity.MEDIUM: "bold yellow",
    Severity.LOW: "bold cyan",
    Severity.INFO: "dim",
}


def as_text(
    report: Report,
    *,
    details: bool = False,
    screen: Screen = PLAIN,
) -> str:
    """The report as text. details: every finding, fix, metric and step."""
    page = TextPage(screen)

    _head(page, report, details)
    _bar_of_classes(page, report, ascii_only=screen.ascii_only)
    if details:
        _whole_tree(page, report)
    else:
        _most_of_the_step(page, report)
    _speed_of_light(page, report, details)

    _findings(page, report, details)
    _plan(page, report)
    _questions(page, report, details)
    _passed(page, report, details)
    _capture(page, report, details)
    if details:
        _tables(page, report)
    _broken(page, report)

    if not details and screen.more == PLAIN.more:
        more = "--details prints all evidence and fixes, --format json|markdown "
        page.line((f"{more}prints other formats", DIM))
    return page.text()


def _tables(page: TextPage, report: Report) -> None:
    _source(page, report)
    _ops(page, report)
    _steps(page, report)
    _metrics(page, report)

    undecided = [(check.rule_id, check.reason) for check in report.not_applicable]
    _by_reason(page, "Not applicable", undecided)


# What the run is, and what costs most.


def _head(page: TextPage, report: Report, details: bool) -> None:
    """One line, the whole program before its step, and a sentence. details: how the
    steps were found, and all that is said of them.
    """
    page.hanging("", (head_line(report), TITLE), 0)
    if details:
        page.hanging("", (f"{run_line(report)}: {steps_line(report)}", DIM), 0)
    if words := run_words(report):
        page.hanging("", words, 0, 2)
        page.hanging("", (before_words(report), DIM), 0, 2)
        _statements(page, report)
    page.line()
    if details:
        _run(page, report)

    name = f" {verdict_name(report)} "
    margin = len(name) + 2
    words = one_line(report.verdict.summary) if details else verdict_sentence(report)
    first, *others = textwrap.wrap(words, page.width - margin)
    page.line((name, _verdict_style(report.verdict)), f"  {first}")
    for other in others:
        page.line(" " * margin + other)
    page.line()


def _statements(page: TextPage, report: Report) -> None:
    """The loop's own lines, where several take the step's time."""
    rows = statement_rows(report)
    width = max((len(row.where) for row in rows), default=0)
    for row in rows:
        label = f"  {row.share:>4}  {row.where:<{width}} "
        does = f"{row.does} " if row.does else ""
        source = cut(f"│ {row.text}", page.width - len(label + does))
        page.line(label, does, (source if row.text else "", "cyan"))
    note = statements_note(report)
    if rows and note:
        page.hanging("", (note, DIM), 8)


def _run(page: TextPage, report: Report) -> None:
    rows = [
        (
            run_row.share,
            run_row.time,
            run_row.turns,
            f"{'  ' * run_row.depth}{run_row.what}",
            run_row.where,
        )
        for run_row in run_rows(report)
    ]
    if rows:
        page.table(
            RUN, [("share", "time", "turns", "what", "where"), *rows], left=(3, 4)
        )


def _verdict_style(verdict: Verdict) -> str:
    if verdict.bottleneck == "unknown":
        return "bold black on yellow"
    if verdict.healthy:
        return "bold black on green"
    if verdict.bottleneck == "compute":
        return "bold bright_white on blue"  # no fault: what devices are for
    return "bold bright_white on red"


# Where the step goes.


def _bar_of_classes(
    page: TextPage,
    report: Report,
    *,
    ascii_only: bool,
) -> None:
    parts = shares(report)
    if not parts:
        return
    fill = {name: style.fill[ascii_only] for name, style in _CLASSES.items()}

    bar: list[Piece] = ["  "]
    for name, number in _cells(parts, min(page.width - 2, _BAR)):
        bar.append((fill[name] * number, _CLASSES[name].style))
    page.line(*bar)

    legend: list[list[Piece]] = [["  "]]
    for name, share in sorted(parts, key=lambda item: -item[1]):
        sign = (fill[name], _CLASSES[name].style)
        legend.append([sign, f" {name} {percent(share)}   "])
    page.flowing(legend, indent=2)

    note = bar_note(report)
    if note:
        page.hanging("", (note, DIM), 2, 2)
    page.line()


def _most_of_the_step(page: TextPage, report: Report) -> None:
    """The activities that take most, each on one line."""
    lines = time_lines(report, _ACTIVITIES) if shares(report) else ()
    few = few_lines(report, _IN_FEW_STEPS) if shares(report) else ()
    if not lines and not few:
        return

    page.line(("Where the step goes", TITLE))
    for line in lines:
        label = f"  {line.share:>4}  {line.time:>8}  {line.kind:<10} "
        page.line(label, fitted(line.words, page.width - len(label)))
        if line.cause:
            page.line(" " * len(label), (cut(line.cause, page.width - len(label)), DIM))
        for source in line.source:
            words = f"{source.number:>4} │ {source.text}"
            page.line(" " * len(label), (cut(words, page.width - len(label)), "cyan"))
    page.line()
    if few:
        page.line(("In few steps", TITLE))
    for rare in few:
        label = f"  {rare.steps:>14}  {rare.time:>8}  {rare.kind:<10} "
        page.line(label, fitted(rare.words, page.width - len(label)))
        if rare.cause:
            words = cut(rare.cause, page.width - len(label))
            page.line(" " * len(label), (words, DIM))
    if few:
        page.line()


def _whole_tree(page: TextPage, report: Report) -> None:
    """Every class, activity and place; each level adds up to the one above."""
    if not shares(report):
        return
    if not report.attribution:
        _why_no_tree(page, report.attribution_absent)
        return

    page.line(("Where the step goes", TITLE))
    for kind in report.attribution:
        _node(
            page,
            0,
            kind.fraction,
            kind.ms,
            kind.kind,
            TITLE,
        )
        for activity in kind.parts:
            _node(
                page,
                1,
                activity.fraction,
                activity.ms,
                _with_place(activity),
                "",
            )
            for part in activity.parts:
                _node(
                    page,
                    2,
                    part.fraction,
                    part.ms,
                    _with_place(part),
                    DIM,
                )
    page.line()


def _why_no_tree(page: TextPage, reason: str | None) -> None:
    if reason:
        words = f"Where the step goes: not known, because {one_line(reason)}"
        page.line((words, DIM))
        page.line()


def _speed_of_light(page: TextPage, report: Report, details: bool) -> None:
    """The least time that the devices need, and what is above it."""
    line = light_line(report)
    if line:
        label = f"{LIGHT}  "
        page.hanging((label, TITLE), line, len(label))
        page.line()
    elif details and report.speed_of_light_absent:
        reason = one_line(report.speed_of_light_absent)
        page.line((f"{LIGHT}: not known, because {reason}", DIM))
        page.line()

    rows = light_rows(report) if details else ()
    if rows:
        heads = ("what", "takes", "above the least", "reaches", "where")
        cells = [astuple(row) for row in rows]
        page.table(f"{LIGHT}, and what is above it", [heads, *cells], left=(0, 3, 4))


def _with_place(part: ActivityTime | PlacedTime) -> str:
    place = place_of_time(part)
    if place and place not in part.activity:
        return f"{part.activity} ({place})"
    return part.activity


def _node(
    page: TextPage,
    depth: int,
    fraction: float,
    ms: float,
    words: str,
    style: str,
) -> None:
    label = f"  {percent(fraction):>5}  {duration(ms):>8}  {'  ' * depth}"
    page.hanging(
        (label, style),
        (one_line(words), style),
        len(label),
    )


def _cells(
    parts: list[tuple[str, float]],
    width: int,
) -> list[tuple[str, int]]:
    """Whole cells per class that add up to the width: each gets the cells between its
    rounded edges.
    """
    total = sum(share for _, share in parts)
    cells = []
    edge = 0.0
    for name, share in parts:
        following = edge + share / total
        cells.append((name, round(following * width) - round(edge * width)))
        edge = following
    return cells


# What to change.


def _findings(
    page: TextPage,
    report: Report,
    details: bool,
) -> None:
    found = advice(report)
    shown = found if details else _leading(found)[:_SHOWN]

    if not found:
        page.line((nothing_to_change(report), "green"))
        page.line()
    for number, finding in enumerate(shown, start=1):
        _finding(page, number, finding, details)

    if not details:
        _smaller(page, [finding for finding in found if finding not in shown])


def _smaller(page: TextPage, hidden: list[Finding]) -> None:
    """Findings that are minor beside the first: of those that take enough to be worth a
    line the change and its place; how many others there are.
    """
    named = [finding for finding in hidden if _is_worth_a_line(finding)][:_SHOWN]
    if named:
        page.line(("Smaller", TITLE))
    for finding in named:
        _smaller_finding(page, finding)

    more = len(hidden) - len(named)
    if more:
        plural = "s" if more > 1 else ""
        words = f"{more} smaller finding{plural}: see {page.more}."
        page.line((f"  {words}" if named else words, DIM))
    if hidden:
        page.line()


def _is_worth_a_line(finding: Finding) -> bool:
    return bool(finding.fixes) and (finding.takes or 0.0) >= _WORTH_A_LINE


def _smaller_finding(page: TextPage, finding: Finding) -> None:
    takes = takes_words(finding)
    share = f" ({takes})" if takes else ""
    fix = one_line(finding.fixes[0].do)
    _bullet(page, f"{one_line(finding.title)}{share}. {fix}")
    for location in finding.locations[:1]:
        if location.file not in finding.title:
            _paragraph(page, one_line(location_words(location)), "cyan", "  where  ")


def _leading(found: list[Finding]) -> list[Finding]:
    """Those that are not minor, after the first, which explains the verdict; all where
    all are minor.
    """
    worth = [
        finding for finding in found if finding.severity.rank >= Severity.MEDIUM.rank
    ]
    if not worth:
        return found
    return [finding for finding in found if finding is found[0] or finding in worth]


def _questions(
    page: TextPage,
    report: Report,
    details: bool,
) -> None:
    """What only the user can tell: in short a question and its place, in detail as any
    finding.
    """
    asked = questions(report)
    if not asked:
        return

    page.line(("Worth checking", TITLE))
    if details:
        for number, finding in enumerate(asked, start=len(advice(report)) + 1):
            _finding(page, number, finding, details)
        return

    for finding in asked[:_SHOWN]:
        _question(page, finding)
    if len(asked) > _SHOWN:
        _paragraph(page, f"{len(asked) - _SHOWN} more: see {page.more}.", DIM)
    page.line()


def _question(page: TextPage, finding: Finding) -> None:
    takes = takes_words(finding)
    share = f" ({takes})" if takes else ""
    _bullet(page, f"{one_line(finding.title)}{share}. {one_line(finding.ask or '')}")
    for location in finding.locations[:1]:
        _paragraph(page, one_line(location_words(location)), "cyan", "  where  ")
    for fix in finding.fixes[:1]:
        _paragraph(page, one_line(fix.do), "", "  if so  ")


def _finding(
    page: TextPage,
    number: int,
    finding: Finding,
    details: bool,
) -> None:
    _title(page, number, finding)

    if finding.ask is not msgspec.UNSET:
        _paragraph(page, one_line(finding.ask), "bold")
    _paragraph(page, one_line(finding.summary))
    if finding.caveat:
        _paragraph(page, finding.caveat, "yellow")
    if finding.saving and (details or is_surprising(finding)):
        _paragraph(page, one_line(finding.saving.basis), "", "range  ")
    tried = tried_words(finding)
    if tried:
        _paragraph(page, tried, "green", "tried: ")
    for location in finding.locations:
        _paragraph(page, one_line(location_words(location)), "cyan", "where  ")

    if details:
        _all_of_it(page, finding)
    else:
        _first_fix(page, finding.fixes)
    page.line()


def _title(
    page: TextPage,
    number: int,
    finding: Finding,
) -> None:
    severity = (weight_words(finding), _SEVERITY_STYLE[finding.severity])
    head: list[list[Piece]] = [[(f"{number}.", TITLE), " ", severity, "  "]]
    for word in one_line(finding.title).split():
        head.append([(f"{word} ", TITLE)])

    worth = worth_words(finding)
    if worth:
        head.append([" ", (worth, "green")])
    if finding.tier is not msgspec.UNSET:
        head.append([" ", ("(preview)", DIM)])
    page.flowing(head, indent=_MARGIN)


def _first_fix(
    page: TextPage,
    fixes: Sequence[Fix],
) -> None:
    if fixes:
        _fix(page, fixes[0])
    others = len(fixes) - 1
    if others > 0:
        plural = "es" if others > 1 else ""
        _paragraph(page, f"{others} other fix{plural}: see {page.more}.", DIM)


def _all_of_it(page: TextPage, finding: Finding) -> None:
    """The evidence, every fix, and where the rule has it from."""
    for evidence in finding.evidence:
        _paragraph(page, evidence_words(evidence), "", "seen   ")
    for fix in finding.fixes:
        if fix.cures and fix.before:
            _paragraph(page, one_line(fix.cures), DIM, "before ")
            page.code(fix.before, DIM)
        _fix(page, fix)
        _paragraph(page, one_line(fix.valid_for), DIM, "valid  ")
    for source in finding.source:
        _paragraph(page, f"{source.doc} {source.section} {source.url}", DIM, "source ")
    _paragraph(page, finding.rule_id, DIM, "rule   ")


def _fix(page: TextPage, fix: Fix) -> None:
    _paragraph(
        page,
        one_line(fix.do),
        "",
        "fix    ",
        "bold green",
    )
    page.code(fix.snippet, "cyan")
    if fix.side_effect:
        _paragraph(page, one_line(fix.side_effect), DIM, "note   ")


def _plan(page: TextPage, report: Report) -> None:
    changes = plan_lines(report)
    if not changes:
        return

    page.line(("Together, in this order, each on top of those before it", TITLE))
    for number, change in enumerate(changes, start=1):
        words = f"{change.title}: saves {change.saves}, leaves {change.leaves}"
        _paragraph(page, words, "", f"{number}. ", "")
    end = plan_end(report)
    if end:
        _paragraph(page, end, DIM)
    page.line()


# About the trace, and what rules and metrics say of it.


def _passed(page: TextPage, report: Report, details: bool) -> None:
    """What costs nothing here: a line, or each with the fault that is not there."""
    words = passed_line(report)
    if not words:
        return
    page.hanging(("Looked at and fine  ", TITLE), (words, DIM), 2)
    if details:
        by_kind = listed((check.category, check.title) for check in report.passed)
        for kind, titles in by_kind.items():
            _paragraph(page, f"not so: {'; '.join(titles)}", DIM, f"{kind}  ")
    page.line()


def _capture(
    page: TextPage,
    report: Report,
    details: bool,
) -> None:
    notes = [(words, "") for words in filter(None, [crowded_words(report)])]
    for note in report.capture:
        notes.append((f"{one_line(note.note)} {one_line(note.do)}", note.snippet))
    for words in filter(None, [unknown_words(report), *about_lines(report)]):
        notes.append((one_line(words), ""))
    if not notes:
        return
    if not details:
        _first_note(page, [words for words, _ in notes])
        return

    page.line(("About this trace", TITLE))
    for words, snippet in notes:
        _bullet(page, words)
        page.code(snippet, "cyan")
    page.line()


def _first_note(page: TextPage, notes: Sequence[str]) -> None:
    """In two lines, whatever there is to say."""
    title = "About this trace  "
    first, *others = textwrap.wrap(notes[0].strip(), page.width - len(title))
    more = f"{len(notes) - 1} more: see {page.more}." if len(notes) > 1 else ""
    if others and more:
        first = cut(f"{first} {others[0]}", page.width - len(title))
    page.line((title, TITLE), first)
    if others or more:
        second = more or cut(" ".join(others), page.width - len(title))
        page.line(" " * len(title), (second, DIM if more else ""))
    page.line()


def _source(page: TextPage, report: Report) -> None:
    """Every line of the program with its share."""
    files = annotated_files(report)
    if not files:
        return
    page.line((SOURCE, TITLE))
    page.hanging("", (LEGEND, DIM), 2, 2)
    for file in files:
        page.line((f"  {one_line(file.file)}  {percent(file.fraction)}", TITLE))
        for part in lines_of(file):
            for line in part:
                words = cut(in_columns(line), page.width)
                page.line((words, "" if line.share else DIM))
            page.line()


def _ops(page: TextPage, report: Report) -> None:
    if report.ops:
        rows, left = op_table(report.ops[:_OPS], page.width)
        page.table("What takes most time on the devices", rows, left)


def _steps(page: TextPage, report: Report) -> None:
    names = [name for name, _ in shares(report)]
    rows = [["step", "period", *names]]
    for step in report.steps.each[:_STEPS]:
        classes = [percent(step.breakdown[name]) for name in names]
        rows.append([one_line(step.name), duration(step.duration_ms), *classes])
    page.table("Steps", rows, left=(0,))

    more = len(report.steps.each) - _STEPS
    if more > 0:
        page.line((f"{more} more: see --format json", DIM))
    for aside in report.steps.set_aside:
        period = duration(aside.duration_ms)
        words = f"{one_line(aside.name)}: {period}, set aside: {aside.reason}"
        page.line((words, DIM))
    page.line()


def _metrics(page: TextPage, report: Report) -> None:
    rows = [["metric", "value"]]
    absent = []
    for name, metric in report.metrics.items():
        if metric.value is None:
            absent.append((name, metric.reason or ""))
        else:
            rows.append([name, in_words(metric.value, Unit(metric.unit))])

    title = "Metrics (`tfadvisor explain NAME` explains one)"
    page.table(title, rows, left=(0,))
    _by_reason(page, "Metrics that this trace does not give", absent)


def _by_reason(
    page: TextPage,
    title: str,
    named: Sequence[tuple[str, str]],
) -> None:
    """Names that share a reason on one line, the commonest reason first."""
    by_reason = listed((reason, name) for name, reason in named)
    if not by_reason:
        return

    page.line((title, TITLE))
    for reason, names in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        _paragraph(page, f"{one_line(reason)}: {', '.join(names[:_NAMED])}{more}", DIM)
    page.line()


def _broken(page: TextPage, report: Report) -> None:
    for failure in report.broken:
        page.line(
            (f"BROKEN {one_line(failure.name)}: {one_line(failure.error)}", "bold red")
        )
    if report.broken:
        page.line()


def _paragraph(
    page: TextPage,
    text: str,
    style: str = "",
    label: str = "",
    label_style: str = DIM,
) -> None:
    """Under the margin; the label stands before its first line and the rest hangs below
    the text.
    """
    page.hanging(
        (label, label_style),
        (text, style),
        _MARGIN + len(label),
        _MARGIN,
    )


def _bullet(page: TextPage, text: str) -> None:
    _paragraph(page, text, "", "• ", "")
