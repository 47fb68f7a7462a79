"""The table of a fleet brought up to date: runs are found, new ones read, known ones
kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from tfadvisor.errors import TraceError, UsageError
from tfadvisor.files import is_folder
from tfadvisor.fleet.table import merged, write_table
from tfadvisor.fleet.work import (
    HowToRead,
    Row,
    Task,
    lost_row,
    row_bytes,
    rules_version,
)
from tfadvisor.printable import in_utf8
from tfadvisor.timeline.run import Engine
from tfadvisor.trace import Run, choose_run, find_runs
from tfadvisor.trace.remote_path import RemotePath, size_and_stamp

_SAVED_EVERY = 500
"""Rows, so that a first pass over many runs that is interrupted has not been for
nothing.
"""
_TRIED_AGAIN = ("unreachable", "killed")


class TableUpdate(msgspec.Struct, frozen=True):
    """What a pass did."""

    rows: int
    """In the table now."""
    read: int
    """Runs that were new or changed."""
    failed: tuple[Row, ...]
    """Of those, the ones without a report."""
    gone: int
    """Rows whose run is not there any more."""


def bring_up_to_date(
    known: Sequence[Row],
    found: RunsFound,
    engine: Engine,
    output: Path,
    done: Callable[[int, int], None],
) -> TableUpdate:
    """Reads what the known rows do not tell, and writes the table. done: called with
    how many of how many runs are read.

    Raises UsageError for a table that cannot be written; what was read until then is in
    the table.
    """
    there = {task.place for task in found.tasks}
    rows = merged(known, there, found.sources)
    new = [task for task in found.tasks if not _is_told(rows.get(task.place), task)]
    failed: list[Row] = []
    unsaved = 0 if known and list(rows.values()) == list(known) else 1
    try:
        for number, row in enumerate(_read(new, engine), start=1):
            rows[row.place] = row
            if row.error is not None:
                failed.append(row)
            unsaved += 1
            done(number, len(new))
            if unsaved >= _SAVED_EVERY:
                write_table(output, rows)
                unsaved = 0
    finally:
        if unsaved:
            write_table(output, rows)

    failed.sort(key=lambda row: row.place)
    gone = sum(not row.there for row in rows.values())
    return TableUpdate(
        len(rows),
        len(new),
        tuple(failed),
        gone,
    )


def read_rows(
    found: RunsFound, engine: Engine, done: Callable[[int, int], None]
) -> list[Row]:
    """A row a run. done: called with how many of how many runs are read."""
    rows: list[Row] = []
    for number, row in enumerate(_read(found.tasks, engine), start=1):
        rows.append(row)
        done(number, len(found.tasks))
    return rows


def _read(
    tasks: Sequence[Task],
    engine: Engine,
) -> Iterator[Row]:
    """Their rows, in the order in which they are read."""
    packed = [msgspec.msgpack.encode(task) for task in tasks]
    for answer in engine.each(row_bytes, packed):
        if answer.value is None:
            yield lost_row(tasks[answer.task])
        else:
            yield msgspec.msgpack.decode(answer.value, type=Row)


def _is_told(row: Row | None, task: Task) -> bool:
    """Whether a row says all that reading the run again would."""
    if row is None or row.error_kind in _TRIED_AGAIN:
        return False
    for name in LABELS:
        if getattr(row, name) != task.labels.get(name):
            return False
    return row.stamp == task.stamp and row.rules == task.rules


# The runs below some sources, as tasks: where each lies, what changes when it does,
# whose it is.

LABELS = ("team", "model", "job")
_FIELD = re.compile(r"\{(\w+)\}|\*")


class Labels:
    """`{team}/{model}/*/{job}`: which folder below a source names what."""

    def __init__(self, template: str | None) -> None:
        """Raises UsageError for a template that names something else."""
        self.names: list[str | None] = []
        for part in (template or "{model}").strip("/").split("/"):
            found = _FIELD.fullmatch(part)
            if found is None or found[1] not in (None, *LABELS):
                raise UsageError(
                    f"--labels {template}: each part must be {{team}}, {{model}}, "
                    "{job}, or * for what names nothing."
                )
            self.names.append(found[1])

    def of(
        self,
        source: Path,
        place: Path,
    ) -> dict[str, str]:
        """The labels of a run below a source; those for which its path is too short are
        missing.
        """
        folders = place.parts[len(source.parts) :]
        if "plugins" in folders:
            folders = folders[: folders.index("plugins")]
        labels = {}
        for name, folder in zip(self.names, folders, strict=False):
            if name is not None:
                labels[name] = in_utf8(folder)
        return labels


class RunsFound(msgspec.Struct, frozen=True):
    """What there is to read."""

    tasks: tuple[Task, ...]
    """One a run, by place."""
    sources: tuple[str, ...]
    """Where it was looked for, as places are written."""


def find_tasks(
    sources: Sequence[Path],
    labels: Labels,
    how: HowToRead,
) -> RunsFound:
    """Every run, each place once, by place. Raises TraceError for a source that cannot
    be listed or holds no run.
    """
    version = rules_version(how)
    found: dict[str, Task] = {}
    roots = [source.absolute() for source in sources]
    for root in roots:
        for run in _runs_below(root):
            place = in_utf8(str(run.path))
            if place not in found:
                found[place] = Task(
                    place=place,
                    run=in_utf8(run.name),
                    folder=_bytes(run.path),
                    files=tuple(_bytes(file) for file in run.files),
                    stamp=_stamp(run),
                    rules=version,
                    labels=labels.of(root, run.path),
                    how=how,
                )

    tasks = [found[place] for place in sorted(found)]
    names = [in_utf8(str(root)) for root in roots]
    return RunsFound(tuple(tasks), tuple(names))


def _runs_below(root: Path) -> list[Run]:
    runs = find_runs(root) if is_folder(root) else []
    if not runs:
        chosen, _ = choose_run([root])  # which says what is wrong
        runs = [chosen]
    return runs


def _stamp(run: Run) -> str:
    content = sha256()
    for file in run.files:
        try:
            size, stamp = size_and_stamp(file)
        except (OSError, TraceError) as error:  # reading it will say what is wrong
            size = 0
            stamp = type(error).__name__
        words = f"{file.name}\0{size} {stamp}\0"
        content.update(words.encode("utf-8", "surrogateescape"))
    return content.hexdigest()[:16]


def _bytes(path: Path) -> bytes:
    place = path.address if isinstance(path, RemotePath) else str(path)
    return os.fsencode(place)
