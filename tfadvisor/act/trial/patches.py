"""Patches as candidates: unified diffs in files."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Set
from pathlib import Path
from shutil import copyfile

from tfadvisor.act.trial.candidates import Candidate
from tfadvisor.act.trial.tried_program import source_of
from tfadvisor.errors import UsageError
from tfadvisor.files import read_small_text, temporary_folder
from tfadvisor.git import GitRefused, git

_LARGEST_BYTES = 5_000_000
_CHANGED = re.compile(
    r"^--- ([^\t\r\n]+)(?:\t.*|\r)?\n\+\+\+ ([^\t\r\n]+)", re.MULTILINE
)
"""Where a unified diff names a file, as it was and as it is."""
_STRIPPED = (1, 0, 2)
"""How many folders a name may have in front of it, as git's `a/`; the likeliest first.
"""
_UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def from_diff(file: Path) -> Candidate:
    """A file that `tfadvisor fix` or `git diff` wrote. Raises UsageError."""
    where = f"--patch {file}"
    try:
        diff = read_small_text(file, _LARGEST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{where}: cannot be read: {why}.") from error

    names = _files_in(diff, where)
    fitting = [stripped for stripped in _STRIPPED if _all_are_there(names, stripped)]
    if not fitting:
        named = ", ".join(dict.fromkeys(names))
        raise UsageError(
            f"{where}: {named} is not there. Run the command where `git apply` would "
            "find it."
        )
    files = {_below(name, fitting[0]) for name in names}
    texts = _applied(
        file,
        files,
        fitting[0],
        where,
    )
    return Candidate(
        name=str(file),
        texts=texts,
        change="patch",
    )


def _files_in(
    diff: str,
    where: str,
) -> list[str]:
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
        _check_changes_python(old, new, where)
    return [new for _, new in pairs]


def _check_changes_python(
    old: str,
    new: str,
    where: str,
) -> None:
    if "/dev/null" in (old, new):
        raise UsageError(
            f"{where} adds or removes {new if old == '/dev/null' else old}: only "
            "changes can be tried."
        )
    is_below = not Path(new).is_absolute() and ".." not in Path(new).parts
    if not new.endswith(".py") or not is_below:
        raise UsageError(
            f"{where}: {new} is no Python file below this folder, and only those "
            "lie in an overlay."
        )


def _all_are_there(
    names: list[str],
    stripped: int,
) -> bool:
    return all(_below(name, stripped).is_file() for name in names)


def _below(name: str, stripped: int) -> Path:
    """A diff's file, from here, without so many of its first folders."""
    return Path(*Path(name).parts[stripped:])


def _applied(
    diff: Path,
    files: Set[Path],
    stripped: int,
    where: str,
) -> dict[str, str]:
    """By real path, the texts after a diff, which git applies to copies. Raises
    UsageError.
    """
    with temporary_folder("tfadvisor-patch-") as folder:
        for file in files:
            Path(folder, file).parent.mkdir(
                parents=True,
                exist_ok=True,
            )
            copyfile(file, Path(folder, file))
        call = ("-c", "core.autocrlf=false", "apply", "--whitespace=nowarn")
        try:
            git(
                Path(folder),
                *call,
                f"-p{stripped}",
                str(diff.absolute()),
            )
        except GitRefused as error:
            raise UsageError(
                f"{where} does not fit the files as they are ({error.said}): make it "
                "again."
            ) from error
        texts = {}
        for file in files:
            texts[os.path.realpath(file)] = source_of(Path(folder, file))

    for real, text in texts.items():
        _check_changed(real, text, where)
    return texts


def _check_changed(
    real: str,
    text: str,
    where: str,
) -> None:
    if text == source_of(Path(real)):
        raise UsageError(f"{where} changes nothing in {real}.")
    try:
        ast.parse(text)
    except _UNPARSABLE as error:
        raise UsageError(
            f"{where}: what the patch makes cannot be parsed: {error or 'too deep'}."
        ) from error
