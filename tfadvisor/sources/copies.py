"""Copies of objects on this machine, by address and tag: outside of every logdir, bounded, the longest unused thrown away.

TFADVISOR_CACHE names the folder (~/.cache/tfadvisor), TFADVISOR_CACHE_MB how much of it copies may take, 0 for none.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from tfadvisor.errors import TraceError, UsageError
from tfadvisor.sources.own_folder import is_ours
from tfadvisor.sources.stores import Entry, StoredObject
from tfadvisor.sources.transfer import transfer

_MOST_MB = 4096
_UNFINISHED = ".part-"
_LEFT_BEHIND_S = 24 * 3600


def open_copy(path: StoredObject) -> io.BufferedReader:
    """The object's bytes, as a file that stays whole while it is open. Raises as transfer, and TraceError without disk."""
    entry = path.entry()
    folder = _folder() if entry.tag is not None and (entry.size or 0) <= most_bytes() else None
    if folder is None:
        return _temporary(path)
    name = folder / _key(path, entry)
    try:
        copy = name.open("rb")
    except OSError:
        return _fetched(path, folder)
    _touch(name)
    return copy


def keeps_copies() -> bool:
    """Whether what is fetched is kept here for whoever asks next."""
    return most_bytes() > 0 and _folder() is not None


def most_bytes() -> int:
    """What copies may take. Raises UsageError for a setting that is no number."""
    text = os.environ.get("TFADVISOR_CACHE_MB") or str(_MOST_MB)
    if not text.isdecimal():
        raise UsageError(f"TFADVISOR_CACHE_MB={text}: give a number of megabytes, 0 for no copies.")
    return int(text) << 20


def _fetched(path: StoredObject, folder: Path) -> io.BufferedReader:
    handle, made = tempfile.mkstemp(prefix=_UNFINISHED, dir=folder)
    try:
        with os.fdopen(handle, "wb") as file, _saying_where(folder):
            entry = transfer(path, file)
        whole = Path(made).replace(folder / _key(path, entry))
    except BaseException:
        with contextlib.suppress(OSError):
            Path(made).unlink()
        raise
    copy = whole.open("rb")
    _touch(whole)
    _throw_away(folder, whole.name)
    return copy


def _temporary(path: StoredObject) -> io.BufferedReader:
    """A file without a name, gone when it is closed."""
    with _saying_where(Path(tempfile.gettempdir())):
        handle, name = tempfile.mkstemp(prefix="tfadvisor-")
        Path(name).unlink()
        copy = os.fdopen(handle, "rb")
        try:
            with os.fdopen(os.dup(handle), "wb") as file:
                transfer(path, file)
        except BaseException:
            copy.close()
            raise
    copy.seek(0)
    return copy


@contextlib.contextmanager
def _saying_where(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise TraceError(
            str(folder),
            f"is full: a trace cannot be fetched to it ({error.strerror}).",
            "Free some space, or set TFADVISOR_CACHE or TMPDIR to another folder.",
        ) from error


def _folder() -> Path | None:
    """For copies, readable by its owner alone; None where there can be none."""
    chosen = os.environ.get("TFADVISOR_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        folder = (Path(chosen) if chosen else Path(home) / "tfadvisor").expanduser().absolute() / "copies"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        ours = is_ours(folder)
    except (OSError, RuntimeError):  # nobody has a home here
        return None
    return folder if ours and os.access(folder, os.W_OK) else None


def _key(path: StoredObject, entry: Entry) -> str:
    return sha256(f"{path.address}\0{entry.size}\0{entry.tag}".encode("utf-8", "surrogateescape")).hexdigest()


def _touch(name: Path) -> None:
    """Used last now. Who reads it meanwhile takes its time of change for that of its content, so that stays."""
    with contextlib.suppress(OSError):
        os.utime(name, ns=(time.time_ns(), name.stat().st_mtime_ns))


def _throw_away(folder: Path, keep: str) -> None:
    entries, now = [], time.time()
    for one in os.scandir(folder):
        with contextlib.suppress(OSError):  # another process threw it away
            status = one.stat(follow_symlinks=False)
            if one.name.startswith(_UNFINISHED):
                if now - status.st_mtime > _LEFT_BEHIND_S:
                    Path(one.path).unlink()
                continue
            entries.append((status.st_atime_ns, status.st_size, one.name))
    total, most = sum(size for _, size, _ in entries), most_bytes()
    for _, size, name in sorted(entries):
        if total <= most:
            break
        if name != keep:
            with contextlib.suppress(OSError):
                (folder / name).unlink()
            total -= size
