"""One host of a run: read and summarised, here or as a task of bytes for any engine that maps one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np

from tfadvisor.errors import TraceError, UsageError
from tfadvisor.timeline.build import PICTURED, SELECTION, build_host
from tfadvisor.timeline.devices.registry import on_own_clocks
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.summary.host import HostSummary, summarize
from tfadvisor.trace.columns import HostTrace, Selection
from tfadvisor.trace.decode import decode_file
from tfadvisor.trace.remote_path import RemotePath, place_of
from tfadvisor.version import VERSION

if TYPE_CHECKING:
    from tfadvisor.timeline.picture.step_picture import Drawing

Progress = Callable[[Path, int, int], None]
"""Called with (host file, events done, events in all) while large files are decoded."""
Skip = Callable[[Path, TraceError], None]
"""Called with a host file that cannot be read and the reason, instead of giving up the whole run."""


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
    """One host. drawing: as for build_host. Raises TraceError when its file cannot be read or holds no event."""

    def on_progress(done: int, total: int) -> None:
        if progress is not None:
            progress(file, done, total)

    usual = SELECTION if drawing is None else PICTURED
    excerpts = drawing is not None
    if watch is None:  # the columns are nobody else's, so that each goes when it has been used
        summary = summarize(build_host(_decode(file, usual, on_progress), steps, drawing), excerpts=excerpts)
    else:
        trace = _decode(file, watch.selection, on_progress)
        timeline = build_host(trace, steps, drawing)
        watch.see(on_own_clocks(trace), timeline)
        summary = summarize(timeline, excerpts=excerpts)
    on_progress(1, 1)
    return summary


def _decode(file: Path, selection: Selection, progress: Callable[[int, int], None]) -> HostTrace:
    trace = decode_file(file, selection, progress)
    if not len(trace.events):
        raise TraceError(
            str(file),
            "holds no events.",
            "The profiler stopped before anything ran, or could not attach: record at least three steps.",
        )
    return trace


# The map of a run: from where a host's file lies to the bytes of its summary. A plain function, for any engine.


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


# Records as bytes that any machine can take: msgpack with a table of the records' fields. No pickle: reading it
# runs nothing.


FORMAT = 1
_TUPLE, _RECORD, _ENUM, _MAPPING, _SET, _LIST, _ARRAY = range(7)
_PACKAGE = "tfadvisor."
_AS_THEY_ARE = (bool, int, float, str, bytes)
_KIND_OF: Mapping[type, int] = {tuple: _TUPLE, frozenset: _SET, list: _LIST}


class WrongVersion(UsageError):
    """Bytes of another tfadvisor."""


def pack(value: Any) -> bytes:
    """Of records, enums, arrays and plain data. Raises TypeError for anything else."""
    packer = _Packer()
    body = packer.packed(value)
    return msgspec.msgpack.encode([FORMAT, VERSION, packer.table(), body])


def unpack(data: bytes) -> Any:
    """The same again. Raises WrongVersion for bytes of another version, ValueError for what is none of ours."""
    try:
        its_format, version, *rest = msgspec.msgpack.decode(data)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise ValueError("these bytes are no records") from error
    if (its_format, version) != (FORMAT, VERSION):
        raise WrongVersion(f"a worker has tfadvisor {version}, and this is {VERSION}. Install the same one everywhere.")
    table, body = rest
    return _unpacked(body, [_class_of(*entry) for entry in table])


class _Packer:
    def __init__(self) -> None:
        self._numbers: dict[type, int] = {}

    def table(self) -> list[list[str]]:
        return [[one.__module__, one.__qualname__, *getattr(one, "__struct_fields__", ())] for one in self._numbers]

    def packed(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in _AS_THEY_ARE:
            return value
        if kind in _KIND_OF:
            return [_KIND_OF[kind], *map(self.packed, value)]
        if isinstance(value, msgspec.Struct):
            fields = (self.packed(getattr(value, name)) for name in value.__struct_fields__)
            return [_RECORD, self._number(kind), *fields]
        if isinstance(value, Enum):
            return [_ENUM, self._number(kind), value.value]
        if isinstance(value, Mapping):
            return [_MAPPING, *(self.packed(one) for pair in value.items() for one in pair)]
        if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            return [_ARRAY, value.dtype.str, list(value.shape), value.tobytes(), isinstance(value, np.generic)]
        raise TypeError(f"{kind.__name__} cannot be packed")

    def _number(self, kind: type) -> int:
        return self._numbers.setdefault(kind, len(self._numbers))


def _class_of(module: str, name: str, *fields: str) -> type:
    if not module.startswith(_PACKAGE):
        raise ValueError(f"{module} is not of tfadvisor")
    found = getattr(import_module(module), name, None)
    if not (isinstance(found, type) and issubclass(found, msgspec.Struct | Enum)):
        raise ValueError(f"{module} has no record {name}")
    if getattr(found, "__struct_fields__", ()) != fields:
        raise WrongVersion(
            f"a worker's {name} has other fields than this one's. Install the same tfadvisor everywhere."
        )
    return found


def _unpacked(value: Any, classes: list[type]) -> Any:
    if not isinstance(value, list):
        return value
    kind, *rest = value
    if kind == _ARRAY:
        dtype, shape, data, scalar = rest
        array = np.frombuffer(data, np.dtype(dtype)).reshape(shape)
        return array[()] if scalar else array.copy()
    if kind == _ENUM:
        return classes[rest[0]](rest[1])
    if kind == _RECORD:
        return classes[rest[0]](*[_unpacked(one, classes) for one in rest[1:]])
    items = [_unpacked(one, classes) for one in rest]
    if kind == _MAPPING:
        return dict(zip(items[::2], items[1::2], strict=True))
    return {_TUPLE: tuple, _SET: frozenset, _LIST: list}[kind](items)


# What maps a plain function over tasks. A task and an answer are bytes, so another engine is a small adapter.


Work = Callable[[bytes], bytes]
"""A function of a module, so that another process can find it. It raises only for what is wrong with every task."""


class Answer(msgspec.Struct, frozen=True):
    """What came of a task."""

    task: int
    """Its index."""
    value: bytes | None
    """None where the processes that worked on it were killed again and again."""


class Engine(Protocol):
    """Processes here, or a cluster."""

    def each(self, work: Work, tasks: Sequence[bytes]) -> Iterator[Answer]:
        """The answers as they come, in any order. Raises what the work raises, ClusterError for a cluster that fails."""
        ...
