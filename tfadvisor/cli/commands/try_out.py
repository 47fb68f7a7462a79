"""`tfadvisor try`: what is tried, on which program, for how long; what is said before,
meanwhile and at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from tfadvisor.cli.outputs import note, write_out, write_output
from tfadvisor.cli.reading import LEDGER
from tfadvisor.cli.reading_options import (
    OUTPUT,
    Output,
    RuleFolders,
    one_format,
    seconds_in,
)
from tfadvisor.cli.recording import TheCommand, check_can_start_programs
from tfadvisor.cli.typer_commands import Command, option, takes
from tfadvisor.errors import NothingToCompare, UsageError
from tfadvisor.text_page import screen_of

if TYPE_CHECKING:
    from tfadvisor.act.trial import AskedFor, StopRequest, Tell, TrialResult

_EXAMPLES = """\
Examples:
  tfadvisor try --from logdir/ -- python train.py     every fix of a report
  tfadvisor try --from logdir/ --patch input-not-prefetched -- python train.py
  tfadvisor try --patch fix.diff -- python train.py   your own change
  tfadvisor try --env OMP_NUM_THREADS=4 -- python train.py
  tfadvisor try --ablate -- python train.py           what each part costs
  tfadvisor try --epochs --patch fix.diff -- python train.py  whole epochs
  tfadvisor try --passes --budget 30m -- python train.py

What it does: runs the program as it is and with each change, in turns, without
the profiler, until its steps are timed; then ends the run. Changes lie in an
overlay: no file of yours is written, and what the program itself overwrites or
removes is put back after each run. TFADVISOR_TRY=1 in its environment tells it.
What was measured goes into the ledger.

Exit codes: 0 a candidate is better, 1 none is, 2 usage, 3 the program failed or
never stepped, 4 cannot tell, or the report offers nothing to try, 130
interrupted (what was measured by then is printed), 143 terminated."""
TRYING = "What to try"
EXIT_CODES = {"winner": 0, "none better": 1, "cannot tell": 4}

Patches = Annotated[
    list[str] | None,
    option(
        "--patch",
        "ID|FILE.diff",
        "a diff, or a rule of the report given with --from; may be repeated",
        TRYING,
    ),
]
Settings = Annotated[
    list[str] | None,
    option(
        "--env",
        "NAME=VALUE",
        "a variable; may be repeated, each is a candidate",
        TRYING,
    ),
]
From = Annotated[
    Path | None,
    option(
        "--from",
        "PATH",
        "try the fixes of the findings in a logdir, a trace or a JSON report",
        TRYING,
    ),
]
Passes = Annotated[
    bool,
    option(
        "--passes",
        "",
        "switch off each XLA pass that changes the program, one at a time",
        TRYING,
    ),
]
Ablate = Annotated[
    bool,
    option(
        "--ablate",
        "",
        "what each part costs: take out input, callbacks, checkpoints, …, one at a "
        "time",
        TRYING,
    ),
]
Epochs = Annotated[
    bool,
    option(
        "--epochs",
        "",
        "time whole epochs: the steps with what lies between them, as evaluation and "
        "checkpoints",
        TRYING,
    ),
]
SourcePlace = Annotated[
    Path | None,
    option(
        "--source",
        "DIR",
        "where codemods look for the program (the script of the command, or the "
        "folder where you are)",
        TRYING,
        show_default=False,
    ),
]
Budget = Annotated[
    str, option("--budget", "TIME", "time limit for all runs: 90s, 10m, 2h")
]
LedgerFile = Annotated[
    Path, option("--ledger", "FILE", "file that keeps the measurements", OUTPUT)
]
Format = Annotated[str | None, one_format(("text", "json"), "format of the result")]


class Trying(msgspec.Struct, frozen=True, kw_only=True):
    """What is tried, and for how long, as the options of the command say it."""

    patch: Patches = None
    env: Settings = None
    from_: From = None
    ablate: Ablate = False
    passes: Passes = False
    epochs: Epochs = False
    source: SourcePlace = None
    budget: Budget = "10m"
    rules: RuleFolders = None

    @property
    def is_nothing(self) -> bool:
        """Whether no option asks for a candidate."""
        asked = (self.patch, self.env, self.from_, self.ablate, self.passes)
        return not any(asked)


app = typer.Typer(add_completion=False)


@app.command(
    "try",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="benchmark candidate changes against the unmodified program",
    context_settings={"allow_interspersed_args": False},
)
@takes(Trying)
def try_out(
    *,
    command: TheCommand,
    trying: Trying,
    ledger: LedgerFile = LEDGER,
    format: Format = None,
    output: Output = None,
) -> int:
    """Measure what changes are worth for your program, before you take one.

    The fixes of a report, your own patches, variables, XLA's passes: each is a
    candidate, and so are all changes at once, since one may hide what another saves.
    """
    check_can_start_programs()
    seconds = seconds_in(trying.budget)
    if trying.is_nothing:
        raise UsageError(
            "nothing to try: give --patch, --env, --from, --ablate or --passes."
        )
    from tfadvisor.act.trial import StopRequest

    wanted = _wanted(command, trying)
    stop = StopRequest()
    with stop.heeded(), arm_shown() as tell:
        result = _tried(wanted, command, trying, seconds, stop, tell)
    _write(result, format or _usual_format(output), output)
    keep_in_ledger(result, wanted.sketch, ledger)
    if stop.came:
        raise KeyboardInterrupt
    return EXIT_CODES[result.outcome]


def _wanted(command: Sequence[str], trying: Trying) -> AskedFor:
    from tfadvisor.act.trial import asked_for
    from tfadvisor.advice.loading.catalogue import codemods_by_rule
    from tfadvisor.cli.reading import bounded

    rules = trying.rules or []
    return asked_for(
        command,
        trying.patch or [],
        trying.env or [],
        trying.from_,
        trying.source,
        rules,
        partial(codemods_by_rule, rules),
        bounded,
        settings_only=trying.ablate and not trying.patch,
    )


def _usual_format(output: Path | None) -> str:
    return "json" if output is not None and output.suffix == ".json" else "text"


def _tried(
    wanted: AskedFor,
    command: Sequence[str],
    trying: Trying,
    seconds: float,
    stop: StopRequest,
    tell: Tell,
) -> TrialResult:
    from tfadvisor.act.trial import TrialRequest, pass_candidates, try_out

    candidates = wanted.candidates
    if not candidates and not trying.passes and not trying.ablate:
        raise NothingToCompare(
            str(wanted.origin),
            "its findings offer no change of this program.",
            "Make the change by hand, write `git diff > change.diff`, undo it with "
            "`git apply -R change.diff`, and give --patch change.diff; or give --env.",
        )
    note(
        f"runs {' '.join(command)} again and again for up to {_words(seconds)}, and "
        "ends each run when its steps are timed:"
        " what the program writes, it writes in each run (TFADVISOR_TRY=1 tells it)."
    )
    if trying.passes:
        candidates = (*candidates, *pass_candidates(command, seconds, stop, tell))
    arms = TrialRequest(
        tuple(command),
        candidates,
        seconds,
        step_ms=wanted.step_ms,
        ablate=trying.ablate,
        epochs=trying.epochs,
    )
    return try_out(arms, stop, tell, note)


def _words(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 120 else f"{seconds:g} seconds"


@contextmanager
def arm_shown() -> Iterator[Tell]:
    """Shows which arm runs, on a terminal."""
    if not sys.stderr.isatty():
        yield lambda words: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("") as status:
        yield lambda words: status.update(escape(words))


def _write(result: TrialResult, form: str, output: Path | None) -> None:
    from tfadvisor.act.trial import as_text
    from tfadvisor.report.forms import as_json

    if output is not None:
        write_output(
            output, as_json(result) if form == "json" else as_text(result), "--output"
        )
    elif form == "json":
        write_out(as_json(result), json=True)
    else:
        write_out(as_text(result, screen_of(sys.stdout)))
    sys.stdout.flush()


def keep_in_ledger(result: TrialResult, sketch: Sequence[int], ledger: Path) -> None:
    """Adds what was measured, and says how much came true of all that the ledger holds.
    sketch: of the program's report, empty without one.
    """
    from tfadvisor.act.trial import entries_of
    from tfadvisor.comparison.ledger import append, promises_words, read

    entries = entries_of(result, sketch)
    if not entries:
        return
    try:
        append(ledger, entries)
        promises = promises_words(read(ledger).entries)
    except OSError as error:
        note(f"--ledger {ledger}: nothing was kept: {error.strerror or error}.")
        return
    if promises:
        note(f"{ledger}: {promises}")
