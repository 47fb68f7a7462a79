"""`tfadvisor baseline`: what is in a store of runs, and what comes into it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tfadvisor.cli.arguments import Parser
from tfadvisor.cli.outputs import note
from tfadvisor.cli.reading_options import add_identity_options, add_reading_options
from tfadvisor.errors import UsageError

if TYPE_CHECKING:
    from tfadvisor.gate.baseline.store import Kept

_DESCRIPTION = "Keep small snapshots of runs, never traces, for `tfadvisor gate` to compare with."
_EXAMPLES = """\
Examples:
  tfadvisor baseline add logdir/ --store baselines --model resnet50
  tfadvisor baseline list --store baselines
  tfadvisor baseline accept --store baselines --reason "larger batch"      what the gate judged last is the new level
  tfadvisor baseline accept logdir/ --store baselines --reason "larger batch"

Exit codes: 0 fine, 2 usage, 3 a trace cannot be read, 4 a trace holds no step."""


def add_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Adds `baseline` with add, list and accept."""
    parser = commands.add_parser(
        "baseline", help="the runs that the gate compares with", description=_DESCRIPTION, epilog=_EXAMPLES
    )
    below = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, prog="tfadvisor baseline")
    added = below.add_parser(
        "add",
        help="add a run",
        description="Add a run's numbers to its baseline. The oldest beyond --keep are dropped.",
    )
    added.set_defaults(call=add_runs)
    added.add_argument(
        "path", nargs="+", type=Path, metavar="PATH", help="logdirs (the newest run of each), runs, traces"
    )
    listed = below.add_parser("list", help="what a store holds", description="One line a run, the oldest first.")
    listed.set_defaults(call=list_runs)
    listed.add_argument("-f", "--format", choices=["text", "json"], default="text", help="form of the list (text)")
    accepted = below.add_parser(
        "accept",
        help="take a changed run as the new level",
        description="Take a run as the new level: earlier runs still tell how much runs differ, but no more where they lie.",
    )
    accepted.set_defaults(call=accept_run)
    accepted.add_argument(
        "path", nargs="?", type=Path, metavar="PATH", help="a run, instead of what the gate judged last"
    )
    accepted.add_argument("--reason", default="", metavar="TEXT", help="why the change is accepted; kept with the run")
    for one in (added, listed, accepted):
        one.add_argument("--store", type=Path, metavar="DIR", help="the store (.tfadvisor/baselines)")
    for one in (added, accepted):
        one.add_argument("--keep", type=int, metavar="N", help="how many runs a baseline keeps (10)")
        add_reading_options(one)
    for one in (added, listed, accepted):
        add_identity_options(one)


def add_runs(arguments: argparse.Namespace) -> int:
    """Adds each path's run."""
    from tfadvisor.cli import gate_inputs  # noqa: PLC0415
    from tfadvisor.gate.baseline.store import add  # noqa: PLC0415

    written = gate_inputs.written_config(arguments)
    model = arguments.model or written.layer.model
    labels = gate_inputs.labels_of(arguments.label, written.layer.labels)
    reports = [gate_inputs.report_of([path], arguments, arguments.run) for path in arguments.path]
    snapshots = [gate_inputs.judged_snapshot(report, model, labels) for report in reports]
    store = gate_inputs.store_of(arguments.store, written)
    added, known = add(store, snapshots, _keep(arguments, gate_inputs.keep_of(written)))
    for kept in added:
        sys.stdout.write(f"added {_line(kept)}\n")
    for kept in known:
        note(f"{kept.file}: this trace is in the baseline already.")
    return 0


def list_runs(arguments: argparse.Namespace) -> int:
    """One line a run."""
    from tfadvisor.cli import gate_inputs  # noqa: PLC0415
    from tfadvisor.gate.baseline.store import read_store  # noqa: PLC0415

    written = gate_inputs.written_config(arguments)
    store = gate_inputs.store_of(arguments.store, written)
    contents = read_store(store)
    runs = [kept for kept in contents.runs if arguments.model in (None, kept.snapshot.key.model)]
    if arguments.format == "json":
        import json  # noqa: PLC0415

        sys.stdout.write(json.dumps([_entry(kept) for kept in runs], indent=2) + "\n")
    else:
        sys.stdout.write("".join(f"{_line(kept)}\n" for kept in runs))
    for file, why in contents.unusable:
        note(f"{file}: left out: {why}.")
    if not runs:
        note(f"{store}: holds no run yet. `tfadvisor baseline add PATH` adds one.")
    return 0


def accept_run(arguments: argparse.Namespace) -> int:
    """Takes the path's run, or what the gate judged last, as the new level."""
    from tfadvisor.cli import gate_inputs  # noqa: PLC0415
    from tfadvisor.gate.baseline.store import accept, pending  # noqa: PLC0415

    written = gate_inputs.written_config(arguments)
    store = gate_inputs.store_of(arguments.store, written)
    model = arguments.model or written.layer.model
    if arguments.path is None:
        snapshots = pending(store, model)
        if not snapshots:
            raise UsageError(f"{store}: the gate left nothing to accept there. Give the run's PATH.")
    else:
        labels = gate_inputs.labels_of(arguments.label, written.layer.labels)
        report = gate_inputs.report_of([arguments.path], arguments, arguments.run)
        snapshots = [gate_inputs.judged_snapshot(report, model, labels)]
    added, _ = accept(store, snapshots, _keep(arguments, gate_inputs.keep_of(written)), arguments.reason)
    for kept in added:
        sys.stdout.write(f"accepted {_line(kept)}\n")
    return 0


def _keep(arguments: argparse.Namespace, configured: int) -> int:
    if arguments.keep is not None and not 1 <= arguments.keep <= 1000:
        raise UsageError(f"--keep {arguments.keep}: give a number from 1 to 1,000.")
    return arguments.keep or configured


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
