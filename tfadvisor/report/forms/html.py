"""The report as one page that needs nothing else and as JSON, and the frame of all
other pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from tfadvisor.html_fragments import text

if TYPE_CHECKING:
    from tfadvisor.report.forms.page_data import ComparedRuns, PageData

_TEMPLATE = Path(__file__).with_name("page.html")
_PLACE = '<script id="data" type="application/json"></script>'


def as_html(
    pages: Sequence[PageData],
    trace_viewer: str | None = None,
    comparisons: Sequence[ComparedRuns] = (),
) -> str:
    """One run or several; the page shows the first and compares it with any other.
    trace_viewer: as for encode_pages.

    comparisons: the causes of changes, for those pairs of runs for which they are
    known.
    """
    # NumPy, which only a drawn page needs
    from tfadvisor.report.forms.encode import encode_pages

    template = _TEMPLATE.read_text(encoding="utf-8")
    before, found, after = template.partition(_PLACE)
    assert found, f"{_TEMPLATE} has no place for the data"
    opening = _PLACE.removesuffix("</script>")
    data = encode_pages(pages, trace_viewer, comparisons)
    return f"{before}{opening}{data}</script>{after}"


# JSON text: the stable machine output of the contract, for a report, a comparison or a
# gate's result.


class _Plain(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


def as_json(document: _Plain) -> str:
    """Two-space indented, ASCII only so that no terminal is disturbed; never NaN or
    Infinity.
    """
    data = document.to_dict()
    try:  # msgspec indents four times as fast
        flat = json.dumps(
            data,
            separators=(",", ":"),
            allow_nan=False,
        )
        text = msgspec.json.format(flat, indent=2)
    except msgspec.DecodeError:  # a name of a file that is no UTF-8
        text = json.dumps(data, indent=2, allow_nan=False)
    return text + "\n"


# Pages of words, tables and pictures, in the report's own style: one file that needs no
# network.

_FRAME = _TEMPLATE.with_name("plain_page.html")


def whole_page(
    title: str,
    parts: Sequence[str],
) -> str:
    """parts: HTML; what comes before the first `<h2>` is the head of the page, each
    `<h2>` begins a section. title: text.
    """
    frame = _FRAME.read_text(encoding="utf-8")
    before, script, after = frame.partition("<script>")
    head, sections = _sections(parts)
    values = {
        "TITLE": text(title),
        "STYLE": _inside(_TEMPLATE.read_text(encoding="utf-8"), "style"),
        "SCRIPT_HASH": f"sha256-{_digest(_inside(frame, 'script'))}",
        "HEAD": "\n".join(head),
        "SECTIONS": "\n".join(sections),
    }
    filled = re.sub(
        r"%([A-Z_]+)%",
        lambda found: values[found[1]],
        before,
    )
    return filled + script + after


def _inside(page: str, tag: str) -> str:
    """The content of its first element of this kind."""
    _, _, content = page.partition(f"<{tag}>")
    return content.partition(f"</{tag}>")[0]


def _digest(script: str) -> str:
    from base64 import b64encode  # what is written as JSON has no script
    from hashlib import sha256

    return b64encode(sha256(script.encode()).digest()).decode()


def _sections(parts: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the parts of the head, the sections)."""
    head: list[str] = []
    sections: list[list[str]] = []
    for part in parts:
        if part.startswith("<h2"):
            sections.append([part])
        elif sections:
            sections[-1].append(part)
        else:
            head.append(part)
    whole = ["\n".join(["<section>", *section, "</section>"]) for section in sections]
    return head, whole
