"""`tfadvisor run`: options, the program, what is written where. How it is recorded is
decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from tfadvisor.cli.live_line import LiveLine
from tfadvisor.cli.outputs import ReportPlace, check_page_has_a_file, note
from tfadvisor.cli.reading import LEDGER
from tfadvisor.cli.reading_options import (
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
    check_can_start_programs,
    keep_recording,
    note_kept,
    note_light,
    rated,
    write_again,
    write_kept,
)
from tfadvisor.cli.typer_commands import Command, argument, option, spread, takes
from tfadvisor.errors import AdvisorError, TraceError, UsageError
from tfadvisor.report.forms import REPORT_FORMS, form_of

if TYPE_CHECKING:
    from tfadvisor.act.record import KeptRun
    from tfadvisor.analysis import Options

_ABLATION_SECONDS = 600.0
_EXAMPLES = """\
Examples:
  tfadvisor run -- python train.py
  tfadvisor run -- python -m mypackage.train --config big.yaml
  tfadvisor run -o report.html -- torchrun --nproc-per-node 2 train.py
  tfadvisor run --then stop -- bash train.sh      end it once it is recorded
  tfadvisor run --after 60 --steps 50 -- python train.py
  tfadvisor run --step-is train_step -- python train.py
  tfadvisor run --ablate -- python train.py       then measure each part's cost
  tfadvisor run --attach worker0:9999 worker1:9999

What it does: starts the program with a hook that Python loads before it, waits
until nothing has compiled for a while, looks for steps, records them, and
prints the report while the program goes on. Nothing in the program changes.
Where tracing Python calls could make a step more than 5% longer, the report is
about a trace without them. Where tfadvisor is ended, even by KILL, the program
is asked to end as well and has 15 seconds for it; under nohup a closed terminal
ends neither.

With --attach it records jobs that run already and have started a profiler
server:
  jax.profiler.start_server(9999)
  tf.profiler.experimental.server.start(9999)
That needs grpcio, which TensorBoard and most TensorFlow releases bring along:
  pip install 'tfadvisor[attach]'

Exit codes: 0 there is a report (however the program ended later), 2 usage, 3
the program failed or never stepped, or no trace came, 5 a rule or metric broke,
130 interrupted, 143 terminated."""

TheCommand = Annotated[
    list[str] | None, argument("COMMAND", "the program and its arguments, after --")
]
Attach = Annotated[
    list[str] | None,
    option(
        "--attach",
        "ADDRESS",
        "record running jobs instead, at their profiler servers: one or several "
        "HOST:PORT",
        RECORDING,
    ),
]
After = Annotated[
    str,
    option(
        "--after",
        "SECONDS",
        "start recording after so long, or once compilation settles (auto)",
        RECORDING,
    ),
]
TheStep = Annotated[
    str,
    option(
        "--step-is",
        "NAME",
        "which function, marker or line is the step, e.g. train.py:41; also --step",
        RECORDING,
    ),
]
SameStep = Annotated[
    str, option("--step", "NAME", "the same as --step-is", RECORDING, hidden=True)
]
Then = Annotated[
    str,
    choice(
        "--then",
        names=("continue", "stop"),
        metavar="WORD",
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


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What is recorded, and how, as the options of the command say it."""

    attach: Attach = None
    after: After = "auto"
    steps: StepCount = 20
    step_is: TheStep = ""
    same_step: SameStep = ""
    then: Then = "continue"
    ablate: Ablate = False
    out: Out = Path("tfadvisor-run")

    @property
    def step(self) -> str:
        """What is the step; "" where nobody says."""
        return self.step_is or self.same_step


class _TakesAddresses(Command):
    """`--attach a b` is `--attach a --attach b`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Every word up to the next option is an address."""
        return list(super().parse_args(ctx, spread(self, ctx, args, "--attach")))


app = typer.Typer(add_completion=False)


@app.command(
    "run",
    cls=_TakesAddresses,
    epilog=_EXAMPLES,
    short_help="record an unmodified program and print its report",
    context_settings={"allow_interspersed_args": False},
)
@takes(Recording)
@takes(Reading, "params bandwidth rules disable preview")
def run(
    *,
    command: TheCommand = None,
    recording: Recording,
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
    after_seconds = seconds_or_auto(recording.after)
    check_together(command, recording)
    options = reading.options()
    from tfadvisor.analysis import check_rules  # imports NumPy, as the options do

    check_rules(options)

    place = ReportPlace(form, output, details)
    if recording.attach:
        kept = _of_jobs(recording, after_seconds, options, place)
    else:
        kept = _of_program(command or (), recording, after_seconds, options, place)
    return 5 if kept.report.broken else 0


def check_together(command: Sequence[str] | None, recording: Recording) -> None:
    """Raises UsageError for options that do not go together."""
    check_can_start_programs()
    if recording.step.isdecimal():
        raise UsageError(
            f"--step-is {recording.step}: give the name or line of the step, as "
            "train_step or train.py:41. How many steps to record says --steps "
            f"{recording.step}."
        )
    if not recording.attach:
        if not command:
            raise UsageError(
                "COMMAND is missing: tfadvisor run -- python train.py, or for running "
                "jobs tfadvisor run --attach HOST:PORT"
            )
        return

    of_program = {
        "COMMAND": bool(command),
        "--step-is": bool(recording.step),
        "--then stop": recording.then == "stop",
        "--ablate": recording.ablate,
    }
    for name, given in of_program.items():
        if given:
            raise UsageError(
                f"{name} is about a program that is started here; --attach records "
                "jobs that run already."
            )


def _of_jobs(
    recording: Recording,
    after_seconds: float | None,
    options: Options,
    place: ReportPlace,
) -> KeptRun:
    """Records the jobs, which go on, and writes their report."""
    # imports NumPy, which no --help needs
    from tfadvisor.act.record import RecordRequest
    from tfadvisor.act.record.service import address_of, attached, client

    addresses = list(dict.fromkeys(map(address_of, recording.attach or ())))
    wanted = RecordRequest(after_seconds, recording.steps)
    with attached(addresses, wanted, options, client(), note) as recorded:
        kept = keep_recording(recorded, recording.out, options)
        write_kept(kept, options, place)
        note_kept(kept)
    return kept


def _of_program(
    command: Sequence[str],
    recording: Recording,
    after_seconds: float | None,
    options: Options,
    place: ReportPlace,
) -> KeptRun:
    """Starts the program, records it, writes its report, and waits for it to end.
    Raises KeyboardInterrupt where the user ended both.
    """
    # imports NumPy, which no --help needs
    from tfadvisor.act.record import RecordRequest, recorded_program

    wanted = RecordRequest(after_seconds, recording.steps, recording.step)
    stops = recording.ablate or recording.then == "stop"
    shown = place.is_screen or not recording.ablate
    with ExitStack() as stack:
        with LiveLine() as line:
            record = recorded_program(command, wanted, options, show=line.show)
            program, recorded = stack.enter_context(record)
        kept = keep_recording(recorded, recording.out, options, command)
        if stops:
            program.stop()
            kept = rated(kept, recording.out, options)
        try:
            if shown:
                write_kept(kept, options, place)
        finally:
            note_kept(kept)

        code = 0 if stops else program.let_run(kept.folder)
        if code:
            note(f"{' '.join(command)} ended with exit code {code}.")
        if program.program.interrupted:
            raise KeyboardInterrupt

    if recording.ablate:
        measured = _ablated(command, kept, options)
        if measured is not kept or not shown:
            write_kept(measured, options, place)
        return kept
    return kept if stops else _rated_at_last(kept, recording, options, place)


def _rated_at_last(
    kept: KeptRun, recording: Recording, options: Options, place: ReportPlace
) -> KeptRun:
    """With what is known only after the program has ended, which it says: there is a
    report without it, where the program took its recording away.
    """
    try:
        measured = rated(kept, recording.out, options, ran_on=True)
    except AdvisorError as error:
        note(f"what the whole run shows cannot be added: {error}")
        return kept
    if measured is not kept:
        note_light(measured)
        write_again(kept, measured, options, place)
    return measured


def _ablated(command: Sequence[str], kept: KeptRun, options: Options) -> KeptRun:
    """With what was measured in the report; as it was where nothing could be. Raises
    KeyboardInterrupt.
    """
    from tfadvisor.act.record import with_measured
    from tfadvisor.act.trial import (
        StopRequest,
        TrialRequest,
        measured_in,
        settings_of,
        try_out,
    )
    from tfadvisor.cli.commands.try_out import arm_shown, keep_in_ledger
    from tfadvisor.comparison.ledger import sketch_of
    from tfadvisor.report import advice

    times = kept.report.steps.time_ms
    settings = chain.from_iterable(map(settings_of, advice(kept.report)))
    wanted = TrialRequest(
        tuple(command),
        tuple(settings),
        _ABLATION_SECONDS,
        step_ms=times.median if times else None,
        ablate=True,
    )
    note(
        f"runs {' '.join(command)} again and again for up to "
        f"{_ABLATION_SECONDS / 60:g} minutes, with one part taken out."
    )

    stop = StopRequest()
    try:
        with stop.heeded(), arm_shown() as tell:
            result = try_out(wanted, stop, tell)
    except TraceError as error:
        note(f"no part was taken out: {error}")
        return kept
    note(f"by experiment: {result.profile}.")
    keep_in_ledger(result, sketch_of(kept.report), LEDGER)
    return with_measured(kept, options, measured_in(result))


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
