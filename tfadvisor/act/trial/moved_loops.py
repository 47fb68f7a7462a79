"""Where a loop of a text stands in a changed form of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def loop_after(
    base: str,
    line: int,
    other: str,
) -> int | None:
    """Where the loop at a line of a text begins in another form of it; None where it is
    gone.

    It is the loop that shares most of its lines with the old one, and stands where that
    stood if several do.
    """
    if base == other:
        return line
    last = _loops(base).get(line)
    if last is None:
        return None

    old = set(range(line, last + 1))
    origin = _origins(_LINES.findall(base), _LINES.findall(other))
    best, most = None, 0.0
    for first, last in _loops(other).items():
        lines = {origin.get(at, -at) for at in range(first, last + 1)}
        shared = len(lines & old) / len(lines | old)
        if shared > most:
            best, most = first, shared
    return best


def _loops(text: str) -> dict[int, int]:
    """First and last lines."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.For | ast.While):
            found[node.lineno] = node.end_lineno or node.lineno
    return found


def _origins(
    base: Sequence[str],
    other: Sequence[str],
) -> dict[int, int]:
    """Lines of the other form that are in the first one, from 1; a line that was
    replaced by one line is that line.
    """
    found: dict[int, int] = {}
    matcher = SequenceMatcher(
        None,
        base,
        other,
        autojunk=False,
    )
    for tag, first, last, other_first, other_last in matcher.get_opcodes():
        as_many = last - first == other_last - other_first
        if tag == "equal" or (tag == "replace" and as_many):
            for at in range(last - first):
                found[other_first + at + 1] = first + at + 1
    return found
