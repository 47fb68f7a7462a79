"""A trace that is no path: bytes, or an open file. It is read by way of a file of its own, which is gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO

import msgspec

from tfadvisor.errors import TraceError, UsageError
from tfadvisor.files import temporary_folder
from tfadvisor.sources.remote_path import place_of
from tfadvisor.xplane.runs import Run, choose_run

Readable = str | PathLike[str] | bytes | bytearray | memoryview | IO[bytes]
"""A path to a logdir, run folder or trace, or the content of one trace."""


class Held(msgspec.Struct, frozen=True):
    """The content of a trace. name: of the open file, for messages and the report."""

    name: str
    data: bytes


def held(given: Readable) -> Path | Held:
    """A path, or the content. Raises UsageError for what is neither, and for a file that is open for text."""
    if isinstance(given, str | PathLike):
        return place_of(given if isinstance(given, str | Path) else Path(given))
    if isinstance(given, bytes | bytearray | memoryview):
        return Held("trace in memory", bytes(given))
    if not hasattr(given, "read"):
        raise UsageError(
            f"a {type(given).__name__} is no trace: give a path, bytes or a file that is open for reading."
        )
    data = given.read()
    if not isinstance(data, bytes):
        raise UsageError("the file is open for text. Open it with mode 'rb'.")
    name = getattr(given, "name", None)
    return Held(Path(name).name if isinstance(name, str) else "trace in memory", data)


@contextmanager
def run_in(source: Path | Held, run: str | None = None, host: str | None = None) -> Iterator[Run]:
    """The run to read, as choose_run; of content only as long as the context lasts. Raises TraceError, UsageError."""
    if isinstance(source, Path):
        yield choose_run([source], run, host)[0]
        return
    with temporary_folder() as folder:
        file = Path(folder) / "memory.xplane.pb"
        file.write_bytes(source.data)
        try:
            chosen, _ = choose_run([file], run, host)
            yield Run(source.name, Path(source.name), chosen.files)
        except TraceError as error:
            raise TraceError(error.place.replace(str(file), source.name), error.cause, error.remedy) from error
