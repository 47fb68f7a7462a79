"""One host of a run: read and summarised, here or as a task of bytes for another
process.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.timeline.devices.device_kinds import on_own_clocks
from tfadvisor.timeline.host_build import PICTURED, SELECTION, build_host
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.summary.host_summary import HostSummary, summarize
from tfadvisor.trace import decode_file
from tfadvisor.trace.columns import HostTrace, Selection
from tfadvisor.trace.remote_path import RemotePath, place_of

if TYPE_CHECKING:
    from tfadvisor.timeline.picture.step_picture import Drawing

Progress = Callable[[Path, int, int], None]
"""Called with (host file, events done, events in all) while large files are decoded."""
Skip = Callable[[Path, TraceError], None]
"""Called with a host file that cannot be read and the reason, instead of giving up the
whole run.
"""


class Watch(msgspec.Struct, frozen=True):
    """Someone who sees every event of each host before it is summarised."""

    selection: Selection
    """What must be decoded for it, at least what a timeline is built from."""
    see: Callable[[HostTrace, HostTimeline], None]
    """Takes one host. TPU events are on the chip's clock in both."""


def read_host(
    file: Path,
    steps: tuple[int, int] | None,
    progress: Progress | None,
    drawing: Drawing | None = None,
    watch: Watch | None = None,
) -> HostSummary:
    """One host. drawing: as for build_host. Raises TraceError when its file cannot be
    read or holds no event.
    """

    def on_progress(done: int, total: int) -> None:
        if progress is not None:
            progress(file, done, total)

    usual = SELECTION if drawing is None else PICTURED
    excerpts = drawing is not None
    if (
        watch is None
    ):  # the columns are nobody else's, so that each goes when it has been used
        summary = summarize(
            build_host(_decode(file, usual, on_progress), steps, drawing),
            excerpts=excerpts,
        )
    else:
        trace = _decode(file, watch.selection, on_progress)
        timeline = build_host(trace, steps, drawing)
        watch.see(on_own_clocks(trace), timeline)
        summary = summarize(timeline, excerpts=excerpts)
    on_progress(1, 1)
    return summary


def _decode(
    file: Path,
    selection: Selection,
    progress: Callable[[int, int], None],
) -> HostTrace:
    trace = decode_file(file, selection, progress)
    if not len(trace.events):
        raise TraceError(
            str(file),
            "holds no events.",
            "The profiler stopped before anything ran, or could not attach: record "
            "at least three steps.",
        )
    return trace


# The map of a run: from where a host's file lies to the bytes of its summary. A plain
# function, for other processes.


class HostTask(msgspec.Struct, frozen=True):
    """A host to read. file: its path or address, as the system has it."""

    file: bytes
    steps: tuple[int, int] | None
    drawing: Drawing | None


def summary_bytes(task: bytes) -> bytes:
    """A pickled HostTask to a pickled HostSummary, or TraceError without what led to
    it.
    """
    asked: HostTask = pickle.loads(task)
    try:
        return pickle.dumps(
            read_host(
                place_of(os.fsdecode(asked.file)),
                asked.steps,
                None,
                asked.drawing,
            )
        )
    except TraceError as error:
        return pickle.dumps(TraceError(error.place, error.cause, error.remedy))


def by_engine(
    files: Sequence[Path],
    engine: Engine,
    steps: tuple[int, int] | None,
    drawing: Drawing | None,
) -> Iterator[tuple[int, HostSummary | TraceError]]:
    """(index of a file, what came of it) as they come. Raises as the engine."""
    places = [
        file.address if isinstance(file, RemotePath) else file.absolute()
        for file in files
    ]
    tasks = [
        pickle.dumps(HostTask(os.fsencode(place), steps, drawing)) for place in places
    ]
    for answer in engine.each(summary_bytes, tasks):
        yield (
            answer.task,
            _killed(files[answer.task])
            if answer.value is None
            else pickle.loads(answer.value),
        )


def _killed(file: Path) -> TraceError:
    return TraceError(
        str(file),
        "could not be read: the system killed each process that read it, probably "
        "because memory ran out.",
        "Analyse one host at a time with --host NAME, or give its processes more "
        "memory.",
    )


# What maps a plain function over tasks. A task and an answer are bytes.


Work = Callable[[bytes], bytes]
"""A function of a module, so that another process can find it. It raises only for what
is wrong with every task.
"""


class TaskResult(msgspec.Struct, frozen=True):
    """What came of a task."""

    task: int
    """Its index."""
    value: bytes | None
    """None where the processes that worked on it were killed again and again."""


class Engine(Protocol):
    """Who does work that is the same for many tasks: `LocalProcesses`."""

    def each(self, work: Work, tasks: Sequence[bytes]) -> Iterator[TaskResult]:
        """The answers as they come, in any order. Raises what the work raises."""
        ...
