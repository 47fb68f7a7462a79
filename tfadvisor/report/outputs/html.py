"""The report as one page that needs nothing else: no network, no server, no other file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tfadvisor.report.page.encode import encode
from tfadvisor.report.page.model import ComparedRuns, PageData

_TEMPLATE = Path(__file__).parents[1] / "page" / "page.html"
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
    return f"{before}{opening}{encode(pages, trace_viewer, comparisons)}{closing}{after}"
