"""What the head of a trace file tells without decoding it: which compiled programs ran,
and on which devices. Whoever lists runs reads no more than this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.files import open_regular
from tfadvisor.trace.bounds import FIXED_32, FIXED_64, SIZED, VARINT
from tfadvisor.trace.remote_path import RemotePath, size_and_stamp
from tfadvisor.trace.stores import open_parts

if TYPE_CHECKING:
    from gzip import GzipFile
    from typing import TypeAlias

    _Opened: TypeAlias = IO[bytes] | GzipFile

_PROGRAM_NUMBER = re.compile(r"\(\d+\)$")
_DEVICE_PLANE = re.compile(r"/device:(GPU|TPU):\d+")
_PROGRAMS_PLANE = "/host:metadata"
_MOST_FIELDS = 100_000
_MOST_BYTES = 1 << 40
_MOST_UNPACKED = 64 << 20
"""Bytes of a packed file, of which all up to a place must be unpacked."""
_LONGEST_NAME = 1 << 16

_PLANE, _PLANE_NAME, _PLANE_EVENTS = 1, 2, 4
"""Fields, by number: of a trace, and of a plane in it."""
_ENTRY, _EVENT_NAME, _EVENT_STAT = 2, 2, 5
_TO_DEVICES = (6, 1, 15, 3, 1)
"""From a stat: its bytes, the program in it, the program's devices, those of each
computation, their ids.
"""


class Head(msgspec.Struct, frozen=True):
    """Of one host's file."""

    programs: Mapping[str, frozenset[tuple[int, ...]]]
    """By name, without the number that it has in one process: the devices of each
    program of that name, by the job's ids. Empty where the file names none, or cannot
    be read.
    """
    devices: int
    """GPUs or TPUs of this host; 0 where it computes on its CPU."""

    def spans_hosts(self, ids: tuple[int, ...]) -> bool:
        """Whether a program on these devices needs other hosts too."""
        if self.devices:
            return len(ids) > self.devices
        return len(ids) > 1 and max(ids) >= len(ids)


_UNREAD = Head({}, 0)


def of_one_job(file: Path, other: Path) -> bool:
    """Whether two hosts' files say that one job wrote them: most of their programs have
    the same names, and one of them runs on devices of several hosts, as far as the
    programs' devices are there. What cannot be read says nothing.
    """
    first, second = head_of(file), head_of(other)
    named = first.programs.keys() & second.programs.keys()
    of_one_alone = first.programs.keys() ^ second.programs.keys()
    if not named or len(named) < len(of_one_alone):
        return False

    known = False
    for name in named:
        for ids in first.programs[name] & second.programs[name]:
            if first.spans_hosts(ids) and second.spans_hosts(ids):
                return True
        known = known or bool(first.programs[name] or second.programs[name])
    return not known


def head_of(file: Path) -> Head:
    """Kept until the file changes."""
    try:
        return _head_of(file, size_and_stamp(file))
    except (OSError, TraceError):
        return _UNREAD


@lru_cache(maxsize=1024)
def _head_of(file: Path, _stamp: object) -> Head:
    # zlib.error and what a store's driver raises are no OSErrors
    with suppress(Exception), _opened(file) as opened:
        packed = file.name.endswith(".gz")
        return _Reading(opened, _MOST_UNPACKED if packed else _MOST_BYTES).head()
    return _UNREAD


@contextmanager
def _opened(file: Path) -> Iterator[_Opened]:
    """Unpacked, to be read at any place."""
    if isinstance(file, RemotePath):
        found: IO[bytes] = open_parts(file.address)
    else:
        found = open_regular(file)
    with found:
        if file.name.endswith(".gz"):
            from gzip import GzipFile

            yield GzipFile(fileobj=found)
        else:
            yield found


class _Reading:
    """Walks over fields, and skips what is in most of them. Raises ValueError and
    EOFError for what is damaged, cut, or too much.
    """

    def __init__(self, file: _Opened, most: int) -> None:
        """most: bytes that may be passed over."""
        self._file = file
        self._most = most
        self._fields_left = _MOST_FIELDS
        self._devices = 0
        self._programs: dict[str, set[tuple[int, ...]]] = {}

    def head(self) -> Head:
        """Of the whole file."""
        for number, end in self._fields(self._most):
            if number == _PLANE:
                self._plane(end)
        programs = {name: frozenset(ids) for name, ids in self._programs.items()}
        return Head(programs, self._devices)

    def _plane(self, end: int) -> None:
        """Its name comes first; of the programs' plane also what is in it."""
        name = ""
        for number, inner in self._fields(end):
            if number == _PLANE_NAME:
                name = self._text(inner)
                self._devices += _DEVICE_PLANE.fullmatch(name) is not None
            elif number > _PLANE_NAME and name != _PROGRAMS_PLANE:
                return
            elif number == _PLANE_EVENTS:
                self._event(inner)

    def _event(self, end: int) -> None:
        """A program, as the entry of a table."""
        for number, inner in self._fields(end):
            if number == _ENTRY:
                self._program(inner)

    def _program(self, end: int) -> None:
        ids: list[int] = []
        name = ""
        for number, inner in self._fields(end):
            if number == _EVENT_NAME:
                name = _PROGRAM_NUMBER.sub("", self._text(inner))
            elif number == _EVENT_STAT:
                self._add_ids(inner, _TO_DEVICES, ids)
        devices = self._programs.setdefault(name, set())
        if ids:
            devices.add(tuple(ids))

    def _add_ids(self, end: int, path: Sequence[int], ids: list[int]) -> None:
        """Appends the numbers that lie at the end of a path of fields."""
        if not path:
            while self._file.tell() < end:
                ids.append(self._number())
            return
        for number, inner in self._fields(end):
            if number == path[0]:
                self._add_ids(inner, path[1:], ids)

    def _fields(self, end: int) -> Iterator[tuple[int, int]]:
        """(number, where its content ends) of each sized field up to an end; the file
        is at the content then, wherever it is left.
        """
        while self._file.tell() < end:
            self._fields_left -= 1
            if not self._fields_left:
                raise ValueError("more fields than a list of runs looks at")
            try:
                tag = self._number()
            except EOFError:
                if end == self._most:
                    return  # the file ends between two fields
                raise
            kind = tag & 7
            if kind == VARINT:
                self._number()
                continue
            size = self._size(kind)
            after = self._file.tell() + size
            if after > min(end, self._most):
                raise ValueError("a field that leads out of what is read")
            if kind == SIZED:
                yield tag >> 3, after
            self._file.seek(after)

    def _size(self, kind: int) -> int:
        if kind == SIZED:
            return self._number()
        return {FIXED_64: 8, FIXED_32: 4}[kind]

    def _number(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._file.read(1)
            if not byte:
                raise EOFError
            value |= (byte[0] & 127) << shift
            if byte[0] < 128:
                return value
        raise ValueError("a number of more than ten bytes")

    def _text(self, end: int) -> str:
        size = end - self._file.tell()
        if size > _LONGEST_NAME:
            raise ValueError("a name of more than 64 KiB")
        return self._file.read(size).decode("utf-8", "replace")
