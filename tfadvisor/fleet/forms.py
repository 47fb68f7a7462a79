"""The report for a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape

import msgspec

from tfadvisor.fleet.costs import Fleet, Part
from tfadvisor.printable import one_line
from tfadvisor.report.forms.forms import Form
from tfadvisor.report.forms.terminal import DIM, PLAIN, TITLE, Screen, TextPage
from tfadvisor.units import duration, percent
from tfadvisor.version import VERSION

_ROWS = 10
_FAILED = 5


def as_text(fleet: Fleet, *, screen: Screen = PLAIN) -> str:
    """The report as text."""
    page = TextPage(screen)
    whole = fleet.whole
    page.line((head_words(fleet), TITLE))
    page.hanging("", lost_words(fleet), 2, 2)
    page.line()
    if whole.runs:
        _table(page, "By cause", fleet.causes, whole)
        _table(page, "By first finding", fleet.findings, whole, findings=False)
        _table(page, "By team", fleet.teams, whole)
        _table(page, "By model", fleet.models, whole)
        _trend(page, fleet.trend)
    _worse(page, fleet)
    _failed(page, fleet)
    return page.text()


def head_words(fleet: Fleet) -> str:
    """`1,204 runs, 9,632 device-hours; 3 without a report`."""
    words = f"{fleet.runs:,} run{'s' if fleet.runs != 1 else ''}, {hours(fleet.whole.hours)} device-hours"
    return f"{words}; {len(fleet.failed):,} without a report" if fleet.failed else words


def lost_words(fleet: Fleet) -> str:
    """What is lost, what could be had back, and what a run stands for."""
    whole = fleet.whole
    if not whole.runs:
        return "No run has a report."
    weighed = "the hours of the table" if fleet.weighed else "one hour each, as the table has no column `hours`"
    return (
        f"{hours(whole.lost)} device-hours ({percent(whole.lost / whole.hours)}) go to the largest cost of each run that is "
        f"not healthy. First findings could save {hours(whole.low)} to {hours(whole.high)}. Runs stand for {weighed}."
    )


def hours(number: float) -> str:
    """`0.25`, `12.3`, `1,204`."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def part_cells(part: Part, whole: Part) -> tuple[str, ...]:
    """A part's numbers: device-hours, lost, its share of all device-hours, could be saved, runs, commonest finding."""
    saved = f"{hours(part.low)} to {hours(part.high)}" if part.high else "–"
    share = percent(part.lost / whole.hours) if whole.hours else "–"
    return hours(part.hours), hours(part.lost), share, saved, f"{part.runs:,}", one_line(part.finding or "")


HEADINGS = ("device-hours", "lost", "of all", "could save", "runs", "commonest finding")


def _table(page: TextPage, title: str, parts: Sequence[Part], whole: Part, *, findings: bool = True) -> None:
    """findings: with the column of the commonest."""
    if not parts:
        return
    columns = len(HEADINGS) - (not findings)
    rows = [(one_line(part.name)[:40], *part_cells(part, whole)[:columns]) for part in parts[:_ROWS]]
    page.table(title, [("", *HEADINGS[:columns]), *rows], left=(0, 6))
    if len(parts) > _ROWS:
        page.line((f"  and {len(parts) - _ROWS:,} more; the page and the table have them", DIM))
        page.line()


def _trend(page: TextPage, trend: Sequence[Part]) -> None:
    if len(trend) < 2:
        return
    rows = [(part.name, hours(part.hours), percent(part.lost / part.hours), f"{part.runs:,}") for part in trend]
    page.table("Over time", [("", "device-hours", "lost", "runs"), *rows], left=(0,))


def _worse(page: TextPage, fleet: Fleet) -> None:
    if not fleet.worse:
        return
    page.line(("Got worse", TITLE))
    for one in fleet.worse[:_ROWS]:
        change = f"{duration(one.was_ms)} → {duration(one.is_ms)}"
        page.hanging("", f"{one_line(one.name)}: {change}, {hours(one.lost)} device-hours. {one_line(one.place)}", 4, 2)
    if len(fleet.worse) > _ROWS:
        page.line((f"  and {len(fleet.worse) - _ROWS:,} more", DIM))
    page.line()


def _failed(page: TextPage, fleet: Fleet) -> None:
    if not fleet.failed:
        return
    page.line(("Without a report", TITLE))
    for row in fleet.failed[:_FAILED]:
        page.hanging("", one_line(f"{row.place}: {row.error}"), 4, 2)
    if len(fleet.failed) > _FAILED:
        page.line((f"  and {len(fleet.failed) - _FAILED:,} more", DIM))
    page.line()


# The report as JSON.


SCHEMA_VERSION = "1"


def as_json(fleet: Fleet) -> str:
    """`schema_version` first; times as ISO 8601."""
    return (
        json.dumps({"schema_version": SCHEMA_VERSION, **msgspec.to_builtins(fleet)}, indent=2, allow_nan=False) + "\n"
    )


# The forms of the report.


FLEET_FORMS = (
    Form("text", (".txt",), "tfadvisor.fleet.forms:as_text", on_screen=True),
    Form("json", (".json",), "tfadvisor.fleet.forms:as_json"),
    Form("html", (".html", ".htm"), "tfadvisor.fleet.forms:as_page", drawn=True),
)

# The report as one HTML page, without scripts: tables, bars, and the trend as a drawing.

_ROWS_PAGE = 200
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


def _table_page(headings: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> str:
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
        for part in parts[:_ROWS_PAGE]
    ]
    more = f"<p class=dim>and {len(parts) - _ROWS_PAGE:,} more</p>" if len(parts) > _ROWS_PAGE else ""
    headings = ("", "", *HEADINGS[:columns], "loses most")
    return f"<h2>{escape(title)}</h2>\n{_table_page(headings, rows, (1, 7, 8))}{more}"


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
        for one in fleet.worse[:_ROWS_PAGE]
    ]
    headings = ("", "was", "is", "", "device-hours", "earlier runs", "verdict", "run")
    return f"<h2>Got worse</h2>\n{_table_page(headings, rows, (6, 7))}"


def _failed_section(fleet: Fleet) -> str:
    if not fleet.failed:
        return ""
    rows = [
        (_text(row.place), _text(row.error_kind or ""), _text(row.error or "")) for row in fleet.failed[:_ROWS_PAGE]
    ]
    more = f"<p class=dim>and {len(fleet.failed) - _ROWS_PAGE:,} more</p>" if len(fleet.failed) > _ROWS_PAGE else ""
    return f"<h2>Without a report</h2>\n{_table_page(('run', '', 'why'), rows, (1, 2))}{more}"


def _text(name: str) -> str:
    return escape(one_line(name))
