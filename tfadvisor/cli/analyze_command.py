"""`tfadvisor analyze`: options, paths, output file. What is computed and how it looks is decided elsewhere."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tfadvisor.advise import Options, analyze_run
from tfadvisor.errors import UsageError
from tfadvisor.report.as_json import as_json
from tfadvisor.report.printable import printable
from tfadvisor.report_model import Report, Severity
from tfadvisor.xplane.runs import Run, choose_run

_LARGE = 64 << 20
_COUNT = re.compile(r"^(\d+(?:\.\d+)?)\s*([kKmMbBgGtT]?)$")
_THOUSANDS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}


class Format(str, Enum):
    """Forms of the report."""

    text = "text"
    json = "json"
    markdown = "markdown"


class Level(str, Enum):
    """Severities for --fail-on."""

    critical = "critical"
    high = "high"
    medium = "medium"
    low = "low"
    info = "info"


def analyze(
    path: Annotated[
        list[Path],
        typer.Argument(
            help="A logdir, a run folder, one *.xplane.pb (or .gz), or several hosts' files of one run.",
            metavar="PATH",
            readable=False,  # an unreadable path is told by who reads it, as every other bad input
        ),
    ],
    run: Annotated[str | None, typer.Option(help="The run to analyse instead of the newest.", metavar="NAME")] = None,
    host: Annotated[str | None, typer.Option(help="Only this host of the run.", metavar="NAME")] = None,
    format: Annotated[
        Format, typer.Option("--format", "-f", help="Form of the report on standard output.")
    ] = Format.text,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report to a file.", metavar="FILE")
    ] = None,
    details: Annotated[bool, typer.Option("--details", help="Text: every finding, fix, metric and step.")] = False,
    rules: Annotated[
        list[Path] | None, typer.Option(help="A folder with more rules; may be repeated.", metavar="DIR")
    ] = None,
    disable: Annotated[
        list[str] | None, typer.Option(help="A rule to leave out; may be repeated.", metavar="ID")
    ] = None,
    params: Annotated[str | None, typer.Option(help="Model parameters, as 110M or 6.7B.", metavar="N")] = None,
    bandwidth: Annotated[float | None, typer.Option(help="Bandwidth between devices, GB/s.", metavar="GB/S")] = None,
    fail_on: Annotated[Level | None, typer.Option(help="Exit with 1 if a finding is at least this severe.")] = None,
    steps: Annotated[
        str | None, typer.Option(help="Only steps A up to but not B, counted from 0.", metavar="A:B")
    ] = None,
) -> int:
    """Say where the step's time goes, why, and what to change.

    Reads a trace that the TensorFlow or JAX profiler wrote; nothing is ever written beside it.

    Examples:

      tfadvisor analyze logdir/

      tfadvisor analyze logdir/ --run 2026_01_31_12_00_00 --details

      tfadvisor analyze worker0.xplane.pb worker1.xplane.pb --format json -o report.json
    """
    options = Options(
        run=run,
        host=host,
        rules=tuple(rules or ()),
        disabled=tuple(disable or ()),
        parameters=_parameters(params),
        bandwidth_gb_s=_bandwidth(bandwidth),
        steps=_step_range(steps),
    )
    chosen, number = choose_run(path, run, host)
    if output is not None:
        _check_outside(output, path)
    if number > 1 and run is None:
        _note(f"{number:,} runs; this is the newest, {chosen.name}. --run NAME for another.")
    with _progress(chosen) as progress:
        report = analyze_run(chosen, options, progress)
    _write(report, format, output, details)
    for broken in report.broken:
        _note(f"{broken.name}: {broken.error}")
    return exit_code(report, Severity(fail_on.value) if fail_on else None)


def exit_code(report: Report, fail_on: Severity | None) -> int:
    """1 for a finding at the level, 5 when a rule or metric broke, else 0."""
    worst = report.worst()
    if fail_on is not None and worst is not None and worst.rank >= fail_on.rank:
        return 1
    return 5 if report.broken else 0


def _write(report: Report, format: Format, output: Path | None, details: bool) -> None:
    if format is Format.json:
        text = as_json(report)
    elif format is Format.markdown:
        from tfadvisor.report.markdown import as_markdown  # noqa: PLC0415

        text = as_markdown(report)
    else:
        from tfadvisor.report.terminal import as_text, print_report  # noqa: PLC0415  (rich, only when it prints)

        if output is None:
            print_report(report, sys.stdout, details=details)
            return
        text = as_text(report, details=details)
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        _replace_file(output, text)


def _replace_file(path: Path, text: str) -> None:
    """Written beside the target and renamed, so that a reader never sees half a report."""
    try:
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


def _parameters(text: str | None) -> int | None:
    if text is None:
        return None
    match = _COUNT.match(text.replace(",", "").replace("_", ""))
    if not match or float(match.group(1)) <= 0:
        raise UsageError(f"--params {text}: give a number of parameters, as 110M or 6700000000.")
    return round(float(match.group(1)) * _THOUSANDS[match.group(2).lower()])


def _bandwidth(value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise UsageError(f"--bandwidth {value}: give GB/s above 0.")
    return value


def _step_range(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.match(r"^(\d+)?:(\d+)?$", text)
    if not match:
        raise UsageError(f"--steps {text}: give a range as 2:8, 2: or :8.")
    first, last = match.groups()
    return int(first or 0), int(last) if last else sys.maxsize


@contextmanager
def _progress(run: Run) -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on a terminal while large files are read; nothing elsewhere."""
    size = sum(file.stat().st_size for file in run.files)
    if size < _LARGE or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks = {file.name: bar.add_task(printable(file.name), total=None) for file in run.files}
        yield lambda name, done, total: bar.update(tasks[name], completed=done, total=total)


def _note(message: str) -> None:
    sys.stderr.write(f"tfadvisor: {printable(message)}\n")
