"""`tfadvisor analyze`: options, paths, output file. What is computed and how it looks is decided elsewhere."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfadvisor.advise import Options, analyze_run, draw_run
from tfadvisor.cli.arguments import Parser, gigabytes_per_second, parameter_count, step_range
from tfadvisor.errors import UsageError
from tfadvisor.read_hosts import Progress
from tfadvisor.report.printable import printable
from tfadvisor.report_model import Report, Severity
from tfadvisor.xplane.runs import Run, choose_run

_LARGE = 64 << 20
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
    parser.add_argument(
        "path",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="a logdir, a run folder, one *.xplane.pb (or .gz), or several hosts' files of one run",
    )
    chosen = parser.add_argument_group("what to analyse")
    chosen.add_argument("--run", metavar="NAME", help="the run to analyse instead of the newest")
    chosen.add_argument("--host", metavar="NAME", help="only this host of the run")
    chosen.add_argument("--steps", type=step_range, metavar="A:B", help="only steps A up to but not B, counted from 0")
    chosen.add_argument("--params", type=parameter_count, metavar="N", help="model parameters, as 110M or 6.7B")
    chosen.add_argument("--bandwidth", type=gigabytes_per_second, metavar="GB/S", help="bandwidth between devices")
    rules = parser.add_argument_group("rules")
    rules.add_argument(
        "--rules",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a folder with more rules, or an installed rule package; may be repeated",
    )
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
    options = Options(
        run=arguments.run,
        host=arguments.host,
        rules=tuple(arguments.rules),
        disabled=tuple(arguments.disable),
        parameters=arguments.params,
        bandwidth_gb_s=arguments.bandwidth,
        steps=arguments.steps,
        processes=os.cpu_count() or 1,
    )
    if arguments.format == "html" and arguments.output is None and sys.stdout.isatty():
        raise UsageError("--format html is a page for a browser. Give a file to write it to: -o report.html")
    chosen, number = choose_run(arguments.path, arguments.run, arguments.host)
    if arguments.output is not None:
        _check_outside(arguments.output, arguments.path)
    if number > 1 and arguments.run is None:
        _note(f"{number:,} runs; this is the newest, {chosen.name}. --run NAME for another.")
    if arguments.format == "html":
        report = _write_page(chosen, options, arguments.output)
    else:
        with _progress(chosen) as progress:
            report = analyze_run(chosen, options, progress)
        _write(report, arguments.format, arguments.output, details=arguments.details)
    for broken in report.broken:
        _note(f"{broken.name}: {broken.error}")
    return exit_code(report, Severity(arguments.fail_on) if arguments.fail_on else None)


def exit_code(report: Report, fail_on: Severity | None) -> int:
    """1 for a finding at the level, 5 when a rule or metric broke, else 0."""
    worst = report.worst()
    if fail_on is not None and worst is not None and worst.rank >= fail_on.rank:
        return 1
    return 5 if report.broken else 0


def _write_page(run: Run, options: Options, output: Path | None) -> Report:
    """Writes the page and returns the report in it."""
    from tfadvisor.report.html import as_html  # noqa: PLC0415

    with _progress(run) as progress:
        page = draw_run(run, options, progress)
    _put(as_html([page]), output)
    return page.report


def _write(report: Report, form: str, output: Path | None, *, details: bool) -> None:
    """Each form is imported only when it is asked for."""
    if form == "json":
        from tfadvisor.report.as_json import as_json  # noqa: PLC0415

        text = as_json(report)
    elif form == "markdown":
        from tfadvisor.report.markdown import as_markdown  # noqa: PLC0415

        text = as_markdown(report)
    else:
        from tfadvisor.report.terminal import as_text, print_report  # noqa: PLC0415

        if output is None:
            print_report(report, sys.stdout, details=details)
            return
        text = as_text(report, details=details)
    _put(text, output)


def _put(text: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(text)
    else:
        _replace_file(output, text)


def _replace_file(path: Path, text: str) -> None:
    """Written beside the target and renamed, so that a reader never sees half a report. A device or pipe stays one."""
    import tempfile  # noqa: PLC0415  (10 ms that only an output file needs)

    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"--output {path}: cannot be written: {error.strerror or error}.") from error


def _check_outside(output: Path, paths: list[Path]) -> None:
    target = output.resolve()
    for path in paths:
        folder = path.resolve()
        if target == folder or (folder.is_dir() and folder in target.parents):
            raise UsageError(
                f"--output {output} lies in {path}, and nothing is written into what is analysed. Give another place."
            )


@contextmanager
def _progress(run: Run) -> Iterator[Progress | None]:
    """A bar on a terminal while large files are read; nothing elsewhere."""
    if not sys.stderr.isatty() or sum(_size(file) for file in run.files) < _LARGE:
        yield None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        title = run.files[0].name if len(run.files) == 1 else f"{len(run.files)} hosts"
        task, done_of = bar.add_task(printable(title), total=len(run.files)), dict.fromkeys(run.files, 0.0)

        def show(file: Path, done: int, total: int) -> None:
            done_of[file] = done / max(total, 1)
            bar.update(task, completed=sum(done_of.values()))

        yield show


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # reading it will say what is wrong


def _note(message: str) -> None:
    sys.stderr.write(f"tfadvisor: {printable(message)}\n")
