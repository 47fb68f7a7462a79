"""The Python files of the user's program: which there are, how each is read, and why
one is left alone.
"""

from __future__ import annotations

import ast
import io
import os
import stat
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tfadvisor.errors import UsageError
from tfadvisor.printable import one_line
from tfadvisor.program_files import check_given, python_files, script_and_imports

_MOST_FILES = 2_000
_MOST_LOOKED_AT = 10_000
"""Tests too."""
_LARGEST = 150_000
"""Bytes of a file that somebody wrote."""
_DEEPEST = 60
"""Levels of statements and expressions in one another; each takes some Python calls, of
which there may be 1,000.
"""
_NOT_OURS = ("site-packages", "node_modules", "__pycache__", "build", "dist", "tests")
_FRAMEWORKS = (
    "tensorflow",
    "jax",
    "keras",
    "flax",
    "equinox",
    "optax",
    "torch",
    "grain",
    "haiku",
)


class ProgramFile(msgspec.Struct, frozen=True):
    """A file that can be patched."""

    name: str
    """Below the root, with slashes."""
    path: Path
    text: str
    encoding: str

    @property
    def digest(self) -> str:
        """SHA-256 of its content."""
        import hashlib  # OpenSSL's, which only a recording's notes need

        return hashlib.sha256(self.encoded(self.text)).hexdigest()

    def encoded(self, text: str) -> bytes:
        """Another text in this file's encoding. Raises UnicodeEncodeError."""
        return text.encode(self.encoding)


class LeftAlone(msgspec.Struct, frozen=True):
    """A file that is not looked at."""

    name: str
    why: str


class Sources(msgspec.Struct, frozen=True):
    """root: nothing outside of it is read or written."""

    root: Path
    files: tuple[ProgramFile, ...]
    left_alone: tuple[LeftAlone, ...]

    def that_ran(self, noted: Sequence[tuple[str, str]]) -> Sources:
        """Only files that a recording notes: of each note those of its path or content;
        where there are none, those of its name, since the program may have moved and
        changed. All of them where it notes nothing. noted: (path, SHA-256).
        """
        if not noted:
            return self
        same: dict[str, set[str]] = defaultdict(set)
        of_name: dict[str, set[str]] = defaultdict(set)
        for file in self.files:
            same[str(file.path)].add(file.name)
            same[file.digest].add(file.name)
            of_name[file.path.name].add(file.name)
        ran: set[str] = set()
        for path, digest in noted:
            known = same.get(os.path.realpath(path), set()) | same.get(digest, set())
            ran |= known or of_name.get(Path(path).name, set())
        return replace(
            self, files=tuple(file for file in self.files if file.name in ran)
        )


def read_sources(place: Path) -> Sources:
    """The program below a folder, or one script and what it imports beside it. Raises
    UsageError.
    """
    check_given(place)
    root = (place if place.is_dir() else place.parent).resolve()
    paths: Iterable[Path]
    if place.is_file():
        paths = script_and_imports(place.absolute(), root, lambda x: _text(x, root))
    else:
        paths = _python_files(root)

    found: dict[str, ProgramFile] = {}
    left: list[LeftAlone] = []
    for path in paths:
        file = _read(path, root)
        if isinstance(file, ProgramFile):
            found[file.name] = file
        elif file is not None:
            left.append(file)
    if not place.is_dir() and not found:
        why = left[0].why if left else "no Python file that uses a framework"
        raise UsageError(f"--source {place}: {why}.")
    return Sources(
        root,
        tuple(found.values()),
        tuple(left),
    )


def _python_files(root: Path) -> list[Path]:
    """By folder, each before those in it."""
    found = python_files(root, _MOST_LOOKED_AT, _is_ours)
    files = [path for path in found.files if _is_program(path.name)]
    if not found.is_all or len(files) > _MOST_FILES:
        raise UsageError(
            f"{root} holds more than {_MOST_FILES:,} Python files, or more than can be "
            "looked through. Name the program: --source train.py"
        )
    return sorted(files, key=lambda path: (path.parent.parts, path.name))


def _is_ours(folder: Path) -> bool:
    """Whether it may hold the program, and no environment or tests."""
    hidden = folder.name.startswith(".") or folder.name in _NOT_OURS
    return not hidden and not os.path.lexists(folder / "pyvenv.cfg")


def _is_program(name: str) -> bool:
    """name: of a file."""
    other = name.startswith("test_") or name in ("conftest.py", "setup.py")
    return name.endswith(".py") and not other


def _read(
    path: Path,
    root: Path,
) -> ProgramFile | LeftAlone | None:
    """None for a module that uses no framework."""
    name = path.relative_to(root).as_posix()
    shown = one_line(name)
    if shown != name or '"' in name or "\\" in name:
        return LeftAlone(shown, "its name holds characters that a patch cannot hold")
    raw = _bytes_of(path, root)
    if isinstance(raw, str):
        return LeftAlone(name, raw)
    text, encoding, why = _decoded(raw)
    if not why and not any(framework in text for framework in _FRAMEWORKS):
        return None

    why = why or _why_unparsable(text)
    if why:
        return LeftAlone(name, why)
    return ProgramFile(
        name,
        path.resolve(),
        text,
        encoding,
    )


def _bytes_of(
    path: Path,
    root: Path,
) -> bytes | str:
    """What a file holds, or why it is left alone."""
    try:
        target = path.resolve(strict=True)
        if not target.is_relative_to(root):
            return "it is a link that leads out of the source folder"
        state = target.stat()
        if not stat.S_ISREG(state.st_mode):
            return "it is no regular file"
        if state.st_size > _LARGEST:
            return (
                f"it is too large: more than {_LARGEST // 1000} kB, which nobody "
                "writes by hand"
            )
        return target.read_bytes()
    except (OSError, RuntimeError) as error:
        # RuntimeError: links in a circle, before Python 3.13.
        return f"it cannot be read: {getattr(error, 'strerror', None) or error}"


def _decoded(raw: bytes) -> tuple[str, str, str]:
    """(text, encoding, why not): by its mark or first lines, as Python reads it; line
    ends stay as they are.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
        same = text.encode(encoding) == raw
    except (SyntaxError, LookupError, ValueError) as error:
        # UnicodeError, which codecs raise, is a ValueError.
        return "", "", f"its encoding cannot be read: {one_line(str(error))}"
    why = "" if same else f"its encoding, {encoding}, does not give its bytes back"
    return text, encoding, why


def _why_unparsable(text: str) -> str:
    """What stops a codemod; "" for a program that this Python can parse, and that is
    not nested too deeply to be walked through.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f" in line {line}" if line else ""
        why = one_line(str(getattr(error, "msg", error)))
        return f"it cannot be parsed{where}: {why}"
    if _depth(tree) > _DEEPEST:
        return "its statements or expressions are nested too deeply"
    return ""


def _depth(tree: ast.AST) -> int:
    """Levels of nodes in one another."""
    depth, level = 0, [tree]
    while level and depth <= _DEEPEST:
        depth += 1
        level = [below for node in level for below in ast.iter_child_nodes(node)]
    return depth


def _text(path: Path, root: Path) -> str | None:
    """What a file that can be patched holds."""
    file = _read(path, root)
    return file.text if isinstance(file, ProgramFile) else None
