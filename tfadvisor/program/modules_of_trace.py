"""Which compiled programs a trace carries, by program id and by name.

The profiler keeps them as event metadata of the plane `/host:metadata`, one
`name(program id)` each, with the bytes in the stat `Hlo Proto` (openxla/xla: kHloProto
in xla/tsl/profiler/utils/xplane_schema.cc, and what real traces hold).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.trace.columns import HostTrace

if TYPE_CHECKING:
    from tfadvisor.program.module import Module

_PLANE = "/host:metadata"
_NAMED = re.compile(r"^(.+)\((\d{1,20})\)$")
_STATS = ("Hlo Proto", "hlo_proto")
_UNSIGNED = 1 << 64
_SMALL = 1 << 20
_MOST_HELD = 16
"""Bytes of a program that is kept for the next host, and how many of them are."""


class ModuleKey(msgspec.Struct, frozen=True):
    """name: `jit_train_step`. program_id: unsigned, as in the stat `program_id`;
    negative values there mean 2**64 more.

    row: where the trace keeps the module.
    """

    name: str
    program_id: int
    row: int


class Modules:
    """The modules of one host's trace. A module is opened once, when it is first asked
    for.

    Questions about a module that is not there or cannot be read raise TraceError, whose
    cause says why.
    """

    def __init__(self, trace: HostTrace) -> None:
        """Reads names only."""
        self._trace = trace
        self._opened: dict[int, Module | TraceError] = {}
        keys: dict[tuple[str, int], ModuleKey] = {}
        planes = [
            index for index, plane in enumerate(trace.planes) if plane.name == _PLANE
        ]
        for row, plane in enumerate(trace.names.plane.tolist()):
            if row and plane in planes and (key := self._key(row)) is not None:
                keys.setdefault((key.name, key.program_id), key)
        self.keys = tuple(keys.values())

    def open(self, key: ModuleKey) -> Module:
        """The module of a key. Raises TraceError when its bytes are missing or damaged,
        again each time.
        """
        found = self._opened.get(key.row)
        if found is None:
            self._opened[key.row] = found = self._read(key)
        if isinstance(found, TraceError):
            raise found
        return found

    def of_program(self, program_id: int, name: str = "") -> Module:
        """The module of an event's stat `program_id`. name: its `hlo_module`, to tell
        programs of one id apart.
        """
        wanted = program_id % _UNSIGNED
        mine = [key for key in self.keys if key.program_id == wanted]
        mine = [key for key in mine if key.name == name] or mine
        if not mine:
            raise self._absent(f"program {wanted}")
        return self.open(mine[0])

    def named(self, name: str) -> tuple[Module, ...]:
        """The modules of a name, by program id: several when a function was compiled
        for several shapes.
        """
        mine = sorted(
            (key for key in self.keys if key.name == name),
            key=lambda key: key.program_id,
        )
        if not mine:
            raise self._absent(name)
        return tuple(self.open(key) for key in mine)

    def _key(self, row: int) -> ModuleKey | None:
        """A row's key; None when the row is no module, as the symbol tables of TPU
        traces.
        """
        match = _NAMED.match(self._trace.names.name[row])
        if match is not None:
            return ModuleKey(match[1], int(match[2]) % _UNSIGNED, row)
        stats = self._trace.details.metadata_stats(row)
        if not any(name in stats for name in _STATS):
            return None
        return ModuleKey(
            self._trace.names.name[row],
            int(self._trace.names.id[row]) % _UNSIGNED,
            row,
        )

    def _read(self, key: ModuleKey) -> Module | TraceError:
        stats = self._trace.details.metadata_stats(key.row)
        data = next(
            (stats[name] for name in _STATS if isinstance(stats.get(name), bytes)),
            None,
        )
        if not isinstance(data, bytes):
            return self._absent(f"{key.name}({key.program_id})")
        try:
            place = f"{self._trace.path}: HLO of {key.name}({key.program_id})"
            return _shared(data, place) if len(data) < _SMALL else _module(data, place)
        except TraceError as error:
            return error

    def _absent(self, what: str) -> TraceError:
        return TraceError(
            self._trace.path,
            f"the trace carries no HLO of {what}.",
            "Record with a profiler that keeps it: JAX, or TensorFlow with "
            "`jit_compile=True`.",
        )


def _module(data: bytes, place: str) -> Module:
    from tfadvisor.program.module import Module  # most small traces hold none

    return Module(data, place)


_held: dict[bytes, Module] = {}


def _shared(data: bytes, place: str) -> Module:
    """The module of another host of the run where that has the very same one, with all
    that was worked out of it.
    """
    held = _held.get(data)
    if held is None:
        if len(_held) >= _MOST_HELD:
            _held.clear()
        _held[data] = held = _module(data, place)
    return held


def find_modules(trace: HostTrace) -> Modules:
    """The modules of a trace; without any, `keys` is empty."""
    return Modules(trace)
