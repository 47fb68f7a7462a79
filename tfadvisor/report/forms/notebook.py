"""The report in a notebook's cell: verdict, where the step's time goes, the findings with their edits."""

from __future__ import annotations

from html import escape

import msgspec

from tfadvisor.advice.findings import Finding
from tfadvisor.html_fragments import bar, fragment, table, text
from tfadvisor.printable import printable
from tfadvisor.report.about import about_lines
from tfadvisor.report.model import Report
from tfadvisor.report.wording import (
    advice,
    evidence_words,
    location_words,
    questions,
    run_line,
    steps_line,
    time_lines,
    verdict_name,
    worth_words,
)

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
    """Where the step goes, an activity a line; closed."""
    rows = [(one.share, one.time, one.kind, one.words) for one in time_lines(report, _SHOWN)]
    if not rows:
        return ""
    head = ("share", "time", "class", "activity")
    return f"<details><summary><b>Where the step goes</b></summary>{table(head, rows, (0, 1))}</details>"


def as_line(report: Report) -> str:
    """`<tfadvisor.Report of 2026_…: INPUT-BOUND, 10 steps of 5.27 ms, 3 findings>`."""
    number = len(report.findings)
    return (
        f"<tfadvisor.Report of {run_line(report)}: {verdict_name(report)}, {steps_line(report)}, "
        f"{number} finding{'s' if number != 1 else ''}>"
    )


def _finding(finding: Finding) -> str:
    worth = ", ".join(filter(None, (finding.severity.value, worth_words(finding))))
    head = f"<b>{text(finding.title)}</b> <span class=quiet>{worth}</span>"
    parts = [f"<p><b>{text(finding.ask)}</b></p>"] if finding.ask is not msgspec.UNSET else []
    parts.append(f"<p>{text(finding.summary)}</p>")
    parts += [f"<p class=quiet>{text(evidence_words(one))}</p>" for one in finding.evidence]
    parts += [f"<p><code>{text(location_words(one))}</code></p>" for one in finding.locations[:3]]
    for fix in finding.fixes[:1]:
        parts.append(f"<p>{text(fix.do)}</p>")
        parts += [f"<pre>{escape(printable(fix.snippet))}</pre>"] if fix.snippet else []
    return f"<details><summary>{head}</summary>{''.join(parts)}</details>"
