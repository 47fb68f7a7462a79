"""`tfadvisor analyze`: options, paths, output file. What is computed and how it looks
is decided elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from msgspec.structs import replace

from tfadvisor.cli.outputs import check_outside, check_page_has_a_file, note, write_form
from tfadvisor.cli.reading_options import (
    LEDGER,
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
    chosen_run,
    places,
    processes,
)
from tfadvisor.cli.recording import ReportPlace
from tfadvisor.cli.typer_commands import Command, option, takes
from tfadvisor.errors import UsageError
from tfadvisor.report import Report
from tfadvisor.report.forms import REPORT_FORMS, form_of
from tfadvisor.vocabulary import Severity

if TYPE_CHECKING:
    from tfadvisor.analysis import Options
    from tfadvisor.report.forms import Form
    from tfadvisor.trace import Run

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
Source = Annotated[
    Path | None,
    option(
        "--source",
        "DIR",
        "folder with the program's files: read, never run",
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


class Showing(msgspec.Struct, frozen=True, kw_only=True):
    """How the report is shown, as the options of the command say it."""

    format: ReportFormat = None
    output: Output = None
    details: Details = False
    open: Open = False

    @property
    def is_temporary(self) -> bool:
        """Whether it goes to a file that nobody named."""
        return self.open and self.output is None

    def place(self) -> ReportPlace:
        """Where it goes, and in which form. Raises UsageError for what does not go
        together.
        """
        output = self.output
        if self.is_temporary:
            import tempfile  # only --open needs it, and with it random and hashlib

            name = f"tfadvisor-{os.urandom(6).hex()}"
            output = Path(tempfile.gettempdir()) / name / "report.html"
        form = form_of(REPORT_FORMS, self.format, output)
        if self.open and not form.drawn:
            raise UsageError(
                f"--open shows a page, and {form.name} is none. Give -o report.html, "
                "or neither -o nor --format."
            )
        check_page_has_a_file(form, output, "report")
        return ReportPlace(form, output, self.details)


app = typer.Typer(add_completion=False)


@app.command(
    "analyze",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="where the step's time goes, why, and what to change",
)
@takes(Reading)
@takes(Showing)
def analyze(
    paths: Paths,
    reading: Reading,
    showing: Showing,
    source: Source = None,
    config: IgnoredBy = None,
    fail_on: FailOn = None,
    workers: Workers = None,
) -> int:
    """Say where the step's time goes, why, and what to change.

    Reads a trace that the TensorFlow or JAX profiler wrote; nothing is ever written
    beside it.
    """
    place = showing.place()
    options = replace(
        reading.options(),
        processes=processes(workers),
        ignored=_ignored(config, reading.rules or ()),
        ledger=LEDGER,
        source=source,
    )
    read = places(paths)
    chosen = chosen_run(read, options)
    if place.output is not None:
        check_outside(place.output, read, "--output")

    report, subject = _measured(chosen, options, place.form)
    _show(subject, place, showing)
    for broken in report.broken:
        note(f"{broken.name}: {broken.error}")
    return exit_code(report, Severity(fail_on) if fail_on else None)


def _show(subject: object, place: ReportPlace, showing: Showing) -> None:
    output = place.output
    if output is not None and showing.is_temporary:
        output.parent.mkdir(mode=0o700)  # not before: a failed analysis leaves nothing
    write_form(place.form, subject, output, **place.settings)
    if output is not None and showing.open:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())


_CONFIGURATIONS = ("tfadvisor.toml", "pyproject.toml")


def _ignored(config: Path | None, rules: Sequence[Path]) -> Mapping[str, str]:
    """What the configuration says to ignore. The gate's settings are loaded only where
    a file may hold some.

    Raises UsageError for one that cannot be used.
    """
    here = Path.cwd()
    folders = (here, *here.parents)
    if config is None and not any(_has_configuration(folder) for folder in folders):
        return {}
    from tfadvisor.comparison.gate.read_config import ignored_of_project

    return ignored_of_project(config, rules)


def _has_configuration(folder: Path) -> bool:
    return any((folder / name).is_file() for name in _CONFIGURATIONS)


def _measured(run: Run, options: Options, form: Form) -> tuple[Report, object]:
    """The report, and what the form is written from."""
    # imports NumPy, which no --help needs
    from tfadvisor.analysis import analyze_run, draw_run
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
    is_severe = worst is not None and fail_on is not None and worst.rank >= fail_on.rank
    if is_severe:
        return 1
    return 5 if report.broken else 0
