"""`tfadvisor baseline`: what is in a store of runs, and what comes into it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfadvisor.cli.outputs import (
    check_outside,
    note,
    write_json,
    write_out,
    write_output,
)
from tfadvisor.cli.reading import places
from tfadvisor.cli.reading_options import (
    BASELINE,
    OUTPUT,
    Config,
    Labels,
    Model,
    Reading,
    Store,
    one_format,
)
from tfadvisor.cli.typer_commands import Command, Commands, argument, option, takes
from tfadvisor.errors import TraceError, UsageError

if TYPE_CHECKING:
    from tfadvisor.comparison.baseline.store import Kept


_EXAMPLES = """\
Examples:
  tfadvisor baseline add logdir/ --store baselines --model resnet50
  tfadvisor baseline list --store baselines
  tfadvisor baseline show 20260131T120000 --store baselines
  tfadvisor baseline remove 20260131T120000 --store baselines
  tfadvisor baseline prune --keep 20 --store baselines
  tfadvisor baseline history --store baselines -o history.html
  tfadvisor baseline accept --store baselines --reason "larger batch"
  tfadvisor baseline accept logdir/ --store baselines --reason "larger batch"

accept without PATH takes what the gate judged last.

Exit codes: 0 fine, 2 usage or configuration, 3 a trace or the store cannot be
read, 4 a trace holds no step."""

Added = Annotated[
    list[str],
    argument("PATH", "logdirs (the newest run of each), runs, traces", path_type=str),
]
Accepted = Annotated[
    str | None,
    argument("PATH", "a run, instead of what the gate judged last", path_type=str),
]
Reason = Annotated[
    str,
    option(
        "--reason",
        "TEXT",
        "why the change is accepted; kept with the run",
        show_default=False,
    ),
]

Keep = Annotated[
    int | None, option("--keep", "N", "how many runs a baseline keeps (30)", BASELINE)
]
Format = Annotated[str | None, one_format(("text", "json"), "format")]

Page = Annotated[
    Path | None, option("--output -o", "FILE", "the page, one HTML file", OUTPUT)
]

_RUN = (
    "a run: the beginning of its file's name, fingerprint or commit, as `baseline "
    "list` shows them"
)
Named = Annotated[str, argument("RUN", _RUN)]
SeveralNamed = Annotated[list[str], argument("RUN", _RUN)]

app = typer.Typer(
    cls=Commands,
    help="Keep small snapshots of runs, never traces, for `tfadvisor gate` to compare "
    "with.",
    epilog=_EXAMPLES,
    short_help="the runs that the gate compares with",
    add_completion=False,
)


@app.command("add", cls=Command, short_help="add a run")
@takes(Reading, "run host steps params bandwidth rules preview")
def add_runs(
    paths: Added,
    *,
    store: Store = None,
    keep: Keep = None,
    reading: Reading,
    model: Model = None,
    label: Labels = None,
    config: Config = None,
) -> int:
    """Add a run's numbers to its baseline. The oldest beyond --keep are dropped."""
    from tfadvisor.cli import gate_inputs
    from tfadvisor.comparison.baseline.store import add
    from tfadvisor.comparison.baseline.store_text import line

    options = reading.options()
    written = gate_inputs.configured(config, reading.rules or ())
    labels = gate_inputs.labels_of(label or (), written.labels)
    reports = [gate_inputs.report_of([path], options) for path in places(paths)]
    snapshots = [
        gate_inputs.judged_snapshot(report, model or written.model, labels)
        for report in reports
    ]
    added, known = add(
        gate_inputs.store_of(store, written), snapshots, _kept(keep, written.keep)
    )
    for run in added:
        write_out(f"added {line(run)}\n")
    for run in known:
        note(f"{run.file}: this trace is in the baseline already.")
    return 0


@app.command("list", cls=Command, short_help="what a store holds")
def list_runs(
    format: Format = None,
    store: Store = None,
    model: Model = None,
    config: Config = None,
) -> int:
    """One line per run, the oldest first."""
    from tfadvisor.cli import gate_inputs
    from tfadvisor.comparison.baseline.store_text import entry, table

    folder = gate_inputs.store_at(store, config)
    runs, _ = _runs_of(folder, model)
    if format == "json":
        write_json([entry(kept) for kept in runs])
    else:
        write_out(table(runs))
    if not runs:
        note(f"{folder}: holds no run yet. `tfadvisor baseline add PATH` adds one.")
    return 0


@app.command("accept", cls=Command, short_help="take a changed run as the new level")
@takes(Reading, "run host steps params bandwidth rules preview")
def accept_run(
    *,
    path: Accepted = None,
    reason: Reason = "",
    store: Store = None,
    keep: Keep = None,
    reading: Reading,
    model: Model = None,
    label: Labels = None,
    config: Config = None,
) -> int:
    """Take a run as the new level: earlier runs still show how much runs differ, but no
    longer their level.
    """
    from tfadvisor.cli import gate_inputs
    from tfadvisor.comparison.baseline.store import accept, pending
    from tfadvisor.comparison.baseline.store_text import line

    options = reading.options()
    written = gate_inputs.configured(config, reading.rules or ())
    folder = gate_inputs.store_of(store, written)
    chosen_model = model or written.model
    if path is None:
        snapshots = pending(folder, chosen_model)
        if not snapshots:
            raise UsageError(
                f"{folder}: the gate left nothing to accept there. Give the run's PATH."
            )
    else:
        labels = gate_inputs.labels_of(label or (), written.labels)
        report = gate_inputs.report_of(places([path]), options)
        snapshots = [gate_inputs.judged_snapshot(report, chosen_model, labels)]
    for kept in accept(folder, snapshots, _kept(keep, written.keep), reason):
        write_out(f"accepted {line(kept)}\n")
    return 0


@app.command("show", cls=Command, short_help="the numbers of a run")
def show_run(
    name: Named, format: Format = None, store: Store = None, config: Config = None
) -> int:
    """Print where a run comes from, its step time, its findings and every metric that
    it holds.
    """
    from tfadvisor.cli import gate_inputs
    from tfadvisor.comparison.baseline.store import named
    from tfadvisor.comparison.baseline.store_text import entry, page

    (kept,) = named(gate_inputs.store_at(store, config), [name])
    side = kept.snapshot.side
    if format == "json":
        write_json(
            {**entry(kept), "metrics": dict(side.metrics), "units": dict(side.units)}
        )
    else:
        write_out(page(kept))
    return 0


@app.command("history", cls=Command, short_help="a page of step times over runs")
def history(
    store: Store = None, output: Page = None, model: Model = None, config: Config = None
) -> int:
    """Draw the runs of a store over time: the step and its classes, and where a change
    was accepted.

    One HTML file, which needs no network.
    """
    if output is None and sys.stdout.isatty():
        raise UsageError(
            "the history is a page for a browser. Give a file to write it to: -o "
            "history.html"
        )
    from tfadvisor.cli import gate_inputs
    from tfadvisor.comparison.baseline.history import as_html

    folder = gate_inputs.store_at(store, config)
    if output is not None:
        check_outside(output, [folder], "--output")
    runs, unusable = _runs_of(folder, model)
    if not runs:
        raise TraceError(
            str(folder),
            f"holds no run of {model}." if model else "holds no run yet.",
            "`tfadvisor baseline add PATH` adds one.",
        )
    page = as_html(str(folder), [kept.snapshot for kept in runs], unusable)
    if output is None:
        write_out(page, page=True)
    else:
        write_output(output, page, "--output")
        note(f"wrote {output} (html).")
    return 0


@app.command("remove", cls=Command, short_help="take runs out")
def remove_runs(names: SeveralNamed, store: Store = None, config: Config = None) -> int:
    """Take runs out of their baselines, such as one that was recorded on a busy
    machine.
    """
    from tfadvisor.cli import gate_inputs
    from tfadvisor.comparison.baseline.store import remove
    from tfadvisor.comparison.baseline.store_text import line

    for kept in remove(gate_inputs.store_at(store, config), names):
        write_out(f"removed {line(kept)}\n")
    return 0


@app.command("prune", cls=Command, short_help="drop the oldest runs")
def prune_runs(
    keep: Keep = None, store: Store = None, model: Model = None, config: Config = None
) -> int:
    """Drop the oldest runs of each baseline beyond --keep."""
    from tfadvisor.cli import gate_inputs
    from tfadvisor.comparison.baseline.store import prune
    from tfadvisor.comparison.baseline.store_text import line

    written = gate_inputs.configured(config)
    gone = prune(gate_inputs.store_of(store, written), _kept(keep, written.keep), model)
    for kept in gone:
        write_out(f"removed {line(kept)}\n")
    return 0


def _runs_of(folder: Path, model: str | None) -> tuple[list[Kept], int]:
    """A store's runs, of the model where one is named, and how many files of it cannot
    be used, which it says.
    """
    from tfadvisor.comparison.baseline.store import read_store

    contents = read_store(folder)
    for file, why in contents.unusable:
        note(f"{file}: left out: {why}.")
    runs = [kept for kept in contents.runs if model in (None, kept.snapshot.key.model)]
    return runs, len(contents.unusable)


def _kept(keep: int | None, configured: int) -> int:
    if keep is not None and not 1 <= keep <= 1000:
        raise UsageError(f"--keep {keep}: give a number from 1 to 1,000.")
    return keep or configured
