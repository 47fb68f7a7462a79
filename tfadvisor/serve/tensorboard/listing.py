"""Which runs a logdir holds now. Looked up at most every few seconds, and never while
TensorBoard waits.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tfadvisor.errors import AdvisorError
from tfadvisor.printable import in_utf8
from tfadvisor.trace import Run, find_runs, recorded_at
from tfadvisor.trace.remote_path import RemotePath, is_address, place_of, size_and_stamp

_FRESH_S = 3.0
_FIRST_LOOK_S = 0.3
_FRESH_REMOTE_S = 60.0
"""A store is asked less often than a disk: it may charge for each listing, and takes
longer.
"""


class ListedRun(msgspec.Struct, frozen=True):
    """A run of the logdir."""

    run: Run
    bytes: int
    """Of all files."""
    recorded: float
    """Seconds since the epoch."""
    stamp: str
    """Changes when its files do."""

    @property
    def for_xprof(self) -> bool:
        """Whether it lies where XProf looks for runs."""
        return self.run.path.parts[-3:-1] == ("plugins", "profile")


class Listing:
    """The runs below some folders. Safe to ask from many threads."""

    def __init__(self, roots: Sequence[tuple[str, Path]]) -> None:
        """roots: as of `roots_of`. Begins to look at once, in its own thread."""
        self.roots = tuple(roots)
        is_remote = any(isinstance(root, RemotePath) for _, root in roots)
        self._fresh_s = _FRESH_REMOTE_S if is_remote else _FRESH_S
        self._looking = threading.Lock()
        self._runs: Mapping[str, ListedRun] = {}
        self._looked_at = float("-inf")
        self._first_look = threading.Event()
        self._look_later()

    def known(self) -> Mapping[str, ListedRun]:
        """By name, the newest first; what the last look found. Never waits for a disk,
        but a moment for the first look.
        """
        if time.monotonic() - self._looked_at > self._fresh_s:
            self._look_later()
        self._first_look.wait(_FIRST_LOOK_S)
        return self._runs

    def current(self) -> Mapping[str, ListedRun]:
        """The same, after its own look."""
        self._look(wait=True)
        return self._runs

    def _look_later(self) -> None:
        if self._looking.locked():
            return
        look = threading.Thread(
            target=self._look,
            kwargs={"wait": False},
            name="tfadvisor-runs",
            daemon=True,
        )
        look.start()

    def _look(self, *, wait: bool) -> None:
        asked = time.monotonic()
        if not self._looking.acquire(blocking=wait):
            return
        try:
            if self._looked_at < asked:
                began = time.monotonic()
                # a folder may vanish meanwhile
                with contextlib.suppress(OSError, AdvisorError):
                    self._runs = _listed(self.roots)
                self._looked_at = began
        finally:
            self._looking.release()
            self._first_look.set()


def roots_of(
    logdir: str | None,
    logdir_spec: str | None,
) -> list[tuple[str, Path]]:
    """(prefix of the runs' names, folder or address) of what TensorBoard was started
    with.
    """
    if logdir:
        return [("", _resolved(logdir))]
    parts = (logdir_spec or "").split(",")
    return [_root_of(part) for part in parts if part]


def _root_of(part: str) -> tuple[str, Path]:
    """Of `NAME:PATH`, or of a path."""
    name, colon, path = part.partition(":")
    if not colon or part.startswith("/") or is_address(part):
        return "", _resolved(part)
    return f"{name}/", _resolved(path)


def _resolved(path: str) -> Path:
    if is_address(path):
        return place_of(path)
    return Path(path).expanduser().resolve()


def _listed(roots: Sequence[tuple[str, Path]]) -> dict[str, ListedRun]:
    by_name: dict[str, ListedRun] = {}
    for prefix, root in roots:
        for run in find_runs(root):
            name = in_utf8(prefix + run.name)
            if name in by_name:  # `train/RUN` and `train/plugins/profile/RUN`
                name = in_utf8(prefix + run.path.relative_to(root).as_posix())
            by_name.setdefault(name, _described(replace(run, name=name)))
    found = list(by_name.values())
    found.sort(
        key=lambda described: (described.recorded, described.run.name), reverse=True
    )
    return {described.run.name: described for described in found}


def _described(run: Run) -> ListedRun:
    size = 0
    content = sha256()
    for file in run.files:
        try:
            bytes_of_file, stamp = size_and_stamp(file)
        except OSError:
            continue  # reading it will say what is wrong
        size += bytes_of_file
        words = f"{file}\0{bytes_of_file}\0{stamp}\0"
        content.update(words.encode("utf-8", "surrogateescape"))
    return ListedRun(
        run,
        size,
        recorded_at(run),
        content.hexdigest(),
    )
