"""`tfadvisor fix`: patches to the user's program for what a trace shows, printed or
written.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfadvisor.cli.outputs import note, write_json
from tfadvisor.cli.reading import chosen_run, places
from tfadvisor.cli.reading_options import OUTPUT, WHAT, Paths, Reading, one_format
from tfadvisor.cli.typer_commands import Command, option, takes
from tfadvisor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfadvisor.act.repair import At, PatchPlan, Sources
    from tfadvisor.analysis import Options
    from tfadvisor.report import Report
    from tfadvisor.trace import Run

_EXAMPLES = """\
Examples:
  tfadvisor fix logdir/                              what would change: a diff
  tfadvisor fix logdir/ --source train.py | git apply
  tfadvisor fix logdir/ --source project/ --apply    write it
  tfadvisor fix logdir/ --rule input-not-prefetched  one finding alone
  tfadvisor fix logdir/ --at train.py:41             one place of several
  tfadvisor fix logdir/ --check -- python train.py   run it to its first steps

It reads the program where you are, or below --source. --apply wants a clean git
work tree; `git checkout .` undoes it. Each finding gets one change at most.
`mechanical`: derived from the source, results stay. `guess`: try it before you
keep it. A line on standard error says what changes in the results. docs/fix.md
lists every change.

Exit codes: 0 at least one change, 2 usage, 3 nothing to analyse, or with
--check a patched program that fails, 4 nothing to patch, or several places to
choose from."""
_COMMAND = "tfadvisor.command"
"""Where a context keeps what stands after `--`."""
_MOST_NAMED = 3
"""Files."""
_CHECK_SECONDS = 300.0
"""That a program may take to come to its first steps."""

Diff = Annotated[
    bool,
    option(
        "--diff",
        "",
        "print the changes as a unified diff (what happens without --apply)",
        OUTPUT,
    ),
]
Apply = Annotated[
    bool,
    option("--apply", "", "write the changes; wants a clean git work tree", OUTPUT),
]
Format = Annotated[
    str | None,
    one_format(("diff", "json"), "what is printed; json is the report with patches"),
]
RuleId = Annotated[
    list[str] | None,
    option("--rule", "ID", "only findings of this rule; may be repeated", WHAT),
]
SourcePlace = Annotated[
    Path,
    option(
        "--source",
        "DIR",
        "the program: a folder, or its script, which is read with what it imports "
        "(the folder where you are)",
        WHAT,
        show_default=False,
    ),
]
Check = Annotated[
    bool,
    option(
        "--check",
        "",
        "run the patched program, given after --, until its first steps are done; "
        "nothing is written",
        WHAT,
    ),
]
Chosen = Annotated[
    str | None,
    option("--at", "FILE:LINE", "the place to patch, where several fit", WHAT),
]

app = typer.Typer(add_completion=False)


class _TakesCommand(Command):
    """After `--` comes the command to check."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The command stays as it is written."""
        if "--" in args:
            at = args.index("--")
            args, ctx.meta[_COMMAND] = args[:at], args[at + 1 :]
        return list(super().parse_args(ctx, args))


@app.command(
    "fix",
    cls=_TakesCommand,
    epilog=_EXAMPLES,
    short_help="patches to your program for what a trace shows",
)
@takes(Reading, "run host rules")
def fix(
    context: typer.Context,
    paths: Paths,
    reading: Reading,
    rule: RuleId = None,
    source: SourcePlace = Path(),
    at: Chosen = None,
    diff: Diff = False,
    apply: Apply = False,
    check: Check = False,
    format: Format = None,
) -> int:
    """Change the program where a trace shows that it loses time.

    The report's findings tell which change and, where the trace knows files and lines,
    the place. Else the program is searched for the pattern of the fault. Where it is in
    several places, they are listed, and --at names one.
    """
    command = context.meta.get(_COMMAND, ())
    _check_together(command, diff=diff, apply=apply, check=check)
    # --help needs none of these
    from tfadvisor.act.repair import at_of, plan_words, read_sources, with_patches

    place = None if at is None else at_of(at)
    found = read_sources(source)
    options = reading.options()
    run = chosen_run(places(paths), options)
    sources = _that_ran(found, run)
    report = _analyzed(run, options)
    plan = _planned(report, options, sources, rule or (), place)
    for file in sources.left_alone:
        note(f"{file.name} is left alone: {file.why}")
    _say_what_is_not_noted(found, sources)

    broken = check and _is_broken(plan, sources, command)
    if apply and not broken:
        _write(plan, sources)
    elif format != "json":
        _print_diffs(plan, sources)
    if format == "json":
        write_json(with_patches(report, plan).to_dict())
    for line in plan_words(plan):
        note(line)
    if broken:
        return 3
    return 0 if plan.patched else 4


def _check_together(
    command: Sequence[str], *, diff: bool, apply: bool, check: bool
) -> None:
    """Raises UsageError for options that do not go together."""
    if diff and apply:
        raise UsageError("--diff prints and --apply writes. Give one of them.")
    if check != bool(command):
        raise UsageError(
            "--check and the command go together: tfadvisor fix logdir/ --check -- "
            "python train.py"
        )


def _that_ran(found: Sources, run: Run) -> Sources:
    from tfadvisor.trace.noted_sources import noted_beside

    noted = noted_beside(run.files)
    return found.that_ran([(file.file, file.sha256) for file in noted])


def _names(sources: Sources) -> list[str]:
    return [file.name for file in sources.files]


def _say_what_is_not_noted(found: Sources, ran: Sources) -> None:
    names = sorted(set(_names(found)) - set(_names(ran)))
    if not names:
        return
    shown = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    others = f" and {more:,} more" if more > 0 else ""
    note(f"not noted by the recording, and left alone: {shown}{others}.")


def _analyzed(run: Run, options: Options) -> Report:
    from tfadvisor.analysis import analyze_run
    from tfadvisor.cli.reading import reading_progress

    with reading_progress(run) as progress:
        return analyze_run(run, options, progress)


def _planned(
    report: Report,
    options: Options,
    sources: Sources,
    rules: Sequence[str],
    place: At | None,
) -> PatchPlan:
    from tfadvisor.act.repair import plan_of
    from tfadvisor.advice.loading.catalogue import codemods_by_rule

    codemods = codemods_by_rule(options.rules)
    return plan_of(report, codemods, sources, rules, place)


def _is_broken(plan: PatchPlan, sources: Sources, command: Sequence[str]) -> bool:
    """Whether the patched program fails in its first steps, which it says. Ctrl-C ends
    it and this.
    """
    from tfadvisor.act.trial import StopRequest, first_broken

    patches = _patches(plan, sources)
    if not patches:
        return False
    stop = StopRequest()
    with stop.heeded():
        broken = first_broken(command, patches, _CHECK_SECONDS, stop)
    if broken is None:
        note("checked: the patched program comes through its first steps.")
        return False

    name, why = broken
    if name:
        note(f"{name}: the patched program fails: {why}.")
    else:
        note(f"the program fails without any patch: {why}.")
    return True


def _patches(plan: PatchPlan, sources: Sources) -> list[tuple[str, dict[str, str]]]:
    """Of each rule in turn, every file that is patched by then."""
    paths = {file.name: str(file.path) for file in sources.files}
    texts: dict[str, str] = {}
    patches: list[tuple[str, dict[str, str]]] = []
    for step in plan.patched:
        if step.text:
            texts = {**texts, paths[step.patch.file]: step.text}
            patches.append((step.rule_id, texts))
    return patches


def _write(plan: PatchPlan, sources: Sources) -> None:
    from tfadvisor.act.repair.applying import check_clean, write

    if plan.texts:
        check_clean(sources, tuple(plan.texts))
        write(sources, plan.texts)
    _print_launch_lines(plan)


def _print_diffs(plan: PatchPlan, sources: Sources) -> None:
    """In each file's own encoding, so that the diff can be applied."""
    files = {file.name: file for file in sources.files}
    sys.stdout.flush()
    for patched in plan.patched:
        if patched.text:
            sys.stdout.buffer.write(
                files[patched.patch.file].encoded(patched.patch.diff)
            )
    sys.stdout.buffer.flush()
    _print_launch_lines(plan)


def _print_launch_lines(plan: PatchPlan) -> None:
    for patched in plan.patched:
        if not patched.text:
            sys.stdout.write(
                f"# {patched.rule_id}: before the line that launches the program\n"
                f"{patched.patch.diff}"
            )
