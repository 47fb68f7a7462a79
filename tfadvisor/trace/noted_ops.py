"""`HOST.ops.json` beside `HOST.xplane.pb`: which lines of the program made the ops of
TensorFlow's functions. A trace names these ops and no line.

`tfadvisor run` writes it. It may come from anywhere: it names places, and nothing of it
is read from a disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from tfadvisor.files import read_small_text
from tfadvisor.trace.remote_path import RemotePath
from tfadvisor.trace.runs import host_of

OPS_ENDING = ".ops.json"
_VERSION = 1
_LARGEST = 16 << 20
_MOST = 20_000
_Name = Annotated[str, Meta(max_length=4000)]
_Number = Annotated[int, Meta(ge=0, le=1 << 31)]


class OpLine(NamedTuple):
    """Where the program makes an op."""

    file: str
    """Without its folder."""
    line: int
    """From 1."""
    function: str


class _Op(msgspec.Struct, frozen=True, array_like=True):
    name: _Name
    type: _Name
    file: _Number
    line: _Number
    function: _Number


class _Note(msgspec.Struct, frozen=True):
    version: int
    files: Annotated[list[_Name], Meta(max_length=_MOST)]
    functions: Annotated[list[_Name], Meta(max_length=_MOST)]
    ops: Annotated[list[_Op], Meta(max_length=_MOST)]


class NotedOps(msgspec.Struct, frozen=True, dict=True):
    """Of the hosts of a run."""

    ops: tuple[tuple[str, str, OpLine], ...] = ()
    """(name within its function, type, line)."""

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], set[OpLine]]:
        found: dict[tuple[str, str], set[OpLine]] = {}
        for name, op_type, line in self.ops:
            found.setdefault((name, op_type), set()).add(line)
        return found

    def line_of(self, path: str, op_type: str) -> OpLine | None:
        """Of an op by its path in a trace, which begins with the calls of functions:
        `StatefulPartitionedCall/while/body/_1/einsum/Einsum`. None for one that no line
        made, or several lines made by one name.
        """
        for name in _endings(path):
            lines = self._by_name.get((name, op_type))
            if lines:
                return next(iter(lines)) if len(lines) == 1 else None
        return None


def _endings(path: str) -> Iterator[str]:
    """The path, and what remains without its first scopes."""
    yield path
    while "/" in path:
        path = path.partition("/")[2]
        yield path


def noted_ops(traces: Iterable[Path]) -> NotedOps:
    """What lies beside these; a note that is not there or cannot be used has none."""
    found: dict[tuple[str, str, OpLine], None] = {}
    for trace in traces:
        if not isinstance(trace, RemotePath):
            file = trace.with_name(f"{host_of(trace)}{OPS_ENDING}")
            found.update(dict.fromkeys(_read(file)))
    return NotedOps(tuple(found))


def _read(file: Path) -> Iterator[tuple[str, str, OpLine]]:
    try:
        note = msgspec.json.decode(read_small_text(file, _LARGEST), type=_Note)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return
    if note.version != _VERSION:
        return
    files = [name.replace("\\", "/").rpartition("/")[2] for name in note.files]
    for op in note.ops:
        if op.file < len(files) and op.function < len(note.functions):
            function = note.functions[op.function]
            yield op.name, op.type, OpLine(files[op.file], op.line, function)
