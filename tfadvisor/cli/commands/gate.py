"""`tfadvisor gate`: options, paths, the store, files and streams. What is judged and
how it looks is decided elsewhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from tfadvisor.cli.gate_options import COMMAND, Judging
from tfadvisor.cli.outputs import (
    check_outside,
    check_page_has_a_file,
    note,
    write_form,
    write_output,
)
from tfadvisor.cli.reading import places
from tfadvisor.cli.reading_options import Config, PathsOrNone, Reading
from tfadvisor.cli.typer_commands import Command, spread, takes
from tfadvisor.comparison.gate.forms import FILES, VERDICT_FORMS
from tfadvisor.errors import UsageError
from tfadvisor.report.forms import Form, form_of

if TYPE_CHECKING:
    from tfadvisor.analysis import Options
    from tfadvisor.cli.gate_options import Turns
    from tfadvisor.comparison.baseline.snapshot import Snapshot
    from tfadvisor.comparison.gate.config import Config as Settings
    from tfadvisor.comparison.gate.result import GateResult
    from tfadvisor.report import Report

_EXAMPLES = """\
Examples:
  tfadvisor gate logdir/                         budgets of tfadvisor.toml
  tfadvisor baseline add logdir/                 after each good run of main
  tfadvisor gate logdir/ --baseline DIR          on a branch
  tfadvisor gate run1/ --candidates run2/ run3/  more runs see smaller changes
  tfadvisor gate logdir/ --junit gate.xml
  tfadvisor gate --against origin/main -- python train.py
  tfadvisor gate --check-config                  only check tfadvisor.toml

--against records both commits, in turns, for ten minutes at most.

tfadvisor.toml:
  preset = "recommended"            # or "none"
  [budgets]
  input_bound_fraction = "5%"
  [relative]
  step_time_ms = "3%"

Exit codes: 0 passed (warnings allowed), 1 failed, 2 usage or configuration, 3 a
trace cannot be read or a program failed, 4 not comparable or not enough data to
judge, 5 a rule or metric broke, 130 interrupted, 143 terminated."""


class Asked(msgspec.Struct, frozen=True):
    """What the command line asks for, with the configuration."""

    paths: Sequence[Path]
    against: Turns | None
    candidates: Sequence[Path]
    options: Options
    config: Settings
    form: Form
    judging: Judging


class _TakesSeveral(Command):
    """`--candidates a b c` is `--candidates a --candidates b --candidates c`; after
    `--` comes the command to record.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Every path up to the next option is a candidate. The command stays as it is
        written.
        """
        at = args.index("--") if "--" in args else len(args)
        if any(word.split("=")[0] == "--against" for word in args[:at]):
            args, ctx.meta[COMMAND] = args[:at], args[at + 1 :]
        return list(super().parse_args(ctx, spread(self, ctx, args, "--candidates")))


app = typer.Typer(add_completion=False)


@app.command(
    "gate",
    cls=_TakesSeveral,
    epilog=_EXAMPLES,
    short_help="pass or fail a run by budgets and baselines",
)
@takes(Reading, "run host steps params bandwidth rules preview")
@takes(Judging)
def gate(
    context: typer.Context,
    judging: Judging,
    reading: Reading,
    paths: PathsOrNone = None,
    config: Config = None,
) -> int:
    """Judge a run against budgets and against earlier runs, or what is checked out
    against another commit.

    Fails only what is over its limit and larger than what runs of an unchanged program
    show by chance. Says first how small a change it could have seen, and says `cannot
    tell` where that is larger than the limit.
    """
    from msgspec.structs import replace

    from tfadvisor.cli import gate_inputs
    from tfadvisor.cli.gate_options import asked_for

    settings = gate_inputs.configured(config, reading.rules or (), judging.preset)
    if judging.check_config:
        note(f"{settings.file}: fine.")
        return 0
    turns = asked_for(context, judging.against, judging.budget, judging.link)
    if not paths and turns is None:
        raise UsageError(
            "PATH is missing: the run to judge. Try 'tfadvisor gate --help'."
        )
    form = form_of(VERDICT_FORMS, judging.format, judging.output)
    options = reading.options()
    if (policy := judging.on_cannot_tell) is not None:
        settings = replace(settings, on_cannot_tell=policy, on_not_comparable=policy)
    return _gated(
        Asked(
            places(paths),
            turns,
            places(judging.candidates),
            options,
            settings,
            form,
            judging,
        )
    )


def _gated(asked: Asked) -> int:
    """Judges, writes, tells and keeps; the exit code."""
    from tfadvisor.cli.gate_inputs import labels_of
    from tfadvisor.cli.gate_options import judged_in_turns
    from tfadvisor.comparison.gate.places import with_places

    _check_outputs(asked)
    model = asked.judging.model or asked.config.model
    labels = labels_of(asked.judging.label or (), asked.config.labels)
    if asked.against is None:
        verdict, candidates, store = _judged(asked, model, labels)
    else:
        verdict = judged_in_turns(
            asked.against, asked.options, model, labels, asked.config
        )
    verdict = with_places(verdict, Path.cwd())
    _write(verdict, asked)
    _tell_github(verdict)
    if asked.against is None:
        _keep(verdict, candidates, store, asked)
    return verdict.exit_code


def _judged(
    asked: Asked, model: str | None, labels: Mapping[str, str]
) -> tuple[GateResult, list[Snapshot], Path]:
    """The verdict, the snapshots that it is about, and the store that it used."""
    from datetime import datetime, timezone

    from tfadvisor.cli import gate_inputs
    from tfadvisor.comparison.baseline.snapshot import choose
    from tfadvisor.comparison.gate.judge import judge

    config = asked.config
    reports = [gate_inputs.report_of(asked.paths, asked.options)]
    reports += [
        gate_inputs.report_of([path], gate_inputs.newest(asked.options))
        for path in asked.candidates
    ]
    candidates = [
        gate_inputs.judged_snapshot(report, model, labels) for report in reports
    ]
    reports, candidates = _without_copies(reports, candidates)
    store = gate_inputs.store_of(asked.judging.baseline, config)
    stored = gate_inputs.stored_runs(store, asked.options, model, labels)
    today = datetime.now(timezone.utc).date()
    return (
        judge(
            config, reports, candidates, choose(stored, candidates, config.keep), today
        ),
        candidates,
        store,
    )


def _without_copies(
    reports: Sequence[Report], candidates: Sequence[Snapshot]
) -> tuple[list[Report], list[Snapshot]]:
    """The same trace given twice counts once."""
    seen: set[str] = set()
    kept: list[tuple[Report, Snapshot]] = []
    for report, candidate in zip(reports, candidates, strict=True):
        if candidate.fingerprint in seen:
            note(
                f"{report.run.path} is a copy of another candidate and does not count."
            )
        else:
            kept.append((report, candidate))
        seen.add(candidate.fingerprint)
    return [report for report, _ in kept], [candidate for _, candidate in kept]


def _check_outputs(asked: Asked) -> None:
    check_page_has_a_file(asked.form, asked.judging.output, "gate")
    for option in ("output", *(form.name for form in FILES)):
        if (target := getattr(asked.judging, option)) is not None:
            check_outside(target, [*asked.paths, *asked.candidates], f"--{option}")


def _write(verdict: GateResult, asked: Asked) -> None:
    wrote = [
        (form, target)
        for form in FILES
        if (target := getattr(asked.judging, form.name)) is not None
    ]
    for form, target in wrote:
        write_output(target, form.write(verdict), f"--{form.name}")
    if wrote:
        note(f"wrote {', '.join(f'{target} ({form.name})' for form, target in wrote)}.")
    write_form(asked.form, verdict, asked.judging.output)


def _tell_github(verdict: GateResult) -> None:
    """Annotations on stderr, which the runner reads too, so that standard output stays
    what was asked for.
    """
    from tfadvisor.comparison.gate.forms.ci import workflow_commands
    from tfadvisor.comparison.gate.forms.pages import as_markdown

    if os.environ.get("GITHUB_ACTIONS") == "true":
        sys.stdout.flush()
        sys.stderr.write("".join(f"{line}\n" for line in workflow_commands(verdict)))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(as_markdown(verdict))
        except OSError as error:
            note(
                f"GITHUB_STEP_SUMMARY {summary}: cannot be written: "
                f"{error.strerror or error}."
            )


def _keep(
    verdict: GateResult, candidates: Sequence[Snapshot], store: Path, asked: Asked
) -> None:
    from tfadvisor.comparison.baseline.store import add, leave_pending
    from tfadvisor.comparison.gate.result import Outcome

    passed = verdict.outcome not in (Outcome.FAIL, Outcome.BROKEN)
    if asked.judging.add and passed:
        added, known = add(store, candidates, asked.config.keep)
        note(
            f"{len(added)} run{'s' if len(added) != 1 else ''} added to {store}, "
            f"{len(known)} there already."
        )
    if (
        not passed
        or verdict.exit_code
        or any(check.improved for check in verdict.checks)
    ):
        leave_pending(store, candidates[0])
