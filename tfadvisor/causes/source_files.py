"""The program's own files: found by the names that a trace has, parsed, never run.

What `tfadvisor run` noted beside a trace says where they lie and what they held. A
folder that the user names is looked through instead; there too the note tells whether a
file is what ran.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from tfadvisor.causes.called import FileNames
from tfadvisor.causes.walked import walked
from tfadvisor.files import read_small
from tfadvisor.program_files import lies_in, python_files, script_and_imports
from tfadvisor.trace.noted_sources import NotedSource

SAME, DIFFERS, UNKNOWN = "same", "differs", "unknown"
"""Whether a file is what ran; unknown where nothing was noted of it."""
_LINE_END = re.compile(r"\r\n|\r|\n")
"""As Python counts lines."""
_LARGEST = 1_000_000
"""Bytes of a file that is read; no program that people write is larger."""
_MOST_NODES = 200_000
"""Of a file's syntax, ten times what long programs have: all that is asked of a file
takes time by their number.
"""
_MOST_IN_ALL = 1_000_000
"""Of the files that are searched without being asked for by their names."""
_MOST_FILES = 5_000
_DEEPEST = 100
"""Levels of nodes in one another: copying one takes some Python calls for each, of
which there may be 1,000.
"""
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
        place: Path | None,
        noted: Sequence[NotedSource] = (),
    ) -> None:
        """place: the program's folder, to be looked through, or its script; without one
        a noted file is read where it was, and only if it is still what ran.
        """
        self.unread: list[str] = []
        """What is not known of the files, in sentences."""
        self._digests = _noted_by_name(noted)
        self._files = self._given(place) if place else _noted_paths(noted)
        self._only_same = place is None
        self._parsed: dict[str, ParsedFile | None] = {}
        self._differ: set[str] = set()
        self._first: dict[int, list[ParsedFile]] = {}

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
        if most not in self._first:
            differ = set(self._differ)
            self._first[most] = self._read_first(most)
            self._differ = differ
        return self._first[most]

    def _read_first(self, most: int) -> list[ParsedFile]:
        found, nodes = list[ParsedFile](), 0
        for parsed in map(self.read, list(self._files)[:most]):
            nodes += 0 if parsed is None else len(walked(parsed.tree).nodes)
            if nodes > _MOST_IN_ALL:
                self.unread.append(
                    "The program's files are too long to be read all: name its own "
                    "folder, or its script, with --source."
                )
                break
            found += [] if parsed is None else [parsed]
        return found

    def _given(self, place: Path) -> dict[str, list[Path]]:
        if place.is_file():
            return _by_name(_of_script(place))
        files, is_all = _below(place)
        if not files:
            self.unread.append(f"--source {place} holds no Python file.")
        if not is_all:
            self.unread.append(
                f"--source {place} holds more than was looked through: name the "
                "program's own folder, or its script."
            )
        return _by_name(files)

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
            why = _too_much(tree)
            if why:
                self.unread.append(f"{file} is left out: its {why}.")
                return None
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


def _by_name(files: Iterable[Path]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in files:
        found.setdefault(path.name, []).append(path)
    return found


def _below(folder: Path) -> tuple[list[Path], bool]:
    """Python files below a folder, but for links that lead out of it, and whether these
    are all.
    """
    root = Path(os.path.realpath(folder))
    below = python_files(folder, _MOST_FILES, lambda path: path.name not in _SKIPPED)
    return [path for path in below.files if lies_in(path, root)], below.is_all


def _of_script(script: Path) -> list[Path]:
    """It, and what it imports from beside it, but for links that lead out of there."""
    script = script.absolute()
    root = Path(os.path.realpath(script.parent))

    def is_ours(path: Path) -> bool:
        return path == script or lies_in(path, root)

    def text_of(path: Path) -> str | None:
        return _text(path) if is_ours(path) else None

    found = script_and_imports(script, script.parent, text_of)
    return [path for path in found if is_ours(path)]


def _text(path: Path) -> str | None:
    try:
        return read_small(path, _LARGEST).decode("utf-8-sig")
    except (OSError, ValueError):
        return None


def _too_much(tree: ast.Module) -> str:
    """What no program has that people write; "" for nothing."""
    if _is_deep(tree):
        return f"statements or expressions are nested more than {_DEEPEST} deep"
    many = len(walked(tree).nodes) > _MOST_NODES
    return f"syntax has more than {_MOST_NODES:,} nodes" if many else ""


def _is_deep(tree: ast.AST) -> bool:
    """Whether it has more levels of nodes in one another than can be walked down."""
    depth, level = 0, [tree]
    while level and depth <= _DEEPEST:
        depth += 1
        level = [below for node in level for below in ast.iter_child_nodes(node)]
    return bool(level)
