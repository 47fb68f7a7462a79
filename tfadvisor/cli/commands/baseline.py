"""`tfadvisor baseline`: what is in a store of runs, and what comes into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tfadvisor.cli.outputs import note, write_json, write_out
from tfadvisor.cli.reading_options import (
    BASELINE,
    Config,
    Labels,
    Model,
    Reading,
    Store,
    one_format,
    places,
)
from tfadvisor.cli.typer_commands import Command, Commands, argument, option, takes
from tfadvisor.errors import UsageError
from tfadvisor.printable import cut, one_line, plain
from tfadvisor.units import Unit, duration, in_words

if TYPE_CHECKING:
    from tfadvisor.comparison.baseline.store import Kept


_EXAMPLES = """\
Examples:
  tfadvisor baseline add logdir/ --store baselines --model resnet50
  tfadvisor baseline list --store baselines
  tfadvisor baseline show 20260131T120000 --store baselines
  tfadvisor baseline remove 20260131T120000 --store baselines
  tfadvisor baseline prune --keep 20 --store baselines
  tfadvisor baseline accept --store baselines --reason "larger batch"      what the gate judged last is the new level
  tfadvisor baseline accept logdir/ --store baselines --reason "larger batch"

Exit codes: 0 fine, 2 usage, 3 a trace cannot be read, 4 a trace holds no step."""

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
Format = Annotated[
    str | None, one_format(("text", "json"), "format of the list (text)")
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
    for one in added:
        write_out(f"added {line(one)}\n")
    for one in known:
        note(f"{one.file}: this trace is in the baseline already.")
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
    from tfadvisor.comparison.baseline.store import read_store

    folder = gate_inputs.store_of(store, gate_inputs.configured(config))
    contents = read_store(folder)
    runs = [kept for kept in contents.runs if model in (None, kept.snapshot.key.model)]
    if format == "json":
        write_json([entry(kept) for kept in runs])
    else:
        write_out(table(runs))
    for file, why in contents.unusable:
        note(f"{file}: left out: {why}.")
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

    (kept,) = named(gate_inputs.store_of(store, gate_inputs.configured(config)), [name])
    side = kept.snapshot.side
    if format == "json":
        write_json(
            {**entry(kept), "metrics": dict(side.metrics), "units": dict(side.units)}
        )
    else:
        write_out(page(kept))
    return 0


@app.command("remove", cls=Command, short_help="take runs out")
def remove_runs(names: SeveralNamed, store: Store = None, config: Config = None) -> int:
    """Take runs out of their baselines, such as one that was recorded on a busy
    machine.
    """
    from tfadvisor.cli import gate_inputs
    from tfadvisor.comparison.baseline.store import remove

    for kept in remove(
        gate_inputs.store_of(store, gate_inputs.configured(config)), names
    ):
        write_out(f"removed {line(kept)}\n")
    return 0


@app.command("prune", cls=Command, short_help="drop the oldest runs")
def prune_runs(
    keep: Keep = None, store: Store = None, model: Model = None, config: Config = None
) -> int:
    """Drop the oldest runs of each baseline beyond --keep."""
    from tfadvisor.cli import gate_inputs
    from tfadvisor.comparison.baseline.store import prune

    written = gate_inputs.configured(config)
    gone = prune(gate_inputs.store_of(store, written), _kept(keep, written.keep), model)
    for kept in gone:
        write_out(f"removed {line(kept)}\n")
    return 0


def _kept(keep: int | None, configured: int) -> int:
    if keep is not None and not 1 <= keep <= 1000:
        raise UsageError(f"--keep {keep}: give a number from 1 to 1,000.")
    return keep or configured


# A store's runs as a table with a head, or as records.

_WIDEST = 40


def table(runs: Sequence[Kept]) -> str:
    """One line a run below a head; columns that hold nothing in any run are
    left out.
    """
    rows = [{"RUN": kept.file.stem, **_row(kept)} for kept in runs]
    columns = [
        one for one in (rows[0] if rows else ()) if any(row[one] for row in rows)
    ]
    lines = [columns, *([row[one] for one in columns] for row in rows)] if rows else []
    width = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    padded = (
        (cell.ljust(most) for cell, most in zip(line, width, strict=True))
        for line in lines
    )
    return "".join("  ".join(line).rstrip() + "\n" for line in padded)


def line(kept: Kept) -> str:
    """`resnet50  2026-01-31 12:00  38.9 ms  level 0  baselines/…json`: one run, for a message."""
    row = _row(kept)
    words = (
        row["MODEL"],
        row["RECORDED"],
        row["STEP"],
        f"level {row['LEVEL']}",
        one_line(str(kept.file)),
    )
    return "  ".join(one for one in words if one)


def page(kept: Kept) -> str:
    """One run: where it comes from, its findings, its metrics."""
    side = kept.snapshot.side
    told = {
        name: str(value)
        for name, value in entry(kept).items()
        if value and name != "findings"
    }
    lines = [f"{name.ljust(12)}  {one_line(words)}" for name, words in told.items()] + [
        ""
    ]
    for one in side.findings:
        lines.append(one_line(f"{one.severity}: {one.title} ({one.rule_id})"))
    longest = max((len(one) for one in side.metrics), default=0)
    lines += [
        "",
        *(
            f"{one.ljust(longest)}  {_amount(value, side.units[one])}"
            for one, value in side.metrics.items()
        ),
    ]
    return "".join(f"{line}\n" for line in lines)


def _amount(value: float, unit: str) -> str:
    """A newer version may have units that this one does not know."""
    return (
        in_words(value, Unit(unit))
        if unit in {one.value for one in Unit}
        else one_line(f"{value:.6g} {unit}")
    )


def entry(kept: Kept) -> dict[str, object]:
    """One run for programs; times in ms."""
    snapshot, side = kept.snapshot, kept.snapshot.side
    return {
        "file": str(kept.file),
        **plain(snapshot.key),
        "recorded_at": snapshot.recorded_at,
        "added_at": snapshot.added_at,
        **plain(snapshot.origin),
        "level": snapshot.level,
        "note": snapshot.note,
        "step_time_ms": side.median_ms,
        "steps": side.steps,
        "findings": [
            {"rule_id": one.rule_id, "severity": one.severity, "place": one.place}
            for one in side.findings
        ],
        "fingerprint": snapshot.fingerprint,
    }


def _row(kept: Kept) -> dict[str, str]:
    key, side, origin = kept.snapshot.key, kept.snapshot.side, kept.snapshot.origin
    words = {
        "MODEL": key.model,
        "RECORDED": kept.snapshot.recorded_at[:16].replace("T", " "),
        "COMMIT": origin.commit[:10],
        "BRANCH": origin.branch,
        "MACHINE": origin.machine,
        "DEVICES": f"{key.devices} on {key.hosts} hosts"
        if key.hosts > 1
        else key.devices,
        "FRAMEWORK": key.framework,
        "LABELS": ", ".join(
            f"{one}={value}" for one, value in sorted(key.labels.items())
        ),
        "STEP": duration(side.median_ms),
        "STEPS": str(side.steps),
        "LEVEL": str(kept.snapshot.level),
        "NOTE": kept.snapshot.note,
    }
    return {one: cut(one_line(value), _WIDEST) for one, value in words.items()}
