"""The trace of a recording beside samples of the unrecorded program: where they disagree, that is said and claims are lower."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.findings import CaptureNote, Finding, Saving
from tfadvisor.report.model import Report
from tfadvisor.trace.samples import Samples
from tfadvisor.units import percent
from tfadvisor.vocabulary import Severity

_FEWEST_TICKS = 40
_TRACE_ERROR = 0.05
"""By which shares of a trace may be off, beside what chance makes of samples."""
_SIGMAS = 3.0
_TOLD = 0.02
"""From this share on ends of epochs have a line."""
_BETWEEN = re.compile(r"^on_(?:epoch|test|predict)_|^(?:evaluate|evaluation|validate|validation)$|epoch_end|end_of_epoch")
"""Functions of epoch ends, which are in no step."""
_ON_HOST = ("host", "input")
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
    spent, _ = _spent(samples)
    ticks = spent.total()
    if ticks < _FEWEST_TICKS:
        return None
    traced: Counter[tuple[str, str]] = Counter()
    placed = []
    for kind in report.attribution:
        for one in kind.parts if kind.kind in _ON_HOST else ():
            placed += [one.fraction] if any(there.file for there in one.places) else []
            for where in {(Path(there.file).name, there.function) for there in one.places if there.file}:
                traced[where] += one.fraction  # type: ignore[assignment]
    elsewhere = 1.0 - sum(
        placed
    )  # a thread that is sampled in a function may wait in it, launch, or do what nothing names
    beyond: dict[Disagreement, float] = {}
    for file, function in {*traced, *(where for where in spent if where[0])}:
        share, seen = float(traced[file, function]), spent[file, function] / ticks
        error = _SIGMAS * (max(seen * (1 - seen), 0.25 / ticks) / ticks) ** 0.5 + _TRACE_ERROR
        beyond[Disagreement(file, function, share, seen, ticks)] = max(share - seen, seen - share - elsewhere) - error
    found = max(beyond, key=lambda one: beyond[one], default=None)
    return found if found is not None and beyond[found] > 0 else None


def _spent(samples: Samples) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """Ticks of the unrecorded program in its functions, by file and name: in steps, and at the ends of epochs."""
    place = samples.unrecorded().tolist()
    all_of = Counter(
        (Path(samples.places[row][0]).name, samples.places[row][2]) if row >= 0 else ("", "") for row in place
    )
    between = Counter({where: count for where, count in all_of.items() if _BETWEEN.search(where[1])})
    return all_of - between, between


def epoch_ends(samples: Samples) -> str:
    """`Ends of epochs take 62% of …`, "" where too few samples are in them."""
    spent, between = _spent(samples)
    whole = spent.total() + between.total()
    if whole < _FEWEST_TICKS or between.total() < _TOLD * whole:
        return ""
    told = ", ".join(f"{name} ({file}) {percent(count / whole)}" for (file, name), count in between.most_common(3))
    return (
        f"Ends of epochs take {percent(between.total() / whole)} of the main thread's time by {whole:,} samples: {told}. "
        "They are in no step, so no share below counts them."
    )


def lowered(report: Report, samples: Samples | None) -> Report:
    """The report with a note on it, and with claims that hold by both witnesses."""
    if samples is None or samples.why:
        why = f" ({samples.why})" if samples is not None else ""
        return _noted(report, f"The main thread was not sampled{why}: lines come from the trace alone.")
    if between := epoch_ends(samples):
        report = _noted(report, between)
    found = disagreement_of(report, samples)
    if found is None:
        return report
    more = found.traced > found.sampled
    effect = "makes it look larger" if more else "hides time in it, and makes all else look larger"
    text = (
        f"{found.function} ({found.file}) takes {percent(found.traced)} of the recorded step, and {percent(found.sampled)} "
        f"of the main thread's time by {found.ticks:,} samples while nothing was recorded: recording {effect}. "
        "Findings claim less for it."
    )
    factor = found.sampled / found.traced if more else (1 - found.sampled) / (1 - found.traced)
    findings = tuple(_less(one, factor) if _is_at(one, found) == more else one for one in report.findings)
    return _noted(replace(report, findings=findings), text)


def _is_at(finding: Finding, found: Disagreement) -> bool:
    return any((Path(one.file).name, one.op) == (found.file, found.function) for one in finding.locations)


def _less(finding: Finding, factor: float) -> Finding:
    saving = finding.saving
    if saving is not None:
        saving = Saving(saving.low * factor, saving.high * factor, saving.basis)
    takes = None if finding.takes is None else finding.takes * factor
    return replace(finding, takes=takes, saving=saving, severity=_LOWER.get(finding.severity, finding.severity))


def _noted(report: Report, text: str) -> Report:
    return replace(report, capture=(CaptureNote("samples", text, "", ""), *report.capture))
