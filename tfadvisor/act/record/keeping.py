"""What stays of a recording: a run folder as the frameworks write it, a note on how it
was recorded, and the report.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tfadvisor.act.record.conduct import Recorded, cost_without_calls
from tfadvisor.act.record.window import Window
from tfadvisor.advice.findings import CaptureNote
from tfadvisor.analysis import Options, analyze_run
from tfadvisor.files import new_file
from tfadvisor.report.assembly.sampled import not_sampled
from tfadvisor.report.assembly.second_window import NOTE
from tfadvisor.report.model import Report
from tfadvisor.trace.counters import ENDING
from tfadvisor.trace.runs import CALLS_ENDING, LINES_ENDING, Run, choose_run, host_of
from tfadvisor.trace.samples import SAMPLES_ENDING, read_samples


class Kept(msgspec.Struct, frozen=True):
    """folder: of the run, below the logdir. report: with what recording cost."""

    folder: Path
    report: Report


def keep(recorded: Recorded, logdir: Path, now: datetime, options: Options) -> Kept:
    """Moves the traces into a new run of the logdir, and reads them there with all that
    lies beside them. now: names the run. Raises OSError.
    """
    folder = _new_run(logdir, now)
    for file in sorted(recorded.chosen.folder.iterdir()):
        if file.name.endswith((".xplane.pb", ENDING, SAMPLES_ENDING)):
            _move(file, folder / file.name)
    if recorded.second is not None:
        ending = CALLS_ENDING if recorded.second_tells_findings else LINES_ENDING
        for file in sorted(recorded.second.folder.glob("*.xplane.pb")):
            _move(file, folder / f"{host_of(file)}{ending}")
    (folder / NOTE).write_text(
        json.dumps(_note(recorded), indent=2) + "\n", encoding="utf-8"
    )
    run, _ = choose_run([folder])
    report = analyze_run(run, options)
    notes = (*_notes(recorded, folder), *_on_samples(run))
    return Kept(folder, replace(report, capture=(*notes, *report.capture)))


def _on_samples(run: Run) -> Iterator[CaptureNote]:
    first = min(run.files)
    if read_samples(first, host_of(first)) is None:
        yield not_sampled()


def _move(file: Path, target: Path) -> None:
    """Whole or not at all, also to another disk. Raises OSError."""
    try:
        file.replace(target)
    except OSError:
        with file.open("rb") as source, new_file(target) as copy:
            shutil.copyfileobj(source, copy)


def _new_run(logdir: Path, now: datetime) -> Path:
    """Named after the second, as the frameworks do; of two in one second the later has
    a number.
    """
    stamp = now.strftime("%Y_%m_%d_%H_%M_%S")
    number = 0
    while True:
        folder = (
            logdir / "plugins" / "profile" / (f"{stamp}_{number}" if number else stamp)
        )
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            number += 1


def _note(recorded: Recorded) -> dict[str, Any]:
    return {
        "framework": recorded.chosen.report.run.framework,
        "recorded": _told(recorded.chosen),
        "without_python_tracer": _told(recorded.before),
        "with_python_tracer": _told(recorded.with_lines),
        "rounds_ms": [
            None if one is None else round(one.median_ms, 4) for one in recorded.rounds
        ],
        "loop": next((one.place for one in recorded.rounds if one is not None), None),
        "python_tracer_cost": None
        if recorded.cost is None
        else round(recorded.cost, 4),
    }


def _told(window: Window | None) -> dict[str, Any] | None:
    if window is None:
        return None
    return {
        "opened": round(window.opened, 3),
        "closed": round(window.closed, 3),
        "python_tracer": window.python_tracer,
        "steps": window.pace.count if window.pace else None,
        "step_ms": round(window.pace.median_ms, 4) if window.pace else None,
    }


def _cost(recorded: Recorded) -> str:
    steps, cost = (
        recorded.chosen.pace.count if recorded.chosen.pace else 0,
        recorded.cost,
    )
    how = "" if recorded.chosen.python_tracer else ", without calls of Python functions"
    share = "" if cost is None else f"{max(cost, 0.01):.0%}"
    if cost is None:
        how += ". What that costs was not measured."
    elif how:
        how += f": they make a step {share} longer, beside other events."
    else:
        how = (
            ". Tracing calls of Python functions adds "
            f"{'less than' if cost < 0.01 else 'about'} {share} to a step."
        )
    return (
        f"Recorded by tfadvisor: {steps:,} steps in {recorded.chosen.seconds:.1f} "
        f"s{how}"
    )


_NOTABLE = 0.1
"""From this share on it is said that a round takes longer while it is recorded, or that
a step is another than a round.
"""
_OTHER_STEP = 3.0
"""A loaded machine alone makes a factor of two."""
_OF_RECORDED = (
    "Times and shares below are those of the recorded program, not of the unrecorded "
    "one."
)


def _notes(recorded: Recorded, folder: Path) -> list[CaptureNote]:
    """What recording cost, and how the steps go with the rounds of the
    program's loop.
    """
    said = [(_cost(recorded), "")]
    pace, (before, during, after) = recorded.chosen.pace, recorded.rounds
    if recorded.step and (pace is None or not pace.about.startswith(recorded.step)):
        text = (
            f"--step {recorded.step} is no function, marker or line that the trace "
            "holds twice."
        )
        said.append(
            (
                f"{text} The step is what was found: {pace.about if pace else 'none'}.",
                "",
            )
        )
    if before is not None and before.prepares:
        text = (
            f"This is the loop at {before.place} in which a layer adapts to the "
            "data: training came too late."
        )
        said.append((text, "Record once training runs: --after SECONDS."))
    if recorded.inside:
        text = (
            f"The program is in one call, {recorded.inside}, all the time: the step "
            "is what repeats inside of it."
        )
        said.append((text, ""))
    slower = cost_without_calls(folder, recorded.chosen.seconds)
    if slower > _NOTABLE and (before is None or during is None):
        text = (
            f"The profiler's own events make a step about {slower:.0%} longer, by "
            f"their number. {_OF_RECORDED}"
        )
        said.append((text, ""))
    unrecorded = [
        one.median_ms
        for one in (before, after)
        if one is not None and one.is_of(during or one)
    ]
    if during is not None and unrecorded:
        least, most = min(unrecorded) * (1 - _NOTABLE), max(unrecorded) * (1 + _NOTABLE)
        alike = (
            pace is not None and least <= pace.median_ms <= most
        )  # what was counted in a first look tells less
        if not alike and not least <= during.median_ms <= most:
            times = ", ".join(
                f"{name} {one.median_ms:.3g} ms"
                for name, one in (
                    ("before", before),
                    ("while recorded", during),
                    ("after", after),
                )
                if one is not None and one.is_of(during)
            )
            said.append(
                (
                    f"A round of the loop at {during.place} takes {times}. "
                    f"{_OF_RECORDED}",
                    "",
                )
            )
    if (loop := during or before) is not None and pace is not None and pace.count:
        rounds = [
            one.median_ms / max(pace.median_ms, 1e-9)
            for one in (during, before, after)
            if one is not None
        ]
        if not any(1 / _OTHER_STEP < one < _OTHER_STEP for one in rounds):
            text = (
                f"What is taken for the step ({pace.about or 'markers'}) takes "
                f"{pace.median_ms:.3g} ms, "
                f"a round of the loop at {loop.place} {loop.median_ms:.3g} ms."
            )
            said.append((text, "Say which is the step: --step NAME."))
    return [CaptureNote("recorded", text, remedy, "") for text, remedy in said]
