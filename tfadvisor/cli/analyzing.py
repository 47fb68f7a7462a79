"""What `tfadvisor analyze` does once its options are known, and the plain ones of a
command line: Typer takes a tenth of a small trace's time, so that it reads the others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.cli.outputs import (
    ReportPlace,
    check_outside,
    check_page_has_a_file,
    note_broken,
    write_form,
)
from tfadvisor.cli.reading import LEDGER, chosen_run, places, reading_progress
from tfadvisor.errors import UsageError
from tfadvisor.report import Report
from tfadvisor.report.forms import REPORT_FORMS, form_of, names_of
from tfadvisor.vocabulary import Severity

if TYPE_CHECKING:
    from tfadvisor.analysis import Options
    from tfadvisor.report.forms import Form
    from tfadvisor.trace import Run


class Showing(msgspec.Struct, frozen=True, kw_only=True):
    """How the report is shown, as the options of the command say it."""

    format: str | None = None
    output: Path | None = None
    details: bool = False
    open: bool = False

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


_WITH_VALUE = {
    "--format": "format",
    "-f": "format",
    "--output": "output",
    "-o": "output",
}


def plain_analysis(arguments: Sequence[str]) -> tuple[list[str], Showing] | None:
    """(paths, how to show their report) of a command line that analyses paths with no
    other options than those of a form and a file; None for any other.
    """
    paths: list[str] = []
    given: dict[str, str] = {}
    words = iter(_words_of_analysis(arguments))
    for word in words:
        if word in _WITH_VALUE:
            given[_WITH_VALUE[word]] = next(words, "-")
        else:
            paths.append(word)
    details = "--details" in paths
    paths = [path for path in paths if path != "--details"]
    form, output = given.get("format"), given.get("output")
    are_plain = not any(text.startswith("-") for text in (*paths, *given.values()))
    if not paths or not are_plain or form not in (None, *names_of(REPORT_FORMS)):
        return None
    place = None if output is None else Path(output)
    return paths, Showing(format=form, output=place, details=details)


def _words_of_analysis(arguments: Sequence[str]) -> Sequence[str]:
    """What follows `analyze`, or a path in its place; nothing for other commands."""
    first = arguments[0] if arguments else ""
    if first == "analyze":
        return arguments[1:]
    is_path = "/" in first or first.endswith((".pb", ".pb.gz"))
    return arguments if is_path else ()


def analyze_plainly(paths: Sequence[str], showing: Showing) -> int:
    """As the command without any other option. Returns its exit code."""
    from tfadvisor.analysis import Options  # imports NumPy, which no --help needs

    options = Options(processes=os.cpu_count() or 1, ignored=ignored(None, ()))
    return analyze_paths(paths, options, showing)


def analyze_paths(
    paths: Sequence[str],
    options: Options,
    showing: Showing,
    fail_on: Severity | None = None,
) -> int:
    """Writes the report of the run that the paths hold. Returns the exit code."""
    place = showing.place()
    read = places(paths)
    options = msgspec.structs.replace(options, ledger=LEDGER)
    chosen = chosen_run(read, options)
    if place.output is not None:
        check_outside(place.output, read, "--output")

    report, subject = _measured(chosen, options, place.form)
    _show(subject, place, showing)
    note_broken(report)
    return exit_code(report, fail_on)


def _show(subject: object, place: ReportPlace, showing: Showing) -> None:
    output = place.output
    if output is not None and showing.is_temporary:
        output.parent.mkdir(mode=0o700)  # not before: a failed analysis leaves nothing
    write_form(place.form, subject, output, **place.settings)
    if output is not None and showing.open:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())


_CONFIGURATIONS = ("tfadvisor.toml", "pyproject.toml")


def ignored(config: Path | None, rules: Sequence[Path]) -> Mapping[str, str]:
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
