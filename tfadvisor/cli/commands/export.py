"""`tfadvisor export`: options, paths, where it is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfadvisor.cli.option_values import choice
from tfadvisor.cli.outputs import check_outside, note
from tfadvisor.cli.reading_options import (
    OUTPUT,
    Bandwidth,
    HostName,
    Params,
    Paths,
    RuleFolders,
    RunName,
    Steps,
    chosen_run,
    reading,
)
from tfadvisor.cli.typer_commands import Command
from tfadvisor.errors import UsageError
from tfadvisor.report.printable import one_line

if TYPE_CHECKING:
    from tfadvisor.api import Options
    from tfadvisor.report.model import Report
    from tfadvisor.xplane.runs import Run

_EXAMPLES = """\
Examples:
  tfadvisor export logdir/ --to perfetto
  tfadvisor export logdir/ --to perfetto -o run.pftrace
  tfadvisor export logdir/ --to perfetto -o run.pftrace.gz          a fifth of the size
  tfadvisor export logdir/ --run 2026_01_31_12_00_00 --host worker3 --to perfetto -o worker3.pftrace
  tfadvisor export logdir/ --to parquet -o tables/
  python -c "import pandas; print(pandas.read_parquet('tables/steps.parquet'))"

parquet needs: pip install 'tfadvisor[parquet]'

Exit codes: 0 fine, 2 usage, 3 nothing to export, 5 a rule or metric broke."""


To = Annotated[str, choice("--to", names=("perfetto", "parquet"), help="what to write", panel=OUTPUT)]
Target = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="the file, packed if it ends in .gz; of parquet the folder, which must not be there or be empty (RUN.pftrace, "
        "or the folder RUN.tables, where you are)",
        rich_help_panel=OUTPUT,
        readable=False,
    ),
]

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command(
    "export",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="a timeline for Perfetto with the findings marked, or tables as Parquet",
)
def export(
    paths: Paths,
    to: To,
    output: Target = None,
    run: RunName = None,
    host: HostName = None,
    steps: Steps = None,
    params: Params = None,
    bandwidth: Bandwidth = None,
    rules: RuleFolders = None,
) -> int:
    """Write a run for other tools: a timeline with the findings marked, or tables.

    perfetto: every event of every host thread and device stream, arrows from launches to kernels, and above them the
    steps, where their time goes, and a track a finding with its evidence and fixes. Open it at https://ui.perfetto.dev,
    which reads it inside the browser and sends it nowhere, or with the Python package perfetto.

    parquet: a folder with a table a file: events with all their stats, names, lines, steps, ops, metrics, findings.
    docs/reference/export.md describes each column.
    """
    options = reading(run=run, host=host, steps=steps, params=params, bandwidth=bandwidth, rules=rules)
    chosen = chosen_run(paths, options)
    target = output or _new_name(chosen, to)
    check_outside(target, paths, "--output")
    try:
        report = (_to_perfetto if to == "perfetto" else _to_parquet)(chosen, options, target)
    except OSError as error:
        raise UsageError(f"--output {target}: cannot be written: {error.strerror or error}.") from error
    if output is None:
        note(f"written to {target}")
    for broken in report.broken:
        note(f"{broken.name}: {broken.error}")
    return 5 if report.broken else 0


def _new_name(run: Run, form: str) -> Path:
    """Named after the run. Raises UsageError where something is called so already: what nobody named overwrites nothing."""
    path = Path(f"{one_line(run.name).replace('/', '_')}.{'pftrace' if form == 'perfetto' else 'tables'}")
    if path.exists():
        raise UsageError(f"{path} is there already. Give a name: -o FILE.")
    return path


def _to_perfetto(run: Run, options: Options, output: Path) -> Report:
    from tfadvisor.cli.progress import reading_progress  # noqa: PLC0415
    from tfadvisor.export.hosts import export_run  # noqa: PLC0415
    from tfadvisor.export.perfetto.place import export_file  # noqa: PLC0415
    from tfadvisor.export.perfetto.write import PerfettoSink  # noqa: PLC0415
    from tfadvisor.timeline.build import SELECTION  # noqa: PLC0415

    if output.is_dir():
        raise UsageError(f"--output {output}: is a folder. Give a file: -o {output / 'run.pftrace'}")
    with export_file(output) as file, reading_progress(run) as progress:
        return export_run(run, options, SELECTION, PerfettoSink(file.write, several=len(run.files) > 1), progress)


def _to_parquet(run: Run, options: Options, output: Path) -> Report:
    try:
        from tfadvisor.export.parquet.write import ParquetSink  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            f"--to parquet needs pyarrow, which cannot be loaded ({error}): pip install 'tfadvisor[parquet]'"
        ) from error
    from tfadvisor.cli.progress import reading_progress  # noqa: PLC0415
    from tfadvisor.export.hosts import export_run  # noqa: PLC0415
    from tfadvisor.export.perfetto.place import export_folder  # noqa: PLC0415
    from tfadvisor.xplane.columns import Selection  # noqa: PLC0415

    with export_folder(output) as folder, reading_progress(run) as progress:
        sink = ParquetSink(folder)
        try:
            return export_run(run, options, Selection(None), sink, progress)
        finally:
            sink.close()
