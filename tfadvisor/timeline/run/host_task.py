"""The map of a run: from where a host's file lies to the bytes of its summary. A plain function, for any engine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.sources.remote_path import RemotePath, place_of
from tfadvisor.timeline.run.engine import Engine
from tfadvisor.timeline.run.one_host import read_host
from tfadvisor.timeline.run.packing import pack, unpack
from tfadvisor.timeline.summary.host import HostSummary

if TYPE_CHECKING:
    from tfadvisor.timeline.picture.drawing import Drawing


class HostTask(msgspec.Struct, frozen=True):
    """A host to read. file: its path or address, as the system has it."""

    file: bytes
    steps: tuple[int, int] | None
    drawing: Drawing | None


class UnreadFile(msgspec.Struct, frozen=True):
    """A TraceError, as an answer."""

    place: str
    cause: str
    remedy: str


def summary_bytes(task: bytes) -> bytes:
    """A packed HostTask to a packed HostSummary or UnreadFile. Raises UsageError for what is wrong with every host."""
    asked: HostTask = unpack(task)
    try:
        return pack(read_host(place_of(os.fsdecode(asked.file)), asked.steps, None, asked.drawing))
    except TraceError as error:
        return pack(UnreadFile(error.place, error.cause, error.remedy))


def by_engine(
    files: Sequence[Path], engine: Engine, steps: tuple[int, int] | None, drawing: Drawing | None
) -> Iterator[tuple[int, HostSummary | TraceError]]:
    """(index of a file, what came of it) as they come. Raises as the engine."""
    tasks = [pack(HostTask(_name(file), steps, drawing)) for file in files]
    for answer in engine.each(summary_bytes, tasks):
        found = None if answer.value is None else unpack(answer.value)
        if found is None:
            yield answer.task, _killed(files[answer.task])
        elif isinstance(found, UnreadFile):
            yield answer.task, TraceError(found.place, found.cause, found.remedy)
        else:
            yield answer.task, found


def _name(file: Path) -> bytes:
    return os.fsencode(file.address if isinstance(file, RemotePath) else file.absolute())


def _killed(file: Path) -> TraceError:
    return TraceError(
        str(file), "could not be read: each worker that read it was killed.", "Give the workers more memory."
    )
