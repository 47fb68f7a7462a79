"""`tfadvisor history`: a store's runs over time, as a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tfadvisor.cli.outputs import check_outside, note, write_out, write_output
from tfadvisor.cli.reading_options import OUTPUT, Config, Model, Store
from tfadvisor.cli.typer_commands import Command, option
from tfadvisor.errors import TraceError, UsageError

_EXAMPLES = """\
Examples:
  tfadvisor history --store baselines -o history.html
  tfadvisor history --store baselines --model resnet50 -o resnet50.html

Exit codes: 0 fine, 2 usage or configuration, 3 the store holds no run that can be read."""

_REMEDY = "`tfadvisor baseline add PATH` adds one."
Page = Annotated[
    Path | None, option("--output -o", "FILE", "the page, one HTML file", OUTPUT)
]

app = typer.Typer(add_completion=False)


@app.command(
    "history",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="step times of a store's runs over time, as a page",
)
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
    from tfadvisor.comparison.baseline.store import read_store
    from tfadvisor.comparison.gate.history import as_html

    folder = gate_inputs.store_of(store, gate_inputs.configured(config))
    if output is not None:
        check_outside(output, [folder], "--output")
    contents = read_store(folder)
    runs = [
        kept.snapshot
        for kept in contents.runs
        if model in (None, kept.snapshot.key.model)
    ]
    if not runs:
        raise TraceError(
            str(folder),
            "holds no run yet." if not contents.runs else f"holds no run of {model}.",
            _REMEDY,
        )
    for file, why in contents.unusable:
        note(f"{file}: left out: {why}.")
    page = as_html(str(folder), runs, len(contents.unusable))
    if output is None:
        write_out(page, page=True)
    else:
        write_output(output, page, "--output")
        note(f"wrote {output} (html).")
    return 0
