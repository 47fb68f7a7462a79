"""Files that are whole or not there, and files that are read only where reading
ends.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tfadvisor import guardian
from tfadvisor.errors import UsageError
from tfadvisor.trace.remote_path import RemotePath

_unfinished: set[str] = set()
"""What is being written now, to be removed when the process is told to end."""

_OPENED = "/proc/self/fd/{}"
"""By which Linux calls an open file."""
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_LOCK = ".lock"
_LOOK_AGAIN_S = 0.02


_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP)


def is_remote(path: Path) -> bool:
    """Whether it is an address, below which objects are listed and no folders."""
    return isinstance(path, RemotePath)


def check_searchable(folder: Path) -> None:
    """Raises PermissionError for a folder that may be listed and not looked into."""
    if not os.access(folder, os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def is_folder(path: Path) -> bool:
    """Raises OSError where nobody can say: of a name that is too long, of a folder into
    which nobody may look. From Python 3.14 `Path.is_dir` says no to these.
    """
    if isinstance(path, RemotePath):
        return path.is_dir()
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        raise
    except ValueError:  # a zero byte
        return False


class NotAFile(OSError):
    """A pipe, socket or device, which nobody waits for."""


def open_regular(path: Path) -> io.BufferedReader:
    """A regular file for reading. Raises OSError, NotAFile for what is no file; never
    waits for a writer.

    A device is not even opened: that alone can do something, as rewinding a tape. Of an
    address, a copy.
    """
    if isinstance(path, RemotePath):
        return path.open_copy()
    _check_regular(path.stat())
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"):
        flags |= getattr(os, name, 0)

    file = os.fdopen(os.open(path, flags), "rb")
    try:
        _check_regular(os.fstat(file.fileno()))
    except NotAFile:
        file.close()
        raise
    return file


def read_small_text(path: Path, most_bytes: int) -> str:
    """A text that a user or tfadvisor wrote. Raises OSError, also for a longer one,
    UnicodeDecodeError.
    """
    return read_small(path, most_bytes).decode("utf-8")


def read_small(path: Path, most_bytes: int) -> bytes:
    """The whole of a file. Raises OSError, also for a longer one, without more than
    that in memory.
    """
    with open_regular(path) as file:
        content = bytearray()
        while len(content) <= most_bytes:
            piece = file.read(most_bytes + 1 - len(content))
            if not piece:
                return bytes(content)
            content += piece
    raise OSError(None, f"it has more than {most_bytes:,} bytes")


def end_of(path: Path, most_bytes: int) -> str:
    """The end of what a program has printed into a file. Raises OSError."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - most_bytes, 0))
        return file.read().decode("utf-8", "replace")


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that is written beside its place and renamed when all is written: no
    reader ever sees half of it.

    Where the system can, it has no name before, so that a process that is killed leaves
    nothing. A device or pipe stays one. Raises OSError.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    name = beside(path)
    with unfinished(name):
        handle, named = _open_new(name)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            # a name must not outlive its content when the machine stops
            os.fsync(handle)
            if not named:
                # the number makes it follow what /proc shows
                os.link(
                    _OPENED.format(handle),
                    name,
                    src_dir_fd=handle,
                )
        Path(name).replace(path)


def replace_file(path: Path, text: str) -> None:
    """Writes a text whole or not at all, in place of what is there. Raises OSError."""
    with new_file(path) as file:
        file.write(text.encode("utf-8"))


def beside(path: Path) -> str:
    """A hidden name in the same folder that nobody has, short enough for any file
    system.
    """
    return str(path.absolute().parent / f".{path.name[:40]}.{os.urandom(6).hex()}")


@contextmanager
def unfinished(name: str) -> Iterator[None]:
    """A file or folder that must not stay when this is left by an error or a signal."""
    _unfinished.add(name)
    with guardian.watched("remove", name):
        try:
            yield
        except BaseException:
            guardian.remove(name)
            # not before: the next signal may come while it is removed
            _unfinished.discard(name)
            raise
    _unfinished.discard(name)


def remove_unfinished() -> None:
    """For a process that ends now, wherever it is. Raises nothing."""
    for name in tuple(_unfinished):
        guardian.remove(name)


@contextmanager
def temporary_folder(prefix: str = "tfadvisor-") -> Iterator[str]:
    """A folder for temporary files, readable by this user alone. It goes, also where a
    signal comes while it does.
    """
    import tempfile

    folder = Path(tempfile.gettempdir()).absolute()
    name = str(folder / f"{prefix}{os.urandom(6).hex()}")
    with unfinished(name):
        Path(name).mkdir(mode=0o700)
        yield name
        guardian.remove(name)


def umask() -> int:
    """Bits that new files do not get."""
    bits = os.umask(0)
    os.umask(bits)
    return bits


def _open_new(name: str) -> tuple[int, bool]:
    """A file in the folder of a name, open for writing, and whether it has the name
    already.
    """
    if hasattr(os, "O_TMPFILE") and Path(_OPENED.format("")).is_dir():
        flags = os.O_WRONLY | os.O_TMPFILE
        with suppress(OSError):  # not every file system has files without names
            return os.open(Path(name).parent, flags, 0o666), False

    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_BINARY", 0)  # Windows would write other line ends
    return os.open(name, flags, 0o666), True


def _check_regular(status: os.stat_result) -> None:
    for is_kind, kind in _KINDS:
        if is_kind(status.st_mode):
            raise NotAFile(None, f"it is {kind}, not a file")
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(None, "it is a folder")


@contextmanager
def only_writer(
    folder: Path,
    patience_s: float = 30.0,
) -> Iterator[None]:
    """Waits for other writers of the folder; raises UsageError when they take too long.

    The lock belongs to the open file, so the system frees it when a writer dies; the
    file stays.
    """
    handle = os.open(
        folder / _LOCK,
        os.O_RDWR | os.O_CREAT,
        0o666,
    )
    try:
        end = time.monotonic() + patience_s
        while not _locked(handle):
            if time.monotonic() > end:
                raise UsageError(
                    f"{folder}: another process has written there for "
                    f"{patience_s:.0f} s. Try again when it is done."
                )
            time.sleep(_LOOK_AGAIN_S)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    """Whether the lock of an open file is ours now."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
