"""The trace of a recording beside samples of the unrecorded program: where they disagree, that is said and claims are lower."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tfadvisor.act.record.injected.tfadvisor_hook.sampling import BETWEEN
from tfadvisor.advice.findings import CaptureNote, Finding, Saving
from tfadvisor.report.model import Report
from tfadvisor.timeline.names.frames import named_function
from tfadvisor.trace.samples import Samples
from tfadvisor.units import percent
from tfadvisor.vocabulary import Severity

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
    """The largest that is beyond the errors of both; None for none, or for too few samples."""
    traced, elsewhere = _traced(report)
    spent, _ = _spent(samples, traced)
    ticks = spent.total()
    if ticks < _FEWEST_TICKS:
        return None
    beyond: dict[Disagreement, float] = {}
    for file, function in {*traced, *(where for where in spent if where[0])}:
        share, seen = traced.get((file, function), 0.0), spent[file, function] / ticks
        error = _SIGMAS * (max(seen * (1 - seen), 0.25 / ticks) / ticks) ** 0.5 + _TRACE_ERROR
        beyond[Disagreement(file, function, share, seen, ticks)] = max(share - seen, seen - share - elsewhere) - error
    found = max(beyond, key=lambda one: beyond[one], default=None)
    return found if found is not None and beyond[found] > 0 else None


def _traced(report: Report) -> tuple[dict[Where, float], float]:
    """(share of the step on the host by file and function, what is left for all that no line is known of: a thread that is
    sampled in a function may wait in it, launch, or do what nothing names)."""
    traced: dict[Where, float] = {}
    left = 1.0
    for kind in report.attribution:
        for one in kind.parts if kind.kind in _ON_HOST else ():
            places = {(Path(there.file).name, named_function(there.function)) for there in one.places if there.file}
            left -= one.fraction if places else 0.0
            for where in places:
                traced[where] = traced.get(where, 0.0) + one.fraction
    return traced, left


def _spent(samples: Samples, traced: Container[Where]) -> tuple[Counter[Where], Counter[Where]]:
    """Ticks of the unrecorded program by file and function: in steps, and at ends of epochs. traced: what steps hold."""
    whole = Counter(
        (Path(samples.places[row][0]).name, named_function(samples.places[row][2])) if row >= 0 else ("", "")
        for row in samples.unrecorded().tolist()
    )
    between = Counter({one: count for one, count in whole.items() if one[1] in BETWEEN and one not in traced})
    return whole - between, between


def epoch_ends(samples: Samples, traced: Container[Where] = ()) -> str:
    """`Ends of epochs take 62% of …`, "" where too few samples are in them. traced: functions that steps hold."""
    spent, between = _spent(samples, traced)
    share = between.total() / max(spent.total() + between.total(), _FEWEST_TICKS)
    if not _TOLD <= share <= 1 - _TOLD:  # a loop that is all in one is no end of anything
        return ""
    places = ", ".join(f"{name} ({file})" for (file, name), _ in between.most_common(3))
    return (
        f"Ends of epochs take {percent(share)} of the main thread's time: {places}. They are in no step, so no share below "
        "counts them."
    )


def lowered(report: Report, samples: Samples | None) -> Report:
    """The report with a note on it, and with claims that hold by both witnesses."""
    if samples is None or samples.why:
        why = f" ({samples.why})" if samples is not None else ""
        return _noted(report, f"The main thread was not sampled{why}: lines come from the trace alone.")
    if between := epoch_ends(samples, _traced(report)[0]):
        report = _noted(report, between)
    found = disagreement_of(report, samples)
    if found is None:
        return report
    more = found.traced > found.sampled
    effect = "makes it look larger" if more else "hides time in it, and makes all else look larger"
    where = f"{found.function} ({found.file})" if found.function else f"{found.file}, outside of its functions,"
    text = (
        f"{where} takes {percent(found.traced)} of the recorded step, and {percent(found.sampled)} "
        f"of the main thread's time by {found.ticks:,} samples while nothing was recorded: recording {effect}. "
        "Findings claim less for it."
    )
    factor = found.sampled / found.traced if more else (1 - found.sampled) / (1 - found.traced)
    findings = tuple(_less(one, factor) if _is_at(one, found) == more else one for one in report.findings)
    return _noted(replace(report, findings=findings), text)


def _is_at(finding: Finding, found: Disagreement) -> bool:
    return any(
        (Path(one.file).name, named_function(one.op)) == (found.file, found.function) for one in finding.locations
    )


def _less(finding: Finding, factor: float) -> Finding:
    saving = finding.saving
    if saving is not None:
        saving = Saving(saving.low * factor, saving.high * factor, saving.basis)
    takes = None if finding.takes is None else finding.takes * factor
    return replace(finding, takes=takes, saving=saving, severity=_LOWER.get(finding.severity, finding.severity))


def _noted(report: Report, text: str) -> Report:
    return replace(report, capture=(CaptureNote("samples", text, "", ""), *report.capture))
