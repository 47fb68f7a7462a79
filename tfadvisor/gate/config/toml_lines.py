"""On which line of a TOML text a key stands: parsers return values without their places."""

from __future__ import annotations

import re

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*=(.*)$"""
)
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+)""")
Path = tuple[str | int, ...]


def line_of(text: str, path: Path) -> int:
    """The line, from 1, of the key at this path (`("override", 0, "relative", "step_time_ms")`).

    Where a path's end is not found (a key of an inline table, which is on one line), the line of as much of it as is; 1
    when nothing is.
    """
    lines = _lines_of_keys(text)
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1


def _lines_of_keys(text: str) -> dict[Path, int]:
    """Every table header and every key at the start of a line, outside of multi-line strings."""
    found: dict[Path, int] = {}
    table: Path = ()
    counts: dict[Path, int] = {}
    closing = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if closing:
            closing = "" if closing in line else closing
            continue
        if header := _HEADER.match(line):
            table = _resolved(_parts(header.group(2)), counts)
            if header.group(1) == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            path = table
            for part in _parts(key.group(1)):
                path = (*path, part)
                found.setdefault(path, number)
            closing = _left_open(key.group(2))
    return found


def _resolved(parts: Path, counts: dict[Path, int]) -> Path:
    """`override.relative` below `[[override]]` -> ("override", 0, "relative")."""
    path: Path = ()
    for index, part in enumerate(parts):
        path = (*path, part)
        if path in counts and index < len(parts) - 1:
            path = (*path, counts[path])
    return path


def _parts(dotted: str) -> Path:
    return tuple(next(group for group in match.groups() if group is not None) for match in _PART.finditer(dotted))


def _left_open(value: str) -> str:
    """The quotes that a multi-line string beginning here still needs."""
    for quotes in ('"""', "'''"):
        if value.count(quotes) % 2:
            return quotes
    return ""
