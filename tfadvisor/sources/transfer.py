"""The bytes of one object into a file of this machine: once each, several ranges at a time, tried again where one is cut."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, TYPE_CHECKING, TypeVar

from tfadvisor.errors import TraceError
from tfadvisor.sources.faults import CutOff, translated
from tfadvisor.sources.stores import WEB, Entry, StoredObject, driver, entry_of
from tfadvisor.sources.top_level import check_top_level

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


_PIECE = 8 << 20
_AT_ONCE = 8
"""Ranges, and so 64 MiB in memory."""
_WORTH_A_LOOK = 64 << 20
"""Bytes of an object whose top level is read first: what is cut short is found before it is fetched."""
_TRIES = 3
_PAUSE_S = 0.5

T = TypeVar("T")


def transfer(path: StoredObject, file: IO[bytes]) -> Entry:
    """Writes the object into the file and returns what the store says about it. Raises OSError as `faults` makes them,
    TraceError for an object that is cut short or changed meanwhile, UsageError without a driver.
    """
    entry, done = path.entry(), 0
    filesystem, name = driver(path.address)
    for piece in _pieces(filesystem, name, entry, path):
        file.write(piece)
        done += len(piece)
    if entry.size is not None and done != entry.size:
        raise CutOff(str(path), f"it ended after {done:,} of {entry.size:,} bytes")
    if done > _PIECE and (now := entry_of(path.address)) != entry and (now.size, now.tag) != (entry.size, entry.tag):
        raise TraceError(
            str(path),
            "changed while it was read.",
            "Somebody is writing it: wait until the profiler or the copy is done, and try again.",
        )
    file.flush()
    return entry


def _pieces(filesystem: AbstractFileSystem, name: str, entry: Entry, path: StoredObject) -> Iterator[bytes]:
    size = entry.size
    if size is None or (size > _PIECE and not entry.ranges):
        yield from _stream(filesystem, name, path)
    elif size <= _PIECE:
        yield _again_where_cut(lambda: _whole(filesystem, name, size), path)
    else:
        if size > _WORTH_A_LOOK and not path.name.endswith(".gz"):
            check_top_level(lambda lo, hi: _range(filesystem, name, lo, hi), size, path)
        for start in range(0, size, _PIECE * _AT_ONCE):
            starts = list(range(start, min(start + _PIECE * _AT_ONCE, size), _PIECE))
            ends = [min(one + _PIECE, size) for one in starts]
            yield from _again_where_cut(partial(_ranges, filesystem, name, starts, ends), path)


def _whole(filesystem: AbstractFileSystem, name: str, size: int) -> bytes:
    found = bytes(filesystem.cat_file(name))
    if len(found) < size:
        raise CutOff(name, f"it ended after {len(found):,} of {size:,} bytes")
    return found


def _range(filesystem: AbstractFileSystem, name: str, start: int, end: int) -> bytes:
    return bytes(filesystem.cat_file(name, start=start, end=end))


def _ranges(filesystem: AbstractFileSystem, name: str, starts: list[int], ends: list[int]) -> list[bytes]:
    """In the order asked. A server that sends more or less than a range is one that knows none, or was cut."""
    if getattr(filesystem, "async_impl", False):
        found = filesystem.cat_ranges([name] * len(starts), starts, ends, batch_size=_AT_ONCE, on_error="raise")
    else:
        found = [filesystem.cat_file(name, start=lo, end=hi) for lo, hi in zip(starts, ends, strict=True)]
    for piece, lo, hi in zip(found, starts, ends, strict=True):
        if len(piece) != hi - lo:
            raise CutOff(name, f"of bytes {lo:,} to {hi:,} came {len(piece):,}")
    return [bytes(one) for one in found]


def _stream(filesystem: AbstractFileSystem, name: str, path: StoredObject) -> Iterator[bytes]:
    """From the first byte to the last in one answer, of a server that knows no ranges: it cannot be taken up again."""
    settings = {"block_size": 0} if path.scheme in WEB else {"cache_type": "none"}
    try:
        with filesystem.open(name, "rb", **settings) as source:
            while piece := source.read(_PIECE):
                yield bytes(piece)
    except Exception as error:
        raise translated(error, str(path)) from error


def _again_where_cut(ask: Callable[[], T], path: StoredObject) -> T:
    for tried in range(1, _TRIES + 1):
        try:
            return ask()
        except Exception as error:
            told = translated(error, str(path))
            if tried == _TRIES or not isinstance(told, CutOff):
                raise told from error
            time.sleep(_PAUSE_S * tried)
    raise AssertionError  # the last try returns or raises
