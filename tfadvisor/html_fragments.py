"""Pieces of HTML for pages and a notebook's cells, and how a page is shown there or in
a browser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tfadvisor.printable import one_line
from tfadvisor.units import percent
from tfadvisor.vocabulary import TIME_CLASSES, TimeClass

_DARK = (
    '[data-jp-theme-light="false"] .tfadvisor',
    "html[theme=dark] .tfadvisor",
    "body.vscode-dark .tfadvisor",
)
_LIGHT = (
    '[data-jp-theme-light="true"] .tfadvisor',
    "html[theme=light] .tfadvisor",
    "body.vscode-light .tfadvisor",
)
_STYLE = (
    ".tfadvisor{color:inherit;font:13px/1.45 system-ui,sans-serif;"
    "max-width:60rem}\n"
    ".tfadvisor h4{margin:.2em 0;font-size:15px}.tfadvisor p{margin:.2em 0}\n"
    ".tfadvisor .quiet{opacity:.75}.tfadvisor .bar{display:flex;height:14px;"
    "margin:.5em 0;border-radius:3px;overflow:hidden}\n"
    ".tfadvisor .key{display:inline-block;width:.8em;height:.8em;"
    "border-radius:2px;margin:0 .3em 0 .8em}\n"
    ".tfadvisor .table-frame{overflow-x:auto}\n"
    ".tfadvisor table{border-collapse:collapse;margin:.4em 0}"
    ".tfadvisor td,.tfadvisor th{text-align:left;padding:2px 10px 2px 0;\n"
    "border:0;border-bottom:1px solid rgba(128,128,128,.35);background:none;"
    "color:inherit;vertical-align:top}\n"
    ".tfadvisor pre{background:rgba(128,128,128,.15);color:inherit;"
    "padding:6px 8px;overflow-x:auto;white-space:pre}\n"
    ".tfadvisor summary{cursor:pointer}"
)

_CODE = re.compile("`([^`]+)`")


def fragment(parts: Iterable[str]) -> str:
    """The pieces in one element, with the style that they need. They are HTML
    already.
    """
    light = _colours(0)
    dark = _colours(1)
    style = (
        f"{_STYLE}\n.tfadvisor{{{light}}}\n@media "
        f"(prefers-color-scheme:dark){{.tfadvisor{{{dark}}}}}\n"
        f"{','.join(_LIGHT)}{{{light}}}\n{','.join(_DARK)}{{{dark}}}"
    )
    return f'<div class="tfadvisor"><style>{style}</style>{"".join(parts)}</div>'


def _colours(theme: int) -> str:
    """Of the classes. theme: 0 light, 1 dark."""
    return ";".join(
        f"--tfa-{time_class.label}:{time_class.colours[theme]}"
        for time_class in TimeClass
    )


def text(words: str) -> str:
    """Words from anywhere, a trace too, as HTML on one line."""
    from html import escape  # what a terminal shows needs no HTML

    return escape(one_line(words))


def bar(shares: Mapping[str, float]) -> str:
    """Shares of step time by class as one bar, and their names and numbers below it."""
    known = [(name, shares.get(name, 0.0)) for name in TIME_CLASSES]
    pieces = []
    for name, share in known:
        if share > 0:
            style = f"width:{100 * share:.3f}%;background:var(--tfa-{name})"
            title = f"{name} {percent(share)}"
            pieces.append(f'<span title="{title}" style="{style}"></span>')

    keys = []
    for name, share in sorted(known, key=lambda pair: -pair[1]):
        if share >= 0.005:
            style = f"background:var(--tfa-{name})"
            key = f'<span class="key" style="{style}"></span>'
            keys.append(f"{key}{name} {percent(share)}")

    return (
        '<div class="bar" role="img" aria-label="step time by '
        f'class">{"".join(pieces)}</div><p>{"".join(keys)}</p>'
    )


def prose(words: str) -> str:
    """The same; what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", text(words))


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Sequence[int] = (),
) -> str:
    """A table; its cells are text. numbers: columns that are set to the right. A column
    without a word is left out.

    Each cell knows its heading, since a narrow screen shows rows below each other.
    """
    body = list(rows)
    columns = []
    heading = ""
    for at, words in enumerate(head):
        if not any(row[at] for row in body):
            continue
        title = text(words)
        kind = ' class="number"' if at in numbers else ""
        named = f' data-title="{title}"' if words else ""
        heading += f"<th{kind}>{title}</th>"
        columns.append((at, f"<td{kind}{named}>"))

    lines = []
    for row in body:
        cells = [f"{opening}{prose(row[at])}</td>" for at, opening in columns]
        lines.append(f"<tr>{''.join(cells)}</tr>")

    whole = "\n".join(lines)
    frame = (
        '<div class="table-frame stacked" tabindex="0" role="group" aria-label="Table">'
    )
    return (
        f"{frame}<table>\n<thead><tr>{heading}</tr></thead>\n"
        f"<tbody>{whole}</tbody></table></div>"
    )


# Text for terminals and files that take no UTF-8: the signs that outputs use, in ASCII.

_SIGNS = {
    "–": "-",
    "—": "-",
    "−": "-",
    "•": "*",
    "·": "|",
    "…": "...",
    "→": "->",
    "←": "<-",
    "×": "x",
    "µ": "u",
    "≈": "~",
    "≤": "<=",
    "≥": ">=",
    "±": "+/-",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "✅": "[ok]",
    "❌": "[failed]",
    "⚠️": "[!]",
    "\u00a0": " ",
    "\u202f": " ",
}


def as_ascii(text: str) -> str:
    """The text with our signs in ASCII; any other character as `\\xe9`, so that nothing
    is lost.
    """
    for sign, instead in _SIGNS.items():
        text = text.replace(sign, instead)
    return text.encode("ascii", "backslashreplace").decode("ascii")
