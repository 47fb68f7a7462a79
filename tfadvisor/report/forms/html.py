"""The report as one page that needs nothing else and as JSON, and the frame of all
other pages.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
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
    trace_viewer: as for encode.

    comparisons: the causes of changes, for those pairs of runs for which they are
    known.
    """
    before, found, after = _TEMPLATE.read_text(encoding="utf-8").partition(_PLACE)
    assert found, f"{_TEMPLATE} has no place for the data"
    opening, closing = _PLACE[: -len("</script>")], "</script>"
    from tfadvisor.report.forms.encode import (
        encode,
    )  # NumPy, which only a drawn page needs

    return (
        f"{before}{opening}{encode(pages, trace_viewer, comparisons)}{closing}{after}"
    )


# JSON text: the stable machine output of the contract, for a report, a comparison or a
# gate's result.


class _Plain(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


def as_json(one: _Plain) -> str:
    """Two-space indented, ASCII only so that no terminal is disturbed; never NaN or
    Infinity.
    """
    data = one.to_dict()
    try:  # msgspec indents four times as fast
        text = msgspec.json.format(
            json.dumps(data, separators=(",", ":"), allow_nan=False), indent=2
        )
    except msgspec.DecodeError:  # a name of a file that is no UTF-8
        text = json.dumps(data, indent=2, allow_nan=False)
    return text + "\n"


# Pages of words, tables and pictures, in the report's own style: one file that needs no
# network.

_FRAME = _TEMPLATE.with_name("plain_page.html")


def whole_page(title: str, parts: Sequence[str]) -> str:
    """parts: HTML; what comes before the first `<h2>` is the head of the page, each
    `<h2>` begins a section. title: text.
    """
    style = (
        _TEMPLATE.read_text(encoding="utf-8")
        .partition("<style>")[2]
        .partition("</style>")[0]
    )
    before, script, after = _FRAME.read_text(encoding="utf-8").partition("<script>")
    digest = b64encode(
        sha256(after.partition("</script>")[0].encode()).digest()
    ).decode()
    starts = [at for at, part in enumerate(parts) if part.startswith("<h2")] or [
        len(parts)
    ]
    sections = [
        "\n".join(parts[one:end])
        for one, end in zip(starts, [*starts[1:], len(parts)], strict=True)
    ]
    values = {
        "TITLE": text(title),
        "STYLE": style,
        "SCRIPT_HASH": f"sha256-{digest}",
        "HEAD": "\n".join(parts[: starts[0]]),
        "SECTIONS": "\n".join(
            f"<section>\n{one}\n</section>" for one in sections if one
        ),
    }
    return (
        re.sub(r"%([A-Z_]+)%", lambda found: values[found[1]], before) + script + after
    )
