"""What commands that record share: their options, and what becomes of a recording."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfadvisor.cli.option_values import choice
from tfadvisor.cli.outputs import note, write_form
from tfadvisor.cli.reading_options import OUTPUT
from tfadvisor.errors import UsageError
from tfadvisor.report.outputs.forms import REPORT_FORMS, Form, names_of

if TYPE_CHECKING:
    from tfadvisor.analysis import Options
    from tfadvisor.record.conduct import Recorded
    from tfadvisor.record.keep import Kept

RECORDING = "What to record"

StepCount = Annotated[
    int,
    typer.Option("--steps", metavar="N", min=2, help="minimum number of steps to record", rich_help_panel=RECORDING),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out", metavar="DIR", help="logdir to write the trace to", rich_help_panel=RECORDING, readable=False
    ),
]
Format = Annotated[
    str | None,
    choice("--format", "-f", names=names_of(REPORT_FORMS), help="format of the report (text)", panel=OUTPUT),
]
Details = Annotated[
    bool, typer.Option("--details", help="text: every finding, fix, metric and step", rich_help_panel=OUTPUT)
]


def check_rules(options: Options) -> None:
    """Before anything is started. Raises UsageError for rules and limits that are not there."""
    import tfadvisor.metrics  # noqa: F401  (registers every metric, which rules are checked against)
    from tfadvisor.engine.loading.catalogue import load_catalogue

    load_catalogue(options.rules, options.disabled, options.limits)


def keep_and_write(
    recorded: Recorded, out: Path, form: Form, output: Path | None, options: Options, *, details: bool
) -> Kept:
    """Keeps the traces in the logdir and writes the report. Raises UsageError for a place that takes none."""
    from tfadvisor.record.keep import keep  # imports NumPy, which no --help needs

    try:
        kept = keep(recorded, out, datetime.now())
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written: {error.strerror or error}.") from error
    write_form(form, _subject(kept, options, form), output, **({"details": details} if form.on_screen else {}))
    sys.stdout.flush()
    note(f"recorded in {kept.folder}")
    for broken in kept.report.broken:
        note(f"{broken.name}: {broken.error}")
    return kept


def _subject(kept: Kept, options: Options, form: Form) -> object:
    """What the form is written from."""
    if not form.drawn:
        return kept.report
    from msgspec.structs import replace

    from tfadvisor.analysis import draw_run
    from tfadvisor.xplane.runs import choose_run

    return [replace(draw_run(choose_run([kept.folder])[0], options), report=kept.report)]
