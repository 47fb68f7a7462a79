"""Patches written into the user's files: only in a clean work tree of git, and nowhere
outside the source folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tfadvisor.act.repair.sources import ProgramFile, Sources
from tfadvisor.errors import UsageError, written
from tfadvisor.files import new_file
from tfadvisor.git import git

_LONG = 30
"""Seconds after which git is no longer waited for."""


def check_clean(
    sources: Sources,
    names: tuple[str, ...],
) -> None:
    """Raises UsageError unless git could take every patch back: each file is tracked,
    unchanged, and watched for changes, in the repository that it lies in, and nothing
    else there has changed.
    """
    files = {file.name: file.path for file in sources.files}
    folders = [files[name].parent for name in names]
    for folder in dict.fromkeys([sources.root, *folders]):
        _check_unchanged(folder)
    for name in names:
        _check_known(name, files[name])


def _check_unchanged(folder: Path) -> None:
    try:
        git(
            folder,
            "rev-parse",
            "--show-toplevel",
            seconds=_LONG,
        )
    except UsageError as error:
        raise UsageError(
            f"--apply wants a git work tree, which takes a patch back, and {folder} "
            "is in none. "
            "Without --apply the patch is printed; `| git apply` takes it anywhere."
        ) from error
    try:
        changed = git(
            folder,
            "status",
            "--porcelain",
            "--untracked-files=no",
            "--ignore-submodules=all",
            seconds=_LONG,
        )
    except UsageError as error:
        raise UsageError(
            "--apply wants a clean git work tree, and this one cannot be asked: "
            f"{error}"
        ) from error
    if changed.strip():
        raise UsageError(
            "--apply wants a clean git work tree, and this one has changes. Commit "
            "or stash them, or take --diff."
        )


def _check_known(name: str, file: Path) -> None:
    call = ("ls-files", "-v", "--error-unmatch", "--", file.name)
    try:
        listed = git(
            file.parent,
            *call,
            seconds=_LONG,
        )
    except UsageError as error:
        raise UsageError(
            f"--apply wants files that git knows, and {name} is not added. Commit "
            "it, or take --diff."
        ) from error
    if not listed.startswith("H "):
        raise UsageError(
            f"git is told to overlook changes of {name} (assume-unchanged or "
            "skip-worktree), and could not take a patch back. "
            "Undo that with `git update-index`, or take --diff."
        )


def write(
    sources: Sources,
    texts: Mapping[str, str],
) -> None:
    """Writes the files, after all of them were found to be writable and as they were
    read. Raises UsageError.
    """
    files = {source.name: source for source in sources.files}
    whole = {}
    for name, text in texts.items():
        whole[name] = _checked(files[name], text, sources.root)
    for name, raw in whole.items():
        path = files[name].path
        mode = path.stat().st_mode & 0o7777
        with written(name):
            with new_file(path) as file:
                file.write(raw)
            path.chmod(mode)


def _checked(
    source: ProgramFile,
    text: str,
    root: Path,
) -> bytes:
    """The bytes to write."""
    if not source.path.resolve().is_relative_to(root):
        raise UsageError(f"{source.name} leads out of {root}. Nothing was written.")
    if not os.access(source.path, os.W_OK):
        raise UsageError(f"{source.name} is read-only. Nothing was written.")
    if source.path.read_bytes() != source.encoded(source.text):
        raise UsageError(
            f"{source.name} has changed since it was read. Nothing was written; try "
            "again."
        )
    return source.encoded(text)
