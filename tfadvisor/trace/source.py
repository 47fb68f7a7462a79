"""A file on disk as one read-only buffer in memory, inflated when it is gzip."""

from __future__ import annotations

import io
import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np

from tfadvisor.arrays import Int64Array
from tfadvisor.errors import TraceError
from tfadvisor.files import NotAFile, open_regular
from tfadvisor.memory_limits import free_memory
from tfadvisor.trace.bounds import SIZED
from tfadvisor.trace.remote_path import RemotePath
from tfadvisor.trace.stores import Unreachable

Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes in all) while a large file is read."""

LARGE = 1 << 24
"""Bytes of a file of which no more is kept than can still be asked for."""
_OF_PYTORCH = (b'"schemaVersion"', b'"deviceProperties"', b'"traceEvents"')
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""What a checkout without Git LFS holds in place of a large file."""
_GZIP_MAGIC = b"\x1f\x8b"
_PIECE = 1 << 22
_HEAD = 1 << 20
_FIELDS_LOOKED_AT = 1000
_SUSPICIOUS_RATIO = 100
"""Traces shrink to a tenth or, where one step is like the other, a thirtieth."""
_ALWAYS_ALLOWED = 1 << 24


class Source(msgspec.Struct, frozen=True):
    """place: how the file is called in messages. buffer: its uncompressed bytes,
    read-only, in this process's memory.

    pages: the memory behind the buffer, where the system takes pieces of it back.
    """

    place: str
    buffer: memoryview
    size: int
    pages: mmap.mmap | None = None

    def give_back(
        self,
        lo: int,
        hi: int,
        kept: Int64Array,
    ) -> None:
        """Frees the memory of the bytes lo .. hi - 1, but for those of rows (from, to)
        of `kept`. What is read there afterwards means nothing: zeros on Linux. Only
        whole pages go, and none of a small or packed file.
        """
        if self.pages is None:
            return
        first = -(-lo // mmap.PAGESIZE)
        last = hi // mmap.PAGESIZE
        for begin, end in _free_pages(first, last, kept):
            start = begin * mmap.PAGESIZE
            size = (end - begin) * mmap.PAGESIZE
            with suppress(OSError):  # as where the process has locked its memory
                self.pages.madvise(mmap.MADV_DONTNEED, start, size)


def _free_pages(
    first: int,
    last: int,
    kept: Int64Array,
) -> list[list[int]]:
    """[from, to] of the runs of pages first .. last - 1 that hold no byte of kept."""
    if first >= last:
        return []
    many = last - first
    begins = np.clip(kept[:, 0] // mmap.PAGESIZE - first, 0, many)
    ends = np.clip(-(-kept[:, 1] // mmap.PAGESIZE) - first, 0, many)
    opened = np.bincount(begins, minlength=many + 1)
    closed = np.bincount(ends, minlength=many + 1)
    held = (opened - closed).cumsum()
    free = np.zeros(many + 2, np.bool_)
    free[1:-1] = held[:-1] == 0
    bounds = np.flatnonzero(free[1:] != free[:-1]) + first
    found: list[list[int]] = bounds.reshape(-1, 2).tolist()
    return found


def open_source(path: Path) -> Source:
    """The whole file in memory, read and not mapped: a mapping kills the process when
    the file is cut short meanwhile.

    Raises TraceError for a file that is missing, unreadable, empty, no file at all,
    larger than the memory that is free, or changed, replaced or removed while it is
    read, and for gzip that is cut, broken or a bomb.
    """
    place = str(path)
    try:
        with open_regular(path) as file:
            before = os.fstat(file.fileno())
            data, pages = _content(file, place, before.st_size)
            after = os.fstat(file.fileno())
        if data is None or _stamp(before) != _stamp(after):
            raise TraceError(place, "changed while it was read.", _BEING_WRITTEN)
        _check_there(path, after)
        return Source(place, memoryview(data).toreadonly(), len(data), pages)
    except NotAFile as error:
        raise TraceError(
            place,
            f"{error.strerror}.",
            "Give the `*.xplane.pb` file, or the logdir that holds it.",
        ) from error
    except Unreachable:
        raise
    except OSError as error:
        raise TraceError(
            place,
            f"cannot be read: {error.strerror or error}.",
            _remedy(error),
        ) from error


_BEING_WRITTEN = (
    "Somebody is writing it: wait until the profiler or the copy is done, and try "
    "again."
)


def _stamp(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def _content(
    file: io.BufferedReader,
    place: str,
    size: int,
) -> tuple[bytes | memoryview | None, mmap.mmap | None]:
    """As _whole, of a packed file unpacked."""
    magic = file.read(2)
    if not size or not magic:
        raise TraceError(
            place,
            "is empty.",
            "The profiler was stopped before it wrote, the disk was full, or the trace "
            "came to 2 GB, more than protobuf writes: record again, fewer steps and "
            "without Python frames.",
        )
    file.seek(0)
    if magic == _GZIP_MAGIC:
        return _inflated(file, place, size), None
    return _whole(file, place, size)


def _check_there(path: Path, read: os.stat_result) -> None:
    """Raises TraceError unless the path still leads to the file that was read: the
    report would be of none that is there.
    """
    if isinstance(path, RemotePath):
        return  # what was read is a copy
    try:
        now = path.stat()
    except FileNotFoundError as error:
        raise TraceError(
            str(path),
            "was removed while it was read.",
            "Give a trace that stays.",
        ) from error
    if (now.st_dev, now.st_ino) != (read.st_dev, read.st_ino):
        raise TraceError(str(path), "was replaced while it was read.", _BEING_WRITTEN)


def damaged(
    source: Source,
    position: int | None,
    reason: str,
) -> TraceError:
    """The error for bytes that are no XSpace, with the likeliest cause read off the
    bytes themselves.
    """
    head = bytes(source.buffer[: 1 << 20])
    where = source.place
    if position is not None:
        where += f": byte {position:,} of {source.size:,}"
    if not head.strip(b"\0"):
        return TraceError(
            where,
            "holds nothing but zeros.",
            "The disk was full or the copy was only reserved: copy the file again.",
        )
    if head.startswith(_LFS_POINTER):
        return TraceError(
            source.place,
            "is a pointer of Git LFS, not the trace itself.",
            "Fetch the trace: `git lfs pull` in its repository.",
        )
    if head.count(b"\xef\xbf\xbd") > max(16, len(head) // 200):
        return TraceError(
            where,
            f"{reason}. The file is full of UTF-8 replacement characters: it was "
            "copied as text.",
            "Fetch it again in binary mode.",
        )
    if _is_of_pytorch(head):
        return TraceError(
            source.place,
            "is a trace of PyTorch's own profiler (Kineto), which is not read.",
            "PyTorch/XLA writes `*.xplane.pb` by `xp.trace` of "
            "torch_xla.debug.profiler.",
        )
    if _is_text(head[:4096]):
        return TraceError(
            where,
            f"{reason}. This is a text file, not a profiler trace.",
            "Give the `*.xplane.pb` that the profiler wrote, or the logdir that "
            "holds it.",
        )
    return TraceError(
        where,
        f"{reason}. The file is cut short or damaged.",
        "Copy it again, or record the trace again.",
    )


def _is_of_pytorch(head: bytes) -> bool:
    """Whether it begins as the JSON that torch.profiler exports."""
    return head.lstrip().startswith(b"{") and sum(map(head.count, _OF_PYTORCH)) > 1


def _is_text(data: bytes) -> bool:
    printable = sum(32 <= byte < 127 or byte in b"\t\r\n" for byte in data)
    return printable > 0.97 * len(data)


def _whole(
    file: io.BufferedReader,
    place: str,
    size: int,
) -> tuple[memoryview | None, mmap.mmap | None]:
    """(the bytes of a file of a size, None when it has fewer by now; the memory of a
    large one). Nothing is read of one that cannot be a trace.
    """
    head = file.read(_HEAD)
    if len(head) < _HEAD:
        return (memoryview(head) if len(head) == size else None), None
    begun = Source(place, memoryview(head), size)
    if not head.strip(b"\0"):
        raise damaged(begun, None, "it begins with zeros")
    if size > free_memory():
        raise TraceError(
            place,
            f"has {size:,} bytes, more than the memory that is free here.",
            "Analyse it on a machine with more memory, or record fewer steps.",
        )
    hole = _zero_tag(file, size)
    if hole is not None:
        raise damaged(begun, hole, "a field number or wire type that no protobuf has")
    pages = _pages(size) if size >= LARGE else None
    data = np.empty(size, np.uint8).data if pages is None else memoryview(pages)
    done = 0
    file.seek(0)
    while done < size:
        got = file.readinto(data[done : done + _PIECE])
        if not got:
            return None, None
        done += got
    return data, pages


def _pages(size: int) -> mmap.mmap | None:
    """Memory of its own, of no file; None where the system does not take pieces of it
    back.
    """
    if not hasattr(mmap, "MADV_DONTNEED"):
        return None
    try:
        pages = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError from error
    with suppress(AttributeError, OSError):  # a system without large pages
        pages.madvise(mmap.MADV_HUGEPAGE)
    return pages


def _zero_tag(file: io.BufferedReader, size: int) -> int | None:
    """Where a field of the outermost message begins with a zero, as the rest of a
    sparse file does; None without a look at small files, and where there is none among
    the first fields.
    """
    if size <= _HEAD << 6:
        return None
    at = 0
    for _ in range(_FIELDS_LOOKED_AT):
        file.seek(at)
        start = file.read(12)
        if start[:1] == b"\0":
            return at
        at += _field_size(start)
        is_sized = start and start[0] & 7 == SIZED and start[0] < 0x80
        if not is_sized or at >= size:
            break  # the decoder says what this is
    return None


def _field_size(start: bytes) -> int:
    """Bytes of a field that has a length, its tag and that length included."""
    length = 0
    used = 1
    for used, byte in enumerate(start[1:], start=2):
        length |= (byte & 0x7F) << 7 * (used - 2)
        if byte < 0x80:
            break
    return used + length


def _inflated(
    file: io.BufferedReader,
    place: str,
    packed: int,
) -> bytes:
    """The uncompressed bytes. A file that grows beyond any real trace's ratio is
    refused before it fills the memory.
    """
    import gzip  # only packed files need it
    import zlib

    limit = max(_ALWAYS_ALLOWED, packed * _SUSPICIOUS_RATIO)
    pieces: list[bytes] = []
    total = 0
    try:
        with gzip.GzipFile(fileobj=file, mode="rb") as unpacked:
            while piece := unpacked.read(_PIECE):
                pieces.append(piece)
                total += len(piece)
                if total > limit:
                    raise TraceError(
                        place,
                        f"expands to more than {limit:,} bytes, {_SUSPICIOUS_RATIO} "
                        "times its size, as no trace does.",
                        "If you trust it, unpack it first and analyse the unpacked "
                        "file.",
                    )
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(
            place,
            f"the gzip data is cut short or damaged ({error}).",
            "Copy the file again.",
        ) from error
    if not total:
        raise TraceError(place, "is an empty gzip file.", "Record the trace again.")
    return b"".join(pieces)


def _remedy(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "Check the path."
    if isinstance(error, PermissionError):
        return "Ask for read permission, or copy the file to where you can read it."
    if isinstance(error, IsADirectoryError):
        return "Give a file or a logdir."
    return "Check that the file and its disk can be read."
