"""What stays of a recording: a run folder as the frameworks write it, a note on how it was recorded, and the report."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tfadvisor.assembly.second_window import NOTE, joined
from tfadvisor.files import new_file
from tfadvisor.machine.file import ENDING
from tfadvisor.record.conduct import Recorded
from tfadvisor.record.window import Window
from tfadvisor.report.model import CaptureNote, Report
from tfadvisor.xplane.runs import CALLS_ENDING, LINES_ENDING, host_of


class Kept(msgspec.Struct, frozen=True):
    """folder: of the run, below the logdir. report: with what recording cost."""

    folder: Path
    report: Report


def keep(recorded: Recorded, logdir: Path, now: datetime) -> Kept:
    """Moves the traces into a new run of the logdir. now: names the run. Raises OSError."""
    report = recorded.chosen.report
    folder = _new_run(logdir, now)
    for file in sorted(recorded.chosen.folder.iterdir()):
        if file.name.endswith((".xplane.pb", ENDING)):
            _move(file, folder / file.name)
    if recorded.second is not None:
        ending = CALLS_ENDING if recorded.second_tells_findings else LINES_ENDING
        for file in sorted(recorded.second.folder.glob("*.xplane.pb")):
            _move(file, folder / f"{host_of(file)}{ending}")
    (folder / NOTE).write_text(json.dumps(_note(recorded), indent=2) + "\n", encoding="utf-8")
    path = str(folder)
    run = replace(report.run, path=path, name=folder.name)
    if recorded.second is not None:
        report = joined(report, recorded.second.report, tells_findings=recorded.second_tells_findings)
    return Kept(folder, replace(report, run=run, capture=(_cost_note(recorded), *report.capture)))


def _move(file: Path, target: Path) -> None:
    """Whole or not at all, also to another disk. Raises OSError."""
    try:
        file.replace(target)
    except OSError:
        with file.open("rb") as source, new_file(target) as copy:
            shutil.copyfileobj(source, copy)


def _new_run(logdir: Path, now: datetime) -> Path:
    """Named after the second, as the frameworks do; of two in one second the later has a number."""
    stamp = now.strftime("%Y_%m_%d_%H_%M_%S")
    number = 0
    while True:
        folder = logdir / "plugins" / "profile" / (f"{stamp}_{number}" if number else stamp)
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
        "python_tracer_cost": None if recorded.cost is None else round(recorded.cost, 4),
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


def _cost_note(recorded: Recorded) -> CaptureNote:
    steps = recorded.chosen.pace.count if recorded.chosen.pace else 0
    head = f"Recorded by tfadvisor: {steps:,} steps in {recorded.chosen.seconds:.1f} s"
    if recorded.cost is None:
        how = "" if recorded.chosen.python_tracer else ", without calls of Python functions"
        return CaptureNote("recorded", f"{head}{how}. What that costs was not measured.", "", "")
    share = f"{max(recorded.cost, 0.01):.0%}"
    if not recorded.chosen.python_tracer:
        return CaptureNote(
            "recorded",
            f"{head}, without calls of Python functions: they make a step {share} longer, beside other events.",
            "",
            "",
        )
    least = "less than " if recorded.cost < 0.01 else "about "
    return CaptureNote("recorded", f"{head}. Tracing calls of Python functions adds {least}{share} to a step.", "", "")
