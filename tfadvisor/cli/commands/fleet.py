"""`tfadvisor fleet`: options, where runs are read, the table, and what is printed about
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfadvisor.cli.outputs import check_outside, check_page_has_a_file, note, write_form
from tfadvisor.cli.reading_options import (
    WHAT,
    Disabled,
    Output,
    RuleFolders,
    Workers,
    one_format,
    places,
    processes,
)
from tfadvisor.cli.typer_commands import Command, Commands, argument, option
from tfadvisor.errors import UsageError
from tfadvisor.fleet import FLEET_FORMS
from tfadvisor.report.forms import form_of, names_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfadvisor.fleet import Row, TableUpdate

_TABLE = "table"
_EXAMPLES = """\
Examples:
  tfadvisor fleet logs/ -o runs.parquet     a row for every run below
  tfadvisor fleet gs://bucket/logs --labels '{team}/{model}' -o runs.parquet
  tfadvisor fleet report runs.parquet       what costs most
  tfadvisor fleet report runs.parquet -o fleet.html

The next time only new runs are read. It needs: pip install 'tfadvisor[fleet]'

Exit codes: 0 fine (also where some runs have no report: their rows say why), 2
usage, 3 a source or the table cannot be read."""


class _TableOrReport(Commands):
    """`fleet SOURCE…` makes the table; the other commands read one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """A source in place of a command is for the table."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [_TABLE, *args]
        return list(super().parse_args(ctx, args))


Sources = Annotated[
    list[str],
    argument(
        "SOURCE",
        "folders with runs anywhere below, or addresses of such",
        path_type=str,
    ),
]
TableFile = Annotated[
    Path,
    option(
        "--output -o",
        "FILE",
        "the table, a Parquet file; what it holds already is kept",
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
TableRead = Annotated[
    str, argument("TABLE", "what `tfadvisor fleet` wrote", path_type=str)
]
Format = Annotated[
    str | None, one_format(names_of(FLEET_FORMS), "format of the report")
]

app = typer.Typer(
    cls=_TableOrReport,
    help="Many runs as one table, a row a run, and what they say the fleet loses.",
    epilog=_EXAMPLES,
    short_help="many runs as one table, and what costs most",
    add_completion=False,
)


@app.command(
    _TABLE,
    cls=Command,
    short_help="write or update the table (the word may be left out)",
)
def table(
    sources: Sources,
    output: TableFile,
    labels: LabelsBy = None,
    rules: RuleFolders = None,
    disable: Disabled = None,
    workers: Workers = None,
) -> int:
    """Write a row for every run below the sources: verdict, step time, classes, first
    finding, saving, devices.

    Runs that the table holds already are read again only when their files, tfadvisor or
    the rules have changed. A run that cannot be read is a row with its error.
    """
    from tfadvisor.fleet import HowToRead, Labels, arrow, bring_up_to_date, find_tasks
    from tfadvisor.timeline.run.local_processes import LocalProcesses

    arrow()
    found = places(sources)
    check_outside(output, found, "--output")
    known = _known(output)
    how = HowToRead(
        tuple(str(one.absolute() if one.is_dir() else one) for one in rules or ()),
        tuple(disable or ()),
    )
    runs = find_tasks(found, Labels(labels), how)
    with _progress() as done:
        outcome = bring_up_to_date(
            known, runs, LocalProcesses(processes(workers)), output, done
        )
    _tell(outcome, output)
    return 0


@app.command(
    "report", cls=Command, short_help="what costs the fleet most, from a table"
)
def report(table: TableRead, format: Format = None, output: Output = None) -> int:
    """Say what costs the fleet most device-hours: by cause, first finding, team and
    model; over time; what got worse.

    A run stands for its devices over one hour.
    """
    from tfadvisor.fleet import read_table, summed

    form = form_of(FLEET_FORMS, format, output)
    check_page_has_a_file(form, output, "fleet")
    (place,) = places([table])
    if output is not None:
        check_outside(output, [place], "--output")
    write_form(form, summed(read_table(place)), output)
    return 0


def _known(output: Path) -> tuple[Row, ...]:
    """The rows that are there. Raises UsageError where something else is called so."""
    from tfadvisor.errors import TraceError
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
    import sys

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


def _tell(outcome: TableUpdate, output: Path) -> None:
    failed = (
        f", {len(outcome.failed):,} of them without a report" if outcome.failed else ""
    )
    gone = f", {outcome.gone:,} of runs that are gone" if outcome.gone else ""
    note(
        f"{output}: {outcome.rows:,} rows{gone}; {outcome.read:,} runs were new or "
        f"changed{failed}."
    )
    for row in outcome.failed[:5]:
        note(f"{row.place}: {row.error}")
    if len(outcome.failed) > 5:
        note(
            f"and {len(outcome.failed) - 5:,} more: their rows have the column `error`."
        )
