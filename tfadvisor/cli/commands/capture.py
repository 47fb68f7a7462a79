"""`tfadvisor capture`: options, addresses, what is written where. How it is recorded is
decided elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tfadvisor.cli.outputs import check_page_has_a_file, note
from tfadvisor.cli.reading_options import Details, Output, Reading, ReportFormat
from tfadvisor.cli.recording import (
    Out,
    StepCount,
    check_rules,
    keep_recording,
    note_kept,
    write_kept,
)
from tfadvisor.cli.typer_commands import Command, argument, takes
from tfadvisor.report.forms.forms import REPORT_FORMS, form_of

_EXAMPLES = """\
Examples:
  tfadvisor capture localhost:9999
  tfadvisor capture worker0:9999 worker1:9999 --steps 50 -o report.html

In the job, once, before it trains:
  jax.profiler.start_server(9999)
  tf.profiler.experimental.server.start(9999)

It looks first, as long as it takes to see steps repeat, then records them on all hosts at once. It needs grpcio, which
TensorBoard and most TensorFlow releases bring along: pip install 'tfadvisor[capture]'

Exit codes: 0 there is a report, 2 usage, 3 no trace came or it holds no steps, 5 a rule or metric broke."""

Addresses = Annotated[
    list[str],
    argument("HOST:PORT", "profiler servers of one job, all of which are recorded"),
]

app = typer.Typer(add_completion=False)


@app.command(
    "capture",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="record a running job and print its report",
)
@takes(Reading, "params bandwidth rules disable preview")
def capture(
    addresses: Addresses,
    *,
    steps: StepCount = 20,
    out: Out = Path("tfadvisor-run"),
    reading: Reading,
    format: ReportFormat = None,
    output: Output = None,
    details: Details = False,
) -> int:
    """Record a job through the profiler server that it has started, and say where its
    step's time goes.

    The job goes on; nothing of it changes.
    """
    form = form_of(REPORT_FORMS, format, output)
    check_page_has_a_file(form, output, "report")
    options = reading.options()
    check_rules(options)
    from tfadvisor.act.record.conduct import (
        Wanted,
    )  # imports NumPy, which no --help needs
    from tfadvisor.act.record.service import address_of, captured, client

    asked = list(dict.fromkeys(map(address_of, addresses)))
    with captured(asked, Wanted(None, steps), options, client(), note) as recorded:
        kept = keep_recording(recorded, out, options)
        write_kept(kept, form, output, options, details=details)
        note_kept(kept)
    return 5 if kept.report.broken else 0
