"""Standard streams as they come: closed, full, read by nobody. Writing to them never
raises; who must know asks afterwards.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any, TextIO

_STDOUT, _STDERR = 1, 2
_DIGITS = 5


class _Quiet(io.RawIOBase):
    """A file descriptor. What cannot be written is dropped, and why is kept."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.failure: OSError | None = None

    def fileno(self) -> int:
        return self._number

    def isatty(self) -> bool:
        return os.isatty(self._number)

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        left = view
        while len(left) and self.failure is None:
            try:
                left = left[os.write(self._number, left) :]
            except BlockingIOError:
                _wait_until_writable(self._number)
            except OSError as error:
                self.failure = error
        return len(view)


_stdout = _Quiet(_STDOUT)


def settle_streams() -> None:
    """Puts streams in place that take everything. Closed ones lead nowhere, and no file
    is opened under their numbers.
    """
    for name in ("COLUMNS", "LINES"):
        if (
            len(os.environ.get(name, "")) > _DIGITS
        ):  # libraries make a number and memory of it
            del os.environ[name]
    if os.name != "posix":
        return
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115
    sys.stdout = _text(_stdout, sys.stdout)
    sys.stderr = _text(_Quiet(_STDERR), sys.stderr, errors="backslashreplace")


def unwritten() -> OSError | None:
    """Why standard output could not be written, None where it was, or where its reader
    went away as `head` does.
    """
    return None if isinstance(_stdout.failure, BrokenPipeError) else _stdout.failure


def _text(raw: _Quiet, before: TextIO | None, errors: str = "strict") -> TextIO:
    encoding = before.encoding if before is not None else "utf-8"
    errors = (before.errors if before is not None else None) or errors
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors=errors,
        line_buffering=raw.isatty() or raw.fileno() == _STDERR,
    )


def _wait_until_writable(number: int) -> None:
    """For a pipe that another process made non-blocking."""
    import select

    select.select([], [number], [])
