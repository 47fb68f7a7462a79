"""The report in a notebook's cell: its heading, a bar of the step's time, and the text
of the terminal.
"""

from __future__ import annotations

from html import escape

from msgspec.structs import replace

from tfadvisor.html_fragments import bar, fragment, text
from tfadvisor.report.forms.terminal import as_text
from tfadvisor.report.model import Report
from tfadvisor.report.wording import advice, head_line, verdict_name
from tfadvisor.text_page import PLAIN
from tfadvisor.units import counted

_MORE = "All findings, fixes, metrics and steps"
_CELL = replace(PLAIN, more=f'"{_MORE}"')


def as_fragment(report: Report) -> str:
    """HTML that needs nothing else. All that comes from the trace is escaped."""
    _, _, short = as_text(report, screen=_CELL).partition("\n\n")
    _, _, whole = as_text(report, details=True, screen=_CELL).partition("\n\n")
    return fragment(
        [
            f"<h4>{text(verdict_name(report))}</h4>",
            f'<p class="quiet">{text(head_line(report))}</p>',
            bar(report.breakdown) if report.steps.time_ms is not None else "",
            f"<pre>{escape(short)}</pre>",
            f"<details><summary>{text(_MORE)}</summary><pre>{escape(whole)}</pre>"
            "</details>",
        ]
    )


def as_line(report: Report) -> str:
    """`<tfadvisor.Report of 2026_… · 10 steps of 5.27 ms: INPUT-BOUND, 3 findings>`."""
    findings = counted(str(len(advice(report))), "finding", "findings")
    verdict = verdict_name(report)
    return f"<tfadvisor.Report of {head_line(report)}: {verdict}, {findings}>"
