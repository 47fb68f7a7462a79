"""The report as one HTML page, without scripts: tables, bars, and the trend as a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tfadvisor.fleet.report.costs import Fleet, Part
from tfadvisor.fleet.report.text import HEADINGS, head_words, hours, lost_words, part_cells
from tfadvisor.report.printable import one_line
from tfadvisor.units import duration, percent
from tfadvisor.version import VERSION

_ROWS = 200
_BAR = 160
_TREND = (720, 160)
"""Width and height of the drawing, pixels."""
_STYLE = """
:root { color-scheme: light dark; --line: #d5dae0; --dim: #5b6773; --lost: #d55e00; --all: #b4bdc7 }
@media (prefers-color-scheme: dark) { :root { --line: #38424d; --dim: #9aa7b4; --all: #55616e } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 84rem; padding: 0 1rem }
h1 { font-size: 1.4rem; margin-bottom: .3rem } h2 { font-size: 1.1rem; margin-top: 2rem }
p.dim, td.dim, footer { color: var(--dim) }
table { border-collapse: collapse; width: 100% }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th:first-child, td:first-child, .left { text-align: left }
td:last-child { white-space: normal; overflow-wrap: anywhere; min-width: 14rem; font-size: 13px }
svg text { font-size: 11px; fill: currentColor }
"""


def as_page(fleet: Fleet) -> str:
    """The whole document. Names from traces are escaped, and nothing is loaded."""
    sections = [
        _part_section("By cause", fleet.causes, fleet.whole),
        _part_section("By first finding", fleet.findings, fleet.whole, findings=False),
        _part_section("By team", fleet.teams, fleet.whole),
        _part_section("By model", fleet.models, fleet.whole),
        _trend_section(fleet.trend),
        _worse_section(fleet),
        _failed_section(fleet),
    ]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>tfadvisor: what costs the fleet</title><style>{_STYLE}</style></head><body>
<h1>{escape(head_words(fleet))}</h1>
<p>{escape(lost_words(fleet))}</p>
{"".join(sections)}
<footer><p>tfadvisor {escape(VERSION)}</p></footer></body></html>
"""


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> str:
    """Cells are HTML already."""

    def row(cells: Sequence[str], tag: str) -> str:
        inner = "".join(
            f"<{tag}{' class=left' if column in left else ''}>{cell}</{tag}>" for column, cell in enumerate(cells)
        )
        return f"<tr>{inner}</tr>\n"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table><thead>{row(headings, 'th')}</thead><tbody>{body}</tbody></table>\n"


def _part_section(title: str, parts: Sequence[Part], whole: Part, *, findings: bool = True) -> str:
    """findings: with the column of the commonest."""
    if not parts:
        return ""
    most, columns = max(part.hours for part in parts) or 1.0, len(HEADINGS) - (not findings)
    rows = [
        (_text(part.name), _bar(part, most), *map(_text, part_cells(part, whole)[:columns]), _text(part.worst or ""))
        for part in parts[:_ROWS]
    ]
    more = f"<p class=dim>and {len(parts) - _ROWS:,} more</p>" if len(parts) > _ROWS else ""
    headings = ("", "", *HEADINGS[:columns], "loses most")
    return f"<h2>{escape(title)}</h2>\n{_table(headings, rows, (1, 7, 8))}{more}"


def _bar(part: Part, most: float) -> str:
    """Its device-hours, and in them what is lost."""
    whole, lost = _BAR * part.hours / most, _BAR * part.lost / most
    return (
        f'<svg width="{_BAR}" height="12" role="img" aria-label="{hours(part.lost)} of {hours(part.hours)} lost">'
        f'<rect width="{whole:.1f}" height="12" fill="var(--all)"/>'
        f'<rect width="{lost:.1f}" height="12" fill="var(--lost)"/></svg>'
    )


def _trend_section(trend: Sequence[Part]) -> str:
    """The share of device-hours that is lost, a bar for each day, week or month."""
    if len(trend) < 2:
        return ""
    width, height = _TREND
    step = width / len(trend)
    bars = []
    for index, part in enumerate(trend):
        share = part.lost / part.hours if part.hours else 0.0
        told = f"{part.name}: {percent(share)} of {hours(part.hours)} device-hours, {part.runs:,} runs"
        bars.append(
            f'<rect x="{index * step + 1:.1f}" y="{height * (1 - share):.1f}" width="{max(step - 2, 1):.1f}" '
            f'height="{height * share:.1f}" fill="var(--lost)"><title>{escape(told)}</title></rect>'
        )
    ends = (
        f'<text x="0" y="{height + 14}">{escape(trend[0].name)}</text>'
        f'<text x="{width}" y="{height + 14}" text-anchor="end">{escape(trend[-1].name)}</text>'
    )
    frame = f'<rect width="{width}" height="{height}" fill="none" stroke="var(--line)"/>'
    return (
        f'<h2>Over time: share lost, 0 to 100%</h2>\n<svg width="{width}" height="{height + 20}" role="img" '
        f'aria-label="share lost over time">{frame}{"".join(bars)}{ends}</svg>\n'
    )


def _worse_section(fleet: Fleet) -> str:
    if not fleet.worse:
        return ""
    rows = [
        (
            _text(one.name),
            duration(one.was_ms),
            duration(one.is_ms),
            f"+{percent(one.is_ms / one.was_ms - 1)}",
            hours(one.lost),
            f"{one.earlier}",
            _text(f"{one.was} → {one.verdict}" if one.was != one.verdict else one.verdict or ""),
            _text(one.place),
        )
        for one in fleet.worse[:_ROWS]
    ]
    headings = ("", "was", "is", "", "device-hours", "earlier runs", "verdict", "run")
    return f"<h2>Got worse</h2>\n{_table(headings, rows, (6, 7))}"


def _failed_section(fleet: Fleet) -> str:
    if not fleet.failed:
        return ""
    rows = [(_text(row.place), _text(row.error_kind or ""), _text(row.error or "")) for row in fleet.failed[:_ROWS]]
    more = f"<p class=dim>and {len(fleet.failed) - _ROWS:,} more</p>" if len(fleet.failed) > _ROWS else ""
    return f"<h2>Without a report</h2>\n{_table(('run', '', 'why'), rows, (1, 2))}{more}"


def _text(name: str) -> str:
    return escape(one_line(name))
