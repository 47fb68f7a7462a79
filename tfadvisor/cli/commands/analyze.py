"""`tfadvisor analyze`: options, paths, output file. What is computed and how it looks
is decided elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from tfadvisor.cli.analyzing import Showing, analyze_paths, ignored
from tfadvisor.cli.reading_options import (
    OUTPUT,
    RULES,
    WHAT,
    Details,
    Output,
    Paths,
    Reading,
    ReportFormat,
    Workers,
    choice,
    processes,
)
from tfadvisor.cli.typer_commands import Command, option, takes
from tfadvisor.program_files import check_program
from tfadvisor.vocabulary import Severity

_EXAMPLES = """\
Examples:
  tfadvisor analyze logdir/
  tfadvisor analyze logdir/ -o report.html
  tfadvisor analyze logdir/ --run 2026_01_31_12_00_00 --details
  tfadvisor analyze s3://bucket/logs
  tfadvisor analyze worker0.xplane.pb worker1.xplane.pb -o report.json
  tfadvisor analyze logdir/ --params 6.7B --bandwidth 300 --fail-on high

Exit codes: 0 fine, 1 a finding at --fail-on level, 2 usage, 3 nothing to
analyse, 5 a rule or metric broke."""

FailOn = Annotated[
    str | None,
    choice(
        "--fail-on",
        names=[severity.value for severity in Severity],
        metavar="LEVEL",
        help="exit with 1 if a finding is at least this severe",
        panel=RULES,
    ),
]
IgnoredBy = Annotated[
    Path | None,
    option(
        "--config",
        "FILE",
        "read what to ignore, [[ignore]], from FILE instead of the nearest "
        "tfadvisor.toml or pyproject.toml",
        RULES,
    ),
]
Source = Annotated[
    Path | None,
    option(
        "--source",
        "DIR",
        "the program: its folder, or its script, which is read with what it imports; "
        "never run",
        WHAT,
    ),
]
Open = Annotated[
    bool,
    option(
        "--open",
        "",
        "show the page in a browser; without -o it is a temporary file",
        OUTPUT,
    ),
]


app = typer.Typer(add_completion=False)


@app.command(
    "analyze",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="where the step's time goes, why, and what to change",
)
@takes(Reading)
def analyze(
    paths: Paths,
    reading: Reading,
    format: ReportFormat = None,
    output: Output = None,
    details: Details = False,
    open: Open = False,
    source: Source = None,
    config: IgnoredBy = None,
    fail_on: FailOn = None,
    workers: Workers = None,
) -> int:
    """Say where the step's time goes, why, and what to change.

    Reads a trace that the TensorFlow or JAX profiler wrote; nothing is ever written
    beside it.
    """
    if source is not None:
        check_program(source)
    options = replace(
        reading.options(),
        processes=processes(workers),
        ignored=ignored(config, reading.rules or ()),
        source=source,
    )
    showing = Showing(format=format, output=output, details=details, open=open)
    severity = Severity(fail_on) if fail_on else None
    return analyze_paths(paths, options, showing, severity)
