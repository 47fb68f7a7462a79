"""`tfadvisor fleet`: options, where runs are read, the table, and what is printed about
it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from tfadvisor.cli.outputs import check_outside, check_page_has_a_file, note, write_form
from tfadvisor.cli.reading import places
from tfadvisor.cli.reading_options import (
    WHAT,
    Disabled,
    Output,
    RuleFolders,
    Workers,
    one_format,
    processes,
)
from tfadvisor.cli.typer_commands import Command, argument, option, takes
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.fleet import FLEET_FORMS
from tfadvisor.report.forms import form_of, names_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfadvisor.fleet import Row, RunsFound, TableUpdate

_TABLE = ".parquet"
"""The suffix of a table."""
_MOST_NAMED = 5
_EXAMPLES = """\
Examples:
  tfadvisor fleet logs/                     what costs most, of every run below
  tfadvisor fleet logs/ -o fleet.html       the same as a page
  tfadvisor fleet logs/ -o runs.parquet     a row a run; only new ones next time
  tfadvisor fleet runs.parquet              what costs most, from such a table
  tfadvisor fleet gs://bucket/logs --labels '{team}/{model}' -o runs.parquet

A table needs: pip install 'tfadvisor[fleet]'

Exit codes: 0 fine (also where some runs have no report: their rows say why), 2
usage, 3 a source or the table cannot be read."""

Sources = Annotated[
    list[str],
    argument(
        "SOURCE",
        "folders with runs anywhere below, addresses of such, or tables that -o wrote",
        path_type=str,
    ),
]
LabelsBy = Annotated[
    str | None,
    option(
        "--labels",
        "TEMPLATE",
        "which folders below SOURCE name what, e.g. {team}/{model}/*/{job} ({model})",
        WHAT,
    ),
]
Format = Annotated[
    str | None, one_format(names_of(FLEET_FORMS), "format of the report")
]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """How runs are found and read, as the options of the command say it."""

    labels: LabelsBy = None
    rules: RuleFolders = None
    disable: Disabled = None
    workers: Workers = None


app = typer.Typer(add_completion=False)


@app.command(
    "fleet",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="many runs as one table, and what costs most",
)
@takes(Finding)
def fleet(
    sources: Sources, finding: Finding, format: Format = None, output: Output = None
) -> int:
    """Say what many runs lose: device-hours by cause, first finding, team and model. A
    run stands for its devices over one hour.

    With -o FILE.parquet it writes a row for every run below the sources instead:
    verdict, step time, classes, first finding, saving, devices. Runs that the table
    holds already are read again only when their files, tfadvisor or the rules have
    changed. A run that cannot be read is a row with its error.
    """
    found = places(sources)
    if output is not None:
        check_outside(output, found, "--output")
    if output is not None and output.suffix == _TABLE:
        return _write_table(found, finding, output)

    from tfadvisor.fleet import summed  # --help needs none of it

    form = form_of(FLEET_FORMS, format, output)
    check_page_has_a_file(form, output, "fleet")
    write_form(form, summed(_rows(found, finding)), output)
    return 0


def _write_table(sources: Sequence[Path], finding: Finding, output: Path) -> int:
    """Brings the table up to date, and says what was new."""
    from tfadvisor.fleet import arrow, bring_up_to_date
    from tfadvisor.timeline.run import LocalProcesses

    arrow()
    for source in sources:
        if source.suffix == _TABLE:
            raise UsageError(
                f"{source} is a table already. Give folders with runs, or for a report "
                "another -o."
            )
    known = _known(output)
    runs = _runs(sources, finding)
    engine = LocalProcesses(processes(finding.workers))
    with _progress() as done:
        update = bring_up_to_date(known, runs, engine, output, done)
    _say(update, output)
    return 0


def _rows(sources: Sequence[Path], finding: Finding) -> list[Row]:
    """Of tables their rows, and of folders a row a run, by place."""
    from tfadvisor.fleet import read_rows, read_table
    from tfadvisor.timeline.run import LocalProcesses

    rows: list[Row] = []
    folders: list[Path] = []
    for source in sources:
        if source.suffix == _TABLE:
            rows += read_table(source)
        else:
            folders.append(source)
    if folders:
        engine = LocalProcesses(processes(finding.workers))
        with _progress() as done:
            rows += read_rows(_runs(folders, finding), engine, done)
    by_place = {row.place: row for row in rows}  # a run may be in several sources
    return [by_place[place] for place in sorted(by_place)]


def _runs(folders: Sequence[Path], finding: Finding) -> RunsFound:
    """Raises TraceError for a folder that holds none."""
    from tfadvisor.fleet import HowToRead, Labels, find_tasks

    rules = [rule.absolute() if rule.is_dir() else rule for rule in finding.rules or ()]
    how = HowToRead(tuple(map(str, rules)), tuple(finding.disable or ()))
    return find_tasks(folders, Labels(finding.labels), how)


def _known(output: Path) -> tuple[Row, ...]:
    """The rows that are there. Raises UsageError where something else is called so."""
    from tfadvisor.fleet import read_table

    if not output.exists():
        return ()
    try:
        return read_table(output)
    except TraceError as error:
        raise UsageError(f"--output {error} Or give another name.") from error


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("runs", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _say(update: TableUpdate, output: Path) -> None:
    gone = f", {update.gone:,} of runs that are gone" if update.gone else ""
    failed = ""
    if update.failed:
        failed = f", {len(update.failed):,} of them without a report"
    note(
        f"{output}: {update.rows:,} rows{gone}; {update.read:,} runs were new or "
        f"changed{failed}."
    )
    for row in update.failed[:_MOST_NAMED]:
        note(f"{row.place}: {row.error}")
    more = len(update.failed) - _MOST_NAMED
    if more > 0:
        note(f"and {more:,} more: their rows have the column `error`.")
