"""Copies of objects on this machine, fetched in ranges and gone when they are closed;
which folder is a cache of one's own.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

from tfadvisor.errors import TraceError
from tfadvisor.trace.stores import (
    LARGEST_ANSWER,
    WEB,
    CutOff,
    StoreEntry,
    Unreachable,
    driver,
    entry_of,
    translated,
)

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


def open_copy(
    place: str,
    address: str,
    entry: StoreEntry,
) -> io.BufferedReader:
    """The bytes of an object that the store has told about, as a file without a name,
    gone when it is closed. place: what it is called in messages; its address may hold a
    signature. Raises as transfer, and TraceError without disk.
    """
    try:
        handle, name = tempfile.mkstemp(prefix="tfadvisor-")
        Path(name).unlink()
        copy = os.fdopen(handle, "rb")
        try:
            with os.fdopen(os.dup(handle), "wb") as file:
                transfer(place, address, entry, file)
        except BaseException:
            copy.close()
            raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise TraceError(
            tempfile.gettempdir(),
            f"is full: a trace cannot be fetched to it ({error.strerror}).",
            "Free some space, or set TMPDIR to another folder.",
        ) from error
    copy.seek(0)
    return copy


# The bytes of one object into a file of this machine: once each, several ranges at a
# time, tried again where one is cut.

_PIECE = LARGEST_ANSWER
_AT_ONCE = 8
"""Ranges, and so 64 MiB in memory."""
_MOST_UNTOLD = 16 << 30
"""Bytes of an object whose size a server does not tell."""
_TRIES = 3
_PAUSE_S = 0.5

T = TypeVar("T")


def transfer(
    place: str,
    address: str,
    entry: StoreEntry,
    file: IO[bytes],
) -> None:
    """Writes the object into the file. Raises OSError as `faults` makes them,
    TraceError for an object that is cut short or changed meanwhile, UsageError without
    a driver.
    """
    filesystem, name = driver(address)
    most = _MOST_UNTOLD if entry.size is None else entry.size
    done = 0
    for piece in _pieces(filesystem, name, entry, place):
        done += len(piece)
        if done > most:
            raise Unreachable(
                place,
                f"more comes than the {entry.size or _MOST_UNTOLD:,} bytes that it "
                "may have",
            )
        file.write(piece)
    if entry.size is not None and done != entry.size:
        raise CutOff(place, f"it ended after {done:,} of {entry.size:,} bytes")
    if done > _PIECE and _has_changed(address, entry):
        raise TraceError(
            place,
            "changed while it was read.",
            "Somebody is writing it: wait until the profiler or the copy is done, "
            "and try again.",
        )
    file.flush()


def _has_changed(address: str, entry: StoreEntry) -> bool:
    now = entry_of(address)
    return (now.size, now.tag) != (entry.size, entry.tag)


def _pieces(
    filesystem: AbstractFileSystem,
    name: str,
    entry: StoreEntry,
    place: str,
) -> Iterator[bytes]:
    size = entry.size
    if size is None or (size > _PIECE and not entry.ranges):
        yield from _stream(filesystem, name, place)
    elif size <= _PIECE:
        yield _again_where_cut(partial(_whole, filesystem, name, size), place)
    else:
        starts = list(range(0, size, _PIECE))
        for first in range(0, len(starts), _AT_ONCE):
            group = starts[first : first + _AT_ONCE]
            ends = [min(start + _PIECE, size) for start in group]
            ask = partial(_ranges, filesystem, name, group, ends)
            yield from _again_where_cut(ask, place)


def _whole(
    filesystem: AbstractFileSystem,
    name: str,
    size: int,
) -> bytes:
    found = bytes(filesystem.cat_file(name))
    if len(found) < size:
        raise CutOff(name, f"it ended after {len(found):,} of {size:,} bytes")
    return found


def _ranges(
    filesystem: AbstractFileSystem,
    name: str,
    starts: list[int],
    ends: list[int],
) -> list[bytes]:
    """In the order asked. A server that sends more or less than a range is one that
    knows none, or was cut.
    """
    bounds = list(zip(starts, ends, strict=True))
    if getattr(filesystem, "async_impl", False):
        found = filesystem.cat_ranges(
            [name] * len(starts),
            starts,
            ends,
            batch_size=_AT_ONCE,
            on_error="raise",
        )
    else:
        found = [filesystem.cat_file(name, start=lo, end=hi) for lo, hi in bounds]
    for piece, (lo, hi) in zip(found, bounds, strict=True):
        if len(piece) != hi - lo:
            raise CutOff(name, f"of bytes {lo:,} to {hi:,} came {len(piece):,}")
    return [bytes(piece) for piece in found]


def _stream(
    filesystem: AbstractFileSystem,
    name: str,
    place: str,
) -> Iterator[bytes]:
    """From the first byte to the last in one answer, of a server that knows no ranges:
    it cannot be taken up again.
    """
    is_web = place.partition(":")[0] in WEB
    settings = {"block_size": 0} if is_web else {"cache_type": "none"}
    try:
        with filesystem.open(name, "rb", **settings) as source:
            while piece := source.read(_PIECE):
                yield bytes(piece)
    except Exception as error:
        raise translated(error, place) from error


def _again_where_cut(ask: Callable[[], T], place: str) -> T:
    for tried in range(1, _TRIES + 1):
        try:
            return ask()
        except Exception as error:
            told = translated(error, place)
            if tried == _TRIES or not isinstance(told, CutOff):
                raise told from error
            time.sleep(_PAUSE_S * tried)
    raise AssertionError  # the last try returns or raises


# Which folder is a cache of tfadvisor's, and what in it tfadvisor has written: nothing
# else there is ever removed.

_MARKER = ".tfadvisor-cache"


def claimed(folder: Path) -> Path:
    """The folder, made and marked as a cache. Raises OSError, also where it was there
    and holds what no cache does.
    """
    folder.mkdir(
        mode=0o700,
        parents=True,
        exist_ok=True,
    )
    marker = folder / _MARKER
    if not marker.is_file():
        for name in os.listdir(folder):  # noqa: PTH208
            if not name.startswith(".") and not is_entry(name):
                raise OSError(
                    errno.EEXIST,
                    "holds files that are not tfadvisor's",
                    str(folder),
                )
        marker.touch(mode=0o600)
    return folder


def is_entry(name: str) -> bool:
    """Whether a cache names what it keeps so: 64 hexadecimal digits."""
    return len(name) == 64 and set(name) <= set("0123456789abcdef")


# Whether a folder is this user's alone. What lies in any other may have been put there
# by another user.

_ROOT = 0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def is_ours(folder: Path) -> bool:
    """Whether nobody else owns it, can write it, or can put another folder in its
    place. Raises OSError.

    Always where files have no owners. A folder above that a group can write is trusted,
    since many users are a group of their own; one that everybody can write only if its
    owner alone may rename what lies there, as in /tmp.
    """
    if os.name != "posix":
        return True
    real = folder.resolve(strict=True)
    status = real.stat()
    if status.st_uid != os.getuid() or status.st_mode & _OTHERS_WRITE:
        return False
    return all(_keeps_names(parent.stat()) for parent in real.parents)


def _keeps_names(status: os.stat_result) -> bool:
    if status.st_uid not in (_ROOT, os.getuid()):
        return False
    is_open = bool(status.st_mode & stat.S_IWOTH)
    return not is_open or bool(status.st_mode & stat.S_ISVTX)
