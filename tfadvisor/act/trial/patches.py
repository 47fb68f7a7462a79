"""Patches as candidates: unified diffs in files."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Set
from pathlib import Path
from shutil import copyfile

from tfadvisor.act.trial.candidates import Candidate
from tfadvisor.act.trial.one_run import source_of
from tfadvisor.errors import UsageError
from tfadvisor.files import read_small_text, temporary_folder
from tfadvisor.git import GitRefused, git

_LARGEST_BYTES = 5_000_000
_CHANGED = re.compile(
    r"^--- ([^\t\r\n]+)(?:\t.*|\r)?\n\+\+\+ ([^\t\r\n]+)", re.MULTILINE
)
"""Where a unified diff names a file, as it was and as it is."""


def from_diff(file: Path) -> Candidate:
    """A file that `tfadvisor fix` or `git diff` wrote. Raises UsageError."""
    where = f"--patch {file}"
    try:
        names = _files_in(read_small_text(file, _LARGEST_BYTES), where)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{where}: cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error
    without = next(
        (
            one
            for one in (1, 0, 2)
            if all(_below(name, one).is_file() for name in names)
        ),
        None,
    )
    if without is None:
        named = ", ".join(dict.fromkeys(names))
        raise UsageError(
            f"{where}: {named} is not there. Run the command where `git apply` would "
            "find it."
        )
    return Candidate(name=str(file), texts=_applied(file, {_below(one, without) for one in names}, without, where),
                     change="patch")  # fmt: skip


def _files_in(diff: str, where: str) -> list[str]:
    """Names of the files that a diff changes, as they stand in it. Raises UsageError
    for what does more.
    """
    pairs = _CHANGED.findall(diff)
    if not pairs:
        raise UsageError(
            f"{where} is no unified diff. `tfadvisor fix` prints one, and so does "
            "`git diff`."
        )
    for old, new in pairs:
        if "/dev/null" in (old, new):
            raise UsageError(
                f"{where} adds or removes {new if old == '/dev/null' else old}: only "
                "changes can be tried."
            )
        if (
            not new.endswith(".py")
            or Path(new).is_absolute()
            or ".." in Path(new).parts
        ):
            raise UsageError(
                f"{where}: {new} is no Python file below this folder, and only those "
                "lie in an overlay."
            )
    return [new for _, new in pairs]


def _below(name: str, without: int) -> Path:
    """A diff's file, from here, without so many of its first folders."""
    return Path(*Path(name).parts[without:])


def _applied(diff: Path, files: Set[Path], without: int, where: str) -> dict[str, str]:
    """By real path, the texts after a diff, which git applies to copies. Raises
    UsageError.
    """
    with temporary_folder("tfadvisor-patch-") as folder:
        for file in files:
            Path(folder, file).parent.mkdir(parents=True, exist_ok=True)
            copyfile(file, Path(folder, file))
        call = (
            "-c",
            "core.autocrlf=false",
            "apply",
            "--whitespace=nowarn",
            f"-p{without}",
            str(diff.absolute()),
        )
        try:
            git(Path(folder), *call)
        except GitRefused as error:
            raise UsageError(
                f"{where} does not fit the files as they are ({error.said}): make it "
                "again."
            ) from error
        texts = {
            os.path.realpath(file): source_of(Path(folder, file)) for file in files
        }
    for real, text in texts.items():
        if text == source_of(Path(real)):
            raise UsageError(f"{where} changes nothing in {real}.")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise UsageError(
                f"{where}: what the patch makes cannot be parsed: "
                f"{error or 'too deep'}."
            ) from error
    return texts
