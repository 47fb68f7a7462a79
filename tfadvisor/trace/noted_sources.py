"""`HOST.sources.json` beside `HOST.xplane.pb`: the files that the program's code was
read from, with their digests.

`tfadvisor run` writes it. It may come from anywhere: of a file that it names nothing is
shown unless its content is what the digest says, so that it discloses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from tfadvisor.files import read_small_text
from tfadvisor.trace.remote_path import RemotePath
from tfadvisor.trace.runs import host_of

SOURCES_ENDING = ".sources.json"
_VERSION = 1
_LARGEST = 1 << 20
_Name = Annotated[str, Meta(max_length=4000)]


class NotedSource(msgspec.Struct, frozen=True, array_like=True):
    """A file of the program."""

    file: _Name
    """With its folder, on the machine that recorded; one beside its note by its name
    alone.
    """
    sha256: Annotated[str, Meta(max_length=64)]
    """Of its content when the trace was recorded."""
    rewritten: bool
    """Whether it was written after the program had begun, so that another text may
    have run.
    """

    def lies_in(self, folder: Path) -> bool:
        """Whether it does, after links are followed."""
        try:
            return Path(self.file).resolve().is_relative_to(folder.resolve())
        except (OSError, RuntimeError, ValueError):
            return False


class _Note(msgspec.Struct, frozen=True):
    version: int
    files: Annotated[list[NotedSource], Meta(max_length=1000)]


def noted_beside(traces: Iterable[Path]) -> tuple[NotedSource, ...]:
    """In the notes of a run's traces."""
    return noted_sources(
        trace.with_name(f"{host_of(trace)}{SOURCES_ENDING}") for trace in traces
    )


def noted_sources(notes: Iterable[Path]) -> tuple[NotedSource, ...]:
    """Of several hosts' notes; a note that is not there or cannot be used has none."""
    found: dict[NotedSource, None] = {}
    for file in notes:
        if isinstance(file, RemotePath):
            continue
        try:
            note = msgspec.json.decode(read_small_text(file, _LARGEST), type=_Note)
        except (OSError, UnicodeDecodeError, msgspec.DecodeError, RecursionError):
            continue
        if note.version == _VERSION:
            placed = (_beside(file, source) for source in note.files)
            found.update(dict.fromkeys(placed))
    return tuple(found)


def _beside(note: Path, source: NotedSource) -> NotedSource:
    if "/" in source.file or "\\" in source.file:
        return source
    try:
        return replace(source, file=str(note.with_name(source.file)))
    except ValueError:  # "" or ".", which name no file
        return source
