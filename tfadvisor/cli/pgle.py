"""`tfadvisor export --to pgle`: which files, where to, what to say about them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfadvisor.cli.outputs import note, write_out
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.printable import one_line

if TYPE_CHECKING:
    from tfadvisor.analysis import Options
    from tfadvisor.serve.export.pgle import Profile


def write_pgle(
    paths: Sequence[Path], options: Options, output: Path, *, percentile: int, jaxlib: str | None, by_program: bool
) -> None:
    """Writes the profile, notes on standard error what speaks against it, and prints how to use it.

    Raises UsageError for what the profile cannot be made with, TraceError where no event names an instruction.
    """
    from tfadvisor.serve.export.perfetto_conclusions import export_file  # other exports need none of it
    from tfadvisor.serve.export.pgle import FORMS, profile
    from tfadvisor.serve.export.pgle_events import remarks

    _check(options, output, percentile, jaxlib, tuple(FORMS))
    files = _files(paths, options)
    made = profile(files, percentile, jaxlib, by_program=by_program)
    against = list(remarks(made.facts, by_program=by_program))
    if not made.costs:
        cause = against[0] if against else "no event of a device names an instruction of XLA."
        raise TraceError(
            str(paths[0]), f"holds no cost: {cause}", "Record a run of JAX, or of `jit_compile=True`, on GPUs."
        )
    with export_file(output) as file:
        file.write(FORMS[output.suffix](made.costs))
    for one in against:
        note(one)
    _print(made, output, jaxlib, len(files))


def _check(options: Options, output: Path, percentile: int, jaxlib: str | None, endings: Sequence[str]) -> None:
    from tfadvisor.advice.flags.recorded import order

    if output.suffix not in endings:
        raise UsageError(
            f"--output {output}: XLA reads a profile only from a file that ends in {' or '.join(endings)}."
        )
    if not 0 <= percentile <= 100:
        raise UsageError(f"--percentile {percentile}: give 0 to 100.")
    if jaxlib is not None and order(jaxlib) is None:
        raise UsageError(f"--jaxlib {jaxlib}: give a version as 0.6.2")
    if options.steps is not None:
        raise UsageError("--steps: a profile is made of whole traces. Record the steps that you want.")


def _files(paths: Sequence[Path], options: Options) -> list[Path]:
    """All hosts of each path's run, files with the very bytes of another one once."""
    from tfadvisor.trace.runs import choose_run, without_duplicates

    found = [file for path in paths for file in choose_run([path], options.run, options.host)[0].files]
    kept, left_out = without_duplicates(found)
    for file in left_out:
        note(f"{file} holds the very bytes of another file, and counts once.")
    return list(kept)


def _print(made: Profile, output: Path, jaxlib: str | None, files: int) -> None:
    from tfadvisor.serve.export.pgle import launch_lines

    lines = launch_lines(output, made.framework, jaxlib or made.jax_version)
    executions = sum(one.executions for one in made.costs.values())
    traces = "1 trace" if files == 1 else f"{files:,} traces"
    write_out(f"# {len(made.costs):,} instructions, {executions:,} executions, from {traces}. Compile with them:\n")
    for one in lines.notes:
        write_out(f"# {one_line(one)}\n")
    if lines.profile:
        write_out(f"{one_line(lines.profile)}\n")
    if lines.automatic:
        write_out(f"# or let JAX measure and compile again on its own, each time it starts:\n{lines.automatic}\n")
