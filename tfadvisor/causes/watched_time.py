"""Where the time of a program goes in which no steps were found, by samples of its main
thread: what it compiles, and for which of its lines; what else it is in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np

from tfadvisor.causes.account import RunPlace
from tfadvisor.causes.loop_levels import file_name
from tfadvisor.causes.sampled_stacks import (
    Frame,
    Stacks,
    readable,
    sampled_of,
    stacks_of,
)
from tfadvisor.tallies import added_up
from tfadvisor.timeline.names.doings import Doing
from tfadvisor.timeline.names.stack_frames import Work

if TYPE_CHECKING:
    from tfadvisor.trace.samples import Samples

COMPILES, IMPORTS, OTHER = "compile", "imports", "other"
"""Kinds of parts."""
_PHASES = Doing.COMPILING, Doing.LOWERING
_AUTOGRAPH = "tf__"
"""What AutoGraph puts before the name of a function that it converts."""
_MOST_LINES = 3
_Key = TypeVar("_Key", bound=Hashable)


class WatchedLine(msgspec.Struct, frozen=True):
    """A line of the program."""

    path: str
    """Of its file, with its folder."""
    place: RunPlace
    seconds: float


class WatchedPart(msgspec.Struct, frozen=True):
    """What the main thread is in."""

    kind: str
    line: WatchedLine
    """Of the program: the call that compiles, the import, the innermost line."""
    compiled: str
    """The program's function that is compiled; "" for none, and for unknown."""
    phases: tuple[tuple[str, float], ...]
    """Of what compiles: (`tracing`, `lowering` or `compiling`, seconds), the longest
    first.
    """
    traced: tuple[WatchedLine, ...]
    """The program's innermost lines while it is traced, most time first."""

    @property
    def seconds(self) -> float:
        """How long it is in it."""
        return self.line.seconds


class WatchedTime(msgspec.Struct, frozen=True):
    """The whole time of a main thread."""

    seconds: float
    """That samples tell of."""
    parts: tuple[WatchedPart, ...]
    """The longest first."""


class _Met(msgspec.Struct, frozen=True):
    """One stack in short."""

    kind: str
    at: Frame
    us: int
    phase: str = ""
    compiled: str = ""
    innermost: Frame | None = None
    """Of the program, while it is traced."""


def watched_time(samples: Samples) -> WatchedTime:
    """Of all that was seen. A profiler's own time is left out."""
    stacks = stacks_of(samples)
    if not samples.samples:
        return WatchedTime(0.0, ())
    runs = readable(stacks, sampled_of(samples))
    us = np.bincount(runs.stack, weights=runs.us, minlength=len(stacks.depth))
    parts = defaultdict[tuple[str, str, str, int], list[_Met]](list)
    for met in _met(stacks, us.astype(np.int64).tolist()):
        line = met.at.line if met.kind != OTHER else 0
        parts[met.kind, met.at.file, met.at.function, line].append(met)
    found = [_part(mets) for mets in parts.values()]
    found.sort(key=lambda part: -part.seconds)
    return WatchedTime(int(us.sum()) / 1e6, tuple(found))


def _met(stacks: Stacks, us: Sequence[int]) -> Iterator[_Met]:
    for number in np.flatnonzero(us).tolist():
        depth = int(stacks.depth[number])
        frames = [stacks.frames[frame] for frame in stacks.frame[number, :depth]]
        imports = bool(stacks.imports[number])
        met = _compiling(frames, us[number]) or _plain(frames, us[number], imports)
        if met is not None:
            yield met


def _compiling(frames: Sequence[Frame], us: int) -> _Met | None:
    """None where nothing compiles, or no line of the program calls it."""
    inside = (n for n, frame in enumerate(frames) if frame.work is Work.COMPILE)
    first = next(inside, len(frames))
    around = [frame for frame in frames[:first] if frame.is_own]
    if first == len(frames) or not around:
        return None
    return _inside(around[-1], frames[first:], us)


def _inside(caller: Frame, within: Sequence[Frame], us: int) -> _Met:
    """within: the frames of what compiles, and of what that calls."""
    doing = {frame.doing for frame in within}
    phase = next((each for each in _PHASES if each in doing), Doing.TRACING)
    name = next(filter(None, map(_named, within)), "")
    own = [frame for frame in within if frame.is_own]
    return _Met(COMPILES, caller, us, phase.words, name, own[-1] if own else None)


def _named(frame: Frame) -> str:
    """The program's function, which AutoGraph may have converted; "" for others."""
    if frame.is_own:
        return frame.function
    is_converted = frame.function.startswith(_AUTOGRAPH)
    return frame.function.removeprefix(_AUTOGRAPH) if is_converted else ""


def _plain(frames: Sequence[Frame], us: int, imports: bool) -> _Met | None:
    own = [frame for frame in frames if frame.is_own]
    if not own:
        return None
    return _Met(IMPORTS, own[0], us) if imports else _Met(OTHER, own[-1], us)


def _part(mets: Sequence[_Met]) -> WatchedPart:
    lines = _most((met.at, met.us) for met in mets)
    phases = _most((met.phase, met.us) for met in mets if met.phase)
    names = _most((met.compiled, met.us) for met in mets if met.compiled)
    traced = _most((met.innermost, met.us) for met in mets if met.innermost is not None)
    return WatchedPart(
        kind=mets[0].kind,
        line=_line(lines[0][0], sum(met.us for met in mets)),
        compiled=names[0][0] if names else "",
        phases=tuple((phase, us / 1e6) for phase, us in phases),
        traced=tuple(_line(frame, us) for frame, us in traced[:_MOST_LINES]),
    )


def _most(pairs: Iterable[tuple[_Key, int]]) -> list[tuple[_Key, int]]:
    """The sum of each key's times, most time first."""
    return sorted(added_up(pairs).items(), key=lambda pair: -pair[1])


def _line(frame: Frame, us: int) -> WatchedLine:
    place = RunPlace(file_name(frame.file), frame.line, frame.function)
    return WatchedLine(frame.file, place, us / 1e6)
