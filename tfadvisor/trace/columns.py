"""One host's trace as columns: what every decoder returns and everything after it
reads.

Times are int64 picoseconds since `HostTrace.origin_ns`. Indexes into `Names` are called
rows; row 0 is the row of events whose metadata is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import NO_VALUES, Int32Array, Int64Array, UInt8Array, distinct

if TYPE_CHECKING:
    import numpy.typing as npt

Value = int | float | str | bytes | None

NUM_OCCURRENCES = "num_occurrences"
"""Name of the column that holds XEvent.num_occurrences: such an event is a count
without a place in time.
"""


class Kind(IntEnum):
    """How a stat's value is stored. References and compressed strings are resolved to
    TEXT while decoding.
    """

    NONE = 0
    DOUBLE = 1
    UINT = 2
    INT = 3
    TEXT = 4
    BYTES = 5
    REF = 6
    COMPRESSED = 7


class NameFilter(msgspec.Struct, frozen=True):
    """Event names for which a stat is wanted: those with one of the prefixes, or with
    invert those without.
    """

    prefixes: tuple[str, ...]
    invert: bool = False

    def wants(self, name: str) -> bool:
        """Whether the stat is wanted for events of this name."""
        return name.startswith(self.prefixes) != self.invert


LAST_EVENT = 1 << 62
"""Beyond the index of every event."""
_NOTHING: Mapping[str, NameFilter | None] = {}


class Selection(msgspec.Struct, frozen=True):
    """Which event stats to decode. Events, lines, names and plane stats are always
    decoded.

    stats maps a stat's name to the event names for which it is wanted, None for every
    event. `Selection(None)` asks for every stat of every event.
    """

    stats: Mapping[str, NameFilter | None] | None = _NOTHING


class Plane(msgspec.Struct, frozen=True):
    """A plane's name, id and own stats; several planes may share a name."""

    name: str
    id: int
    stats: Mapping[str, Value]


class Lines(msgspec.Struct, frozen=True):
    """One row a line, in file order; the events of line i are first[i] ..
    first[i + 1].
    """

    plane: Int32Array
    id: Int64Array
    name: tuple[str, ...]
    display_name: tuple[str, ...]
    timestamp_ns: Int64Array
    duration_ps: Int64Array
    first: Int64Array

    def __len__(self) -> int:
        """Number of lines."""
        return len(self.name)


class Events(msgspec.Struct, frozen=True):
    """One row an event, grouped by line: start and duration in ps, and the row of its
    name.
    """

    start_ps: Int64Array
    duration_ps: Int64Array
    row: Int32Array

    def __len__(self) -> int:
        """Number of events."""
        return len(self.start_ps)


NO_EVENTS = Events(NO_VALUES, NO_VALUES, np.empty(0, np.int32))


class Names(msgspec.Struct, frozen=True):
    """Event metadata of all planes: plane by plane, by ascending metadata id; row 0
    stands for missing metadata.
    """

    plane: Int32Array
    id: Int64Array
    name: tuple[str, ...]
    display_name: tuple[str, ...]

    def __len__(self) -> int:
        """Number of rows, the missing one included."""
        return len(self.name)


class StatColumn(msgspec.Struct, frozen=True):
    """The values of one stat, for the events that carry it.

    event: index of the event, ascending. kind: a Kind. value: the number, the bits of a
    double, or for TEXT and BYTES an index into texts (distinct, sorted); int32 where
    all are numbers that fit.
    """

    event: Int32Array | Int64Array
    kind: UInt8Array
    value: Int32Array | Int64Array
    texts: tuple[str, ...]

    def __len__(self) -> int:
        """Number of values."""
        return len(self.event)

    def integers(self) -> tuple[Int64Array, Int64Array]:
        """(event, value) of the integer values; unsigned values above 2**63 appear
        negative.
        """
        event, value = self.integers_between(0, LAST_EVENT)
        return event.astype(np.int64, copy=False), value.astype(np.int64, copy=False)

    def integers_between(
        self,
        lo: int,
        hi: int,
    ) -> tuple[Int32Array | Int64Array, Int32Array | Int64Array]:
        """(event, value) of the integer values of events lo .. hi - 1, without a copy
        where all values are integers.
        """
        event = self.event
        kind = self.kind
        value = self.value
        if len(event) and (lo > event[0] or hi <= event[-1]):
            bounds = np.minimum([lo, hi], np.iinfo(event.dtype).max).astype(event.dtype)
            part = slice(*event.searchsorted(bounds).tolist())
            event = event[part]
            kind = kind[part]
            value = value[part]
        if not len(kind) or (
            kind.strides == (0,) and int(kind[0]) in (Kind.INT, Kind.UINT)
        ):
            return event, value
        keep = (kind == Kind.INT.value) | (kind == Kind.UINT.value)
        return event[keep], value[keep]

    def numbers(self) -> tuple[Int64Array, npt.NDArray[np.float64]]:
        """(event, value) of the integer and double values, as float64."""
        keep = (
            (self.kind == Kind.INT.value)
            | (self.kind == Kind.UINT.value)
            | (self.kind == Kind.DOUBLE.value)
        )
        kind = self.kind[keep]
        value = self.value[keep]
        as_float = value.astype(np.float64)
        as_float[kind == Kind.DOUBLE] = value[kind == Kind.DOUBLE].view(np.float64)
        return self.event[keep].astype(np.int64), as_float

    def codes(self) -> tuple[Int64Array, Int64Array]:
        """(event, index into texts) of the text values."""
        event = self.event
        value = self.value
        if len(event) and not (
            self.kind.strides == (0,) and int(self.kind[0]) == Kind.TEXT
        ):
            keep = self.kind == Kind.TEXT.value
            event = event[keep]
            value = value[keep]
        return event.astype(np.int64), value.astype(np.int64)


EMPTY_STAT = StatColumn(
    NO_VALUES,
    np.empty(0, np.uint8),
    NO_VALUES,
    (),
)


class Details(Protocol):
    """What is looked up by name row, on demand, instead of being decoded for every
    event.
    """

    def metadata_stats(self, row: int) -> dict[str, Value]:
        """Stats on the event metadata itself (TPU and HLO traces keep constants
        there).
        """

    def exemplar_stats(self, row: int) -> dict[str, Value]:
        """All stats of the first event of this name in the file; empty when it has
        none.
        """


class HostTrace(msgspec.Struct, frozen=True):
    """Everything decoded from one file.

    origin_ns: what was subtracted from line timestamps, 0 for files that the profiler
    normalised itself.
    """

    path: str
    hostnames: tuple[str, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    planes: tuple[Plane, ...]
    lines: Lines
    events: Events
    names: Names
    stats: Mapping[str, StatColumn]
    details: Details
    origin_ns: int

    def stat(self, name: str) -> StatColumn:
        """The column of a stat, empty when no selected event carries it."""
        return self.stats.get(name, EMPTY_STAT)

    def line_of_event(self) -> Int32Array:
        """Index of the line of every event."""
        counts = np.diff(self.lines.first)
        return np.repeat(np.arange(len(self.lines), dtype=np.int32), counts)


def origin_of(timestamps_ns: Int64Array, session_start_ns: int) -> int:
    """What to subtract from line timestamps so that picoseconds fit into int64.

    Files are normally relative to the session start. One that is not has nanoseconds
    since the epoch (about 1.7e18): the session start is subtracted where the file names
    it, else the earliest such timestamp.
    """
    epoch_like = timestamps_ns[timestamps_ns > _LARGEST_RELATIVE_NS]
    if not len(epoch_like):
        return 0
    earliest = int(epoch_like.min())
    return session_start_ns if 0 < session_start_ns <= earliest else earliest


# 46 days; times 1000 still fits into int64 with room for offsets
_LARGEST_RELATIVE_NS = 4_000_000_000_000_000


def line_base_ps(timestamps_ns: Int64Array, origin_ns: int) -> Int64Array:
    """Start of each line in ps after the origin is taken off; the guard is the
    profiler's own: only where it fits.
    """
    relative = np.where(
        timestamps_ns >= origin_ns,
        timestamps_ns - origin_ns,
        timestamps_ns,
    )
    with np.errstate(over="ignore"):
        return np.asarray(relative * np.int64(1000), dtype=np.int64)


class Wanted(msgspec.Struct, frozen=True):
    """A Selection spelled out for one trace: slot numbers for stat names, group bits
    for event names.
    """

    slots: tuple[str, ...]
    slot_group: npt.NDArray[np.int16]
    groups: tuple[NameFilter, ...]

    def row_bits(self, names: Sequence[str]) -> npt.NDArray[np.uint64]:
        """Bit g of entry i is set when stats of group g are wanted for names[i]; bit 0
        always is.
        """
        return _row_bits(self.groups, tuple(names))


@lru_cache(maxsize=4)  # the hosts of a run mostly have the same names
def _row_bits(
    groups: tuple[NameFilter, ...],
    names: tuple[str, ...],
) -> npt.NDArray[np.uint64]:
    bits = np.ones(len(names), dtype=np.uint64)
    for number, group in enumerate(groups, start=1):
        hit = np.fromiter(
            (group.wants(name) for name in names),
            dtype=np.bool_,
            count=len(names),
        )
        bits |= hit.astype(np.uint64) << np.uint64(number)
    return bits


def wanted(selection: Selection, stat_names: Sequence[str]) -> Wanted:
    """Spells a selection out. stat_names: every stat name of the trace, used when all
    stats are asked for.
    """
    chosen: Mapping[str, NameFilter | None]
    if selection.stats is None:
        chosen = dict.fromkeys(sorted(set(stat_names)))
    else:
        chosen = selection.stats
    asked = {names for names in chosen.values() if names is not None}
    groups = tuple(sorted(asked, key=lambda names: (names.prefixes, names.invert)))
    number = {names: index for index, names in enumerate(groups, start=1)}
    slots = (*chosen, NUM_OCCURRENCES)
    slot_group = np.array(
        [number[n] if n is not None else 0 for n in chosen.values()] + [0],
        dtype=np.int16,
    )
    return Wanted(slots, slot_group, groups)


def shared_texts(
    pools: Sequence[tuple[Int64Array, Sequence[str]]],
) -> tuple[list[Int64Array], tuple[str, ...]]:
    """Codes into several pools of strings -> codes into one sorted pool without
    repeats.
    """
    everything: set[str] = set()
    for codes, texts in pools:
        everything.update(texts[code] for code in distinct(codes).tolist())
    pool = tuple(sorted(everything))
    position = {text: index for index, text in enumerate(pool)}
    moved = []
    for codes, texts in pools:
        table = np.array([position.get(text, -1) for text in texts], dtype=np.int64)
        moved.append(table[codes] if len(codes) else codes)
    return moved, pool


def python_value(kind: int, value: int) -> Value:
    """A stored number (the bits of a double, an int64) as the Python value it stands
    for.
    """
    if kind == Kind.DOUBLE:
        return float(np.int64(value).view(np.float64))
    if kind == Kind.UINT:
        return value & 0xFFFF_FFFF_FFFF_FFFF
    return None if kind == Kind.NONE else value


def session_start_ns(planes: Sequence[Plane]) -> int:
    """When the profiler session began, in ns since the epoch; 0 when the file does not
    say.
    """
    for plane in planes:
        start = plane.stats.get("profile_start_time")
        if plane.name == "Task Environment" and isinstance(start, int):
            return start
    return 0


# Bytes from a trace to text: never an error, never more than a bounded amount.

LONGEST = 1 << 15
"""Bytes of an HLO instruction that are kept, as TPUs name their ops. Real ones have
26,000 at most.
"""
LONGEST_NAME = 1 << 12
"""Bytes of any other text: whoever classifies it sees no more, so that no name costs
more than its share.
"""
_LONGEST_INFLATED = 1 << 20
_INFLATED_ALWAYS = 1 << 10
_INFLATED_EACH = 16
"""An inflated text may have so many bytes, and so many more for each packed one: memory
in proportion to the file.
"""


def text_of(data: bytes) -> str:
    """UTF-8, with the replacement character where the bytes are not, cut where it is
    too long.
    """
    whole = data[:1] == b"%" and b" = " in data[:LONGEST_NAME]
    return data[: LONGEST if whole else LONGEST_NAME].decode("utf-8", "replace")


def inflated_text(data: bytes) -> str:
    """A gzip-compressed string (`compressed_str_value`), cut where it is too long;
    empty when it is not gzip.
    """
    import zlib  # only recent traces hold such strings

    most = min(_LONGEST_INFLATED, _INFLATED_ALWAYS + _INFLATED_EACH * len(data))
    try:
        return text_of(zlib.decompressobj(wbits=31).decompress(data, most))
    except zlib.error:
        return ""


_LATEST_PS = 1 << 60
"""Thirteen days: a start, an end and the distance of two of them fit into int64."""


def with_possible_times(trace: HostTrace) -> HostTrace:
    """The trace with each start within thirteen days of zero, and each duration between
    zero and that; usually the same.
    """
    start = trace.events.start_ps
    duration = trace.events.duration_ps
    if _within(start, -_LATEST_PS) and _within(duration, 0):
        return trace
    events = Events(
        np.clip(start, -_LATEST_PS, _LATEST_PS),
        np.clip(duration, 0, _LATEST_PS),
        trace.events.row,
    )
    return replace(trace, events=events)


def _within(times: Int64Array, least: int) -> bool:
    if not len(times):
        return True
    return int(times.min()) >= least and int(times.max()) <= _LATEST_PS
