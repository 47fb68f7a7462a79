"""Every form of the fleet's report: terminal, JSON, page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import msgspec

from tfadvisor.fleet.costs import Fleet, RunGroup
from tfadvisor.html_fragments import table, text
from tfadvisor.printable import one_line
from tfadvisor.report.forms import Form, whole_page
from tfadvisor.text_page import DIM, PLAIN, TITLE, Screen, TextPage
from tfadvisor.units import counted, percent

_ROWS, _ROWS_PAGE, _FAILED = 10, 200, 5
_LONGEST, _TAIL = 40, 14
"""Characters of a name in text, and of its end."""
_HEADINGS = (
    "device-hours",
    "lost",
    "of all",
    "could save",
    "runs",
    "commonest finding",
    "loses most",
)
_NUMBERS = (1, 2, 3, 4, 5)
SCHEMA_VERSION = "1"

FLEET_FORMS = (
    Form("text", (".txt",), "tfadvisor.fleet.fleet_forms:as_text", on_screen=True),
    Form("json", (".json",), "tfadvisor.fleet.fleet_forms:as_json"),
    Form("html", (".html", ".htm"), "tfadvisor.fleet.fleet_forms:as_page", drawn=True),
)


def sections(fleet: Fleet) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """(title, rows) of what there is: each part with its numbers in the order of the
    headings. Names are as traces have them.
    """
    whole = fleet.whole.hours
    parts = {
        "By cause": fleet.causes,
        "By first finding": fleet.findings,
        "By team": fleet.teams,
        "By model": fleet.models,
    }
    for title, found in parts.items():
        if found and whole:
            with_finding = found is not fleet.findings
            rows = [_row(group, whole, with_finding=with_finding) for group in found]
            yield title, rows


def _row(
    group: RunGroup,
    whole: float,
    *,
    with_finding: bool,
) -> tuple[str, ...]:
    return (
        group.name,
        hours(group.hours),
        hours(group.lost),
        percent(group.lost / whole),
        f"{hours(group.low)} to {hours(group.high)}" if group.high else "–",
        f"{group.runs:,}",
        (group.finding or "") if with_finding else "",
        group.worst or "",
    )


def as_text(
    fleet: Fleet,
    *,
    screen: Screen = PLAIN,
) -> str:
    """The report as text."""
    page = TextPage(screen)
    page.line((head_words(fleet), TITLE))
    page.hanging("", lost_words(fleet), 2, 2)
    page.line()
    for title, rows in sections(fleet):
        _table(page, title, rows)
    if fleet.failed:
        _failed(page, fleet)
    return page.text()


def _table(
    page: TextPage,
    title: str,
    rows: Sequence[tuple[str, ...]],
) -> None:
    """Without the last column, for which a screen has no room."""
    cells: list[tuple[str, ...]] = [("", *_HEADINGS[:-1])]
    for row in rows[:_ROWS]:
        cells.append(tuple(_short(cell) for cell in row[:-1]))
    page.table(title, cells, left=(0, 6))

    more = len(rows) - _ROWS
    if more > 0:
        page.line((f"  and {more:,} more; the page and the table have them", DIM))
        page.line()


def _failed(page: TextPage, fleet: Fleet) -> None:
    page.line(("Without a report", TITLE))
    for row in fleet.failed[:_FAILED]:
        page.hanging("", one_line(f"{row.place}: {row.error}"), 4, 2)
    more = len(fleet.failed) - _FAILED
    if more > 0:
        page.line((f"  and {more:,} more", DIM))
    page.line()


def _short(name: str) -> str:
    """Cut in its middle, since most names differ at their ends."""
    line = one_line(name)
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST - _TAIL - 1]}…{line[-_TAIL:]}"


def as_json(fleet: Fleet) -> str:
    """`schema_version` first; times as ISO 8601."""
    whole = {"schema_version": SCHEMA_VERSION, **msgspec.to_builtins(fleet)}
    return json.dumps(whole, indent=2, allow_nan=False) + "\n"


def as_page(fleet: Fleet) -> str:
    """The whole document, without scripts. Names from traces are escaped, and nothing
    is loaded.
    """
    parts = [
        f"<h1>{text(head_words(fleet))}</h1>",
        f"<p>{text(lost_words(fleet))}</p>",
    ]
    for title, rows in sections(fleet):
        parts += _section(
            title,
            ("", *_HEADINGS),
            rows,
            _NUMBERS,
        )

    failed = []
    for run in fleet.failed:
        failed.append((run.place, run.error_kind or "", run.error or ""))
    if failed:
        parts += _section(
            "Without a report",
            ("run", "", "why"),
            failed,
            (),
        )
    return whole_page("tfadvisor: what costs the fleet", parts)


def _section(
    title: str,
    headings: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    numbers: Sequence[int],
) -> list[str]:
    parts = [f"<h2>{title}</h2>", table(headings, rows[:_ROWS_PAGE], numbers)]
    more = len(rows) - _ROWS_PAGE
    if more > 0:
        parts.append(f'<p class="dim">and {more:,} more</p>')
    return parts


def head_words(fleet: Fleet) -> str:
    """`1,204 runs, 9,632 device-hours; 3 without a report`."""
    runs = counted(f"{fleet.runs:,}", "run", "runs")
    words = f"{runs}, {hours(fleet.whole.hours)} device-hours"
    if fleet.failed:
        words += f"; {len(fleet.failed):,} without a report"
    return words


def lost_words(fleet: Fleet) -> str:
    """What is lost, what could be had back, and what a run stands for."""
    whole = fleet.whole
    if not whole.runs:
        return "No run has a report."
    lost = f"{hours(whole.lost)} device-hours ({percent(whole.lost / whole.hours)})"
    saved = f"{hours(whole.low)} to {hours(whole.high)}"
    return (
        f"{lost} go to the largest cost of each run that is not healthy. First "
        f"findings could save {saved}. Runs stand for one hour each."
    )


def hours(number: float) -> str:
    """`0.25`, `12.3`, `1,204`."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
