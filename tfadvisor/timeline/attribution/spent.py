"""What takes step time, before it is put together as a tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import Int64Array
from tfadvisor.tallies import added_up
from tfadvisor.timeline.intervals import Intervals, union
from tfadvisor.timeline.names.frames import named_function, place_in_words
from tfadvisor.timeline.names.stack_frames import is_recorded
from tfadvisor.trace import host_of
from tfadvisor.trace.columns import HostTrace, session_start_ns
from tfadvisor.trace.samples import read_samples
from tfadvisor.vocabulary import TimeClass

NOT_RECORDED = "not recorded"
"""How an activity begins of which the trace says nothing."""
CALLED_PYTHON = "Python that the compiled step calls"
"""The activity of a thread that runs it, which seldom is the main one."""
QUEUED = "work was queued and did not run"
"""The activity of a device that waits for something else than its launches."""


class Spent(msgspec.Struct, frozen=True):
    """Time of one class in the counted steps of a host's devices that one activity
    takes. "" for what the trace does not tell.

    Work of a device is identified by path, op, kernel and module; its activity is
    worked out when all hosts are known.
    """

    kind: TimeClass
    """The class."""
    activity: str = ""
    """What is done: a function, a stage, a kind of collective; "" for the rest that is
    too small to be named.
    """
    detail: str = ""
    """The call, op or event inside it."""
    file: str = ""
    """Of the user's program, without its folder."""
    line: int = 0
    """In that file, 0 when not known."""
    function: str = ""
    """The user's own, or the compiled one."""
    called: str = ""
    """What that function of the user's calls, in words as `detail`."""
    stage: str = ""
    """Of a tf.data pipeline: `Prefetch::ParallelMap`."""
    path: str = ""
    """The framework's, of a device's op."""
    op: str = ""
    """Its HLO name."""
    kernel: str = ""
    """What the device ran."""
    module: str = ""
    """The compiled program."""
    ps: int = 0
    """Summed over the devices that take part, exclusive: an instant is given once."""


_WORTH_NAMING = 0.25
"""Of a class, what its largest place must take."""


def largest_places(spent: Iterable[Spent]) -> dict[str, str]:
    """By class, `input_place`: the function or op of the user's program that takes most
    of it, if it takes a quarter, with its line: `save (train.py:42)`. Needs Python
    frames, or HLO.
    """
    time: dict[TimeClass, dict[tuple[str, int, str], int]] = {}
    for entry in spent:
        mine = time.setdefault(entry.kind, {})
        place = (entry.file, entry.line, entry.function or entry.op)
        mine[place] = mine.get(place, 0) + entry.ps
    largest = {
        kind: max(mine, key=lambda place: mine[place] * bool(place[0]))
        for kind, mine in time.items()
    }
    return {
        f"{kind.label}_place": place_in_words(file, line, what)
        for kind, (file, line, what) in largest.items()
        if file
        and time[kind][file, line, what] >= _WORTH_NAMING * sum(time[kind].values())
    }


_MOSTLY = 2 / 3
"""Of a class's ticks on one line: with fewer a part must take most of the class to lie
on it by half.
"""
FEWEST_TICKS = 8
"""In the time of a class of which nothing is recorded; with fewer it stays without a
name.
"""


class Sampled(msgspec.Struct, frozen=True):
    """Where a program's main thread was at the ticks of a timer."""

    at: Int64Array
    """ps, on the trace's clock."""
    place: Int64Array
    """Row of places, -1 for none."""
    places: tuple[tuple[str, int, str, str], ...]
    """(file, line and function of the program, "" outside of it, and for a line outside
    of all functions; what that line calls, "" for itself)."""
    recorded: frozenset[int] = frozenset()
    """Rows of places of which traces have an event: dispatches and waits."""

    def unrecorded(self) -> Sampled:
        """Without the ticks of which the trace has an event: none lies outside of all
        events but by the error of two clocks.
        """
        left = ~np.isin(self.place, sorted(self.recorded))
        return replace(self, at=self.at[left], place=self.place[left])

    def named(
        self,
        spent: Iterable[Spent],
        classes: Mapping[TimeClass, Intervals],
    ) -> tuple[Spent, ...]:
        """What is compiled and launched with the line that does it, where events tell
        none: half of it at least lies on the line that has most of its class's ticks,
        whichever part of the class the other ticks are in."""
        spent = tuple(spent)
        whole = added_up((entry.kind, entry.ps) for entry in spent)
        lines = {}
        for kind in (TimeClass.COMPILE, TimeClass.LAUNCH):
            at = self.place[classes[kind].contains(self.at)]
            counts = np.bincount(at[at >= 0], minlength=len(self.places)).tolist()
            ticks = added_up(
                (place[:2], count)
                for place, count in zip(self.places, counts, strict=True)
                if count
            )
            line, most = max(
                ticks.items(),
                key=lambda tick: tick[1],
                default=(("", 0), 0),
            )
            if line[0] and len(at) >= FEWEST_TICKS and most >= _MOSTLY * len(at):
                lines[kind] = (
                    line,
                    -(-2 * (len(at) - most) * whole.get(kind, 0) // len(at)),
                )

        def placed(entry: Spent) -> Spent:
            (file, line), least = lines.get(entry.kind, (("", 0), 0))
            if entry.file or not file or entry.ps < least:
                return entry
            return replace(entry, file=file, line=line)

        return tuple(map(placed, spent))

    def line_in(self, start: Int64Array, end: Int64Array) -> str:
        """The program's own line at most of the ticks in these stretches of time, ps:
        `main (train.py:42)`; "" for none.
        """
        at = self.place[union(start, end).contains(self.at)]
        at = at[at >= 0]
        if not len(at):
            return ""
        file, line, function, _ = self.places[int(np.bincount(at).argmax())]
        return place_in_words(file, line, function) if file else ""


def sampled(trace: HostTrace) -> Sampled | None:
    """What lies beside a host's trace; None where nothing does, or the trace does not
    say when it began.
    """
    began = session_start_ns(trace.planes)
    file = Path(trace.path)
    found = read_samples(file, host_of(file)) if began else None
    if found is None:
        return None
    at, place = found.ticks()
    places = tuple(
        (
            Path(location.file).name,
            location.line,
            named_function(location.function),
            location.inner,
        )
        for location in found.places
    )
    recorded = frozenset(
        row
        for row, stack in enumerate(found.stacks)
        if stack and is_recorded(*found.frames[stack[-1]][:2])
    )
    return Sampled((at - began) * 1000, place, places, recorded)
