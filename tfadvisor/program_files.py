"""Which Python files a program has: those below a folder, or a script with what it
imports from beside it. What nobody can read is left out.
"""

from __future__ import annotations

import ast
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tfadvisor.errors import UsageError
from tfadvisor.printable import in_one_message

_MOST_ENTRIES = 200_000
"""Files and folders that are looked at."""
_MOST_IN_ONE = 20_000
"""Of one folder: data."""
_MOST_IMPORTED = 2_000


class Found(NamedTuple):
    """The Python files below a folder."""

    files: tuple[Path, ...]
    """The nearest to it first."""
    is_all: bool
    """False where there was too much to look through."""


def check_given(place: Path) -> None:
    """Raises UsageError where `--source` names nothing that holds a program."""
    mode = _mode(place)
    if not mode:
        raise _mistake(place, "no such file or folder")
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise _mistake(place, "it is no file and no folder")


def check_program(place: Path) -> None:
    """As check_given, also for a file that is not Python."""
    check_given(place)
    if not place.is_dir() and place.suffix != ".py":
        raise _mistake(place, "it is no Python file")


def _mistake(place: Path, what: str) -> UsageError:
    return UsageError(
        f"--source {in_one_message(str(place))}: {what}. Name the program's script, or "
        "its folder."
    )


def _mode(path: Path) -> int:
    """Of what it names; 0 where nobody can say."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def _is_file(path: Path) -> bool:
    return stat.S_ISREG(_mode(path))


def python_files(root: Path, most: int, enters: Callable[[Path], bool]) -> Found:
    """Below a folder, at most so many. enters: whether to look into a folder below; no
    link to a folder is followed.
    """
    left, found = deque([root]), list[Path]()
    looked, is_all = 0, True
    while left and looked <= _MOST_ENTRIES and len(found) <= most:
        entries = _entries(left.popleft())
        is_all = is_all and len(entries) <= _MOST_IN_ONE
        looked += 1 + len(entries)
        for path, is_folder in sorted(entries):
            if is_folder and enters(path):
                left.append(path)
            elif path.suffix == ".py" and not is_folder:
                found.append(path)
    return Found(tuple(found[:most]), is_all and not left and len(found) <= most)


def _entries(folder: Path) -> list[tuple[Path, bool]]:
    """What lies in a folder, and whether it is one; nothing where it cannot be
    listed.
    """
    try:
        with os.scandir(folder) as listed:
            entries = islice(listed, _MOST_IN_ONE + 1)
            return [(Path(entry.path), _is_folder(entry)) for entry in entries]
    except (OSError, ValueError):
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def lies_in(path: Path, root: Path) -> bool:
    """Whether a file is there and lies below a resolved folder, also where a link
    leads.
    """
    try:
        return path.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError, ValueError):  # RuntimeError: links in a circle
        return False


def script_and_imports(
    script: Path, root: Path, text_of: Callable[[Path], str | None]
) -> Iterator[Path]:
    """A script, and the modules beside it that it imports, directly or not. text_of:
    what a file below the root holds; None for one that is left alone.
    """
    left, seen = deque([script]), set[Path]()
    while left and len(seen) < _MOST_IMPORTED:
        path = left.popleft()
        if path in seen:
            continue
        seen.add(path)
        yield path

        is_ours = _is_file(path) and path.absolute().is_relative_to(root)
        text = text_of(path) if is_ours else None
        for name in _imported(text or ""):
            left += _files_of(name, root, path.parent)


def _imported(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = f"{node.module}." if node.module else ""
            yield from (f"{base}{alias.name}" for alias in node.names)


def _files_of(module: str, root: Path, beside: Path) -> Iterator[Path]:
    """The file of a module, or of the package around an imported name."""
    parts = module.split(".")
    modules = [names for names in (parts, parts[:-1]) if names]
    for start in (root, beside):
        for known in modules:
            path = start.joinpath(*known)
            files = path.with_suffix(".py"), path / "__init__.py"
            yield from (file for file in files if _is_file(file))
