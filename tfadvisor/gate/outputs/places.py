"""Places of a verdict as files that are there: reports name a program's file without its folder, and a preset has none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from tfadvisor.gate.judging.result import Check, GateResult

_MOST_FILES = 50_000
_NOT_SOURCES = ("node_modules", "site-packages", "venv", "build", "dist", "__pycache__")
_INSTEAD = ("pyproject.toml", "README.md", "README.rst", "README")
"""What stands for a configuration that nobody has written: code scanning takes nothing without a file."""


def with_places(verdict: GateResult, folder: Path) -> GateResult:
    """The verdict with places below a folder. A file that is not there, or several times, is none."""
    names = {Path(check.file).name for check in verdict.checks if check.file}
    found = _found(folder, names) if names else {}
    checks = tuple(_placed(check, folder, found) for check in verdict.checks)
    own = verdict.config if (folder / verdict.config).is_file() else ""
    instead = next((name for name in _INSTEAD if (folder / name).is_file()), "")
    return replace(verdict, checks=checks, config=own or instead)


def _placed(check: Check, folder: Path, found: dict[str, list[str]]) -> Check:
    if not check.file:
        return check
    as_named = Path(check.file)
    if not as_named.is_absolute() and os.pardir not in as_named.parts and (folder / as_named).is_file():
        return check
    places = [one for one in found.get(as_named.name, []) if _is_meant(as_named, Path(one), folder)]
    if len(places) != 1:
        return replace(check, file="", file_line=None)
    return replace(check, file=places[0])


def _is_meant(named: Path, one: Path, folder: Path) -> bool:
    """Whether a file below the folder is the named one: of a bare name any, else one whose last folder is the same."""
    if len(named.parts) == 1 or named == folder / one:
        return True
    common = min(len(named.parts), len(one.parts))
    return common > 1 and named.parts[-common:] == one.parts[-common:]


def _found(folder: Path, names: set[str]) -> dict[str, list[str]]:
    """Where files of these names lie, relative to the folder."""
    places: dict[str, list[str]] = {}
    for file in islice(_files(folder), _MOST_FILES):
        if file.name in names:
            places.setdefault(file.name, []).append(file.relative_to(folder).as_posix())
    return places


def _files(folder: Path) -> Iterator[Path]:
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one not in _NOT_SOURCES)
        yield from (Path(at) / one for one in sorted(files))
