"""`tfadvisor compare`: options, paths, output file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfadvisor.cli.outputs import check_outside, check_page_has_a_file, note, write_form
from tfadvisor.cli.reading import places
from tfadvisor.cli.reading_options import WHAT, Output, Reading, one_format
from tfadvisor.cli.typer_commands import Command, argument, option
from tfadvisor.comparison import COMPARISON_FORMS
from tfadvisor.errors import NothingToCompare, UsageError
from tfadvisor.report.forms import form_of, names_of

if TYPE_CHECKING:
    from tfadvisor.analysis import Options
    from tfadvisor.report.forms import Form

_EXAMPLES = """\
Examples:
  tfadvisor compare before/ after/
  tfadvisor compare before/ after/ -o change.html
  tfadvisor compare logdir/ logdir/ --base-run 2026_01_31_12_00_00
  tfadvisor compare main.xplane.pb branch.xplane.pb --format markdown
  tfadvisor compare baselines/default/20260131T120000-1f0c.json logdir/

Exit codes: 0 fine, 2 usage, 3 a side cannot be read, 4 the runs are not
comparable, which is said in their place, or a side holds no step to compare."""

_SIDE = (
    "a logdir, a run folder, one *.xplane.pb (or .gz), a snapshot of a baseline "
    "(*.json), or the address of one"
)
Base = Annotated[str, argument("BASE", _SIDE, path_type=str)]
New = Annotated[str, argument("NEW", "the same, for the run to explain", path_type=str)]
BaseRun = Annotated[
    str | None,
    option("--base-run", "NAME", "the run of BASE instead of its newest", WHAT),
]
NewRun = Annotated[
    str | None,
    option("--new-run", "NAME", "the run of NEW instead of its newest", WHAT),
]
HostOfBoth = Annotated[
    str | None, option("--host", "NAME", "only this host, on both sides", WHAT)
]
StepsOfBoth = Annotated[
    str | None,
    option("--steps", "A:B", "only steps A up to but not B, on both sides", WHAT),
]
Format = Annotated[
    str | None,
    one_format(
        names_of(COMPARISON_FORMS),
        "format of the comparison",
    ),
]

app = typer.Typer(add_completion=False)


@app.command(
    "compare",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="where the change of the step time comes from",
)
def compare(
    base: Base,
    new: New,
    base_run: BaseRun = None,
    new_run: NewRun = None,
    host: HostOfBoth = None,
    steps: StepsOfBoth = None,
    format: Format = None,
    output: Output = None,
) -> int:
    """Say where the change of the step time comes from.

    Splits the difference of two runs' mean step time over causes that add up to it: the
    classes of the step, and inside compute, collectives and transfers the ops. Ops are
    recognised when compilers number them anew.
    """
    form = form_of(COMPARISON_FORMS, format, output)
    check_page_has_a_file(form, output, "change")
    if output is not None:
        check_outside(output, places([base, new]), "--output")
    sides = [
        (path, Reading(run=[run] if run else None, host=host, steps=steps).options())
        for path, run in zip(places([base, new]), (base_run, new_run), strict=True)
    ]
    comparable = (
        _write_page(sides, output) if form.drawn else _write(sides, form, output)
    )
    return 0 if comparable else NothingToCompare.exit_code


def _write(sides: list[tuple[Path, Options]], form: Form, output: Path | None) -> bool:
    from tfadvisor.cli.gate_inputs import read_side
    from tfadvisor.comparing import comparison_of

    base, new = (read_side(path, options) for path, options in sides)
    compared = comparison_of(base, new)
    write_form(form, compared, output)
    return not compared.refused


def _write_page(sides: list[tuple[Path, Options]], output: Path | None) -> bool:
    from tfadvisor.cli.gate_inputs import chosen_side, drawn, side_by_side
    from tfadvisor.cli.outputs import write_out, write_output

    for path, _ in reversed(sides):
        if path.suffix == ".json" and path.is_file():
            raise UsageError(
                f"{path}: a page draws traces, and a snapshot holds none. Give "
                "traces, or another --format."
            )
    text, comparable = side_by_side(
        [
            drawn(chosen_side(path, options), options)
            for path, options in reversed(sides)
        ]
    )
    if output is None:
        write_out(text, page=True)
    else:
        write_output(output, text, "--output")
        note(f"wrote {output} (html).")
    return comparable
