"""The report as one page that needs nothing else, as a plain page where it cannot be drawn, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from tfadvisor.printable import one_line
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.report.forms.page_data import ComparedRuns, PageData

_TEMPLATE = Path(__file__).with_name("page.html")
_PLACE = '<script id="data" type="application/json"></script>'


def as_html(
    pages: Sequence[PageData], trace_viewer: str | None = None, comparisons: Sequence[ComparedRuns] = ()
) -> str:
    """One run or several; the page shows the first and compares it with any other. trace_viewer: as for encode.

    comparisons: the causes of changes, for those pairs of runs for which they are known.
    """
    before, found, after = _TEMPLATE.read_text(encoding="utf-8").partition(_PLACE)
    assert found, f"{_TEMPLATE} has no place for the data"
    opening, closing = _PLACE[: -len("</script>")], "</script>"
    from tfadvisor.report.forms.encode import encode  # NumPy, which only a drawn page needs

    return f"{before}{opening}{encode(pages, trace_viewer, comparisons)}{closing}{after}"


# JSON text: the stable machine output of the contract, for a report, a comparison or a gate's result.


class _Plain(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


def as_json(one: _Plain) -> str:
    """Two-space indented, ASCII only so that no terminal is disturbed; never NaN or Infinity."""
    data = one.to_dict()
    try:  # msgspec indents four times as fast
        text = msgspec.json.format(json.dumps(data, separators=(",", ":"), allow_nan=False), indent=2)
    except msgspec.DecodeError:  # a name of a file that is no UTF-8
        text = json.dumps(data, indent=2, allow_nan=False)
    return text + "\n"


# Pages without a script: words, tables and pictures in one file that needs no network and runs nothing.

_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1c2530; --dim: #5c6773; --line: #d5dbe1; --paper: #fff; --mark: #b3261e; {light} }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e6ebf0; --dim: #9aa5b1; --line: #38424d; --paper: #14191f; --mark: #ff8a80; {dark} }}
}}
body {{ margin: 2rem auto; max-width: 70rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); }}
h1 {{ font-size: 1.35rem; }} h2 {{ font-size: 1.1rem; margin-top: 2.2rem; }}
.dim {{ color: var(--dim); }} .scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; }} th, td {{ padding: .25rem .7rem; text-align: left; border-bottom: 1px solid var(--line); }}
td.number, th.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
td.number, td:first-child {{ white-space: nowrap; }}
svg text {{ fill: var(--dim); font-size: 11px; }} svg .axis {{ stroke: var(--line); }} svg .level {{ stroke: var(--mark); }}
svg .mark {{ fill: var(--mark); }}
{fills}
.swatch {{ display: inline-block; width: .8em; height: .8em; margin-right: .35em; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def whole_page(title: str, parts: Iterable[str]) -> str:
    """parts: HTML. title: text."""
    light, dark = (" ".join(f"--k-{one.label}: {one.colours[at]};" for one in TimeClass) for at in (0, 1))
    fills = "\n".join(
        f".k-{one.label} {{ fill: var(--k-{one.label}); background: var(--k-{one.label}); }}" for one in TimeClass
    )
    return _FRAME.format(title=text(title), light=light, dark=dark, fills=fills, body="\n".join(parts))


def text(words: str) -> str:
    """Words as HTML: on one line, harmless whatever they are."""
    return escape(one_line(words))


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Cells are text. numbers: columns that are set to the right."""
    kinds = ['class="number"' if at in numbers else "" for at in range(len(titles))]
    head = "".join(f"<th {kind}>{text(one)}</th>" for kind, one in zip(kinds, titles, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td {kind}>{text(one)}</td>" for kind, one in zip(kinds, row, strict=True)) + "</tr>\n"
        for row in rows
    )
    return f'<div class="scroll"><table>\n<tr>{head}</tr>\n{body}</table></div>'
