"""The trace of a recording beside samples of the unrecorded program: where they
disagree, that is said and claims are lower.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.act.record.injected.tfadvisor_hook.sampling import BETWEEN
from tfadvisor.advice.findings import (
    CaptureNote,
    Evidence,
    Finding,
    Fix,
    Location,
    Saving,
    Verdict,
)
from tfadvisor.advice.judging.judge_rules import severity_of
from tfadvisor.advice.judging.verdict import LARGE
from tfadvisor.report.model import Report
from tfadvisor.timeline.names.frames import named_function, place_in_words
from tfadvisor.trace.samples import Samples
from tfadvisor.units import percent
from tfadvisor.vocabulary import Severity

if TYPE_CHECKING:
    import numpy.typing as npt

_FEWEST_TICKS = 40
_TRACE_ERROR = 0.05
"""By which shares of a trace may be off, beside what chance makes of samples."""
_SIGMAS = 3.0
_TOLD = 0.02
"""From this share on ends of epochs have a line."""
_ON_HOST = ("host", "input")
Where = tuple[str, str]
"""A file's name, and a function of it, "" outside of all."""
_LOWER = {
    Severity.CRITICAL: Severity.HIGH,
    Severity.HIGH: Severity.MEDIUM,
    Severity.MEDIUM: Severity.LOW,
    Severity.LOW: Severity.INFO,
}


class Disagreement(msgspec.Struct, frozen=True):
    """About one function of the program."""

    file: str
    function: str
    traced: float
    """Share of the recorded step that it takes on the host, 0..1."""
    sampled: float
    """Share of the main thread's ticks in it while nothing was recorded, 0..1."""
    ticks: int


def disagreement_of(report: Report, samples: Samples) -> Disagreement | None:
    """The largest that is beyond the errors of both; None for none, or for too few
    samples.
    """
    traced, elsewhere = _traced(report)
    spent, _, _ = _spent(samples, traced)
    ticks = spent.total()
    if ticks < _FEWEST_TICKS:
        return None
    beyond: dict[Disagreement, float] = {}
    for file, function in {*traced, *(where for where in spent if where[0])}:
        share, seen = traced.get((file, function), 0.0), spent[file, function] / ticks
        error = (
            _SIGMAS * (max(seen * (1 - seen), 0.25 / ticks) / ticks) ** 0.5
            + _TRACE_ERROR
        )
        beyond[Disagreement(file, function, share, seen, ticks)] = (
            max(share - seen, seen - share - elsewhere) - error
        )
    found = max(beyond, key=lambda one: beyond[one], default=None)
    return found if found is not None and beyond[found] > 0 else None


def _traced(report: Report) -> tuple[dict[Where, float], float]:
    """(share of the step on the host by file and function, what is left for all that no
    line is known of: a thread that is sampled in a function may wait in it, launch, or
    do what nothing names)."""
    traced: dict[Where, float] = {}
    left = 1.0
    for kind in report.attribution:
        for one in kind.parts if kind.kind in _ON_HOST else ():
            places = {
                (Path(there.file).name, named_function(there.function))
                for there in one.places
                if there.file
            }
            left -= one.fraction if places else 0.0
            for where in places:
                traced[where] = traced.get(where, 0.0) + one.fraction
    return traced, left


def _spent(
    samples: Samples, traced: Container[Where], step_ms: float = 0.0
) -> tuple[Counter[Where], Counter[tuple[str, int, str]], int]:
    """Ticks of the unrecorded program: in steps by file and function; between turns of
    their loop by file, line and function, in whole turns of what is around it; and how
    many such turns hold. traced: what steps hold."""
    spent: Counter[Where] = Counter()
    between: Counter[tuple[str, int, str]] = Counter()
    outside = _outside(samples, step_ms)
    ticks = samples.unrecorded()
    ends = [
        outside[row]
        or (
            (where := (Path(file).name, named_function(function)))[1] in BETWEEN
            and where not in traced
        )
        for row, (file, _, function, *_) in enumerate(samples.places)
    ]
    is_end = np.array([*ends, False])[ticks]
    turns = ticks[_whole_turns(is_end)]
    for row, count in zip(*np.unique(ticks[~is_end], return_counts=True), strict=True):
        file, _, function = samples.places[row][:3] if row >= 0 else ("", 0, "")
        spent[Path(file).name, named_function(function)] += int(count)
    for row, count in zip(*np.unique(turns, return_counts=True), strict=True):
        if row >= 0 and ends[row]:
            file, line, function = samples.places[row][:3]
            if outside[row] and samples.loop is not None and samples.lines[row] > 0:
                file, function, line = *samples.loop[:2], samples.lines[row]
            between[Path(file).name, line, named_function(function)] += int(count)
    return spent, between, len(turns)


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
    if not len(at) or _BETWEEN_ENDS * (at[-1] + 1 - at[0] - len(at)) < len(
        is_end
    ) - len(at):
        return slice(0)
    apart = np.flatnonzero(np.diff(at) > _APART)
    return slice(at[apart[0]] + 1 if len(apart) else at[0], at[-1] + 1)


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


def _outside(samples: Samples, step_ms: float) -> list[bool]:
    """By place, whether it lies outside of the loop whose rounds are the steps."""
    rounds = samples.round_ms / step_ms if step_ms else 0.0
    if (
        samples.loop is None
        or len(samples.lines) != len(samples.places)
        or not 1 / _OF_THE_LOOP < rounds < _OF_THE_LOOP
    ):
        return [False] * len(samples.places)
    _, _, first, last = samples.loop
    return [
        line != 0 and not first <= line <= last and place[3] not in _WAITS
        for line, place in zip(samples.lines, samples.places, strict=True)
    ]


def epoch_ends(report: Report, samples: Samples) -> Finding | None:
    """What passes between turns of the loop; None where too few samples are in it."""
    times = report.steps.time_ms
    step_ms = times.median if times else 0.0
    _, between, ticks = _spent(samples, _traced(report)[0], step_ms)
    share = between.total() / max(ticks, _FEWEST_TICKS)
    if (
        not _TOLD <= share <= 1 - _TOLD
    ):  # a loop that is all in one is no end of anything
        return None
    places = [one for one, _ in between.most_common(3)]
    known = samples.loop if any(_outside(samples, step_ms)) else None
    loop = (
        f"the loop at {Path(known[0]).name}:{known[2]}"
        if known is not None
        else "the training loop"
    )
    named = ", ".join(place_in_words(*one) for one in places)
    return between_turns(
        share,
        loop,
        f"By {ticks:,} samples of the main thread while nothing was recorded: {named}.",
        f"{between.total():,} of {ticks:,} samples",
        tuple(Location(file, line, function) for file, line, function in places),
        proof="shown",
    )


BETWEEN_TURNS = "between-turns"


def between_turns(
    share: float,
    loop: str,
    how: str,
    seen: str,
    places: tuple[Location, ...],
    *,
    proof: str,
) -> Finding:
    """What passes in no step. share: of the program's time. proof: shown by samples, or
    measured by a clock.
    """
    return Finding(
        rule_id=BETWEEN_TURNS,
        category="host",
        severity=severity_of(share),
        title=f"{percent(share)} of the time passes between turns of {loop}",
        summary=f"{how} That is in no step, so no other share counts it.",
        evidence=(Evidence(None, "between turns of the loop", seen, "text"),),
        saving=None,
        fixes=(
            Fix(
                "code",
                "Do it less often, or with less data.",
                "",
                {},
                "",
                "what it tells or keeps comes less often",
            ),
        ),
        locations=places,
        source=(),
        caveat="",
        proof=proof,
        takes=share,
    )


def _with_ends(report: Report, found: Finding) -> Report:
    """Before what saves less than it takes; a run in which that is much is not
    healthy.
    """
    share = found.takes or 0.0
    at = next(
        (row for row, one in enumerate(report.findings) if one.saves < share),
        len(report.findings),
    )
    findings = (*report.findings[:at], found, *report.findings[at:])
    return replace(
        report, findings=findings, verdict=verdict_beside(report.verdict, found)
    )


def verdict_beside(verdict: Verdict, ends: Finding) -> Verdict:
    """With what passes in no step."""
    if (ends.takes or 0.0) < LARGE or not verdict.healthy:
        return verdict
    return replace(verdict, healthy=False, summary=f"{ends.title}. {verdict.summary}")


def lowered(report: Report, samples: Samples | None) -> Report:
    """The report with a note on it, and with claims that hold by both witnesses."""
    if samples is None or samples.why:
        why = f" ({samples.why})" if samples is not None else ""
        return _noted(
            report,
            f"The main thread was not sampled{why}: lines come from the trace alone.",
        )
    if (ends := epoch_ends(report, samples)) is not None:
        report = _with_ends(report, ends)
    found = disagreement_of(report, samples)
    if found is None:
        return report
    more = found.traced > found.sampled
    effect = (
        "makes it look larger"
        if more
        else "hides time in it, and makes all else look larger"
    )
    where = (
        f"{found.function} ({found.file})"
        if found.function
        else f"{found.file}, outside of its functions,"
    )
    text = (
        f"{where} takes {percent(found.traced)} of the recorded step, and "
        f"{percent(found.sampled)} "
        f"of the main thread's time by {found.ticks:,} samples while nothing was "
        f"recorded: recording {effect}. "
        "Findings claim less for it."
    )
    factor = (
        found.sampled / found.traced
        if more
        else (1 - found.sampled) / (1 - found.traced)
    )
    findings = tuple(
        _less(one, factor) if _is_at(one, found) == more else one
        for one in report.findings
    )
    return _noted(replace(report, findings=findings), text)


def _is_at(finding: Finding, found: Disagreement) -> bool:
    return any(
        (Path(one.file).name, named_function(one.op)) == (found.file, found.function)
        for one in finding.locations
    )


def _less(finding: Finding, factor: float) -> Finding:
    saving = finding.saving
    if saving is not None:
        saving = Saving(saving.low * factor, saving.high * factor, saving.basis)
    takes = None if finding.takes is None else finding.takes * factor
    return replace(
        finding,
        takes=takes,
        saving=saving,
        severity=_LOWER.get(finding.severity, finding.severity),
    )


def _noted(report: Report, text: str) -> Report:
    return replace(
        report, capture=(CaptureNote("samples", text, "", ""), *report.capture)
    )
