"""The one place where a codemod applies, among all files of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.report.model import Finding


class Candidate(msgspec.Struct, frozen=True):
    """A hit in a file."""

    file: str
    hit: Hit

    def __str__(self) -> str:
        """As `--at` takes it, and what would be done there."""
        return f"{self.file}:{self.hit.first} ({self.hit.did})"


class At(msgspec.Struct, frozen=True):
    """What the user chose: the end of a file's name, and a line of it."""

    file: str
    line: int


def places_of(finding: Finding, texts: Mapping[str, str]) -> dict[str, Place]:
    """What the finding says about each file.

    Names of files come from a trace: they are compared with those that were found, and never opened. A line counts only where the
    text around it still is the function that the trace saw there.
    """
    names = tuple(dict.fromkeys(one.op for one in finding.locations if one.op))
    snippets = "\n".join(fix.snippet for fix in finding.fixes)
    found = {}
    for file, text in texts.items():
        told = [
            one
            for one in finding.locations
            if PurePosixPath(file).name == PurePosixPath(one.file.replace("\\", "/")).name
        ]
        lines = [one.line for one in told if one.line is not None and _still_there(text, one.line, one.op)]
        found[file] = Place(tuple(lines), names, snippets, bool(told))
    return found


def _still_there(text: str, line: int, function: str) -> bool:
    """Whether the line, or the nearest `def` above it, names the function. Methods may be named without their class."""
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return False
    name = function.rsplit(".", maxsplit=1)[-1]
    if not name or name.startswith("<") or name in lines[line - 1]:
        return True
    above = next((one for one in reversed(lines[:line]) if one.lstrip().startswith(("def ", "async def "))), "")
    return f"def {name}(" in above


def narrowed(hits: Mapping[str, Sequence[Hit]], places: Mapping[str, Place], at: At | None) -> list[Candidate]:
    """The candidates that are left: on the user's line, else on the finding's lines, about its functions, in its files."""
    every = [Candidate(file, hit) for file, found in hits.items() for hit in found]
    if at is not None:
        return [one for one in every if _is_at(one, at)]
    on_line = [one for one in every if any(one.hit.first <= line <= one.hit.last for line in places[one.file].lines)]
    if on_line:
        return on_line
    named = [one for one in every if set(one.hit.names) & set(places[one.file].names)]
    return named or [one for one in every if places[one.file].told] or every


def _is_at(one: Candidate, at: At) -> bool:
    same = PurePosixPath(one.file).parts[-len(PurePosixPath(at.file).parts) :] == PurePosixPath(at.file).parts
    return same and one.hit.first <= at.line <= one.hit.last
