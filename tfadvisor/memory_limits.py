"""How much memory this process may still take, and giving back what it has freed."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tfadvisor.errors import TraceError

_UNKNOWN = 8 << 30
_SHORTEST_DEADLINE_S = 120.0
_BYTES_A_SECOND = 1 << 20
"""The slowest analyses of real traces read ten times as many."""
_LEAST_MEMORY = 2 << 30
_MEMORY_PER_BYTE = 20
_MANY_EVENTS = 1 << 20
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Of <malloc.h>. The latter is 32 MB at most."""
_TRUSTED = (
    "If you trust the trace, analyse it without limits: TFADVISOR_LIMITS=0 tfadvisor "
    "analyze PATH."
)


class Limits(NamedTuple):
    """What an analysis may take, so that a trace that was made to take all harms nobody
    else.
    """

    deadline_s: float
    memory: int
    """Bytes of memory of each of its processes."""

    def too_late(self, place: str) -> TraceError:
        """What to say of a trace that took longer."""
        return TraceError(
            place,
            f"took longer than the {self.deadline_s:,.0f} s that any trace of this "
            "size needs.",
            _TRUSTED,
        )

    def too_large(self, place: str) -> TraceError:
        """What to say of one that needed more memory."""
        return TraceError(
            place,
            f"needs more than the {self.memory / (1 << 30):.1f} GiB that any trace "
            "of this size needs.",
            _TRUSTED,
        )


def limits_of_files(files: Iterable[Path]) -> Limits:
    """From their sizes: long and large enough for any trace of theirs, many
    times over.
    """
    sizes = [unpacked_size(file) for file in files]
    return Limits(
        _SHORTEST_DEADLINE_S + sum(sizes) / _BYTES_A_SECOND,
        _LEAST_MEMORY + _MEMORY_PER_BYTE * max(sizes, default=0),
    )


def unpacked_size(file: Path) -> int:
    """Bytes of the trace, guessed where it is packed."""
    try:
        size = file.stat().st_size
    except OSError:
        return 0  # reading it will say what is wrong
    return size * 10 if file.suffix == ".gz" else size


def free_memory() -> int:
    """Bytes. Memory that holds only copies of files counts as free, since the system
    gives it back.
    """
    found = (_of_machine(), _of_container(), _of_limits())
    known = [free for free in found if free is not None]
    return max(min(known, default=_UNKNOWN), 0)


@contextmanager
def limited_memory(most: int) -> Iterator[None]:
    """Inside, this process, and each that it starts, may take so many bytes beside what
    it holds now; a user's limit stays.
    """
    soft: int | None = None
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if soft == resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_DATA, (_held() + most, hard))
    except (ImportError, ValueError, OSError):
        soft = None  # such a limit cannot be set here
    try:
        yield
    finally:
        if soft is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _held() -> int:
    """Bytes that count against RLIMIT_DATA; 0 where the system does not say."""
    with suppress(OSError, ValueError):
        return _bytes_of_pages(5)
    return 0


def _bytes_of_pages(column: int) -> int:
    """A column of Linux's account of this process."""
    columns = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(columns[column]) * os.sysconf("SC_PAGE_SIZE")


def give_back(events: int) -> None:
    """Hands freed memory to the system after work on so many events, where they are
    many: glibc keeps arrays of less than 32 MB for later ones, also where none follows.
    """
    if events < _MANY_EVENTS:
        return
    with suppress(AttributeError, OSError, TypeError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)


def keep_freed() -> None:
    """From now on glibc keeps up to 64 MB of freed memory for what follows, as in a
    process that reads one host like the other: each would give back and fetch the same
    pages.
    """
    with suppress(AttributeError, OSError, TypeError):  # another C library than glibc
        library = ctypes.CDLL(None)
        library.mallopt(_TRIM_THRESHOLD, 64 << 20)
        library.mallopt(_MMAP_THRESHOLD, 32 << 20)


def _of_machine() -> int | None:
    with suppress(OSError, ValueError):
        about = Path("/proc/meminfo").read_text(encoding="ascii")
        found = re.search(r"^MemAvailable:\s+(\d+) kB", about, re.M)
        if found:
            return int(found[1]) << 10
    try:
        return int(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return None


def _of_container() -> int | None:
    group = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):
        # "max" where there is no limit
        most = int((group / "memory.max").read_text(encoding="ascii"))
        about = (group / "memory.stat").read_text(encoding="ascii")
        used = re.search(r"^anon (\d+)", about, re.M)
        return most - int(used[1]) if used else most
    return None


def _of_limits() -> int | None:
    """What RLIMIT_AS leaves: the limit of `ulimit -v`."""
    try:
        import resource
    except ImportError:  # as on Windows
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return None
    with suppress(OSError, ValueError):
        return most - _bytes_of_pages(0)
    return most
