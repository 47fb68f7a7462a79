"""The report as Markdown, for pull requests and issues."""

from __future__ import annotations

import re

import msgspec

from tfadvisor.advice.findings import Finding, Fix
from tfadvisor.printable import in_markdown, printable
from tfadvisor.report.about import about_lines
from tfadvisor.report.model import Report
from tfadvisor.report.wording import (
    advice,
    evidence_words,
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
    lines = [
        f"## {verdict_name(report)}: {in_markdown(report.verdict.summary)}",
        "",
        f"{in_markdown(run_line(report))}  ",
        in_markdown(steps_line(report)),
        "",
    ]
    if shares(report):
        lines += ["| where a step goes | share |", "|---|---:|"]
        lines += [
            f"| {name} | {percent(share)} |"
            for name, share in sorted(shares(report), key=lambda item: -item[1])
        ]
        lines.append("")
    lines += _activities(report)
    found = advice(report)
    if not found:
        lines += [nothing_to_change(report), ""]
    for number, finding in enumerate(found, start=1):
        lines += _finding(number, finding)
    lines += _plan(report)
    if asked := questions(report):
        lines += ["## Worth checking", ""]
        for number, finding in enumerate(asked, start=len(found) + 1):
            lines += _finding(number, finding)
    told = about_lines(report)
    if report.capture or told:
        lines += ["### About this trace", ""]
        lines += [
            f"- {in_markdown(note.note)} {in_markdown(note.do)}"
            for note in report.capture
        ]
        lines += [f"- {in_markdown(line)}" for line in told]
        lines.append("")
    if report.broken:
        lines += ["### Broken", ""]
        lines += [
            f"- {in_markdown(one.name)}: {in_markdown(one.error)}"
            for one in report.broken
        ]
        lines.append("")
    lines.append(f"<sub>{report.tool.name} {in_markdown(report.tool.version)}</sub>")
    return "\n".join(lines) + "\n"


def _activities(report: Report) -> list[str]:
    """Those that take most of the step."""
    told = time_lines(report, _ACTIVITIES)
    if not told:
        return []
    rows = [
        f"| {one.kind} | {in_markdown(one.words)} | {one.share} | {one.time} |"
        for one in told
    ]
    return [
        "### Where the step goes",
        "",
        "| class | activity | share | a step |",
        "|---|---|---:|---:|",
        *rows,
        "",
    ]


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
    lines += [
        f"| {number}. {in_markdown(one.title)} | {one.saves} | {one.leaves} |"
        for number, one in enumerate(changes, start=1)
    ]
    end = plan_end(report)
    return [*lines, "", *([end, ""] if end else [])]


def _finding(number: int, finding: Finding) -> list[str]:
    worth = worth_words(finding)
    preview = " · preview" if finding.tier is not msgspec.UNSET else ""
    lines = [
        f"### {number}. {in_markdown(finding.title)}",
        "",
        f"**{weight_words(finding).lower()}**{f', {worth}' if worth else ''} · "
        f"`{finding.rule_id}`{preview}",
        "",
        *(
            [f"**{in_markdown(finding.ask)}**", ""]
            if finding.ask is not msgspec.UNSET
            else []
        ),
        in_markdown(finding.summary),
        "",
    ]
    if finding.caveat:
        lines += [f"_{in_markdown(finding.caveat)}_", ""]
    tried = tried_words(finding)
    if tried:
        lines += [f"Tried: {tried}", ""]
    for location in finding.locations:
        lines += [f"Where: {in_markdown(location_words(location))}", ""]
    lines += [f"- {in_markdown(evidence_words(one))}" for one in finding.evidence]
    if finding.evidence:
        lines.append("")
    for fix in finding.fixes:
        lines += fix_lines(fix)
    if finding.source:
        lines += [
            "Source: "
            + ", ".join(
                f"[{one.doc} {one.section}]({one.url})" for one in finding.source
            ),
            "",
        ]
    return lines


def fix_lines(fix: Fix) -> list[str]:
    """One edit: what, the snippet, for which versions, its side effect."""
    lines = [f"**Fix** ({fix.kind}): {in_markdown(fix.do)}", ""]
    if fix.snippet:
        snippet = printable(fix.snippet).rstrip("\n")
        longest = max((len(run) for run in re.findall(r"`+", snippet)), default=0)
        fence = "`" * max(3, longest + 1)
        lines += [
            f"{fence}{'python' if fix.kind == 'code' else 'sh'}",
            snippet,
            fence,
            "",
        ]
    notes = [f"Valid for: {in_markdown(fix.valid_for)}."]
    if fix.side_effect:
        notes.append(f"Side effect: {in_markdown(fix.side_effect)}")
    return [*lines, " ".join(notes), ""]
