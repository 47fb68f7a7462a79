"""`tfadvisor run`: options, the program, what is written where. How it is recorded is
decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from tfadvisor.cli.outputs import check_page_has_a_file, note
from tfadvisor.cli.reading_options import (
    LEDGER,
    Details,
    Output,
    Reading,
    ReportFormat,
    choice,
)
from tfadvisor.cli.recording import (
    RECORDING,
    Out,
    StepCount,
    TheCommand,
    check_rules,
    keep_recording,
    note_kept,
    write_kept,
)
from tfadvisor.cli.typer_commands import Command, option, takes
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.report.forms.forms import REPORT_FORMS, form_of

if TYPE_CHECKING:
    from tfadvisor.act.record.keeping import Kept

_ABLATION_SECONDS = 600.0
_EXAMPLES = """\
Examples:
  tfadvisor run -- python train.py
  tfadvisor run -- python -m mypackage.train --config big.yaml
  tfadvisor run --then stop -- bash train.sh              ends the program once it is recorded
  tfadvisor run --after 60 --steps 50 -- python train.py  from its first minute on, fifty steps
  tfadvisor run --ablate -- python train.py               then measures what input, callbacks, jit, … cost
  tfadvisor run --step train_step -- python train.py      what is the step, where another function repeats
  tfadvisor run -o report.html -- torchrun --nproc-per-node 2 train.py

What it does: starts the program with a hook that Python loads before it, waits until nothing has compiled for a while, looks
for steps, records them, and prints the report while the program goes on. Nothing in the program changes. Where tracing
Python calls could make a step more than 5% longer, the report is about a trace without them. Where tfadvisor is ended, even
by KILL, the program is asked to end as well and has 15 seconds for it; under nohup a closed terminal ends neither.

Exit codes: 0 there is a report (however the program ended later), 2 usage, 3 the program failed or never stepped, 5 a rule
or metric broke, 130 interrupted, 143 terminated."""

After = Annotated[
    str,
    option(
        "--after",
        "auto|SECONDS",
        "start recording once compilation settles, or after SECONDS",
        RECORDING,
    ),
]
TheStep = Annotated[
    str,
    option(
        "--step",
        "NAME|FILE:LINE",
        "take this function, marker or line for the step",
        RECORDING,
    ),
]
Then = Annotated[
    str,
    choice(
        "--then",
        names=("continue", "stop"),
        help="what the program does once it is recorded",
        panel=RECORDING,
    ),
]
Ablate = Annotated[
    bool,
    option(
        "--ablate",
        "",
        "then end it, and measure in more runs what each part of it costs",
        RECORDING,
    ),
]
app = typer.Typer(add_completion=False)


@app.command(
    "run",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="record an unmodified program and print its report",
    context_settings={"allow_interspersed_args": False},
)
@takes(Reading, "params bandwidth rules disable preview")
def run(
    command: TheCommand,
    *,
    after: After = "auto",
    steps: StepCount = 20,
    step: TheStep = "",
    out: Out = Path("tfadvisor-run"),
    then: Then = "continue",
    ablate: Ablate = False,
    reading: Reading,
    format: ReportFormat = None,
    output: Output = None,
    details: Details = False,
) -> int:
    """Record an unmodified program, and say where its step's time goes, why, and what
    to change.

    Scripts, modules and launchers of several processes alike: every Python process that
    trains is recorded, one trace each.
    """
    form = form_of(REPORT_FORMS, format, output)
    check_page_has_a_file(form, output, "report")
    after_seconds = seconds_or_auto(after)
    options = reading.options()
    check_rules(options)
    from tfadvisor.act.record.conduct import (
        Wanted,
        recorded_program,
    )  # imports NumPy, which no --help needs

    with recorded_program(command, Wanted(after_seconds, steps, step), options) as (
        program,
        recorded,
    ):
        kept = keep_recording(recorded, out, options)
        if shown := not ablate or (form.on_screen and output is None):
            write_kept(kept, form, output, options, details=details)
        note_kept(kept)
        if then == "stop" or ablate:
            program.stop()
        elif code := program.let_run():
            note(f"{' '.join(command)} ended with exit code {code}.")
        if program.program.interrupted:
            raise KeyboardInterrupt
    if ablate:
        measured = _ablated(command, kept)
        if measured is not kept or not shown:
            write_kept(measured, form, output, options, details=details)
    return 5 if kept.report.broken else 0


def _ablated(command: Sequence[str], kept: Kept) -> Kept:
    """With what was measured in the report; as it was where nothing could be. Raises
    KeyboardInterrupt.
    """
    from tfadvisor.act.trial.ablation import with_measured
    from tfadvisor.act.trial.asked_for import settings_of
    from tfadvisor.act.trial.conduct import Wanted, try_out
    from tfadvisor.act.trial.one_run import Asked
    from tfadvisor.cli.commands.try_out import keep_in_ledger, told
    from tfadvisor.comparison.ledger import sketch_of
    from tfadvisor.report.wording import advice

    times = kept.report.steps.time_ms
    settings = tuple(
        one for finding in advice(kept.report) for one in settings_of(finding)
    )
    wanted = Wanted(
        tuple(command),
        settings,
        _ABLATION_SECONDS,
        step_ms=times.median if times else None,
        ablate=True,
    )
    note(
        f"runs {' '.join(command)} again and again for up to "
        f"{_ABLATION_SECONDS / 60:g} minutes, with one part taken out."
    )
    asked = Asked()
    try:
        with asked.heeded(), told() as tell:
            result = try_out(wanted, asked, tell)
    except TraceError as error:
        note(f"no part was taken out: {error}")
        return kept
    note(f"by experiment: {result.profile}.")
    keep_in_ledger(result, sketch_of(kept.report), LEDGER)
    return replace(kept, report=with_measured(kept.report, result))


def seconds_or_auto(text: str) -> float | None:
    """`auto` is None. Raises UsageError for what is no time."""
    if text == "auto":
        return None
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise UsageError(f"--after {text}: give auto, or seconds as 60 or 2.5.")
    return seconds
