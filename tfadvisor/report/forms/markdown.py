"""The report as Markdown, for pull requests and issues."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from tfadvisor.advice.findings import Finding, Fix
from tfadvisor.printable import in_code, in_markdown, printable
from tfadvisor.report.about import about_lines, crowded_words
from tfadvisor.report.light import LIGHT, light_line, light_rows
from tfadvisor.report.model import Report
from tfadvisor.report.of_the_run import (
    RUN,
    before_words,
    run_rows,
    run_words,
    statement_rows,
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
    evidence_words,
    few_lines,
    is_surprising,
    location_words,
    nothing_to_change,
    plan_end,
    plan_lines,
    questions,
    run_line,
    shares,
    steps_line,
    time_lines,
    tried_words,
    verdict_name,
    weight_words,
    worth_words,
)
from tfadvisor.units import percent

_ACTIVITIES = 8
"""Of the step; a smaller part is not in the table."""


def as_markdown(report: Report) -> str:
    """GitHub-flavoured; everything from the trace is escaped."""
    found = advice(report)
    lines = [*_head(report), *_run(report), *_classes(report)]
    lines += [*_activities(report), *_light(report)]
    if not found:
        lines += [nothing_to_change(report), ""]
    lines += _findings(found, first=1)
    lines += _plan(report)

    asked = questions(report)
    if asked:
        lines += ["## Worth checking", ""]
        lines += _findings(asked, first=len(found) + 1)

    lines += [*_source(report), *_capture(report), *_broken(report)]
    lines.append(f"<sub>{report.tool.name} {in_markdown(report.tool.version)}</sub>")
    return "\n".join(lines) + "\n"


def _head(report: Report) -> list[str]:
    return [
        f"## {verdict_name(report)}: {in_markdown(report.verdict.summary)}",
        "",
        f"{in_markdown(run_line(report))}  ",
        in_markdown(steps_line(report)),
        "",
    ]


def _run(report: Report) -> list[str]:
    """Where the time of the whole program goes."""
    rows = run_rows(report)
    if not rows:
        return []
    before = before_words(report)
    lines = [f"### {RUN}", "", in_markdown(f"{run_words(report)}."), ""]
    lines += [in_markdown(f"{before}."), ""] if before else []
    lines += _statements(report)
    lines += ["| part | share | time | turns | where |", "|---|---:|---:|---:|---|"]
    for row in rows:
        indent = "&nbsp;&nbsp;" * row.depth
        what, where = in_markdown(row.what), in_markdown(row.where)
        lines.append(
            f"| {indent}{what} | {row.share} | {row.time} | {row.turns} | {where} |"
        )
    return [*lines, ""]


def _statements(report: Report) -> list[str]:
    """The loop's own lines, where several take the step's time."""
    lines = []
    for row in statement_rows(report):
        words = " ".join(filter(None, (row.share, row.where, row.does)))
        text = f" {in_code(row.text)}" if row.text else ""
        lines.append(f"- {in_markdown(words)}{text}")
    return [*lines, ""] if lines else []


def _classes(report: Report) -> list[str]:
    parts = shares(report)
    if not parts:
        return []
    lines = ["| where a step goes | share |", "|---|---:|"]
    for name, share in sorted(parts, key=lambda item: -item[1]):
        lines.append(f"| {name} | {percent(share)} |")
    return [*lines, ""]


def _activities(report: Report) -> list[str]:
    """Those that take most of the step."""
    largest = time_lines(report, _ACTIVITIES)
    if not largest:
        return _few(report)
    lines = [
        "### Where the step goes",
        "",
        "| class | activity | share | a step |",
        "|---|---|---:|---:|",
    ]
    for activity in largest:
        known = (
            f"{activity.words}: {activity.cause}" if activity.cause else activity.words
        )
        words = in_markdown(known)
        lines.append(
            f"| {activity.kind} | {words} | {activity.share} | {activity.time} |"
        )
    return [*lines, "", *_few(report)]


def _few(report: Report) -> list[str]:
    """What lies in few steps, in seconds."""
    lines = few_lines(report, _ACTIVITIES)
    if not lines:
        return []
    rows = [
        f"| {few.kind} | {in_markdown(few.words)} | {few.steps} | {few.time} |"
        for few in lines
    ]
    heads = ["| class | activity | in | in each of them |", "|---|---|---:|---:|"]
    return ["### In few steps", "", *heads, *rows, ""]


def _light(report: Report) -> list[str]:
    """What the step would take at the limits of its devices, and what is above it."""
    rows = light_rows(report)
    if not rows:
        return []
    lines = [
        f"### {LIGHT}",
        "",
        in_markdown(f"{light_line(report)}."),
        "",
        "| what | takes | above the least | reaches | where |",
        "|---|---:|---:|---|---|",
    ]
    for row in rows:
        where = in_markdown(row.where)
        lines.append(
            f"| {row.what} | {row.takes} | {row.above} | {row.reached} | {where} |"
        )
    return [*lines, ""]


def _plan(report: Report) -> list[str]:
    changes = plan_lines(report)
    if not changes:
        return []
    lines = [
        "### Together, in this order",
        "",
        "| change | saves on top of those before it | leaves |",
        "|---|---:|---:|",
    ]
    for number, change in enumerate(changes, start=1):
        title = f"{number}. {in_markdown(change.title)}"
        lines.append(f"| {title} | {change.saves} | {change.leaves} |")
    lines.append("")

    end = plan_end(report)
    return [*lines, end, ""] if end else lines


def _source(report: Report) -> list[str]:
    """Every line of the program with its share, folded."""
    files = annotated_files(report)
    if not files:
        return []
    lines = [f"### {SOURCE}", "", LEGEND, ""]
    for file in files:
        head = f"{in_markdown(file.file)}, {percent(file.fraction)} of the step"
        lines += ["<details>", f"<summary>{head}</summary>", ""]
        for part in lines_of(file):
            lines += [*_fenced("\n".join(map(in_columns, part)), "text"), ""]
        lines += ["</details>", ""]
    return lines


def _capture(report: Report) -> list[str]:
    first = [crowded_words(report), unknown_words(report)]
    about = [*filter(None, first), *about_lines(report)]
    if not report.capture and not about:
        return []
    lines = ["### About this trace", ""]
    for note in report.capture:
        lines.append(f"- {in_markdown(note.note)} {in_markdown(note.do)}")
    for line in about:
        lines.append(f"- {in_markdown(line)}")
    return [*lines, ""]


def _broken(report: Report) -> list[str]:
    if not report.broken:
        return []
    lines = ["### Broken", ""]
    for failure in report.broken:
        lines.append(f"- {in_markdown(failure.name)}: {in_markdown(failure.error)}")
    return [*lines, ""]


def _findings(
    found: Iterable[Finding],
    first: int,
) -> Iterator[str]:
    for number, finding in enumerate(found, start=first):
        yield from _finding(number, finding)


def _finding(
    number: int,
    finding: Finding,
) -> list[str]:
    lines = [f"### {number}. {in_markdown(finding.title)}", "", _worth(finding), ""]
    if finding.ask is not msgspec.UNSET:
        lines += [f"**{in_markdown(finding.ask)}**", ""]
    lines += [in_markdown(finding.summary), ""]
    if finding.caveat:
        lines += [f"_{in_markdown(finding.caveat)}_", ""]
    if finding.saving and is_surprising(finding):
        lines += [f"Range: {in_markdown(finding.saving.basis)}", ""]
    tried = tried_words(finding)
    if tried:
        lines += [f"Tried: {tried}", ""]

    for location in finding.locations:
        lines += [f"Where: {in_markdown(location_words(location))}", ""]
    for evidence in finding.evidence:
        lines.append(f"- {in_markdown(evidence_words(evidence))}")
    if finding.evidence:
        lines.append("")
    for fix in finding.fixes:
        lines += fix_lines(fix)

    if finding.source:
        links = [
            f"[{source.doc} {source.section}]({source.url})"
            for source in finding.source
        ]
        lines += [f"Source: {', '.join(links)}", ""]
    return lines


def _worth(finding: Finding) -> str:
    worth = worth_words(finding)
    words = f"**{weight_words(finding).lower()}**"
    if worth:
        words += f", {worth}"
    words += f" · `{finding.rule_id}`"
    return words if finding.tier is msgspec.UNSET else f"{words} · preview"


def fix_lines(fix: Fix) -> list[str]:
    """One edit: what, the snippet, for which versions, its side effect."""
    lines = [f"**Fix** ({fix.kind}): {in_markdown(fix.do)}", ""]
    if fix.before:
        lines += ["Before", "", *_code_lines(fix.kind, fix.before), "After", ""]
    if fix.snippet:
        lines += _code_lines(fix.kind, fix.snippet)
    notes = [f"Valid for: {in_markdown(fix.valid_for)}."] if fix.valid_for else []
    if fix.side_effect:
        notes.append(f"Side effect: {in_markdown(fix.side_effect)}")
    return [*lines, " ".join(notes), ""] if notes else lines


def _code_lines(kind: str, code: str) -> list[str]:
    snippet = printable(code).rstrip("\n")
    return [*_fenced(snippet, "python" if kind == "code" else "sh"), ""]


def _fenced(text: str, language: str) -> list[str]:
    """Between fences that are longer than any in the text."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", text, fence]
