"""`tfadvisor gate`: options, paths, the store, files and streams. What is judged and how it looks is decided elsewhere."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfadvisor.cli.arguments import Parser
from tfadvisor.cli.outputs import check_outside, note, write_output
from tfadvisor.cli.reading_options import add_identity_options, add_path, add_reading_options
from tfadvisor.errors import UsageError

if TYPE_CHECKING:
    from tfadvisor.gate.baseline.snapshot import Snapshot
    from tfadvisor.gate.config.resolved import Config, Written
    from tfadvisor.gate.judging.result import GateResult
    from tfadvisor.report.model import Report

_DESCRIPTION = """\
Judge a run against budgets and against earlier runs.

Fails only what is over its limit and larger than what runs of an unchanged program show by chance. Says first how small a
change it could have seen, and says `cannot tell` where that is larger than the limit."""
_EXAMPLES = """\
Examples:
  tfadvisor gate logdir/                                      budgets and rules of tfadvisor.toml
  tfadvisor baseline add logdir/ --store baselines            on the main branch, after each good run
  tfadvisor gate logdir/ --baseline baselines                 on a branch
  tfadvisor gate run1/ --candidates run2/ run3/ --baseline baselines      several runs see smaller changes
  tfadvisor gate logdir/ --baseline baselines --junit gate.xml --sarif gate.sarif --codequality gate.json
  tfadvisor gate --check-config                               only check tfadvisor.toml

tfadvisor.toml:
  preset = "recommended"            # or "strict", "none"
  [budgets]
  input_bound_fraction = "5 %"
  [relative]
  step_time_ms = "3 %"

Exit codes: 0 passed (warnings allowed), 1 failed, 2 usage or configuration, 3 a trace cannot be read, 4 not comparable or
not enough data to judge, 5 a rule or metric broke."""


def add_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Adds `gate` with its options."""
    parser = commands.add_parser(
        "gate", help="pass or fail a run by budgets and baselines", description=_DESCRIPTION, epilog=_EXAMPLES
    )
    parser.set_defaults(call=gate)
    add_path(parser, needed=False)
    parser.add_argument(
        "--candidates", nargs="+", type=Path, default=[], metavar="PATH", help="more runs of the same program as PATH"
    )
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="DIR",
        help="the store of earlier runs, or a logdir whose runs are taken as such (.tfadvisor/baselines)",
    )
    add_identity_options(parser)
    judging = parser.add_argument_group("how to judge")
    judging.add_argument("--preset", choices=["recommended", "strict", "none"], help="instead of the configuration's")
    judging.add_argument(
        "--on-inconclusive",
        choices=["pass", "warn", "fail"],
        help="what to do where the data do not decide: pass, warn, or exit with 4 (fail)",
    )
    judging.add_argument(
        "--add", action="store_true", help="add the runs to the baseline if the gate passes, and on a first run"
    )
    judging.add_argument("--check-config", action="store_true", help="check the configuration and do nothing else")
    add_reading_options(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "-f", "--format", choices=["text", "json", "markdown"], default="text", help="form of the verdict (text)"
    )
    output.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write it to a file instead of standard output"
    )
    output.add_argument("--junit", type=Path, metavar="FILE", help="JUnit XML: a test case a check")
    output.add_argument("--sarif", type=Path, metavar="FILE", help="SARIF 2.1.0, for code scanning")
    output.add_argument("--codequality", type=Path, metavar="FILE", help="Code Climate JSON, as GitLab reads it")


def gate(arguments: argparse.Namespace) -> int:
    """Runs the command and returns its exit code."""
    from tfadvisor.cli import gate_inputs  # noqa: PLC0415
    from tfadvisor.gate.config.read import read  # noqa: PLC0415

    written = read(
        gate_inputs.config_file(arguments.config), gate_inputs.known_names(arguments.rules), arguments.preset
    )
    if arguments.check_config:
        note(f"{written.file}: fine.")
        return 0
    if not arguments.path:
        raise UsageError("PATH is missing: the run to judge. Try 'tfadvisor gate --help'.")
    _check_outputs(arguments)
    verdict, candidates, store = _judged(arguments, written)
    _write(verdict, arguments)
    _tell_github(verdict)
    _keep(verdict, candidates, store, arguments, written)
    return verdict.exit_code


def _judged(arguments: argparse.Namespace, written: Written) -> tuple[GateResult, list[Snapshot], Path]:
    """The verdict, the snapshots that it is about, and the store that it used."""
    from datetime import datetime, timezone  # noqa: PLC0415

    from tfadvisor.cli import gate_inputs  # noqa: PLC0415
    from tfadvisor.gate.baseline.comparable_runs import choose  # noqa: PLC0415
    from tfadvisor.gate.judging.judge import judge  # noqa: PLC0415

    reports = [gate_inputs.report_of(arguments.path, arguments, arguments.run)]
    reports += [gate_inputs.report_of([path], arguments) for path in arguments.candidates]
    model = arguments.model or written.layer.model
    labels = gate_inputs.labels_of(arguments.label, written.layer.labels)
    candidates = [gate_inputs.judged_snapshot(report, model, labels) for report in reports]
    reports, candidates = _without_copies(reports, candidates)
    config = _config(written, reports[0], candidates[0], arguments.on_inconclusive)
    store = gate_inputs.store_of(arguments.baseline, written)
    stored = gate_inputs.stored_runs(store, arguments, model, labels)
    today = datetime.now(timezone.utc).date()
    return judge(config, reports, candidates, choose(stored, candidates, config.keep), today), candidates, store


def _without_copies(reports: Sequence[Report], candidates: Sequence[Snapshot]) -> tuple[list[Report], list[Snapshot]]:
    """The same trace given twice counts once."""

    seen: set[str] = set()
    kept: list[tuple[Report, Snapshot]] = []
    for report, candidate in zip(reports, candidates, strict=True):
        if candidate.fingerprint in seen:
            note(f"{report.run.path} is a copy of another candidate and does not count.")
        else:
            kept.append((report, candidate))
        seen.add(candidate.fingerprint)
    return [report for report, _ in kept], [candidate for _, candidate in kept]


def _config(written: Written, report: Report, candidate: Snapshot, on_inconclusive: str | None) -> Config:
    from msgspec.structs import replace  # noqa: PLC0415

    from tfadvisor.gate.config.resolved import Identity, resolve  # noqa: PLC0415

    devices = tuple(f"{device.kind} {device.model}".strip() for device in report.run.devices)
    config = resolve(written, Identity(candidate.key.model, report.run.name, report.run.hosts, devices))
    return replace(config, on_inconclusive=on_inconclusive) if on_inconclusive else config


def _check_outputs(arguments: argparse.Namespace) -> None:

    for option in ("output", "junit", "sarif", "codequality"):
        if (target := getattr(arguments, option)) is not None:
            check_outside(target, [*arguments.path, *arguments.candidates], f"--{option}")


def _write(verdict: GateResult, arguments: argparse.Namespace) -> None:
    from tfadvisor.gate.outputs.codequality import as_codequality  # noqa: PLC0415
    from tfadvisor.gate.outputs.junit import as_junit  # noqa: PLC0415
    from tfadvisor.gate.outputs.markdown import as_markdown  # noqa: PLC0415
    from tfadvisor.gate.outputs.sarif import as_sarif  # noqa: PLC0415
    from tfadvisor.gate.outputs.text import as_text, print_verdict  # noqa: PLC0415
    from tfadvisor.report.outputs.json_text import as_json  # noqa: PLC0415

    forms: dict[str, Callable[[GateResult], str]] = {"json": as_json, "markdown": as_markdown, "text": as_text}
    files: dict[str, Callable[[GateResult], str]] = {
        "junit": as_junit,
        "sarif": as_sarif,
        "codequality": as_codequality,
    }
    for option, form in files.items():
        if (target := getattr(arguments, option)) is not None:
            write_output(target, form(verdict), f"--{option}")
    if arguments.output is None and arguments.format == "text":
        print_verdict(verdict, sys.stdout)
    else:
        write_output(arguments.output, forms[arguments.format](verdict), "--output")


def _tell_github(verdict: GateResult) -> None:
    """Annotations on stderr, which the runner reads too, so that standard output stays what was asked for."""
    from tfadvisor.gate.outputs.github import workflow_commands  # noqa: PLC0415
    from tfadvisor.gate.outputs.markdown import as_markdown  # noqa: PLC0415

    if os.environ.get("GITHUB_ACTIONS") == "true":
        sys.stdout.flush()
        sys.stderr.write("".join(f"{line}\n" for line in workflow_commands(verdict)))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(as_markdown(verdict))
        except OSError as error:
            note(f"GITHUB_STEP_SUMMARY {summary}: cannot be written: {error.strerror or error}.")


def _keep(
    verdict: GateResult, candidates: Sequence[Snapshot], store: Path, arguments: argparse.Namespace, written: Written
) -> None:
    from tfadvisor.cli.gate_inputs import keep_of  # noqa: PLC0415
    from tfadvisor.gate.baseline.store import add, leave_pending  # noqa: PLC0415
    from tfadvisor.gate.judging.result import Outcome  # noqa: PLC0415

    passed = verdict.outcome in (Outcome.PASS, Outcome.WARN) and verdict.exit_code == 0
    if arguments.add and passed:
        added, known = add(store, candidates, keep_of(written))
        note(f"{len(added)} run{'s' if len(added) != 1 else ''} added to {store}, {len(known)} there already.")
    elif not passed:
        leave_pending(store, candidates[0])
