"""The map: from where a run lies to the bytes of its row. A plain function, for any engine.

Task and row are msgpack with a version, never pickles: what comes from another machine is data and runs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import msgspec

from tfadvisor.analysis import Options, conclude
from tfadvisor.engine.loading.catalogue import Catalogue, load_catalogue
from tfadvisor.errors import AdvisorError, UsageError
from tfadvisor.fleet.row import Row, columns_of
from tfadvisor.sources.faults import Unreachable
from tfadvisor.sources.remote_path import place_of, places_of
from tfadvisor.version import VERSION
from tfadvisor.xplane.runs import Run, recorded_at

FORMAT = 1
"""Of a task and its answer."""


class HowToRead(msgspec.Struct, frozen=True):
    """What all runs of a table are read with."""

    rules: tuple[str, ...] = ()
    """Folders with more rules, where the workers can reach them."""
    disabled: tuple[str, ...] = ()
    """Ids of rules."""


class Task(msgspec.Struct, frozen=True):
    """A run to read."""

    place: str
    run: str
    folder: bytes
    """The place as the system has it, which may be no UTF-8."""
    files: tuple[bytes, ...]
    stamp: str
    rules: str
    labels: Mapping[str, str]
    how: HowToRead
    tool: str = VERSION
    """Of who asks."""
    format: int = FORMAT


class WrongVersion(UsageError):
    """A worker has another tfadvisor than who asks."""


def row_bytes(task: bytes) -> bytes:
    """A Task as msgpack to a Row as msgpack. Raises WrongVersion; what is wrong with the run goes into its row."""
    return msgspec.msgpack.encode(row_of(_task(task)))


def row_from(answer: bytes) -> Row:
    """The row of an answer."""
    return msgspec.msgpack.decode(answer, type=Row)


def lost_row(task: Task) -> Row:
    """For a run whose processes were killed."""
    why = "could not be read: the system killed each process that read it, probably because memory ran out."
    return _row(task, {"error": why, "error_kind": "killed"})


def row_of(task: Task) -> Row:
    """The run's row, also where the run cannot be read."""
    run = Run(task.run, place_of(os.fsdecode(task.folder)), _files(task))
    try:
        report = conclude(run, Options(), catalogue=catalogue_of(task.how))[0]
        columns = columns_of(report)
        columns["recorded_at"] = columns["recorded_at"] or _by_files(run)
    except Unreachable as error:
        columns = {"error": str(error), "error_kind": "unreachable"}
    except AdvisorError as error:
        columns = {"error": str(error), "error_kind": "trace"}
    except MemoryError:
        columns = {"error": "needs more memory than there is.", "error_kind": "killed"}
    except Exception as error:
        columns = {"error": f"{type(error).__name__}: {error}", "error_kind": "bug"}
    if "error" in columns:
        columns["recorded_at"] = _by_files(run)
    return _row(task, columns)


@lru_cache(maxsize=1)
def catalogue_of(how: HowToRead) -> Catalogue:
    """The rules, read once for all runs. Raises UsageError as load_catalogue."""
    return load_catalogue([place_of(one) for one in how.rules], how.disabled)


def rules_version(how: HowToRead) -> str:
    """Changes with tfadvisor's version, the rules, and how runs are read."""
    content = msgspec.json.encode(catalogue_of(how).rules)
    return sha256(f"{VERSION}\0{FORMAT}\0".encode() + content).hexdigest()[:16]


def _task(packed: bytes) -> Task:
    """Raises WrongVersion, also where another version's task has other fields."""
    try:
        told = msgspec.msgpack.decode(packed)
        tool, its_format = told["tool"], told["format"]
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        raise WrongVersion(f"a worker has tfadvisor {VERSION}, which does not know this task.") from error
    if (tool, its_format) != (VERSION, FORMAT):
        raise WrongVersion(f"a worker has tfadvisor {VERSION}, and this is {tool}. Install the same one everywhere.")
    return msgspec.convert(told, Task)


def _files(task: Task) -> tuple[Path, ...]:
    """A single file that was given as a source may lie in a folder of any size, which is not listed."""
    files = map(os.fsdecode, task.files)
    return tuple(map(place_of, files)) if task.files == (task.folder,) else places_of(files)


def _by_files(run: Run) -> datetime | None:
    try:
        when = recorded_at(run)
    except AdvisorError:
        return None
    return datetime.fromtimestamp(when, timezone.utc) if when else None


def _row(task: Task, columns: Mapping[str, object]) -> Row:
    known = {"place": task.place, "run": task.run, "stamp": task.stamp, "rules": task.rules, "tool": task.tool}
    return msgspec.convert({**task.labels, **columns, **known}, Row)
