"""The report in a notebook's cell: verdict, where the step's time goes, the findings with their edits."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import msgspec

from tfadvisor.advice.findings import Finding
from tfadvisor.html_fragments import bar, fragment, text
from tfadvisor.printable import printable
from tfadvisor.report.about import about_lines
from tfadvisor.report.model import Report
from tfadvisor.report.wording import (
    advice,
    evidence_words,
    location_words,
    questions,
    run_line,
    saving_words,
    steps_line,
    takes_words,
    verdict_name,
)
from tfadvisor.units import duration, percent

_SHOWN = 8


def as_fragment(report: Report) -> str:
    """HTML that needs nothing else. All that comes from the trace is escaped."""
    found = advice(report)
    more = len(found) - _SHOWN
    asked = questions(report)
    return fragment(
        [
            f"<h4>{text(verdict_name(report))}</h4><p>{text(report.verdict.summary)}</p>",
            f'<p class="quiet">{text(run_line(report))}<br>{text(steps_line(report))}</p>',
            bar(report.breakdown) if report.steps.time_ms is not None else "",
            _activities(report),
            *(_finding(one) for one in found[:_SHOWN]),
            f'<p class="quiet">{more} more findings</p>' if more > 0 else "",
            "<h4>Worth checking</h4>" if asked else "",
            *(_finding(one) for one in asked),
            *(f'<p class="quiet">About this trace: {text(one.note)}</p>' for one in report.capture),
            *(f'<p class="quiet">About this trace: {text(one)}</p>' for one in about_lines(report)),
        ]
    )


def _activities(report: Report) -> str:
    """Where the step goes, a level inside the other; closed but for the classes."""
    if not report.attribution:
        return ""
    classes = []
    for kind in report.attribution:
        inner = "".join(
            _node(one.activity, one.fraction, one.ms, [(p.activity, p.fraction, p.ms) for p in one.parts])
            for one in kind.parts
        )
        classes.append(
            f"<details><summary>{kind.kind} {percent(kind.fraction)}, {duration(kind.ms)}</summary>{inner}</details>"
        )
    return f'<details><summary><b>Where the step goes</b></summary><div class="tree">{"".join(classes)}</div></details>'


def _node(words: str, fraction: float, ms: float, parts: Sequence[tuple[str, float, float]]) -> str:
    head = f"{percent(fraction)}, {duration(ms)} {text(words)}"
    if not parts:
        return f"<p>{head}</p>"
    return f"<details><summary>{head}</summary>{''.join(_node(*one, ()) for one in parts)}</details>"


def as_line(report: Report) -> str:
    """`<tfadvisor.Report of 2026_…: INPUT-BOUND, 10 steps of 5.27 ms, 3 findings>`."""
    number = len(report.findings)
    return (
        f"<tfadvisor.Report of {run_line(report)}: {verdict_name(report)}, {steps_line(report)}, "
        f"{number} finding{'s' if number != 1 else ''}>"
    )


def _finding(finding: Finding) -> str:
    saving = saving_words(finding.saving)
    worth = f"saves {saving}" if saving else takes_words(finding) if finding.is_question else ""
    worth = f"{finding.severity.value}, {worth}" if worth else finding.severity.value
    head = f"<b>{text(finding.title)}</b> <span class=quiet>{worth}</span>"
    parts = [f"<p><b>{text(finding.ask)}</b></p>"] if finding.ask is not msgspec.UNSET else []
    parts.append(f"<p>{text(finding.summary)}</p>")
    parts += [f"<p class=quiet>{text(evidence_words(one))}</p>" for one in finding.evidence]
    parts += [f"<p><code>{text(location_words(one))}</code></p>" for one in finding.locations[:3]]
    for fix in finding.fixes[:1]:
        parts.append(f"<p>{text(fix.do)}</p>")
        parts += [f"<pre>{escape(printable(fix.snippet))}</pre>"] if fix.snippet else []
    return f"<details><summary>{head}</summary>{''.join(parts)}</details>"
