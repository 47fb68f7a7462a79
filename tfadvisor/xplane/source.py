"""A file on disk as one read-only buffer: memory-mapped, or inflated when it is gzip."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path

import msgspec

from tfadvisor.errors import TraceError

Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes in all) while a large file is read."""

_GZIP_MAGIC = b"\x1f\x8b"
_PIECE = 1 << 22
_SUSPICIOUS_RATIO = 400
_ALWAYS_ALLOWED = 1 << 28


class Source(msgspec.Struct, frozen=True):
    """place: how the file is called in messages. buffer: its uncompressed bytes, read-only. mapping: None unless mapped."""

    place: str
    buffer: memoryview
    size: int
    mapping: mmap.mmap | None = None

    def forget(self, lo: int, hi: int) -> None:
        """Lets the pages between two positions out of memory; they are read again from the file if needed."""
        page = mmap.PAGESIZE
        start, length = -(-lo // page) * page, hi // page * page - -(-lo // page) * page
        if self.mapping is not None and length > 0 and hasattr(mmap, "MADV_DONTNEED"):
            self.mapping.madvise(mmap.MADV_DONTNEED, start, length)


def open_source(path: Path) -> Source:
    """Raises TraceError for a file that is missing, unreadable, empty, or gzip that is cut, broken or a bomb."""
    place = str(path)
    try:
        with path.open("rb") as file:
            magic = file.read(2)
            if not magic:
                raise TraceError(
                    place,
                    "is empty.",
                    "The profiler was stopped before it wrote, or the disk was full: record the trace again.",
                )
            if magic == _GZIP_MAGIC:
                data = _inflate(path)
                return Source(place, memoryview(data), len(data))
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return Source(place, memoryview(mapping), len(mapping), mapping)
    except TraceError:
        raise
    except OSError as error:
        raise TraceError(place, f"cannot be read: {error.strerror or error}.", _remedy(error)) from error


def damaged(source: Source, position: int | None, reason: str) -> TraceError:
    """The error for bytes that are no XSpace, with the likeliest cause read off the bytes themselves."""
    head = bytes(source.buffer[: 1 << 20])
    where = source.place if position is None else f"{source.place}: byte {position:,} of {source.size:,}"
    if not head.strip(b"\0"):
        return TraceError(
            where, "holds nothing but zeros.", "The disk was full or the copy was only reserved: copy the file again."
        )
    if head.count(b"\xef\xbf\xbd") > max(16, len(head) // 200):
        return TraceError(
            where,
            f"{reason}. The file is full of UTF-8 replacement characters: it was copied as text.",
            "Fetch it again in binary mode.",
        )
    if _looks_like_text(head):
        return TraceError(
            where,
            f"{reason}. This is a text file, not a profiler trace.",
            "Give the `*.xplane.pb` that the profiler wrote, or the logdir that holds it.",
        )
    return TraceError(
        where, f"{reason}. The file is cut short or damaged.", "Copy it again, or record the trace again."
    )


def _looks_like_text(head: bytes) -> bool:
    printable = sum(32 <= byte < 127 or byte in b"\t\r\n" for byte in head[:4096])
    return printable > 0.97 * len(head[:4096])


def _inflate(path: Path) -> bytes:
    """The uncompressed bytes. A file that grows beyond any real trace's ratio is refused before it fills the memory."""
    import gzip  # noqa: PLC0415  (only packed files need it)
    import zlib  # noqa: PLC0415

    packed = path.stat().st_size
    limit = max(_ALWAYS_ALLOWED, packed * _SUSPICIOUS_RATIO)
    pieces: list[bytes] = []
    total = 0
    try:
        with gzip.open(path, "rb") as file:
            while piece := file.read(_PIECE):
                pieces.append(piece)
                total += len(piece)
                if total > limit:
                    raise TraceError(
                        str(path),
                        f"expands to more than {_SUSPICIOUS_RATIO} times its size, as no trace does.",
                        "If you trust it, unpack it first and analyse the unpacked file.",
                    )
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(
            str(path), f"the gzip data is cut short or damaged ({error}).", "Copy the file again."
        ) from error
    if not total:
        raise TraceError(str(path), "is an empty gzip file.", "Record the trace again.")
    return b"".join(pieces)


def _remedy(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "Check the path."
    if isinstance(error, PermissionError):
        return "Ask for read permission, or copy the file to where you can read it."
    if isinstance(error, IsADirectoryError):
        return "Give a file or a logdir."
    return "Check that the file and its disk can be read."
