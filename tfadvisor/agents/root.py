"""The folder that an agent may read, and nothing beyond it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tfadvisor.errors import TraceError, UsageError
from tfadvisor.xplane.runs import Run, choose_run, find_runs, host_of

_BESIDE = "recording.json"
"""Beside a run's traces, besides what begins with a host's name."""


class Root(msgspec.Struct, frozen=True):
    """A folder with all that lies below it, and the only door to it: whatever a tool opens, it gets from here. Links are
    followed first, and count by where they lead.
    """

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
            if not self._holds(file):
                raise UsageError(
                    f"{given}: leads out of {self.folder}, and this server reads nothing beyond it. Give a path below, "
                    "or start the server with another --root."
                )

    def runs(self, given: str) -> list[Run]:
        """All runs below a folder whose files lie inside, the newest first. Raises UsageError for no folder, or one outside."""
        folder = self.path(given)
        if not folder.is_dir():
            raise UsageError(f"{given}: is no folder. analyze reads a single trace.")
        return [run for run in find_runs(folder, self.folder) if all(map(self._holds, _files_of(run)))]

    def run(self, given: str, name: str | None, host: str | None) -> tuple[Run, int]:
        """The run that a path, and names, mean, and how many there were. Raises TraceError, or UsageError, also where a trace or
        a file that is read with it lies outside.
        """
        try:
            found, count = choose_run([self.path(given)], name, host, self.folder)
        except TraceError as error:
            remedy = f"{error.remedy} Links that lead out of {self.folder} are not followed."
            raise TraceError(error.place, error.cause, remedy) from error
        self.check(_files_of(found), given)
        return found, count

    def _holds(self, file: Path) -> bool:
        try:
            return file.resolve().is_relative_to(self.folder)
        except (OSError, RuntimeError):
            return False

    def shown(self, path: Path) -> str:
        """A path as it can be asked for."""
        return path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else str(path)


def root_of(folder: Path) -> Root:
    """Raises UsageError for what is no folder."""
    if not folder.is_dir():
        raise UsageError(f"--root {folder}: no such folder.")
    return Root(folder.resolve())


def _files_of(run: Run) -> Iterator[Path]:
    """A run's traces, and whatever may be read with them: what lies beside one and begins with its host's name."""
    for file in run.files:
        yield file
        yield file.with_name(_BESIDE)
        try:
            yield from (one for one in file.parent.iterdir() if one.name.startswith(f"{host_of(file)}."))
        except OSError:
            continue
