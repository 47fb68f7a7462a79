"""`HOST.samples.json` beside `HOST.xplane.pb`: what the program's main thread did at
the ticks of a timer, and on which line.

`tfadvisor run` writes it. It may come from anywhere, so nothing in it is believed
unseen.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from msgspec import Meta

from tfadvisor.files import read_small_text

if TYPE_CHECKING:
    import numpy.typing as npt

SAMPLES_ENDING = ".samples.json"
VERSION = 1
LARGEST = 2 << 20
"""Bytes of a file; one of 16,000 samples has 250 KiB."""
MOST_TICKS = 1_000_000
"""That the samples of a file stand for, 100 minutes at 162 a second; a file that names
more is none of tfadvisor's.
"""
BEFORE_NS = 10**8
"""So long before a window, and after it, nothing of it is being prepared or written."""
_Count = Annotated[int, Meta(ge=0, le=1 << 62)]
_Short = Annotated[str, Meta(max_length=1000)]


class Samples(msgspec.Struct, frozen=True):
    """The file."""

    version: int
    every_ns: Annotated[int, Meta(ge=1000, le=10**9)]
    """Between two ticks."""
    opened_ns: _Count
    """When recording began, since the epoch."""
    first_ns: _Count
    """When the first sample was taken."""
    places: Annotated[
        list[tuple[_Short, _Count, _Short, _Short, _Short]], Meta(max_length=4000)
    ]
    """(the program's file, line and function; the function that runs inside of it, ""
    if itself; that one's file).
    """
    after_us: Annotated[list[_Count], Meta(max_length=40_000)]
    """When each sample was taken, since the first."""
    at: Annotated[list[Annotated[int, Meta(ge=-1, lt=4000)]], Meta(max_length=40_000)]
    """Number of its place, -1 for one that is not listed."""
    why: _Short = ""
    """Why there are none."""
    step: _Short = ""
    """What whoever recorded it called the step: a function, or FILE:LINE; "" for
    nothing.
    """

    round_ms: Annotated[float, Meta(ge=0, le=1e9)] = 0.0
    """How long a round of the program's loop takes, as Python went through it while
    nothing was recorded; 0 for unknown.
    """

    lines: Annotated[
        list[Annotated[int, Meta(ge=-1, le=1 << 62)]], Meta(max_length=4000)
    ] = []
    """Of each place: the line that is under way in the function whose loop is named
    here, -1 outside of it, 0 for unknown.
    """

    loop: tuple[_Short, _Short, _Count, _Count] | None = None
    """The program's loop: its file and function, its first and its last line. None
    where none was counted.
    """

    rounds_ns: Annotated[list[_Count], Meta(max_length=2000)] = []
    """When rounds of the program's loop began in the window, where they were counted in
    it.
    """

    recorded_ns: Annotated[list[tuple[_Count, _Count]], Meta(max_length=100)] = []
    """From when to when a profiler was at work, since the epoch; empty where that is
    not known.
    """

    def unrecorded(self) -> npt.NDArray[np.int64]:
        """Numbers of the places of ticks at which no profiler was at work, nor began to
        be.
        """
        at, place = self.ticks()
        away = np.ones(len(at), np.bool_)
        for opened, closed in self.recorded_ns or [(self.opened_ns, 1 << 62)]:
            away &= (at < opened - BEFORE_NS) | (at > closed + BEFORE_NS)
        return place[away]

    def ticks(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(ns since the epoch, number of the place) of each tick. The handler runs late
        where C code is in the way, and then stands for all ticks since the sample
        before."""
        if len(self.at) < 2:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        taken = self.first_ns + np.array(self.after_us, np.int64) * 1000
        place = np.array(self.at, np.int64)
        number = (taken - taken[0]) // self.every_ns
        many = np.diff(number, prepend=number[0] - 1).clip(0)
        last = np.repeat(number, many)
        until = np.repeat(np.cumsum(many), many)
        back = until - 1 - np.arange(len(last))
        at = taken[0] + (last - back) * self.every_ns
        return at, np.repeat(place, many)

    def is_usable(self) -> bool:
        """Whether the numbers in it go together."""
        if self.version != VERSION or len(self.at) != len(self.after_us):
            return False
        if any(place >= len(self.places) for place in self.at):
            return False
        if any(earlier > later for earlier, later in pairwise(self.after_us)):
            return False
        last_ns = self.after_us[-1] * 1000 if self.after_us else 0
        return last_ns <= MOST_TICKS * self.every_ns


def read_samples(trace: Path, host: str) -> Samples | None:
    """Of a host's trace file; None where none lie beside it, or what lies there cannot
    be used.
    """
    file = trace.with_name(f"{host}{SAMPLES_ENDING}")
    try:
        text = read_small_text(file, LARGEST)
        found = msgspec.json.decode(text, type=Samples)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return None
    return found if found.is_usable() else None
