"""Patches written into the user's files: only in a clean work tree of git, and nowhere outside the source folder."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tfadvisor.errors import UsageError
from tfadvisor.files import new_file
from tfadvisor.repair.sources import Source, Sources

_LONG = 30
"""Seconds after which git is no longer waited for."""


def check_clean(sources: Sources, names: tuple[str, ...]) -> None:
    """Raises UsageError unless the files are tracked in a git work tree without changes, so that every patch can be undone."""
    top = _git(sources.root, "rev-parse", "--show-toplevel")
    if top is None:
        raise UsageError(f"--apply wants a git work tree, and {sources.root} is in none. --diff prints the patch.")
    changed = _git(sources.root, "status", "--porcelain", "--untracked-files=no")
    if changed is None or changed.strip():
        raise UsageError(
            "--apply wants a clean git work tree, and this one has changes. Commit or stash them, or take --diff."
        )
    for name in names:
        if _git(sources.root, "ls-files", "--error-unmatch", "--", name) is None:
            raise UsageError(f"--apply wants files that git knows, and {name} is not added. Commit it, or take --diff.")


def write(sources: Sources, texts: Mapping[str, str]) -> None:
    """Writes the files, after all of them were found to be writable and as they were read. Raises UsageError."""
    files = {one.name: one for one in sources.files}
    whole = {name: _checked(files[name], text, sources.root) for name, text in texts.items()}
    for name, raw in whole.items():
        path = files[name].path
        mode = path.stat().st_mode & 0o7777
        try:
            with new_file(path) as file:
                file.write(raw)
            path.chmod(mode)
        except OSError as error:
            raise UsageError(f"{name} cannot be written: {error.strerror or error}.") from error


def _checked(source: Source, text: str, root: Path) -> bytes:
    """The bytes to write."""
    if not source.path.resolve().is_relative_to(root):
        raise UsageError(f"{source.name} leads out of {root}. Nothing was written.")
    if not os.access(source.path, os.W_OK):
        raise UsageError(f"{source.name} is read-only. Nothing was written.")
    if source.path.read_bytes() != source.encoded(source.text):
        raise UsageError(f"{source.name} has changed since it was read. Nothing was written; try again.")
    return source.encoded(text)


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints, None where it fails or is not installed. It writes nothing and runs no program of the repository's."""
    command = ("git", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONG,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout if done.returncode == 0 else None
