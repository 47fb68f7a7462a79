"""`tfadvisor baseline`: what is in a store of runs, and what comes into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tfadvisor.cli.option_values import choice
from tfadvisor.cli.outputs import note, write_out
from tfadvisor.cli.reading_options import (
    BASELINE,
    OUTPUT,
    Bandwidth,
    Config,
    HostName,
    Labels,
    Model,
    Params,
    RuleFolders,
    RunName,
    Steps,
    places,
    reading,
)
from tfadvisor.cli.typer_commands import Command, Commands
from tfadvisor.errors import UsageError

if TYPE_CHECKING:
    from tfadvisor.gate.baseline.store import Kept

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
    typer.Argument(
        metavar="PATH",
        help="logdirs (the newest run of each), runs, traces",
        show_default=False,
        readable=False,
        path_type=str,
    ),
]
Accepted = Annotated[
    str | None,
    typer.Argument(
        metavar="PATH",
        help="a run, instead of what the gate judged last",
        show_default=False,
        readable=False,
        path_type=str,
    ),
]
Reason = Annotated[
    str,
    typer.Option("--reason", metavar="TEXT", help="why the change is accepted; kept with the run", show_default=False),
]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="the store (.tfadvisor/baselines)",
        rich_help_panel=BASELINE,
        readable=False,
        path_type=str,
    ),
]
Keep = Annotated[
    int | None,
    typer.Option("--keep", metavar="N", help="how many runs a baseline keeps (10)", rich_help_panel=BASELINE),
]
Format = Annotated[
    str | None, choice("--format", "-f", names=("text", "json"), help="format of the list (text)", panel=OUTPUT)
]

_RUN = "a run: the beginning of its file's name or of its fingerprint, as `baseline list` shows them"
Named = Annotated[str, typer.Argument(metavar="RUN", help=_RUN, show_default=False)]
SeveralNamed = Annotated[list[str], typer.Argument(metavar="RUN", help=_RUN, show_default=False)]

app = typer.Typer(
    cls=Commands,
    help="Keep small snapshots of runs, never traces, for `tfadvisor gate` to compare with.",
    epilog=_EXAMPLES,
    short_help="the runs that the gate compares with",
    add_completion=False,
    rich_markup_mode="rich",
)


@app.command("add", cls=Command, short_help="add a run")
def add_runs(
    paths: Added,
    store: Store = None,
    keep: Keep = None,
    run: RunName = None,
    host: HostName = None,
    steps: Steps = None,
    params: Params = None,
    bandwidth: Bandwidth = None,
    rules: RuleFolders = None,
    model: Model = None,
    label: Labels = None,
    config: Config = None,
) -> int:
    """Add a run's numbers to its baseline. The oldest beyond --keep are dropped."""
    from tfadvisor.cli import gate_inputs  # noqa: PLC0415
    from tfadvisor.gate.baseline.store import add  # noqa: PLC0415

    options = reading(run=run, host=host, steps=steps, params=params, bandwidth=bandwidth, rules=rules)
    written = gate_inputs.written_config(config, rules or ())
    labels = gate_inputs.labels_of(label or (), written.layer.labels)
    reports = [gate_inputs.report_of([path], options) for path in places(paths)]
    snapshots = [gate_inputs.judged_snapshot(report, model or written.layer.model, labels) for report in reports]
    added, known = add(gate_inputs.store_of(store, written), snapshots, _kept(keep, gate_inputs.keep_of(written)))
    for one in added:
        write_out(f"added {_line(one)}\n")
    for one in known:
        note(f"{one.file}: this trace is in the baseline already.")
    return 0


@app.command("list", cls=Command, short_help="what a store holds")
def list_runs(
    format: Format = None,
    store: Store = None,
    model: Model = None,
    label: Labels = None,
    config: Config = None,
) -> int:
    """One line per run, the oldest first."""
    from tfadvisor.cli import gate_inputs  # noqa: PLC0415
    from tfadvisor.gate.baseline.store import read_store  # noqa: PLC0415

    folder = gate_inputs.store_of(store, gate_inputs.written_config(config))
    contents = read_store(folder)
    runs = [kept for kept in contents.runs if model in (None, kept.snapshot.key.model)]
    if format == "json":
        import json  # noqa: PLC0415

        write_out(json.dumps([_entry(kept) for kept in runs], indent=2) + "\n", json=True)
    else:
        write_out("".join(f"{_line(kept)}\n" for kept in runs))
    for file, why in contents.unusable:
        note(f"{file}: left out: {why}.")
    if not runs:
        note(f"{folder}: holds no run yet. `tfadvisor baseline add PATH` adds one.")
    return 0


@app.command("accept", cls=Command, short_help="take a changed run as the new level")
def accept_run(
    path: Accepted = None,
    reason: Reason = "",
    store: Store = None,
    keep: Keep = None,
    run: RunName = None,
    host: HostName = None,
    steps: Steps = None,
    params: Params = None,
    bandwidth: Bandwidth = None,
    rules: RuleFolders = None,
    model: Model = None,
    label: Labels = None,
    config: Config = None,
) -> int:
    """Take a run as the new level: earlier runs still show how much runs differ, but no longer their level."""
    from tfadvisor.cli import gate_inputs  # noqa: PLC0415
    from tfadvisor.gate.baseline.store import accept, pending  # noqa: PLC0415

    options = reading(run=run, host=host, steps=steps, params=params, bandwidth=bandwidth, rules=rules)
    written = gate_inputs.written_config(config, rules or ())
    folder = gate_inputs.store_of(store, written)
    chosen_model = model or written.layer.model
    if path is None:
        snapshots = pending(folder, chosen_model)
        if not snapshots:
            raise UsageError(f"{folder}: the gate left nothing to accept there. Give the run's PATH.")
    else:
        labels = gate_inputs.labels_of(label or (), written.layer.labels)
        report = gate_inputs.report_of(places([path]), options)
        snapshots = [gate_inputs.judged_snapshot(report, chosen_model, labels)]
    added, _ = accept(folder, snapshots, _kept(keep, gate_inputs.keep_of(written)), reason)
    for kept in added:
        write_out(f"accepted {_line(kept)}\n")
    return 0


@app.command("show", cls=Command, short_help="the numbers of a run")
def show_run(name: Named, format: Format = None, store: Store = None, config: Config = None) -> int:
    """Print a run's key, its step time, and every metric that it holds."""
    from tfadvisor.cli import gate_inputs  # noqa: PLC0415
    from tfadvisor.gate.baseline.store import named  # noqa: PLC0415

    (kept,) = named(gate_inputs.store_of(store, gate_inputs.written_config(config)), [name])
    side = kept.snapshot.side
    if format == "json":
        import json  # noqa: PLC0415

        whole = {**_entry(kept), "metrics": dict(side.metrics), "units": dict(side.units)}
        write_out(json.dumps(whole, indent=2) + "\n", json=True)
        return 0
    from tfadvisor.units import Unit, in_words  # noqa: PLC0415

    write_out(f"{_line(kept)}\n")
    longest = max((len(one) for one in side.metrics), default=0)
    for metric, value in side.metrics.items():
        write_out(f"  {metric.ljust(longest)}  {in_words(value, Unit(side.units[metric]))}\n")
    return 0


@app.command("remove", cls=Command, short_help="take runs out")
def remove_runs(names: SeveralNamed, store: Store = None, config: Config = None) -> int:
    """Take runs out of their baselines, such as one that was recorded on a busy machine."""
    from tfadvisor.cli import gate_inputs  # noqa: PLC0415
    from tfadvisor.gate.baseline.store import remove  # noqa: PLC0415

    for kept in remove(gate_inputs.store_of(store, gate_inputs.written_config(config)), names):
        write_out(f"removed {_line(kept)}\n")
    return 0


@app.command("prune", cls=Command, short_help="drop the oldest runs")
def prune_runs(keep: Keep = None, store: Store = None, model: Model = None, config: Config = None) -> int:
    """Drop the oldest runs of each baseline beyond --keep."""
    from tfadvisor.cli import gate_inputs  # noqa: PLC0415
    from tfadvisor.gate.baseline.store import prune  # noqa: PLC0415

    written = gate_inputs.written_config(config)
    gone = prune(gate_inputs.store_of(store, written), _kept(keep, gate_inputs.keep_of(written)), model)
    for kept in gone:
        write_out(f"removed {_line(kept)}\n")
    return 0


def _kept(keep: int | None, configured: int) -> int:
    if keep is not None and not 1 <= keep <= 1000:
        raise UsageError(f"--keep {keep}: give a number from 1 to 1,000.")
    return keep or configured


def _line(kept: Kept) -> str:
    """`resnet50  jax  1 gpu NVIDIA H100  1 host  2026-01-31T12:00:00  38.9 ms  40 steps  level 0  baselines/…json`."""
    from tfadvisor.report.printable import one_line  # noqa: PLC0415
    from tfadvisor.units import duration  # noqa: PLC0415

    key, side = kept.snapshot.key, kept.snapshot.side
    parts = [
        key.model,
        key.framework,
        key.devices,
        f"{key.hosts} host{'s' if key.hosts != 1 else ''}",
        *(f"{name}={value}" for name, value in sorted(key.labels.items())),
        kept.snapshot.recorded_at[:19] or "undated",
        duration(side.median_ms),
        f"{side.steps} steps",
        f"level {kept.snapshot.level}",
        *([kept.snapshot.note] if kept.snapshot.note else []),
        str(kept.file),
    ]
    return "  ".join(one_line(part) for part in parts)


def _entry(kept: Kept) -> dict[str, object]:
    key, side = kept.snapshot.key, kept.snapshot.side
    return {
        "file": str(kept.file),
        "model": key.model,
        "framework": key.framework,
        "devices": key.devices,
        "hosts": key.hosts,
        "labels": dict(key.labels),
        "recorded_at": kept.snapshot.recorded_at,
        "added_at": kept.snapshot.added_at,
        "level": kept.snapshot.level,
        "note": kept.snapshot.note,
        "step_time_ms": side.median_ms,
        "steps": side.steps,
        "fingerprint": kept.snapshot.fingerprint,
    }
