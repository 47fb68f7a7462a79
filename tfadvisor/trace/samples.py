"""`HOST.samples.json` beside `HOST.xplane.pb`: where the program's threads were, time
and again from its start on, as seen from another process.

`tfadvisor run` writes it. It may come from anywhere, so nothing in it is believed
unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta

from tfadvisor.arrays import Int64Array
from tfadvisor.files import read_small_text
from tfadvisor.tallies import added_up

SAMPLES_ENDING = ".samples.json"
VERSION = 2
LARGEST = 8 << 20
"""Bytes of a file; `tfadvisor run` writes 4 MB at most."""
MOST_SAMPLES = 2_000_000
"""That a thread's entries stand for: more is none of tfadvisor's."""
MOST_STACKS, DEEPEST = 40_000, 256
_MOST_FRAMES = 3_000_000
"""Of all stacks, were each as deep as the deepest: tables of them take some 40 bytes
each. What `tfadvisor run` writes has a tenth of that.
"""
_MOST_OPEN = 6_000_000
"""As _MOST_FRAMES, of all runs of samples: functions that are open in them take some 20
bytes each.
"""
BEFORE_NS = 10**8
"""So long before a window, and after it, nothing of it is being prepared or written."""
_NAMELESS = ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "<lambda>")
BETWEEN_EPOCHS = (
    "on_epoch_begin",
    "on_epoch_end",
    "on_test_begin",
    "on_test_end",
    "evaluate",
    "evaluation",
    "validate",
    "validation",
)
"""Functions in which an epoch begins or ends; those of Keras too."""
_INSTALLED = (
    "/site-packages/",
    "/dist-packages/",
    "/lib/python3",
    "__autograph_generated_file",
    "<frozen",
    "/tfadvisor_hook/",
)
"""In the names of files that are not the program's own."""
_Count = Annotated[int, Meta(ge=0, le=1 << 62)]
_Micros = Annotated[int, Meta(ge=0, le=10**13)]
"""Up to 115 days."""
_Number = Annotated[int, Meta(ge=0, lt=1 << 20)]
_Text = Annotated[str, Meta(max_length=1000)]
Frame = tuple[_Text, _Text, _Count]
"""(file, function, line)."""


def is_own_file(file: str) -> bool:
    """Whether it is one of the program's own, by its path."""
    return not any(part in file for part in _INSTALLED)


class SampledPlace(NamedTuple):
    """What a stack says in short."""

    file: str
    """Of the program; "" where none of its functions is open."""
    line: int
    function: str
    """The one in which an epoch begins or ends, where such a one is open."""
    inner: str
    """The function that runs inside of it, "" if itself."""
    inner_file: str


_NOWHERE = SampledPlace("", 0, "", "", "")


class SampledThread(NamedTuple):
    """A thread of the program."""

    name: _Text
    is_main: bool
    """Of its process."""
    process: _Text
    """Its number and the name of what it runs."""


class Samples(msgspec.Struct, frozen=True, dict=True):
    """The file."""

    version: int
    every_ns: Annotated[int, Meta(ge=1000, le=10**12)]
    """Between two samples."""
    began_ns: _Count = 0
    """When the first sample was taken, since the epoch."""
    ended_ns: _Count = 0
    """When the last one was."""
    first_step_ns: _Count = 0
    """When the program was first seen in the loop of its steps, since the epoch; 0 for
    unknown.
    """
    frames: Annotated[list[Frame], Meta(max_length=MOST_STACKS)] = []
    stacks: Annotated[
        list[Annotated[list[_Number], Meta(max_length=DEEPEST)]],
        Meta(max_length=MOST_STACKS),
    ] = []
    """Numbers of frames, outermost first. Where a stack was too deep, its middle is
    left out.
    """
    threads: Annotated[
        list[tuple[_Text, bool, _Text]], Meta(max_length=MOST_STACKS)
    ] = []
    """As SampledThread. The first one is the main thread of the traced process."""
    samples: Annotated[
        list[tuple[_Micros, _Number, _Number, Annotated[int, Meta(ge=1, le=1 << 40)]]],
        Meta(max_length=400_000),
    ] = []
    """(us since began_ns, number of a thread, number of a stack, how many samples one
    after the other found the thread there). In the order of time.
    """
    asleep: Annotated[list[tuple[_Micros, _Micros]], Meta(max_length=100_000)] = []
    """(from, to) in us since began_ns: when the main thread slept all the time, for 40
    ms at least. Empty where that is not known.
    """
    recorded_ns: Annotated[list[tuple[_Count, _Count]], Meta(max_length=100)] = []
    """From when to when a profiler was at work, since the epoch."""
    errors: _Count = 0
    """How many samples could not be read."""
    why: _Text = ""
    """Why there are none."""
    step: _Text = ""
    """What whoever recorded it called the step: a function, or FILE:LINE; "" for
    nothing.
    """
    loop: tuple[_Text, _Text, _Count, _Count] | None = None
    """The loop whose rounds are the steps: its file and function, its first and its
    last line. None where that is not known.
    """
    each_round: Annotated[list[_Count], Meta(max_length=MOST_STACKS)] = []
    """Its lines that come in each round, where Python counted them."""
    round_ms: Annotated[float, Meta(ge=0, le=1e9)] = 0.0
    """How long a round of it takes while nothing is recorded; 0 for unknown."""

    def unrecorded(self) -> Int64Array:
        """Numbers of the stacks of the main thread's samples since the first step at
        which no profiler was at work, nor began to be.
        """
        at, stack = self.ticks()
        away = at >= self.first_step_ns
        for opened, closed in self.recorded_ns:
            away &= (at < opened - BEFORE_NS) | (at > closed + BEFORE_NS)
        return stack[away]

    def ticks(self, thread: int = 0) -> tuple[Int64Array, ...]:
        """(ns since the epoch, number of the stack) of each sample of a thread."""
        mine = [sample for sample in self.samples if sample[1] == thread]
        table = np.array(mine, np.int64).reshape(-1, 4)
        after_us, _, stack, count = table.T
        number = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        began = self.began_ns + np.repeat(after_us * 1000, count)
        return began + number * self.every_ns, np.repeat(stack, count)

    @cached_property
    def looked_at(self) -> int:
        """Frames of a stack that are looked at, so that tables of all stay small."""
        runs = sum(not thread for _, thread, _, _ in self.samples)
        runs += 2 * (len(self.asleep) + len(self.recorded_ns))  # that cut others
        stacks = max(len(self.stacks), 1)
        return min(DEEPEST, _MOST_FRAMES // stacks, _MOST_OPEN // max(runs, 1))

    @cached_property
    def places(self) -> tuple[SampledPlace, ...]:
        """By stack."""
        owned = [is_own_file(file) for file, _, _ in self.frames]
        return tuple(self._place(stack, owned) for stack in self.stacks)

    def _place(self, stack: Sequence[int], owned: Sequence[bool]) -> SampledPlace:
        own = [
            frame
            for frame in stack
            if owned[frame] and self.frames[frame][1] not in _NAMELESS
        ]
        if not stack:
            return _NOWHERE
        leaf_file, leaf, _ = self.frames[stack[-1]]
        inner_file = leaf_file.replace("\\", "/").rpartition("/")[2]
        functions = (self.frames[frame][1] for frame in stack)
        between = next(
            (
                function_name
                for function_name in functions
                if function_name in BETWEEN_EPOCHS
            ),
            "",
        )
        if not own:
            return SampledPlace("", 0, between, leaf, inner_file)
        file, function, line = self.frames[own[-1]]
        inner = "" if own[-1] == stack[-1] else leaf
        return SampledPlace(file, line, between or function, inner, inner_file)

    @cached_property
    def lines(self) -> tuple[int, ...]:
        """By stack: the line that is under way in the function whose loop is named, -1
        outside of it; 0 where no loop is.
        """
        if self.loop is None:
            return (0,) * len(self.stacks)
        looping = self.loop[:2]
        line_of = [
            line if (file, function) == looping else -1
            for file, function, line in self.frames
        ]
        found = []
        for stack in self.stacks:
            lines = (line_of[frame] for frame in stack if line_of[frame] >= 0)
            found.append(next(lines, -1))
        return tuple(found)

    def is_usable(self) -> bool:
        """Whether the numbers in it go together."""
        if self.version != VERSION or not self._names_what_is_there():
            return False
        if any(earlier[0] > later[0] for earlier, later in pairwise(self.samples)):
            return False
        counts = added_up((thread, count) for _, thread, _, count in self.samples)
        return max(counts.values(), default=0) <= MOST_SAMPLES

    def _names_what_is_there(self) -> bool:
        frames, stacks = len(self.frames), len(self.stacks)
        threads = len(self.threads)
        return all(frame < frames for stack in self.stacks for frame in stack) and all(
            thread < threads and stack < stacks for _, thread, stack, _ in self.samples
        )


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
