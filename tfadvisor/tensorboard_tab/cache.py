"""Finished analyses on disk, outside the logdir: one folder each, put in place whole, the oldest thrown away first."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from tfadvisor.tensorboard_tab.listing import ListedRun
from tfadvisor.version import VERSION

REPORT, PAGE, SNAPSHOT = "report.json", "page.json.gz", "snapshot.json"
"""Of a run."""
COMPARISON = "comparison.json"
"""Of two."""

_MOST_BYTES = 512 << 20
_LEFT_BEHIND_S = 24 * 3600
_MAKING = ".making-"
_FORMAT = "1"


class Cache:
    """Any number of processes may use the same folder."""

    def __init__(self, folder: Path, most_bytes: int = _MOST_BYTES) -> None:
        """folder: made when missing, readable by its owner alone."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder
        self._most_bytes = most_bytes

    def read(self, key: str, name: str) -> bytes | None:
        """A file of a finished analysis; None when there is none (any more)."""
        try:
            content = (self.folder / key / name).read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(self.folder / key)  # used last now
        return content

    def holds(self, key: str) -> bool:
        """Whether the analysis is there."""
        return (self.folder / key).is_dir()

    @contextlib.contextmanager
    def making(self, key: str) -> Iterator[Path]:
        """A folder to write an analysis into; it becomes the key's when nothing was raised. The first of several wins."""
        made = Path(tempfile.mkdtemp(prefix=_MAKING, dir=self.folder))
        try:
            yield made
            with contextlib.suppress(OSError):
                made.rename(self.folder / key)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        self._throw_away(keep=key)

    def _throw_away(self, keep: str) -> None:
        entries, now = [], time.time()
        for entry in os.scandir(self.folder):
            try:
                used = entry.stat(follow_symlinks=False).st_mtime
                if entry.name.startswith(_MAKING):
                    if now - used > _LEFT_BEHIND_S:
                        shutil.rmtree(entry.path, ignore_errors=True)
                    continue
                size = sum(one.stat().st_size for one in os.scandir(entry.path))
            except OSError:
                continue  # another process threw it away
            entries.append((used, size, entry.name))
        total = sum(size for _, size, _ in entries)
        for _, size, name in sorted(entries):
            if total <= self._most_bytes:
                break
            if name != keep:
                self._throw_away_one(name)
                total -= size

    def _throw_away_one(self, name: str) -> None:
        """Renamed first, so that no reader finds half of it."""
        with contextlib.suppress(OSError):
            gone = Path(tempfile.mkdtemp(prefix=_MAKING, dir=self.folder)) / name
            (self.folder / name).rename(gone)
            shutil.rmtree(gone.parent, ignore_errors=True)


def key_of(listed: ListedRun, rules_stamp: str) -> str:
    """Changes with the run's name, place and files, with tfadvisor's version, and with rules_stamp."""
    parts = (_FORMAT, VERSION, rules_stamp, listed.run.name, str(listed.run.path), listed.stamp)
    return sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def key_of_pair(base: str, new: str) -> str:
    """Of the comparison of two analyses."""
    return sha256(f"{base} {new}".encode()).hexdigest()


def installation_stamp() -> str:
    """Changes when tfadvisor's own files do, for those who work on it."""
    package = Path(__file__).parents[1]
    newest = 0
    for folder in (package, package.parent / "rules"):
        for place, _, files in os.walk(folder):
            if "__pycache__" not in place:
                newest = max([newest, *(os.stat(os.path.join(place, one)).st_mtime_ns for one in files)])  # noqa: PTH116, PTH118
    return str(newest)


def open_cache(roots: Sequence[Path]) -> Cache:
    """At TFADVISOR_CACHE, else below XDG_CACHE_HOME or ~/.cache; a temporary folder where that is inside a root or closed."""
    chosen = os.environ.get("TFADVISOR_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = (Path(chosen) if chosen else Path(home) / "tfadvisor").expanduser().absolute() / "tensorboard"
    if not any(_inside(folder, root) for root in roots):
        try:
            cache = Cache(folder)
            with tempfile.TemporaryDirectory(prefix=_MAKING, dir=folder):
                return cache
        except OSError:
            pass
    return _temporary()


def _temporary() -> Cache:
    import atexit  # noqa: PLC0415

    folder = Path(tempfile.mkdtemp(prefix="tfadvisor-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Cache(folder)


def _inside(folder: Path, root: Path) -> bool:
    resolved = folder.resolve()
    return resolved == root or root in resolved.parents
