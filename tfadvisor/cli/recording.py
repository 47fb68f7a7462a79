"""What commands that record share: options, progress, and what becomes of a
recording.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tfadvisor.cli.outputs import ReportPlace, note, note_broken, write_form
from tfadvisor.cli.typer_commands import argument, option
from tfadvisor.errors import UsageError, written
from tfadvisor.units import duration, percent

if TYPE_CHECKING:
    from tfadvisor.act.record import KeptRun, RecordedRun
    from tfadvisor.advice.findings import Finding, Location
    from tfadvisor.analysis import Options

RECORDING = "What to record"

TheCommand = Annotated[
    list[str], argument("COMMAND", "the program and its arguments, after --")
]


def _step_count(given: object) -> int:
    """Raises UsageError for what is no number of steps."""
    text = str(given)
    if text.isdecimal() and int(text) >= 2:
        return int(text)
    raise UsageError(
        f"--steps {text}: give a number of steps to record, 2 or more. What a step is "
        "says --step-is NAME."
    )


StepCount = Annotated[
    int,
    option(
        "--steps",
        "N",
        "how many steps to record at least",
        RECORDING,
        parser=_step_count,
    ),
]
Out = Annotated[Path, option("--out", "DIR", "logdir to write the trace to", RECORDING)]


def check_can_start_programs() -> None:
    """Raises UsageError where programs cannot be watched as they are here."""
    if not hasattr(os, "fork"):
        raise UsageError(
            "programs are recorded and tried on Linux. On Windows use WSL 2, or let "
            "the program record itself and analyze its logdir here."
        )


def keep_recording(
    recorded: RecordedRun,
    out: Path,
    options: Options,
    command: Sequence[str] = (),
) -> KeptRun:
    """Keeps the traces in the logdir. command: that was started. Raises UsageError for
    a place that takes none.
    """
    # imports NumPy, which no --help needs
    from tfadvisor.act.record import keep

    with written(f"--out {out}"):
        return keep(recorded, out, datetime.now(), options, command)


def rated(
    kept: KeptRun, out: Path, options: Options, *, ran_on: bool = False
) -> KeptRun:
    """With what this machine's CPUs can do, once the program has ended. ran_on: whether
    it went on after it was recorded.
    """
    # imports NumPy, which no --help needs
    from tfadvisor.act.record import with_rates

    with written(f"--out {out}"):
        return with_rates(kept, options, ran_on=ran_on)


def note_light(kept: KeptRun) -> None:
    """Where the whole run went, and how far its step is from what the devices can do,
    where a report was written before that was known.
    """
    from tfadvisor.report import light_line, run_words

    run = run_words(kept.report)
    if run:
        note(f"the whole run: {run}")
    line = light_line(kept.report)
    if line:
        note(f"speed of light: {line}")


def write_again(
    before: KeptRun, after: KeptRun, options: Options, place: ReportPlace
) -> None:
    """The report once more, where the whole run tells more than the one that was
    written before the program had ended: a file always, on a screen where another
    finding is the first now.
    """
    if place.output is not None:
        write_kept(after, options, place)
        return
    before_it_ended, now = (
        next((finding for finding in kept.report.findings if finding.takes), None)
        for kept in (before, after)
    )
    if now is None or (
        before_it_ended is not None and _about(now) == _about(before_it_ended)
    ):
        return
    note(f"by the whole run, the first finding is: {now.title}")
    if place.is_screen:
        write_kept(after, options, place)


def _about(finding: Finding) -> tuple[str, tuple[Location, ...]]:
    """Its rule and its first place, which stay where its numbers change."""
    return finding.rule_id, finding.locations[:1]


def write_kept(kept: KeptRun, options: Options, place: ReportPlace) -> None:
    """The report of a recording, to its place."""
    subject: object = kept.report
    if place.form.drawn:
        from msgspec.structs import replace

        from tfadvisor.analysis import draw_run
        from tfadvisor.trace import choose_run

        run, _ = choose_run([kept.folder])
        subject = [replace(draw_run(run, options), report=kept.report)]

    write_form(place.form, subject, place.output, **place.settings)
    sys.stdout.flush()


def note_kept(kept: KeptRun) -> None:
    """Where the recording lies, and what broke."""
    note(f"recorded in {kept.folder}")
    earlier = kept.earlier
    if earlier is not None:
        change = earlier.now_ms / earlier.step_ms - 1
        words = f"{percent(abs(change))} {'less' if change < 0 else 'more'}"
        note(
            f"the same command took {duration(earlier.step_ms)} a step in "
            f"{earlier.run}: {words} now, by one recording each."
        )
    note_broken(kept.report)
