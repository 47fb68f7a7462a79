"""One writer at a time in a folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfadvisor.errors import UsageError

_NAME = ".lock"
_EVERY_S = 0.02


@contextmanager
def only_writer(folder: Path, patience_s: float = 30.0) -> Iterator[None]:
    """Waits for other writers of the folder; raises UsageError when they take too long.

    The lock belongs to the open file, so the system frees it when a writer dies; the file stays.
    """
    import fcntl  # noqa: PLC0415

    handle = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        end = time.monotonic() + patience_s
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise UsageError(
                        f"{folder}: another process has written there for {patience_s:.0f} s. Try again when it is done."
                    ) from None
                time.sleep(_EVERY_S)
        yield
    finally:
        os.close(handle)
