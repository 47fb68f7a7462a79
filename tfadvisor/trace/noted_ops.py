"""`HOST.ops.json` beside `HOST.xplane.pb`: which lines of the program made the ops of
TensorFlow's functions, and of what they are made. A trace names these ops alone.

`tfadvisor run` writes it. It may come from anywhere: it names places, and nothing of it
is read from a disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from tfadvisor.files import read_small_text
from tfadvisor.tallies import listed
from tfadvisor.trace.remote_path import RemotePath
from tfadvisor.trace.runs import host_of

OPS_ENDING = ".ops.json"
_VERSIONS = (1, 2)
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


class MadeOf(IntEnum):
    """What an op is made of, with all ops before it in its function."""

    ARGUMENTS = 0
    """Or a random number, or anything else that may change from call to call."""
    VARIABLES = 1
    """And constants, nothing else."""
    CONSTANTS = 2


class NotedOp(NamedTuple):
    """An op of a function of TensorFlow."""

    name: str
    """Within its function."""
    type: str
    at: OpLine
    made_of: MadeOf = MadeOf.ARGUMENTS


class _Op(msgspec.Struct, frozen=True, array_like=True):
    name: _Name
    type: _Name
    file: _Number
    line: _Number
    function: _Number
    made_of: MadeOf = MadeOf.ARGUMENTS


class _Note(msgspec.Struct, frozen=True):
    version: int
    files: Annotated[list[_Name], Meta(max_length=_MOST)]
    functions: Annotated[list[_Name], Meta(max_length=_MOST)]
    ops: Annotated[list[_Op], Meta(max_length=_MOST)]


class NotedOps(msgspec.Struct, frozen=True, dict=True):
    """Of the hosts of a run."""

    ops: tuple[NotedOp, ...] = ()

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], list[NotedOp]]:
        return listed(((op.name, op.type), op) for op in self.ops)

    def line_of(self, path: str, op_type: str) -> OpLine | None:
        """Of an op by its path in a trace, which begins with the calls of functions:
        `StatefulPartitionedCall/while/body/_1/einsum/Einsum`. None for one that no line
        made, or several lines made by one name.
        """
        lines = {op.at for op in self._called(path, op_type)}
        return lines.pop() if len(lines) == 1 else None

    def made_of(self, path: str, op_type: str) -> MadeOf | None:
        """What an op by its path is made of, as far as all of that name say so; None
        for one that is not noted.
        """
        called = (op.made_of for op in self._called(path, op_type))
        return min(called, default=None)

    def _called(self, path: str, op_type: str) -> list[NotedOp]:
        for name in _endings(path):
            found = self._by_name.get((name, op_type))
            if found:
                return found
        return []


def _endings(path: str) -> Iterator[str]:
    """The path, and what remains without its first scopes."""
    yield path
    while "/" in path:
        path = path.partition("/")[2]
        yield path


def noted_ops(traces: Iterable[Path]) -> NotedOps:
    """What lies beside these; a note that is not there or cannot be used has none."""
    found: dict[NotedOp, None] = {}
    for trace in traces:
        if not isinstance(trace, RemotePath):
            file = trace.with_name(f"{host_of(trace)}{OPS_ENDING}")
            found.update(dict.fromkeys(_read(file)))
    return NotedOps(tuple(found))


def _read(file: Path) -> Iterator[NotedOp]:
    try:
        note = msgspec.json.decode(read_small_text(file, _LARGEST), type=_Note)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return
    if note.version not in _VERSIONS:
        return
    files = [name.replace("\\", "/").rpartition("/")[2] for name in note.files]
    for op in note.ops:
        if op.file < len(files) and op.function < len(note.functions):
            function = note.functions[op.function]
            at = OpLine(files[op.file], op.line, function)
            yield NotedOp(op.name, op.type, at, op.made_of)
