"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that is written beside its place and renamed when all is written: no reader ever sees half of it.

    A device or pipe stays one. Raises OSError.
    """
    import tempfile  # noqa: PLC0415  (10 ms that only an output file needs)

    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(name).chmod(0o666 & ~umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def replace_file(path: Path, text: str) -> None:
    """The same of a text. Raises OSError."""
    with new_file(path) as file:
        file.write(text.encode("utf-8"))


def umask() -> int:
    """Bits that new files do not get."""
    bits = os.umask(0)
    os.umask(bits)
    return bits
