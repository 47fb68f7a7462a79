"""The program's own files: found by the names that a trace has, parsed, never run.

What `tfadvisor run` noted beside a trace says where they lie and what they held. A
folder that the user names is looked through instead; there too the note tells whether a
file is what ran.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from tfadvisor.causes.called import FileNames
from tfadvisor.files import read_small
from tfadvisor.trace.noted_sources import NotedSource

SAME, DIFFERS, UNKNOWN = "same", "differs", "unknown"
"""Whether a file is what ran; unknown where nothing was noted of it."""
_LINE_END = re.compile(r"\r\n|\r|\n")
"""As Python counts lines."""
_LARGEST = 1_000_000
"""Bytes of a file that is read; no program that people write is larger."""
_MOST_FILES = 5_000
_SKIPPED = frozenset({"site-packages", "node_modules", "__pycache__"})


class ParsedFile(msgspec.Struct, frozen=True, dict=True):
    """A file of the program."""

    tree: ast.Module
    lines: tuple[str, ...]
    """Without their ends; the first is line 1."""
    state: str
    """SAME, DIFFERS or UNKNOWN."""
    file: str = ""
    """Its name, without its folder."""

    @cached_property
    def names(self) -> FileNames:
        """What its names stand for."""
        return FileNames(self.tree)


class SourceFiles:
    """Files by the names that traces have: without their folders. Each is read when it
    is asked for first.
    """

    def __init__(
        self,
        folder: Path | None,
        noted: Sequence[NotedSource] = (),
    ) -> None:
        """folder: of the program, to be looked through; without one a noted file is
        read where it was, and only if it is still what ran.
        """
        self._digests = _noted_by_name(noted)
        self._files = _noted_paths(noted) if folder is None else _by_name(folder)
        self._only_same = folder is None
        self._parsed: dict[str, ParsedFile | None] = {}
        self._differ: set[str] = set()

    def read(self, file: str) -> ParsedFile | None:
        """None for a name that no file has, or several equally near to the folder have,
        and for what is no Python.
        """
        if file not in self._parsed:
            paths = self._files.get(file, [])
            if not self._only_same:
                paths = self._meant(file, paths)
            self._parsed[file] = self._read(file, paths[0]) if len(paths) == 1 else None
        return self._parsed[file]

    def first(self, most: int) -> list[ParsedFile]:
        """Of so many names; none of them counts as asked for."""
        differ = set(self._differ)
        read = [self.read(file) for file in list(self._files)[:most]]
        self._differ = differ
        return [parsed for parsed in read if parsed is not None]

    def left_out(self) -> tuple[str, ...]:
        """Files that were asked for and are not shown, since they are no longer what
        ran.
        """
        return tuple(sorted(self._differ))

    def _meant(self, file: str, paths: list[Path]) -> list[Path]:
        """Those that hold what ran, else the nearest. Two that ran are as near."""
        known = self._digests.get(file, set())
        if len(known) > 1:
            return paths
        same = [path for path in paths if len(paths) > 1 and _digest(path) in known]
        return _nearest(same or paths)

    def _read(
        self,
        file: str,
        path: Path,
    ) -> ParsedFile | None:
        try:
            content = read_small(path, _LARGEST)
            state = self._state(file, _sha256(content))
            if self._only_same and state != SAME:
                self._differ.add(file)
                return None
            text = content.decode("utf-8-sig")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the program, not of this one
                tree = ast.parse(text)
            return ParsedFile(tree, tuple(_LINE_END.split(text)), state, file)
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return None

    def _state(
        self,
        file: str,
        digest: str,
    ) -> str:
        known = self._digests.get(file)
        if known is None:
            return UNKNOWN
        return SAME if digest in known else DIFFERS


def _sha256(content: bytes) -> str:
    import hashlib  # OpenSSL's, which few reports need

    return hashlib.sha256(content).hexdigest()


def _digest(path: Path) -> str:
    """Of a file; "" for one that cannot be read."""
    try:
        return _sha256(read_small(path, _LARGEST))
    except (OSError, ValueError):
        return ""


def _noted_by_name(noted: Sequence[NotedSource]) -> dict[str, set[str]]:
    """The digests of what ran; none of a file that was rewritten meanwhile."""
    found: dict[str, set[str]] = {}
    for source in noted:
        digests = found.setdefault(Path(source.file).name, set())
        if not source.rewritten:
            digests.add(source.sha256)
    return found


def _noted_paths(noted: Sequence[NotedSource]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for source in noted:
        path = Path(source.file)
        paths = found.setdefault(path.name, [])
        if path not in paths:
            paths.append(path)
    return found


def _nearest(paths: list[Path]) -> list[Path]:
    """The program is what lies in the folder that was given: below it lie copies."""
    least = min((len(path.parts) for path in paths), default=0)
    return [path for path in paths if len(path.parts) == least]


def _by_name(folder: Path) -> dict[str, list[Path]]:
    """Python files below a folder; links that lead out of it are not followed. One that
    does not exist has none.
    """
    found: dict[str, list[Path]] = {}
    whole = folder.resolve()
    for count, path in enumerate(folder.rglob("*.py")):
        if count >= _MOST_FILES:
            break
        parts = path.relative_to(folder).parts
        if _SKIPPED.isdisjoint(parts) and path.resolve().is_relative_to(whole):
            found.setdefault(path.name, []).append(path)
    return found
