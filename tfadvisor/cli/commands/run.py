"""`tfadvisor run`: options, the program, what is written where. How it is recorded is decided elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tfadvisor.cli.outputs import check_page_has_a_file, note
from tfadvisor.cli.reading_options import (
    Output,
    Reading,
    choice,
)
from tfadvisor.cli.recording import RECORDING, Details, Format, Out, StepCount, check_rules, keep_and_write
from tfadvisor.cli.typer_commands import Command, argument, option, takes
from tfadvisor.errors import UsageError
from tfadvisor.report.forms.forms import REPORT_FORMS, form_of

_EXAMPLES = """\
Examples:
  tfadvisor run -- python train.py
  tfadvisor run -- python -m mypackage.train --config big.yaml
  tfadvisor run --then stop -- bash train.sh              ends the program once it is recorded
  tfadvisor run --after 60 --steps 50 -- python train.py  from its first minute on, fifty steps
  tfadvisor run --step train_step -- python train.py      what is the step, where another function repeats
  tfadvisor run -o report.html -- torchrun --nproc-per-node 2 train.py

What it does: starts the program with a hook that Python loads before it, waits until nothing has compiled for a while, looks
for steps, records them, and prints the report while the program goes on. Nothing in the program changes. Where tracing
Python calls could make a step more than 5% longer, the report is about a trace without them. Where tfadvisor is ended, even
by KILL, the program is asked to end as well and has 15 seconds for it; under nohup a closed terminal ends neither.

Exit codes: 0 there is a report (however the program ended later), 2 usage, 3 the program failed or never stepped, 5 a rule
or metric broke, 130 interrupted, 143 terminated."""

TheCommand = Annotated[list[str], argument("COMMAND", "the program and its arguments, after --")]
After = Annotated[
    str, option("--after", "auto|SECONDS", "start recording once compilation settles, or after SECONDS", RECORDING)
]
TheStep = Annotated[
    str,
    typer.Option(
        "--step",
        metavar="NAME|FILE:LINE",
        help="take this function, marker or line for the step",
        rich_help_panel=RECORDING,
    ),
]
Then = Annotated[
    str, choice("--then", names=("continue", "stop"), help="what the program does once it is recorded", panel=RECORDING)
]
app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command(
    "run",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="record an unmodified program and print its report",
    context_settings={"allow_interspersed_args": False},
)
@takes(Reading, "params bandwidth rules disable preview set_limits config")
def run(
    command: TheCommand,
    *,
    after: After = "auto",
    steps: StepCount = 20,
    step: TheStep = "",
    out: Out = Path("tfadvisor-run"),
    then: Then = "continue",
    reading: Reading,
    format: Format = None,
    output: Output = None,
    details: Details = False,
) -> int:
    """Record an unmodified program, and say where its step's time goes, why, and what to change.

    Scripts, modules and launchers of several processes alike: every Python process that trains is recorded, one trace each.
    """
    form = form_of(REPORT_FORMS, format, output)
    check_page_has_a_file(form, output, "report")
    after_seconds = seconds_or_auto(after)
    options = reading.options()
    check_rules(options)
    from tfadvisor.act.record.conduct import (
        Wanted,  # imports NumPy, which no --help needs
        recorded_program,
    )

    with recorded_program(command, Wanted(after_seconds, steps, step), options) as (program, recorded):
        kept = keep_and_write(recorded, out, form, output, options, details=details)
        if then == "stop":
            program.stop()
        elif code := program.let_run():
            note(f"{' '.join(command)} ended with exit code {code}.")
        if program.program.interrupted:
            raise KeyboardInterrupt
    return 5 if kept.report.broken else 0


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
