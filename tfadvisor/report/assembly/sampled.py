"""Samples of the unrecorded program beside its trace: what they add, and where the two
disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.evidence import Correction
from tfadvisor.advice.findings import CaptureNote
from tfadvisor.causes import STEPS, RunAccount, RunPart, RunPlace, RunShare
from tfadvisor.report.model import ClassTime
from tfadvisor.tallies import added_up
from tfadvisor.timeline.attribution import CALLED_PYTHON
from tfadvisor.timeline.names.frames import named_function
from tfadvisor.trace.samples import Samples
from tfadvisor.units import percent

if TYPE_CHECKING:
    from tfadvisor.causes import ProgramSource

_FEWEST_TICKS = 40
_TRACE_ERROR = 0.05
"""By which shares of a trace may be off, beside what chance makes of samples."""
_SIGMAS = 3.0
_ON_HOST = ("host", "input")
_Share = TypeVar("_Share", bound=RunShare)
Where = tuple[str, str]
"""A file's name, and a function of it, "" outside of all."""


class FromSamples(msgspec.Struct, frozen=True):
    """What samples add to a trace."""

    corrections: tuple[Correction, ...] = ()
    notes: tuple[CaptureNote, ...] = ()


def sampled(
    attribution: Sequence[ClassTime],
    samples: Samples | None,
    account: RunAccount | None,
) -> FromSamples:
    """attribution: of the recorded step. samples: None where none lie beside the trace.
    account: what they say of the whole run.
    """
    if samples is None:
        return FromSamples()
    if samples.why:
        return FromSamples(notes=(not_sampled(samples.why),))
    if account is None:
        return FromSamples()
    cut = tuple(_cut(samples))
    found = disagreement_of(traced_of(attribution), account)
    if found is None:
        return FromSamples(notes=cut)
    return FromSamples((found.correction,), (found.note, *cut))


def _cut(samples: Samples) -> Iterator[CaptureNote]:
    """That the middle of deep stacks is not looked at."""
    most = samples.looked_at
    number = sum(len(stack) > most for stack in samples.stacks)
    if number:
        text = (
            f"Of {number:,} of {len(samples.stacks):,} sampled stacks only the outer "
            f"and inner {most} calls are looked at: all would take too much memory."
        )
        yield CaptureNote("samples", text, "", "")


def with_lines(account: RunAccount, source: ProgramSource | None) -> RunAccount:
    """With the text of each statement, where the program's source is there; what
    compiles on lines that it shows to run once came once.
    """
    if source is None:
        return account

    def shown(place: RunPlace) -> RunPlace:
        return replace(place, text=source.text_at(place.file, place.line))

    def placed(share: _Share) -> _Share:
        return replace(share, places=tuple(map(shown, share.places)))

    def whole(part: RunPart) -> RunPart:
        return replace(
            placed(part),
            parts=tuple(map(placed, part.parts)),
            statements=tuple(map(whole, part.statements)),
        )

    def counted(part: RunPart) -> RunPart:
        lines = [source.runs_once(place.file, place.line) for place in part.places]
        is_once = part.kind == "compile" and bool(lines) and all(lines)
        return replace(part, turns=1) if is_once else part

    parts = (counted(whole(part)) for part in account.parts)
    return replace(account, parts=tuple(parts))


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
    """By function of the program; Python that the step calls runs on any thread."""
    shares: dict[Where, float] = {}
    unnamed = 1.0
    for kind in attribution:
        if kind.kind not in _ON_HOST:
            continue
        for part in kind.parts:
            if part.activity == CALLED_PYTHON:
                continue
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


def disagreement_of(traced: Traced, account: RunAccount) -> Disagreement | None:
    """The largest that is beyond the errors of both; None for none, or for too few
    samples.
    """
    steps = next(part for part in account.parts if part.kind == STEPS)
    count = steps.seen
    if count < _FEWEST_TICKS:
        return None
    sampled_shares = added_up(
        ((place.file, place.function), part.fraction / steps.fraction)
        for part in steps.parts
        for place in part.places[:1]
    )
    found = None
    most = 0.0
    for where in sorted({*traced.shares, *sampled_shares}):
        share = traced.shares.get(where, 0.0)
        seen = min(sampled_shares.get(where, 0.0), 1.0)
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
