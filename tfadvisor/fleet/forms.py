"""Every form of the fleet's report: terminal, JSON, page."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from tfadvisor.fleet.costs import Fleet, Part
from tfadvisor.html_fragments import table, text
from tfadvisor.printable import one_line
from tfadvisor.report.forms.forms import Form
from tfadvisor.report.forms.html import whole_page
from tfadvisor.report.forms.terminal import DIM, PLAIN, TITLE, Screen, TextPage
from tfadvisor.units import percent

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

# The report as one HTML page, without scripts.

_ROWS_PAGE = 200
_NUMBERS = (1, 2, 3, 4, 5)


def as_page(fleet: Fleet) -> str:
    """The whole document. Names from traces are escaped, and nothing is loaded."""
    parts = [f"<h1>{text(head_words(fleet))}</h1>", f"<p>{text(lost_words(fleet))}</p>"]
    for title, found, columns in (
        ("By cause", fleet.causes, 6),
        ("By first finding", fleet.findings, 5),
        ("By team", fleet.teams, 6),
        ("By model", fleet.models, 6),
    ):
        rows = [(one.name, *part_cells(one, fleet.whole)[:columns], one.worst or "") for one in found]
        parts += _section(title, ("", *HEADINGS[:columns], "loses most"), rows, _NUMBERS)
    failed = [(one.place, one.error_kind or "", one.error or "") for one in fleet.failed]
    parts += _section("Without a report", ("run", "", "why"), failed)
    return whole_page("tfadvisor: what costs the fleet", parts)


def _section(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()
) -> list[str]:
    """Nothing without rows."""
    if not rows:
        return []
    more = [f'<p class="dim">and {len(rows) - _ROWS_PAGE:,} more</p>'] if len(rows) > _ROWS_PAGE else []
    return [f"<h2>{title}</h2>", table(headings, rows[:_ROWS_PAGE], numbers), *more]
