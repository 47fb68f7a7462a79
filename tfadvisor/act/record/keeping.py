"""What stays of a recording: a run folder as the frameworks write it, a note on how it
was recorded, and the report.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tfadvisor.act.record.choosing import RecordedRun
from tfadvisor.act.record.machine_rates import add_rates
from tfadvisor.act.record.notes import notes_of
from tfadvisor.act.record.window import RecordedWindow
from tfadvisor.advice.findings import CaptureNote
from tfadvisor.advice.measured import Measured
from tfadvisor.analysis import Options, analyze_run
from tfadvisor.files import new_file
from tfadvisor.report import Report
from tfadvisor.report.assembly.sampled import not_sampled
from tfadvisor.trace import Run, choose_run, host_of
from tfadvisor.trace.counters import ENDING
from tfadvisor.trace.noted_ops import OPS_ENDING
from tfadvisor.trace.noted_sources import SOURCES_ENDING
from tfadvisor.trace.samples import SAMPLES_ENDING, read_samples
from tfadvisor.vocabulary import DeviceKind

_NOTE = "recording.json"
_KEPT = (".xplane.pb", ENDING, SAMPLES_ENDING, SOURCES_ENDING, OPS_ENDING)


class Earlier(msgspec.Struct, frozen=True):
    """The last recording of the same command in the same logdir."""

    run: str
    """Its name."""
    step_ms: float
    """Its steps, as they were recorded."""
    now_ms: float
    """Those of the new recording, as they were recorded."""


class KeptRun(msgspec.Struct, frozen=True):
    """folder: of the run, below the logdir. report: with what recording cost."""

    folder: Path
    report: Report
    earlier: Earlier | None = None
    """None where there is none to compare with."""


def keep(
    recorded: RecordedRun,
    logdir: Path,
    now: datetime,
    options: Options,
    command: Sequence[str] = (),
) -> KeptRun:
    """Moves the traces into a new run of the logdir, and reads them there with all that
    lies beside them. now: names the run. command: that was recorded, where one was
    started. Raises OSError.
    """
    folder = _new_run(logdir, now)
    for file in sorted(recorded.chosen.folder.iterdir()):
        if file.name.endswith(_KEPT):
            _move(file, folder / file.name)
    note = {**_note(recorded), "command": list(command)}
    (folder / _NOTE).write_text(f"{json.dumps(note, indent=2)}\n", encoding="utf-8")

    run, _ = choose_run([folder])
    report = analyze_run(run, options)
    notes = (*notes_of(recorded), *_on_samples(run))
    capture = (*notes, *report.capture)
    return KeptRun(folder, replace(report, capture=capture), _earlier(folder, note))


def with_measured(kept: KeptRun, options: Options, measured: Measured) -> KeptRun:
    """The recording judged once more, with what experiments with the program's parts
    came to.
    """
    return _judged_again(kept, replace(options, measured=measured))


def with_rates(kept: KeptRun, options: Options, *, ran_on: bool = False) -> KeptRun:
    """The recording with what this machine can do beside it, where its CPUs did the
    work and nothing else keeps them busy now; as it was for all others. ran_on: whether
    more was seen of the program since. To be called once it has ended; takes two
    seconds. Raises OSError.
    """
    kinds = {device.kind for device in kept.report.run.devices}
    is_rated = kinds == {DeviceKind.CPU.value} and add_rates(kept.folder)
    if not is_rated and not ran_on:
        return kept
    return _judged_again(kept, options)


def _judged_again(kept: KeptRun, options: Options) -> KeptRun:
    """With what lies beside its traces now. What was said of the capture stays."""
    run, _ = choose_run([kept.folder])
    report = analyze_run(run, options)
    return replace(kept, report=replace(report, capture=kept.report.capture))


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


_ANOTHER_STEP = 5.0
"""Times as long: what repeats in one of the two is no step of the other."""


def _earlier(folder: Path, note: dict[str, Any]) -> Earlier | None:
    """folder: of the new run. note: what is written there."""
    now_ms = _step_ms(note)
    others = sorted(folder.parent.glob(f"*/{_NOTE}"), reverse=True)
    for file in others:
        with suppress(OSError, ValueError, AttributeError):
            before = json.loads(file.read_text(encoding="utf-8"))
            step_ms = _step_ms(before)
            same = before.get("command") == note["command"] != []
            if file.parent == folder or not same or not step_ms or not now_ms:
                continue
            if now_ms < _ANOTHER_STEP * step_ms:
                return Earlier(file.parent.name, step_ms, now_ms)
    return None


def _step_ms(note: dict[str, Any]) -> float | None:
    found = (note.get("recorded") or {}).get("step_ms")
    return found if isinstance(found, float | int) and found > 0 else None


def _new_run(logdir: Path, now: datetime) -> Path:
    """Named after the second, as the frameworks do; of two in one second the later has
    a number.
    """
    stamp = now.strftime("%Y_%m_%d_%H_%M_%S")
    runs = logdir / "plugins" / "profile"
    number = 0
    while True:
        folder = runs / (f"{stamp}_{number}" if number else stamp)
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            number += 1


def _note(recorded: RecordedRun) -> dict[str, Any]:
    loops = [loop for loop in recorded.rounds if loop is not None]
    return {
        "framework": recorded.chosen.read.framework,
        "recorded": _window_note(recorded.chosen),
        "look": _window_note(recorded.before),
        "rounds_ms": [loop and _rounded(loop.median_ms) for loop in recorded.rounds],
        "loop": loops[0].place if loops else None,
        "python_tracer_cost": _rounded(recorded.cost),
    }


def _window_note(window: RecordedWindow | None) -> dict[str, Any] | None:
    if window is None:
        return None
    pace = window.pace
    return {
        "opened": round(window.opened, 3),
        "closed": round(window.closed, 3),
        "python_tracer": window.python_tracer,
        "steps": pace and pace.count,
        "step_ms": pace and _rounded(pace.median_ms),
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 4)
