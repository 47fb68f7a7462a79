"""Several changes of one text at once, and which line became which."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise

_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def merged(base: str, one: str, other: str) -> str | None:
    """Both changes of a text; None where they touch the same lines."""
    if other in (one, base):
        return one
    if one == base:
        return other
    lines = _LINES.findall(base)
    changes = sorted(
        [*_changes(lines, _LINES.findall(one)), *_changes(lines, _LINES.findall(other))], key=lambda it: it[:2]
    )
    for before, after in pairwise(changes):
        if before == after:
            continue
        if before[1] > after[0] or before[:2] == after[:2]:
            return None
    for first, last, new in reversed(list(dict.fromkeys(changes))):
        lines[first:last] = new
    return "".join(lines)


def _changes(base: Sequence[str], other: Sequence[str]) -> list[tuple[int, int, tuple[str, ...]]]:
    matcher = SequenceMatcher(None, base, other, autojunk=False)
    return [(a, b, tuple(other[c:d])) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]


def loop_after(base: str, line: int, other: str) -> int | None:
    """Where the loop at a line of a text begins in another form of it; None where it is gone.

    It is the loop that shares most of its lines with the old one, and stands where that stood if several do.
    """
    if base == other:
        return line
    old = _loops(base).get(line)
    if old is None:
        return None
    origin = _origins(_LINES.findall(base), _LINES.findall(other))
    best, best_shared = None, 0.0
    for first, last in _loops(other).items():
        lines = {origin.get(at, -at) for at in range(first, last + 1)}
        shared = len(lines & set(range(line, old + 1))) / len(lines | set(range(line, old + 1)))
        if shared > best_shared:
            best, best_shared = first, shared
    return best


def _loops(text: str) -> dict[int, int]:
    """First and last lines."""
    tree = ast.parse(text)
    return {one.lineno: one.end_lineno or one.lineno for one in ast.walk(tree) if isinstance(one, ast.For | ast.While)}


def _origins(base: Sequence[str], other: Sequence[str]) -> dict[int, int]:
    """Lines of the other form that stand in the first one, from 1; a line that was replaced by one line is that line."""
    found: dict[int, int] = {}
    for tag, a, b, c, d in SequenceMatcher(None, base, other, autojunk=False).get_opcodes():
        if tag == "equal" or (tag == "replace" and b - a == d - c):
            found |= {c + at + 1: a + at + 1 for at in range(d - c)}
    return found
