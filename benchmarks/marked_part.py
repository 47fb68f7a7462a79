"""A part of a page that a script writes, between two comments; the rest is written by
hand.
"""

from __future__ import annotations

from pathlib import Path


def put(page: Path, name: str, text: str) -> None:
    """Replaces what stands between `<!-- NAME -->` and `<!-- end of NAME -->`. Raises
    ValueError without them.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{page}: has no place for {name}")
    page.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")
