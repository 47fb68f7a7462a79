"""Places of a verdict as files that are there.

Reports name a program's file without its folder, a trace may name any file, and a
preset has none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from tfadvisor.comparison.gate.result import Check, GateResult

_MOST_FILES = 50_000
_NOT_SOURCES = ("node_modules", "site-packages", "venv", "build", "dist", "__pycache__")


def with_places(verdict: GateResult, folder: Path) -> GateResult:
    """The verdict with places below a folder. A file that is not there, or several
    times, is none.
    """
    there = files_below(folder, [check.file for check in verdict.checks])
    checks = tuple(_placed(check, there) for check in verdict.checks)
    config = verdict.config if (folder / verdict.config).is_file() else ""
    return replace(verdict, checks=checks, config=config)


def _placed(check: Check, there: dict[str, str]) -> Check:
    if not check.file or there[check.file] == check.file:
        return check

    file = there[check.file]
    return replace(check, file=file, file_line=check.file_line if file else None)


def files_below(folder: Path, named: Iterable[str]) -> dict[str, str]:
    """Of each file that is named: the file below the folder that is meant, relative to
    it; "" where none or several may be.
    """
    wanted = {name for name in named if name}
    if not wanted:
        return {}

    last_names = {Path(name).name for name in wanted}
    looked_at = islice(_files(folder), _MOST_FILES)
    there = [file for file in looked_at if file.name in last_names]
    return {name: _meant(Path(name), folder, there) for name in wanted}


def _meant(named: Path, folder: Path, there: Sequence[Path]) -> str:
    leads_out = named.is_absolute() or os.pardir in named.parts
    with suppress(OSError):  # a name that is too long for a file
        if not leads_out and (folder / named).is_file():
            return str(named)

    below = [file.relative_to(folder) for file in there]
    meant = [file for file in below if _is_meant(named, file, folder)]
    return meant[0].as_posix() if len(meant) == 1 else ""


def _is_meant(named: Path, file: Path, folder: Path) -> bool:
    """Whether a file below the folder is the named one: of a bare name any, else one
    whose last folder is the same.
    """
    if named == folder / file:
        return True

    common = min(len(named.parts), len(file.parts))
    alike = named.parts[-common:] == file.parts[-common:]
    return alike and (common > 1 or len(named.parts) == 1)


def _files(folder: Path) -> Iterator[Path]:
    for at, folders, files in os.walk(folder):
        folders[:] = [name for name in sorted(folders) if _may_hold_sources(name)]
        yield from (Path(at) / name for name in sorted(files))


def _may_hold_sources(folder: str) -> bool:
    return not folder.startswith(".") and folder not in _NOT_SOURCES
