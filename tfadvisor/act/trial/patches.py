"""Patches as candidates: unified diffs in files, codemods by name."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tfadvisor.act.repair.plan import Candidate as Placed
from tfadvisor.act.repair.plan import hits_of
from tfadvisor.act.repair.registry import CODEMODS, Place
from tfadvisor.act.repair.sources import Sources
from tfadvisor.act.trial.candidates import Candidate
from tfadvisor.act.trial.one_run import source_of
from tfadvisor.advice.codemods import LAUNCH_LINE
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.files import read_small_text

_LARGEST_BYTES = 5_000_000


def from_diff(file: Path) -> Candidate:
    """A file that `tfadvisor fix` or `git diff` wrote. Raises UsageError."""
    where = f"--patch {file}"
    try:
        text = read_small_text(file, _LARGEST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    texts: dict[str, str] = {}
    for one in read_diff(text, where):
        real = _found(one.name, where)
        texts[real] = patched(texts.get(real) or source_of(Path(real)), one.hunks, f"{where}: {one.name}")
        _check_parses(texts[real], f"{where}: {one.name}")
    return Candidate(name=str(file), texts=texts, change="patch")


def check_codemods(names: Sequence[str]) -> None:
    """Raises UsageError for what is none."""
    known = [one for one in CODEMODS if one != LAUNCH_LINE]
    for name in names:
        if name not in known:
            raise UsageError(
                f"--patch {name}: no file, no rule and no codemod.{did_you_mean(name, known)} docs/fix.md lists the codemods."
            )


def from_codemod(name: str, sources: Sources) -> Candidate:
    """A codemod that applies in exactly one place of the program. Raises UsageError."""
    found = [Placed(one.name, hit) for one in sources.files for hit in hits_of(name, one.text, Place())]
    if len(found) != 1:
        places = "".join(f"\n    {one}" for one in found)
        why = (
            f"could be made in several places; make a diff of one:{places}" if found else "fits nowhere in the program."
        )
        raise UsageError(f"--patch {name}: {why}")
    real = str(next(one.path for one in sources.files if one.name == found[0].file))
    return Candidate(name=name, texts={real: found[0].hit.source}, change=name, effect=CODEMODS[name].changes)


def _found(name: str, where: str) -> str:
    """The real path of a file that a diff names: from here, or without its first folder, as `patch -p1` would."""
    for tried in (name, name.partition("/")[2]):
        if tried and Path(tried).is_file():
            if not tried.endswith(".py"):
                raise UsageError(f"{where}: {tried} is no Python file, and only those lie in an overlay.")
            return os.path.realpath(tried)
    raise UsageError(f"{where}: {name} is not there. Run the command where `git apply` would find it.")


def _check_parses(text: str, where: str) -> None:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{where}: what the patch makes cannot be parsed: {error}.") from error


# Unified diffs as `tfadvisor fix`, git and diff write them, and what a file is after one.

_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class Hunk(msgspec.Struct, frozen=True):
    """Lines that are there, and what is in their place."""

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
