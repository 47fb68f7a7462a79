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
from tfadvisor.trace.remote_path import RemotePath, is_address, place_of, size_and_stamp
from tfadvisor.trace.runs import Run, find_runs, recorded_at

_FRESH_S = 3.0
_FIRST_LOOK_S = 0.3
_FRESH_REMOTE_S = 60.0
"""A store is asked less often than a disk: it may charge for each listing, and takes
longer.
"""


class ListedRun(msgspec.Struct, frozen=True):
    """A run of the logdir. stamp: changes when its files do. recorded: seconds since
    the epoch.
    """

    run: Run
    bytes: int
    recorded: float
    stamp: str

    @property
    def for_xprof(self) -> bool:
        """Whether it lies where XProf looks for runs."""
        return self.run.path.parts[-3:-1] == ("plugins", "profile")


class Listing:
    """The runs below some folders. Safe to ask from many threads."""

    def __init__(self, roots: Sequence[tuple[str, Path]]) -> None:
        """roots: as of `roots_of`. Begins to look at once, in its own thread."""
        self.roots = tuple(roots)
        self._fresh_s = (
            _FRESH_REMOTE_S
            if any(isinstance(root, RemotePath) for _, root in roots)
            else _FRESH_S
        )
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
        if not self._looking.locked():
            threading.Thread(
                target=self._look,
                kwargs={"wait": False},
                name="tfadvisor-runs",
                daemon=True,
            ).start()

    def _look(self, *, wait: bool) -> None:
        asked = time.monotonic()
        if not self._looking.acquire(blocking=wait):
            return
        try:
            if self._looked_at < asked:
                began = time.monotonic()
                with contextlib.suppress(
                    OSError, AdvisorError
                ):  # a folder that vanishes meanwhile
                    self._runs = _listed(self.roots)
                self._looked_at = began
        finally:
            self._looking.release()
            self._first_look.set()


def roots_of(logdir: str | None, logdir_spec: str | None) -> list[tuple[str, Path]]:
    """(prefix of the runs' names, folder or address) of what TensorBoard was started
    with.
    """
    if logdir:
        return [("", _resolved(logdir))]
    roots = []
    for part in filter(None, (logdir_spec or "").split(",")):
        name, colon, path = part.partition(":")
        named = bool(colon) and not part.startswith("/") and not is_address(part)
        roots.append((f"{name}/" if named else "", _resolved(path if named else part)))
    return roots


def _resolved(path: str) -> Path:
    return place_of(path) if is_address(path) else Path(path).expanduser().resolve()


def _listed(roots: Sequence[tuple[str, Path]]) -> dict[str, ListedRun]:
    by_name: dict[str, ListedRun] = {}
    for prefix, root in roots:
        for run in find_runs(root):
            name = in_utf8(prefix + run.name)
            if name in by_name:  # `train/RUN` and `train/plugins/profile/RUN`
                name = in_utf8(prefix + run.path.relative_to(root).as_posix())
            by_name.setdefault(name, _described(replace(run, name=name)))
    newest_first = sorted(
        by_name.values(), key=lambda one: (one.recorded, one.run.name), reverse=True
    )
    return {one.run.name: one for one in newest_first}


def _described(run: Run) -> ListedRun:
    size = 0
    content = sha256()
    for file in run.files:
        try:
            bytes_of_file, stamp = size_and_stamp(file)
        except OSError:
            continue  # reading it will say what is wrong
        size += bytes_of_file
        content.update(
            f"{file}\0{bytes_of_file}\0{stamp}\0".encode("utf-8", "surrogateescape")
        )
    return ListedRun(run, size, recorded_at(run), content.hexdigest())
