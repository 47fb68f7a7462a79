"""The one place where a codemod applies, among all files of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

import msgspec

from tfadvisor.act.repair.hits import FaultPlace, Hit, load
from tfadvisor.act.repair.reading.program import program_of
from tfadvisor.advice.findings import Finding
from tfadvisor.errors import UsageError
from tfadvisor.units import number_of

_MOST_PLACES = 100
"""Of one codemod in one file: among more nobody would choose."""
_UNREADABLE = (SyntaxError, ValueError, RecursionError)


class PatchPlace(msgspec.Struct, frozen=True):
    """A hit in a file."""

    file: str
    hit: Hit

    def __str__(self) -> str:
        """As `--at` takes it, and what would be done there."""
        return f"{self.file}:{self.hit.first} ({self.hit.did})"

    def holds(self, line: int) -> bool:
        """Whether a line of the file is of it."""
        return self.hit.first <= line <= self.hit.last


@lru_cache(maxsize=256)
def hits_of(
    codemod: str,
    text: str,
    place: FaultPlace,
) -> tuple[Hit, ...]:
    """Where a codemod applies; nowhere in a text that Python cannot parse, or whose
    result it cannot, or where it applies so often that nobody would choose.
    """
    try:
        found = load(codemod)(program_of(text), place)
    except _UNREADABLE:
        return ()
    if len(found) > _MOST_PLACES:
        return ()
    changed = [hit for hit in found if hit.source != text]
    return tuple(hit for hit in changed if _compiles(hit.source))


def _compiles(text: str) -> bool:
    try:
        compile(
            text,
            "patched",
            "exec",
            dont_inherit=True,
        )
    except _UNREADABLE:
        return False
    return True


class At(msgspec.Struct, frozen=True):
    """What the user chose: the end of a file's name, and a line of it."""

    file: str
    line: int

    def is_in(self, place: PatchPlace) -> bool:
        """Whether that is the place."""
        wanted = PurePosixPath(self.file).parts
        parts = PurePosixPath(place.file).parts
        return parts[-len(wanted) :] == wanted and place.holds(self.line)


def at_of(text: str) -> At:
    """`train.py:41`. Raises UsageError for anything else."""
    file, _, line = text.rpartition(":")
    if not file or number_of(line) is None:
        raise UsageError(f"--at {text}: give a file and a line of it, as train.py:41.")
    return At(file, int(line))


def places_of(
    finding: Finding,
    texts: Mapping[str, str],
) -> dict[str, FaultPlace]:
    """What the finding says about each file.

    Names of files come from a trace: they are compared with those that were found, and
    never opened. A line counts only where the text around it still is the function that
    the trace saw there.
    """
    ops = [location.op for location in finding.locations]
    names = tuple(dict.fromkeys(filter(None, ops)))
    snippets = "\n".join(fix.snippet for fix in finding.fixes)
    found = {}
    for file, text in texts.items():
        traced = [
            location
            for location in finding.locations
            if _same_name(location.file, file)
        ]
        lines = []
        for place in traced:
            if place.line is not None and _still_there(text, place.line, place.op):
                lines.append(place.line)
        found[file] = FaultPlace(
            tuple(lines),
            names,
            snippets,
            bool(traced),
        )
    return found


def _same_name(traced: str, file: str) -> bool:
    """traced: a path of any system."""
    traced = traced.replace("\\", "/")
    return PurePosixPath(file).name == PurePosixPath(traced).name


def _still_there(
    text: str,
    line: int,
    function: str,
) -> bool:
    """Whether the line, or the nearest `def` above it, names the function. Methods may
    be named without their class.
    """
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return False
    name = function.rsplit(".", maxsplit=1)[-1]
    if not name or name.startswith("<") or name in lines[line - 1]:
        return True

    for above in reversed(lines[:line]):
        if above.lstrip().startswith(("def ", "async def ")):
            return f"def {name}(" in above
    return False


def narrowed(
    hits: Mapping[str, Sequence[Hit]],
    places: Mapping[str, FaultPlace],
    at: At | None,
) -> list[PatchPlace]:
    """The places that are left: on the user's line, else on the finding's lines, about
    its functions, in its files.
    """
    every = []
    for file, found in hits.items():
        every += [PatchPlace(file, hit) for hit in found]
    if at is not None:
        return [patch for patch in every if at.is_in(patch)]

    fits = (_is_on_a_line, _is_about_a_function, _is_in_a_file)
    for fit in fits:
        fitting = [patch for patch in every if fit(patch, places[patch.file])]
        if fitting:
            return fitting
    return every


def _is_on_a_line(patch: PatchPlace, place: FaultPlace) -> bool:
    return any(map(patch.holds, place.lines))


def _is_about_a_function(patch: PatchPlace, place: FaultPlace) -> bool:
    return not set(patch.hit.names).isdisjoint(place.names)


def _is_in_a_file(_patch: PatchPlace, place: FaultPlace) -> bool:
    return place.told
