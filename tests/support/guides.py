"""The architecture guides as programs: every file that a guide names, and the change
that it shows for it.

In a guide, a line that is nothing but **`path`** names a file. The code fences after it
are the file's whole text, or, as `diff`, hunks of a change.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_PART = re.compile(
    r"^\*\*`(?P<path>[^`]+)`\*\*$|^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Change(NamedTuple):
    """What a guide does to one file. is_hunk: text is lines that stay (' '), go ('-')
    or come ('+'), else the whole file.
    """

    path: str
    is_hunk: bool
    text: str


def changes(guide: str) -> list[Change]:
    """Every change of a guide, in its order; fences before the first named file are
    only examples.
    """
    found: list[Change] = []
    path = ""
    for part in _PART.finditer(guide):
        if part["path"]:
            path = part["path"]
        elif path and part["kind"] != "sh":
            found.append(Change(path, part["kind"] == "diff", part["text"]))
    return found


def section(guide: str, heading: str) -> str:
    """The part of a guide below `## heading`. Raises ValueError when there is none."""
    start = guide.index(f"\n## {heading}\n")
    end = guide.find("\n## ", start + 1)
    return guide[start:] if end < 0 else guide[start:end]


def perform(change: Change, root: Path) -> None:
    """Makes one change below root. Raises ValueError when a hunk does not fit the file
    as it is, exactly once.
    """
    file = root / change.path
    if not change.is_hunk:
        if file.exists():
            raise ValueError(
                f"{change.path} is there already; the guide says it is new"
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(change.text, "utf-8")
        return
    lines = change.text.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    text = file.read_text("utf-8")
    if text.count(before) != 1:
        raise ValueError(
            f"{change.path}: {text.count(before)} places look like the guide's\n"
            f"{before}"
        )
    file.write_text(text.replace(before, after), "utf-8")
