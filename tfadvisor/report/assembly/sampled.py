"""Samples of the unrecorded program beside its trace: what they add, and where the two
disagree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.advice.evidence import BetweenTurns, Correction
from tfadvisor.advice.findings import CaptureNote, Location
from tfadvisor.report.model import ClassTime
from tfadvisor.timeline.names.frames import named_function, place_in_words
from tfadvisor.trace.samples import BETWEEN_EPOCHS, SampledPlace, Samples
from tfadvisor.units import percent

if TYPE_CHECKING:
    import numpy.typing as npt

_FEWEST_TICKS = 40
_TRACE_ERROR = 0.05
"""By which shares of a trace may be off, beside what chance makes of samples."""
_SIGMAS = 3.0
_WORTH_A_LINE = 0.02
"""From this share on ends of epochs have a line."""
_ON_HOST = ("host", "input")
Where = tuple[str, str]
"""A file's name, and a function of it, "" outside of all."""
Line = tuple[str, int, str]
"""A file's name, a line, and the function that it is in."""


class FromSamples(msgspec.Struct, frozen=True):
    """What samples add to a trace."""

    corrections: tuple[Correction, ...] = ()
    between_turns: BetweenTurns | None = None
    notes: tuple[CaptureNote, ...] = ()


def sampled(
    attribution: Sequence[ClassTime],
    step_ms: float,
    samples: Samples | None,
) -> FromSamples:
    """attribution: of the recorded step, whose median length is step_ms (0 for
    unknown). samples: None where none lie beside the trace.
    """
    if samples is None:
        return FromSamples()
    if samples.why:
        return FromSamples(notes=(not_sampled(samples.why),))
    traced = traced_of(attribution)
    ticks = ticks_of(samples, traced.shares, step_ms)
    between = between_turns_of(ticks, samples)
    found = disagreement_of(traced, ticks)
    if found is None:
        return FromSamples(between_turns=between)
    return FromSamples(
        (found.correction,),
        between,
        (found.note,),
    )


def not_sampled(why: str = "") -> CaptureNote:
    """A note that only the trace speaks."""
    because = f" ({why})" if why else ""
    text = f"The main thread was not sampled{because}: lines come from the trace alone."
    return CaptureNote("samples", text, "", "")


# The trace's side.


class Traced(msgspec.Struct, frozen=True):
    """What a trace says of the host."""

    shares: dict[Where, float]
    """Share of the recorded step by function."""
    unnamed: float
    """What is left for all that no line is known of: a thread that is sampled in a
    function may wait in it, launch, or do what nothing names.
    """


def traced_of(attribution: Sequence[ClassTime]) -> Traced:
    """By function of the program."""
    shares: dict[Where, float] = {}
    unnamed = 1.0
    for kind in attribution:
        if kind.kind not in _ON_HOST:
            continue
        for part in kind.parts:
            places = {
                (Path(place.file).name, named_function(place.function))
                for place in part.places
                if place.file
            }
            if places:
                unnamed -= part.fraction
            for where in places:
                shares[where] = shares.get(where, 0.0) + part.fraction
    return Traced(shares, unnamed)


# The samples' side.


class Ticks(msgspec.Struct, frozen=True):
    """Ticks of the unrecorded program's main thread."""

    in_steps: Counter[Where]
    between: Counter[Line]
    """Between turns of the steps' loop, in whole turns of what is around it."""
    in_turns: int
    """How many those whole turns hold."""
    has_outside: bool
    """Whether any lies outside of the loop whose rounds are the steps."""


def ticks_of(
    samples: Samples,
    in_steps: Container[Where],
    step_ms: float = 0.0,
) -> Ticks:
    """in_steps: functions that recorded steps hold."""
    outside = _outside(samples, step_ms)
    ends = [
        is_outside or _ends_an_epoch(place, in_steps)
        for is_outside, place in zip(outside, samples.places, strict=True)
    ]
    ticks = samples.unrecorded()
    is_end = np.array(ends, np.bool_)[ticks]
    turns = ticks[_whole_turns(is_end)]

    spent: Counter[Where] = Counter()
    for row, count in zip(*np.unique(ticks[~is_end], return_counts=True), strict=True):
        place = samples.places[row]
        spent[Path(place.file).name, named_function(place.function)] += int(count)

    between: Counter[Line] = Counter()
    for row, count in zip(*np.unique(turns, return_counts=True), strict=True):
        if ends[row]:
            between[_line_of(samples, row, is_outside=outside[row])] += int(count)
    return Ticks(
        spent,
        between,
        len(turns),
        any(outside),
    )


def _ends_an_epoch(
    place: SampledPlace,
    in_steps: Container[Where],
) -> bool:
    where = Path(place.file).name, named_function(place.function)
    return where[1] in BETWEEN_EPOCHS and where not in in_steps


def _line_of(
    samples: Samples,
    row: int,
    *,
    is_outside: bool,
) -> Line:
    """Of the function whose loop the steps are, where the program is outside of it."""
    file, line, function = samples.places[row][:3]
    if is_outside and samples.loop is not None and samples.lines[row] > 0:
        file, function = samples.loop[:2]
        line = samples.lines[row]
    return Path(file).name, line, named_function(function)


_APART = 3
"""So many ticks in steps lie between two ends of epochs, at least."""
_BETWEEN_ENDS = 4
"""Of the ticks in steps, one in so many lies between several ends: before the first and
behind the last is an epoch at most.
"""


def _whole_turns(is_end: npt.NDArray[np.bool_]) -> slice:
    """From behind the first end of an epoch, in which what runs for the first time may
    compile, to the end of the last one. Empty where few of the steps lie between two
    ends: of one end nobody knows how often it comes.

    is_end: of each tick, whether it passes between turns of the loop.
    """
    at = np.flatnonzero(is_end)
    if not len(at):
        return slice(0)
    steps_between = at[-1] + 1 - at[0] - len(at)
    steps = len(is_end) - len(at)
    if _BETWEEN_ENDS * steps_between < steps:
        return slice(0)
    apart = np.flatnonzero(np.diff(at) > _APART)
    first = at[apart[0]] + 1 if len(apart) else at[0]
    return slice(first, at[-1] + 1)


_WAITS = (
    "block_until_ready",
    "_value",
    "__array__",
    "item",
    "numpy",
    "_numpy",
    "__float__",
    "__format__",
)
"""In which the main thread waits for steps that it has only dispatched."""
_OF_THE_LOOP = 2.5
"""A round of the loop takes so many times as long as the step, at most, or as short:
else it is another.
"""


def _outside(
    samples: Samples,
    step_ms: float,
) -> list[bool]:
    """By place, whether it lies outside of the loop whose rounds are the steps."""
    rounds = samples.round_ms / step_ms if step_ms else 0.0
    is_the_loop = 1 / _OF_THE_LOOP < rounds < _OF_THE_LOOP
    if samples.loop is None or not is_the_loop:
        return [False] * len(samples.places)
    _, _, first, last = samples.loop
    return [
        not first <= line <= last and place.inner not in _WAITS
        for line, place in zip(samples.lines, samples.places, strict=True)
    ]


# What the samples say that the trace does not.


def between_turns_of(ticks: Ticks, samples: Samples) -> BetweenTurns | None:
    """What passes between turns of the loop; None where too few samples are in it."""
    count = ticks.between.total()
    share = count / max(ticks.in_turns, _FEWEST_TICKS)
    is_all_in_one = share > 1 - _WORTH_A_LINE  # a loop that is no end of anything
    if share < _WORTH_A_LINE or is_all_in_one:
        return None
    places = [line for line, _ in ticks.between.most_common(3)]
    loop = "the training loop"
    if samples.loop is not None and ticks.has_outside:
        loop = f"the loop at {Path(samples.loop[0]).name}:{samples.loop[2]}"
    named = ", ".join(place_in_words(*one) for one in places)
    return BetweenTurns(
        share=share,
        loop=loop,
        how=(
            f"By {ticks.in_turns:,} samples of the main thread while nothing was "
            f"recorded: {named}."
        ),
        seen=f"{count:,} of {ticks.in_turns:,} samples",
        places=tuple(Location(file, line, function) for file, line, function in places),
        proof="shown",
    )


class Disagreement(msgspec.Struct, frozen=True):
    """About one function of the program."""

    file: str
    function: str
    traced: float
    """Share of the recorded step that it takes on the host, 0..1."""
    sampled: float
    """Share of the main thread's ticks in it while nothing was recorded, 0..1."""
    ticks: int

    @property
    def correction(self) -> Correction:
        """What a finding takes by both."""
        is_larger = self.traced > self.sampled
        factor = (1 - self.sampled) / (1 - self.traced)
        if is_larger:
            factor = self.sampled / self.traced
        return Correction(self.file, self.function, factor, is_larger)

    @property
    def note(self) -> CaptureNote:
        """The same in words."""
        where = f"{self.file}, outside of its functions,"
        if self.function:
            where = f"{self.function} ({self.file})"
        effect = "hides time in it, and makes all else look larger"
        if self.traced > self.sampled:
            effect = "makes it look larger"
        text = (
            f"{where} takes {percent(self.traced)} of the recorded step, and "
            f"{percent(self.sampled)} of the main thread's time by {self.ticks:,} "
            "samples "
            f"while nothing was recorded: recording {effect}. Findings claim less "
            "for it."
        )
        return CaptureNote("samples", text, "", "")


def disagreement_of(traced: Traced, ticks: Ticks) -> Disagreement | None:
    """The largest that is beyond the errors of both; None for none, or for too few
    samples.
    """
    count = ticks.in_steps.total()
    if count < _FEWEST_TICKS:
        return None
    found = None
    most = 0.0
    sampled_functions = {where for where in ticks.in_steps if where[0]}
    for where in sorted({*traced.shares, *sampled_functions}):
        share = traced.shares.get(where, 0.0)
        seen = ticks.in_steps[where] / count
        too_much = share - seen
        too_little = seen - share - traced.unnamed
        beyond = max(too_much, too_little) - _error(seen, count)
        if beyond > most:
            found = Disagreement(*where, share, seen, count)
            most = beyond
    return found


def _error(seen: float, ticks: int) -> float:
    """Of a share of so many ticks, and of the trace."""
    variance = max(seen * (1 - seen), 0.25 / ticks) / ticks
    return float(_SIGMAS * variance**0.5 + _TRACE_ERROR)
