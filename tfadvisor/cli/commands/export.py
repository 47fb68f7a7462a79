"""`tfadvisor export`: options, paths, where it is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfadvisor.cli.outputs import check_outside, note, note_broken, write_out
from tfadvisor.cli.reading import chosen_run, places
from tfadvisor.cli.reading_options import OUTPUT, Paths, Reading, choice
from tfadvisor.cli.typer_commands import Command, option, takes
from tfadvisor.errors import TraceError, UsageError, written
from tfadvisor.printable import one_line

if TYPE_CHECKING:
    from tfadvisor.analysis import Options
    from tfadvisor.report import Report
    from tfadvisor.serve import Profile
    from tfadvisor.trace import Run


_EXAMPLES = """\
Examples:
  tfadvisor export logdir/ --to perfetto
  tfadvisor export logdir/ --to perfetto -o run.pftrace
  tfadvisor export logdir/ --to perfetto -o run.pftrace.gz   a fifth as large
  tfadvisor export logdir/ --host worker3 --to perfetto -o worker3.pftrace
  tfadvisor export logdir/ --to pgle -o run.pgle.pb
  tfadvisor export run1/ run2/ run3/ --to pgle -o run.pgle.pb

Exit codes: 0 fine, 2 usage, 3 nothing to export, 5 a rule or metric broke."""

_ENDINGS = {"perfetto": "pftrace", "pgle": "pgle.pb"}

To = Annotated[
    str,
    choice(
        "--to",
        names=tuple(_ENDINGS),
        metavar="FORM",
        help="what to write",
        panel=OUTPUT,
    ),
]
Target = Annotated[
    Path | None,
    option(
        "--output -o",
        "FILE",
        "the file, packed if it ends in .gz "
        "(RUN.pftrace or RUN.pgle.pb, where you are)",
        OUTPUT,
    ),
]
app = typer.Typer(add_completion=False)


@app.command(
    "export",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="a timeline for Perfetto, or a profile for XLA",
)
@takes(Reading, "run host steps params bandwidth rules preview")
def export(paths: Paths, to: To, *, output: Target = None, reading: Reading) -> int:
    """Write a run for other tools: a timeline with the findings marked, or a profile
    for XLA's scheduler.

    perfetto: every event of every host thread and device stream, and above them the
    steps, where their time goes, and a track a finding with its evidence and fixes.
    Open it at https://ui.perfetto.dev, which reads it inside the browser and sends it
    nowhere, or with the Python package perfetto.

    pgle: what each XLA instruction took on the GPUs, for profile-guided latency
    estimation: with it XLA's latency-hiding scheduler knows how much compute hides
    which communication. Of several traces, runs or hosts, the 90th percentile of each
    instruction's costs. Prints the line that uses it.
    """
    options = reading.options()
    read = places(paths)
    if to == "pgle":
        return _to_pgle(read, options, output)
    chosen = chosen_run(read, options)
    target = output or _new_name(chosen, to)
    check_outside(target, read, "--output")
    with written(f"--output {target}"):
        report = _to_perfetto(chosen, options, target)
    note(f"wrote {target}.")
    note_broken(report)
    return 5 if report.broken else 0


def _new_name(run: Run, form: str) -> Path:
    """Named after the run. Raises UsageError where something is called so already: what
    nobody named overwrites nothing.
    """
    path = Path(f"{one_line(run.name).replace('/', '_')}.{_ENDINGS[form]}")
    if path.exists():
        raise UsageError(f"{path} is there already. Give a name: -o FILE.")
    return path


def _to_perfetto(run: Run, options: Options, output: Path) -> Report:
    from tfadvisor.cli.reading import reading_progress
    from tfadvisor.serve import export_file, export_run

    if output.is_dir():
        raise UsageError(
            f"--output {output}: is a folder. Give a file: -o {output / 'run.pftrace'}"
        )
    with export_file(output) as file, reading_progress(run) as progress:
        return export_run(run, options, file.write, progress)


# `tfadvisor export --to pgle`: which files, where to, what to say about them.


def _to_pgle(paths: list[Path], options: Options, output: Path | None) -> int:
    """Writes the profile, notes on standard error what speaks against it, and prints
    how to use it.

    Raises UsageError for what the profile cannot be made with, TraceError where no
    event names an instruction.
    """
    # other exports need none of it
    from tfadvisor.cli.reading import bounded
    from tfadvisor.serve import profile, remarks

    target = output or _new_name(chosen_run(paths[:1], options), "pgle")
    _check_profile(target, paths, options)
    files = _files(paths, options)
    with bounded(files):
        made = profile(files)

    against = list(remarks(made.facts))
    if not made.costs:
        cause = "no event of a device names an instruction of XLA."
        raise TraceError(
            str(paths[0]),
            f"holds no cost: {against[0] if against else cause}",
            "Record a run of JAX, or of `jit_compile=True`, on GPUs.",
        )
    _write_profile(made, target)
    for remark in against:
        note(remark)
    _print(made, target, len(files))
    return 0


def _check_profile(target: Path, paths: Sequence[Path], options: Options) -> None:
    check_outside(target, paths, "--output")
    if target.suffix != ".pb":
        raise UsageError(
            f"--output {target}: XLA reads a binary profile only from a file that "
            "ends in .pb."
        )
    if options.steps is not None:
        raise UsageError(
            "--steps: a profile is made of whole traces. Record the steps that you "
            "want."
        )


def _write_profile(made: Profile, target: Path) -> None:
    from tfadvisor.serve import as_binary, export_file

    with written(f"--output {target}"), export_file(target) as file:
        file.write(as_binary(made.costs))
    note(f"wrote {target}.")


def _files(paths: Sequence[Path], options: Options) -> list[Path]:
    """All hosts of each path's run, files with the very bytes of another one once."""
    from tfadvisor.trace import choose_run, without_duplicates

    found: list[Path] = []
    for path in paths:
        run, _ = choose_run([path], options.run, options.host)
        found += run.files
    kept, left_out = without_duplicates(found)
    for file in left_out:
        note(f"{file} holds the very bytes of another file, and counts once.")
    return list(kept)


def _print(made: Profile, output: Path, files: int) -> None:
    from tfadvisor.serve import launch_line

    line, notes = launch_line(output, made.framework, made.jax_version)
    executions = sum(cost.executions for cost in made.costs.values())
    traces = "1 trace" if files == 1 else f"{files:,} traces"
    write_out(
        f"# {len(made.costs):,} instructions, {executions:,} executions, from "
        f"{traces}. Compile with them:\n"
    )
    for remark in notes:
        write_out(f"# {one_line(remark)}\n")
    if line:
        write_out(f"{one_line(line)}\n")
