"""Every form of the fleet's report: terminal, JSON, page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import msgspec

from tfadvisor.fleet.costs import Fleet
from tfadvisor.html_fragments import table, text
from tfadvisor.printable import one_line
from tfadvisor.report.forms.forms import Form
from tfadvisor.report.forms.html import whole_page
from tfadvisor.text_page import DIM, PLAIN, TITLE, Screen, TextPage
from tfadvisor.units import percent

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
    Form("text", (".txt",), "tfadvisor.fleet.forms:as_text", on_screen=True),
    Form("json", (".json",), "tfadvisor.fleet.forms:as_json"),
    Form("html", (".html", ".htm"), "tfadvisor.fleet.forms:as_page", drawn=True),
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
            rows: list[tuple[str, ...]] = [
                (
                    one.name,
                    hours(one.hours),
                    hours(one.lost),
                    percent(one.lost / whole),
                    f"{hours(one.low)} to {hours(one.high)}" if one.high else "–",
                    f"{one.runs:,}",
                    (one.finding or "") if found is not fleet.findings else "",
                    one.worst or "",
                )
                for one in found
            ]
            yield title, rows


def as_text(fleet: Fleet, *, screen: Screen = PLAIN) -> str:
    """The report as text."""
    page = TextPage(screen)
    page.line((head_words(fleet), TITLE))
    page.hanging("", lost_words(fleet), 2, 2)
    page.line()
    columns = len(_HEADINGS)
    for title, rows in sections(fleet):
        short = [tuple(_short(cell) for cell in row[:columns]) for row in rows[:_ROWS]]
        page.table(title, [("", *_HEADINGS[:-1]), *short], left=(0, 6))
        if len(rows) > _ROWS:
            page.line(
                (
                    f"  and {len(rows) - _ROWS:,} more; the page and the table have "
                    "them",
                    DIM,
                )
            )
            page.line()
    if fleet.failed:
        page.line(("Without a report", TITLE))
        for row in fleet.failed[:_FAILED]:
            page.hanging("", one_line(f"{row.place}: {row.error}"), 4, 2)
        if len(fleet.failed) > _FAILED:
            page.line((f"  and {len(fleet.failed) - _FAILED:,} more", DIM))
        page.line()
    return page.text()


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
    parts = [f"<h1>{text(head_words(fleet))}</h1>", f"<p>{text(lost_words(fleet))}</p>"]
    failed = [
        (one.place, one.error_kind or "", one.error or "") for one in fleet.failed
    ]
    tables: list[
        tuple[str, tuple[str, ...], Sequence[tuple[str, ...]], tuple[int, ...]]
    ]
    tables = [
        (title, ("", *_HEADINGS), rows, _NUMBERS) for title, rows in sections(fleet)
    ]
    if failed:
        tables.append(("Without a report", ("run", "", "why"), failed, ()))
    for title, headings, rows, numbers in tables:
        parts += [f"<h2>{title}</h2>", table(headings, rows[:_ROWS_PAGE], numbers)]
        if len(rows) > _ROWS_PAGE:
            parts.append(f'<p class="dim">and {len(rows) - _ROWS_PAGE:,} more</p>')
    return whole_page("tfadvisor: what costs the fleet", parts)


def head_words(fleet: Fleet) -> str:
    """`1,204 runs, 9,632 device-hours; 3 without a report`."""
    words = (
        f"{fleet.runs:,} run{'s' if fleet.runs != 1 else ''}, "
        f"{hours(fleet.whole.hours)} device-hours"
    )
    return f"{words}; {len(fleet.failed):,} without a report" if fleet.failed else words


def lost_words(fleet: Fleet) -> str:
    """What is lost, what could be had back, and what a run stands for."""
    whole = fleet.whole
    if not whole.runs:
        return "No run has a report."
    return (
        f"{hours(whole.lost)} device-hours ({percent(whole.lost / whole.hours)}) go "
        "to the largest cost of each run that is "
        f"not healthy. First findings could save {hours(whole.low)} to "
        f"{hours(whole.high)}. Runs stand for one hour each."
    )


def hours(number: float) -> str:
    """`0.25`, `12.3`, `1,204`."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
