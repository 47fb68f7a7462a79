"""The report in a notebook's cell: its heading, a bar of the step's time, and the text
of the terminal.
"""

from __future__ import annotations

from html import escape

from tfadvisor.html_fragments import bar, fragment, text
from tfadvisor.report.forms.terminal import as_text
from tfadvisor.report.model import Report
from tfadvisor.report.wording import run_line, steps_line, verdict_name
from tfadvisor.units import counted


def as_fragment(report: Report) -> str:
    """HTML that needs nothing else. All that comes from the trace is escaped."""
    _, _, rest = as_text(report).partition("\n\n")
    return fragment(
        [
            f"<h4>{text(verdict_name(report))}</h4>",
            "<p "
            f'class="quiet">{text(run_line(report))}<br>{text(steps_line(report))}</p>',
            bar(report.breakdown) if report.steps.time_ms is not None else "",
            f"<pre>{escape(rest)}</pre>",
        ]
    )


def as_line(report: Report) -> str:
    """`<tfadvisor.Report of 2026_…: INPUT-BOUND, 10 steps of 5.27 ms, 3 findings>`."""
    findings = counted(
        str(len(report.findings)),
        "finding",
        "findings",
    )
    return (
        f"<tfadvisor.Report of {run_line(report)}: {verdict_name(report)}, "
        f"{steps_line(report)}, {findings}>"
    )
