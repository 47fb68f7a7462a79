"""Finished analyses on disk, outside the logdir: one folder each, put in place whole,
the oldest thrown away first.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from tfadvisor.processes import lives
from tfadvisor.serve.tensorboard.listing import ListedRun
from tfadvisor.trace.local_copies import claimed, is_entry, is_ours
from tfadvisor.version import VERSION

REPORT = "report.json"
PAGE = "page.json.gz"
SNAPSHOT = "snapshot.json"
SUMMARY = "summary.json"
"""The files of a run."""
STEP = "step.json.gz"
"""Of one step of a run."""
COMPARISON = "comparison.json"
"""Of two."""

_MOST_BYTES = 512 << 20
_LEFT_BEHIND_S = 24 * 3600
_MAKING = ".making-"
_FORMAT = "2"


class Cache:
    """Any number of processes may use the same folder."""

    def __init__(
        self,
        folder: Path,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        """folder: made when missing, readable by its owner alone. Raises OSError for
        one that holds other files.
        """
        self.folder = claimed(folder)
        self._most_bytes = most_bytes
        self._throw_away_left_behind()

    def read(
        self,
        key: str,
        name: str,
    ) -> bytes | None:
        """A file of a finished analysis; None when there is none (any more). One that
        was cut is thrown away with all of it.
        """
        try:
            content = (self.folder / key / name).read_bytes()
        except OSError:
            return None
        if not _whole(name, content):
            self.throw_away(key)
            return None
        with contextlib.suppress(OSError):
            os.utime(self.folder / key)  # used last now
        return content

    def holds(self, key: str) -> bool:
        """Whether the analysis is there."""
        return (self.folder / key).is_dir()

    @contextlib.contextmanager
    def making(self, key: str) -> Iterator[Path]:
        """A folder to write an analysis into; it becomes the key's when nothing was
        raised. The first of several wins.
        """
        made = self._new_folder()
        try:
            yield made
            with contextlib.suppress(OSError):
                made.rename(self.folder / key)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        self._throw_away(keep=key)

    def throw_away(self, name: str) -> None:
        """One analysis. Renamed first, so that no reader finds half of it."""
        with contextlib.suppress(OSError):
            gone = self._new_folder() / name
            (self.folder / name).rename(gone)
            shutil.rmtree(gone.parent, ignore_errors=True)

    def _new_folder(self) -> Path:
        """Named after this process, so that another one can tell when nobody is making
        it any more.
        """
        claimed(self.folder)  # somebody may have cleared everything
        prefix = f"{_MAKING}{_machine()}-{os.getpid()}-"
        return Path(tempfile.mkdtemp(prefix=prefix, dir=self.folder))

    def _throw_away_left_behind(self) -> None:
        """What a process that was killed has left."""
        for name in os.listdir(self.folder):  # noqa: PTH208
            if name.startswith(_MAKING) and _is_left_behind(name):
                shutil.rmtree(self.folder / name, ignore_errors=True)

    def _throw_away(self, keep: str) -> None:
        entries = []
        for entry in os.scandir(self.folder):
            try:
                used = entry.stat(follow_symlinks=False).st_mtime
                if entry.name.startswith(_MAKING):
                    _clear_left_behind(entry, used)
                elif is_entry(entry.name):
                    entries.append((used, _size_of(entry), entry.name))
            except OSError:
                continue  # another process threw it away

        total = sum(size for _, size, _ in entries)
        for _, size, name in sorted(entries):
            if total <= self._most_bytes:
                break
            if name != keep:
                self.throw_away(name)
                total -= size


def _size_of(folder: os.DirEntry[str]) -> int:
    return sum(file.stat().st_size for file in os.scandir(folder.path))


def _clear_left_behind(
    folder: os.DirEntry[str],
    used: float,
) -> None:
    """What somebody began to make, long ago or by a process that is gone."""
    is_old = time.time() - used > _LEFT_BEHIND_S
    if is_old or _is_left_behind(folder.name):
        shutil.rmtree(folder.path, ignore_errors=True)


def _whole(name: str, content: bytes) -> bool:
    """Whether a file is what was written: the machine may have stopped, the disk may
    have been full.
    """
    try:
        if name.endswith(".gz"):
            unpacker = zlib.decompressobj(wbits=31)
            unpacker.decompress(content)
            return unpacker.eof and not unpacker.unused_data
        # paths may be no text, which msgspec refuses
        json.loads(content.decode("utf-8", "surrogateescape"))
    except (zlib.error, ValueError):
        return False
    return True


def _is_left_behind(name: str) -> bool:
    """Whether the process of this machine that made a folder, which is named in it, is
    gone.
    """
    machine, _, rest = name.removeprefix(_MAKING).partition("-")
    process = rest.partition("-")[0]
    if machine != _machine() or not process.isdecimal():
        return False
    return not lives(int(process))


def _machine() -> str:
    return sha256(platform.node().encode()).hexdigest()[:8]


def key_of(listed: ListedRun, rules_stamp: str) -> str:
    """Changes with the run's name, place and files, with tfadvisor's version, and with
    rules_stamp.
    """
    parts = (
        _FORMAT,
        VERSION,
        rules_stamp,
        listed.run.name,
        str(listed.run.path),
        listed.stamp,
    )
    return _hash("\0".join(parts))


def key_made_of(*parts: str) -> str:
    """Of what is made of one analysis or several."""
    return _hash(" ".join(parts))


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def installation_stamp() -> str:
    """Changes when tfadvisor's own files do, for those who work on it."""
    package = Path(__file__).parents[2]
    newest = 0
    for folder in (package, package.parent / "rules"):
        for place, _, files in os.walk(folder):
            if "__pycache__" not in place:
                for name in files:
                    file = os.path.join(place, name)  # noqa: PTH118
                    newest = max(newest, os.stat(file).st_mtime_ns)  # noqa: PTH116
    return str(newest)


def open_cache(roots: Sequence[Path]) -> Cache:
    """At TFADVISOR_CACHE, else below XDG_CACHE_HOME or ~/.cache; a temporary folder
    where that is inside a root or around one, is closed or holds other files, and where
    others could put reports there, which the tab would show as those of the user's
    runs.
    """
    chosen = os.environ.get("TFADVISOR_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    place = Path(chosen) if chosen else Path(home) / "tfadvisor"
    try:
        folder = place.expanduser().absolute() / "tensorboard"
    except RuntimeError:  # nobody has a home here
        return _temporary()

    if not any(_overlap(folder, root) for root in roots):
        with contextlib.suppress(OSError):
            cache = Cache(folder)
            if is_ours(folder):
                with tempfile.TemporaryDirectory(prefix=_MAKING, dir=folder):
                    return cache
    return _temporary()


def _overlap(folder: Path, root: Path) -> bool:
    return _inside(folder, root) or _inside(root, folder.resolve())


def _temporary() -> Cache:
    import atexit

    folder = Path(tempfile.mkdtemp(prefix="tfadvisor-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Cache(folder)


def _inside(folder: Path, root: Path) -> bool:
    resolved = folder.resolve()
    return resolved == root or root in resolved.parents
