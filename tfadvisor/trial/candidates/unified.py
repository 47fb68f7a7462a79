"""Unified diffs as `tfadvisor fix`, git and diff write them, and what a file is after one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from tfadvisor.errors import UsageError

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class Hunk(msgspec.Struct, frozen=True):
    """Lines that are there, and what stands in their place."""

    first: int
    """Where the old lines begin, from 1."""
    old: tuple[str, ...]
    new: tuple[str, ...]


class FileDiff(msgspec.Struct, frozen=True):
    """What a diff does to one file."""

    name: str
    """As the diff has it, without `a/` or `b/`."""
    hunks: tuple[Hunk, ...]


def read_diff(text: str, where: str) -> list[FileDiff]:
    """Raises UsageError for what is no unified diff, or does more than change files. where: the diff's own name."""
    lines = _LINES.findall(text)
    found: list[FileDiff] = []
    at = 0
    while at < len(lines):
        if lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            old, new = _name(lines[at]), _name(lines[at + 1])
            if "/dev/null" in (old, new):
                raise UsageError(
                    f"{where} adds or removes {new if old == '/dev/null' else old}: only changes of files can be tried."
                )
            hunks, at = _hunks(lines, at + 2, where)
            found.append(FileDiff(new, tuple(hunks)))
        elif lines[at].startswith(("GIT binary patch", "rename from")):
            raise UsageError(f"{where} holds more than changes of text, which cannot be tried.")
        else:
            at += 1
    if not any(one.hunks for one in found):
        raise UsageError(f"{where} is no unified diff. `tfadvisor fix` prints one, and so does `git diff`.")
    return found


def patched(text: str, hunks: Sequence[Hunk], where: str) -> str:
    """The file's text after a diff, each hunk where it stands or as near as its lines are found. Raises UsageError."""
    lines = _LINES.findall(text)
    moved = 0
    for hunk in hunks:
        place = _place(lines, hunk.old, hunk.first - 1 + moved)
        if place is None:
            raise UsageError(f"{where} does not fit the file as it is, near line {hunk.first}: make the patch again.")
        lines[place : place + len(hunk.old)] = hunk.new
        moved = place - (hunk.first - 1) + len(hunk.new) - len(hunk.old)
    return "".join(lines)


def _name(line: str) -> str:
    name = line[4:].rstrip("\r\n").split("\t")[0]
    return name[2:] if name.startswith(("a/", "b/")) else name


def _hunks(lines: Sequence[str], at: int, where: str) -> tuple[list[Hunk], int]:
    found = []
    while at < len(lines) and (head := _HUNK.match(lines[at])):
        wanted = [int(head[2] or 1), int(head[4] or 1)]
        old: list[str] = []
        new: list[str] = []
        at += 1
        while at < len(lines) and (len(old) < wanted[0] or len(new) < wanted[1] or lines[at].startswith("\\")):
            if lines[at].startswith("\\"):
                _without_end(lines[at - 1], old, new)
            else:
                _take(lines[at], old, new)
            at += 1
        if [len(old), len(new)] != wanted:
            raise UsageError(f"{where} is cut short: a hunk of it does not hold the lines that it announces.")
        found.append(Hunk(int(head[1]) + (not wanted[0]), tuple(old), tuple(new)))
    return found, at


def _take(line: str, old: list[str], new: list[str]) -> None:
    kind, rest = (line[0], line[1:]) if line not in ("\n", "\r\n") else (" ", line)
    if kind in " -":
        old.append(rest)
    if kind in " +":
        new.append(rest)


def _without_end(line: str, old: list[str], new: list[str]) -> None:
    """The line before `\\ No newline at end of file` ends without one."""
    for side, kinds in ((old, " -"), (new, " +")):
        if line[0] in kinds and side:
            side[-1] = side[-1].removesuffix("\n")


def _place(lines: Sequence[str], old: Sequence[str], wanted: int) -> int | None:
    """The nearest line from which the old ones stand, counted from 0."""
    fits = [at for at in range(len(lines) - len(old) + 1) if list(lines[at : at + len(old)]) == list(old)]
    return min(fits, key=lambda at: abs(at - wanted), default=None)
