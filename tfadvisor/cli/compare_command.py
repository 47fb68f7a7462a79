"""`tfadvisor compare`: options, paths, output file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tfadvisor.cli.arguments import Parser, step_range
from tfadvisor.cli.outputs import check_outside, write_output
from tfadvisor.errors import UsageError

if TYPE_CHECKING:
    from tfadvisor.comparison.result import Comparison

_DESCRIPTION = """\
Say where the change of the step time comes from.

Splits the difference of two runs' mean step time over causes that add up to it: the classes of the step, and inside
compute, collectives and transfers the ops. Ops are recognised when compilers number them anew."""
_EXAMPLES = """\
Examples:
  tfadvisor compare before/ after/
  tfadvisor compare logdir/ logdir/ --base-run 2026_01_31_12_00_00 --new-run 2026_02_01_09_30_00
  tfadvisor compare before/ after/ --format html -o change.html
  tfadvisor compare main.xplane.pb branch.xplane.pb --format markdown >> "$GITHUB_STEP_SUMMARY"
  tfadvisor compare baselines/default/20260131T120000-1f0c.json logdir/ --format json -o change.json

Exit codes: 0 fine, 2 usage, 3 a side cannot be read, 4 a side holds no step to compare."""


def add_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Adds `compare` with its options."""
    parser = commands.add_parser(
        "compare", help="where the change of the step time comes from", description=_DESCRIPTION, epilog=_EXAMPLES
    )
    parser.set_defaults(call=compare)
    what = "a logdir, a run folder, one *.xplane.pb (or .gz), or a snapshot of a baseline (*.json)"
    parser.add_argument("base", type=Path, metavar="BASE", help=what)
    parser.add_argument("new", type=Path, metavar="NEW", help="the same, for the run to explain")
    parser.add_argument("--base-run", metavar="NAME", help="the run of BASE instead of its newest")
    parser.add_argument("--new-run", metavar="NAME", help="the run of NEW instead of its newest")
    parser.add_argument("--host", metavar="NAME", help="only this host, on both sides")
    parser.add_argument("--steps", type=step_range, metavar="A:B", help="only steps A up to but not B, on both sides")
    parser.add_argument(
        "-f",
        "--format",
        choices=["text", "json", "markdown", "html"],
        default="text",
        help="form of the comparison (text); html is a page with both runs side by side",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to a file instead of standard output")


def compare(arguments: argparse.Namespace) -> int:
    """Runs the command and returns its exit code."""
    from tfadvisor.api import compare as compare_runs  # noqa: PLC0415
    from tfadvisor.cli.gate_inputs import read_side  # noqa: PLC0415

    if arguments.format == "html" and arguments.output is None and sys.stdout.isatty():
        raise UsageError("--format html is a page for a browser. Give a file to write it to: -o change.html")
    if arguments.output is not None:
        check_outside(arguments.output, [arguments.base, arguments.new], "--output")
    if arguments.format == "html":
        _write_page(arguments)
        return 0
    base = read_side(arguments.base, arguments.base_run, arguments)
    new = read_side(arguments.new, arguments.new_run, arguments)
    _write(compare_runs(base, new), arguments.format, arguments.output)
    return 0


def _write_page(arguments: argparse.Namespace) -> None:
    """NEW comes first: the page shows it, beside BASE, and knows the causes for the other way round as well."""
    from tfadvisor.api import compare as compare_runs  # noqa: PLC0415
    from tfadvisor.api import draw_run  # noqa: PLC0415
    from tfadvisor.cli.reading_options import chosen_run  # noqa: PLC0415
    from tfadvisor.comparison.outputs.page_data import on_page  # noqa: PLC0415
    from tfadvisor.report.outputs.html import as_html  # noqa: PLC0415

    sides = (arguments.new, arguments.new_run), (arguments.base, arguments.base_run)
    for path, _ in sides:
        if path.suffix == ".json" and path.is_file():
            raise UsageError(
                f"{path}: a page draws traces, and a snapshot holds none. Give traces, or another --format."
            )
    pages = [draw_run(*chosen_run([path], arguments, run)) for path, run in sides]
    reports = [page.report for page in pages]
    comparisons = [on_page(compare_runs(reports[base], reports[new]), new, base) for new, base in ((0, 1), (1, 0))]
    write_output(arguments.output, as_html(pages, comparisons=comparisons), "--output")


def _write(comparison: Comparison, form: str, output: Path | None) -> None:
    from tfadvisor.comparison.outputs.markdown import as_markdown  # noqa: PLC0415
    from tfadvisor.comparison.outputs.text import as_text, print_comparison  # noqa: PLC0415
    from tfadvisor.report.outputs.json_text import as_json  # noqa: PLC0415

    if output is None and form == "text":
        print_comparison(comparison, sys.stdout)
        return
    text = {"json": as_json, "markdown": as_markdown, "text": as_text}[form](comparison)
    write_output(output, text, "--output")
