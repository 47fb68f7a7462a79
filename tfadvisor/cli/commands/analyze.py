"""`tfadvisor analyze`: options, paths, output file. What is computed and how it looks
is decided elsewhere.
"""

from __future__ import annotations

import os
import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from tfadvisor.cli.outputs import check_outside, check_page_has_a_file, note, write_form
from tfadvisor.cli.reading_options import (
    OUTPUT,
    RULES,
    Details,
    Output,
    Paths,
    Reading,
    ReportFormat,
    Workers,
    choice,
    chosen_run,
    places,
    processes,
)
from tfadvisor.cli.typer_commands import Command, option, takes
from tfadvisor.errors import UsageError
from tfadvisor.report.forms.form import REPORT_FORMS, form_of
from tfadvisor.report.model import Report
from tfadvisor.vocabulary import Severity

if TYPE_CHECKING:
    from tfadvisor.analysis import Options
    from tfadvisor.report.forms.form import Form
    from tfadvisor.trace.runs import Run

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
        names=[one.value for one in Severity],
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
    config: IgnoredBy = None,
    fail_on: FailOn = None,
    format: ReportFormat = None,
    output: Output = None,
    details: Details = False,
    open: Open = False,
    workers: Workers = None,
) -> int:
    """Say where the step's time goes, why, and what to change.

    Reads a trace that the TensorFlow or JAX profiler wrote; nothing is ever written
    beside it.
    """
    if temporary := open and output is None:
        output = (
            Path(tempfile.gettempdir())
            / f"tfadvisor-{os.urandom(6).hex()}"
            / "report.html"
        )
    form = form_of(REPORT_FORMS, format, output)
    if open and not form.drawn:
        raise UsageError(
            f"--open shows a page, and {form.name} is none. Give -o report.html, or "
            "neither -o nor --format."
        )
    check_page_has_a_file(form, output, "report")
    options = reading.options()
    options = replace(
        options,
        processes=processes(workers),
        ignored=_ignored(config, reading.rules or ()),
    )
    read = places(paths)
    chosen = chosen_run(read, options)
    if output is not None:
        check_outside(output, read, "--output")
    report, subject = _measured(chosen, options, form)
    if temporary and output is not None:
        output.parent.mkdir(
            mode=0o700
        )  # not before: what cannot be analysed leaves nothing
    write_form(
        form, subject, output, **({"details": details} if form.on_screen else {})
    )
    if open and output is not None:
        webbrowser.open(output.resolve().as_uri())
    for broken in report.broken:
        note(f"{broken.name}: {broken.error}")
    return exit_code(report, Severity(fail_on) if fail_on else None)


_CONFIGURATIONS = ("tfadvisor.toml", "pyproject.toml")


def _ignored(config: Path | None, rules: Sequence[Path]) -> Mapping[str, str]:
    """What the configuration says to ignore. The gate's settings are loaded only where
    a file may hold some.

    Raises UsageError for one that cannot be used.
    """
    here = Path.cwd()
    if config is None and not any(
        (one / name).is_file()
        for one in (here, *here.parents)
        for name in _CONFIGURATIONS
    ):
        return {}
    from tfadvisor.comparison.gate.read_config import ignored_of_project

    return ignored_of_project(config, rules)


def _measured(run: Run, options: Options, form: Form) -> tuple[Report, object]:
    """The report, and what the form is written from."""
    from tfadvisor.analysis import (
        analyze_run,
        draw_run,
    )  # imports NumPy, which no --help needs
    from tfadvisor.cli.recording import reading_progress

    with reading_progress(run) as progress:
        if form.drawn:
            page = draw_run(run, options, progress)
            return page.report, [page]
        report = analyze_run(run, options, progress)
        return report, report


def exit_code(report: Report, fail_on: Severity | None) -> int:
    """1 for a finding at the level, 5 when a rule or metric broke, else 0."""
    worst = report.worst()
    if fail_on is not None and worst is not None and worst.rank >= fail_on.rank:
        return 1
    return 5 if report.broken else 0
