"""`tfadvisor analyze`: options, paths, output file. What is computed and how it looks is decided elsewhere."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tfadvisor.api import Options, analyze_run, draw_run
from tfadvisor.cli.arguments import Parser
from tfadvisor.cli.outputs import check_outside, note, write_output
from tfadvisor.cli.progress import reading_progress
from tfadvisor.cli.reading_options import add_path, add_reading_options, chosen_run
from tfadvisor.errors import UsageError
from tfadvisor.report.model import Report
from tfadvisor.vocabulary import Severity
from tfadvisor.xplane.runs import Run

_DESCRIPTION = """\
Say where the step's time goes, why, and what to change.

Reads a trace that the TensorFlow or JAX profiler wrote; nothing is ever written beside it."""
_EXAMPLES = """\
Examples:
  tfadvisor analyze logdir/
  tfadvisor analyze logdir/ --format html -o report.html
  tfadvisor analyze logdir/ --run 2026_01_31_12_00_00 --details
  tfadvisor analyze worker0.xplane.pb worker1.xplane.pb --format json -o report.json
  tfadvisor analyze logdir/ --params 6.7B --bandwidth 300 --fail-on high

Exit codes: 0 fine, 1 a finding at --fail-on level, 2 usage, 3 nothing to analyse, 5 a rule or metric broke."""


def add_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Adds `analyze` with its options."""
    parser = commands.add_parser(
        "analyze",
        help="where the step's time goes, why, and what to change",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
    )
    parser.set_defaults(call=analyze)
    add_path(parser)
    rules = add_reading_options(parser)
    rules.add_argument(
        "--disable", action="append", default=[], metavar="ID", help="a rule to leave out; may be repeated"
    )
    rules.add_argument(
        "--fail-on", choices=[one.value for one in Severity], help="exit with 1 if a finding is at least this severe"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "-f", "--format", choices=["text", "json", "markdown", "html"], default="text", help="form of the report (text)"
    )
    output.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the report to a file instead of standard output"
    )
    output.add_argument("--details", action="store_true", help="text: every finding, fix, metric and step")


def analyze(arguments: argparse.Namespace) -> int:
    """Runs the command and returns its exit code."""
    if arguments.format == "html" and arguments.output is None and sys.stdout.isatty():
        raise UsageError("--format html is a page for a browser. Give a file to write it to: -o report.html")
    chosen, options = chosen_run(arguments.path, arguments, arguments.run)
    if arguments.output is not None:
        check_outside(arguments.output, arguments.path, "--output")
    if arguments.format == "html":
        report = _write_page(chosen, options, arguments.output)
    else:
        with reading_progress(chosen) as progress:
            report = analyze_run(chosen, options, progress)
        _write(report, arguments.format, arguments.output, details=arguments.details)
    for broken in report.broken:
        note(f"{broken.name}: {broken.error}")
    return exit_code(report, Severity(arguments.fail_on) if arguments.fail_on else None)


def exit_code(report: Report, fail_on: Severity | None) -> int:
    """1 for a finding at the level, 5 when a rule or metric broke, else 0."""
    worst = report.worst()
    if fail_on is not None and worst is not None and worst.rank >= fail_on.rank:
        return 1
    return 5 if report.broken else 0


def _write_page(run: Run, options: Options, output: Path | None) -> Report:
    """Writes the page and returns the report in it."""
    from tfadvisor.report.outputs.html import as_html  # noqa: PLC0415

    with reading_progress(run) as progress:
        page = draw_run(run, options, progress)
    write_output(output, as_html([page]), "--output")
    return page.report


def _write(report: Report, form: str, output: Path | None, *, details: bool) -> None:
    """Each form is imported only when it is asked for."""
    if form == "json":
        from tfadvisor.report.outputs.json_text import as_json  # noqa: PLC0415

        text = as_json(report)
    elif form == "markdown":
        from tfadvisor.report.outputs.markdown import as_markdown  # noqa: PLC0415

        text = as_markdown(report)
    else:
        from tfadvisor.report.outputs.terminal import as_text, print_report  # noqa: PLC0415

        if output is None:
            print_report(report, sys.stdout, details=details)
            return
        text = as_text(report, details=details)
    write_output(output, text, "--output")
