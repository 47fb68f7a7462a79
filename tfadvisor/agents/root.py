"""The folder that an agent may read, and nothing beyond it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from tfadvisor.errors import UsageError


class Root(msgspec.Struct, frozen=True):
    """A folder with all that lies below it. Links are followed first, and count by where they lead."""

    folder: Path
    """Absolute, without links."""

    def path(self, given: str) -> Path:
        """Where a path leads that stands below the root, or is absolute. Raises UsageError where that is outside."""
        try:
            found = (self.folder / given).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a zero byte
            raise UsageError(f"{given}: is no path that can be followed: {error}.") from error
        self.check([found], given)
        return found

    def check(self, files: Iterable[Path], given: str) -> None:
        """Raises UsageError when one of the files lies outside. given: what was asked for, for the message."""
        for file in files:
            if not file.resolve().is_relative_to(self.folder):
                raise UsageError(
                    f"{given}: leads out of {self.folder}, and this server reads nothing beyond it. Give a path below, "
                    "or start the server with another --root."
                )

    def shown(self, path: Path) -> str:
        """A path as it can be asked for."""
        return path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else str(path)


def root_of(folder: Path) -> Root:
    """Raises UsageError for what is no folder."""
    if not folder.is_dir():
        raise UsageError(f"--root {folder}: no such folder.")
    return Root(folder.resolve())
