"""`tfadvisor explain`: what a name in a report, a rule or a configuration means."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfadvisor.cli.outputs import note, write_out
from tfadvisor.cli.reading import chosen_run
from tfadvisor.cli.reading_options import RuleFolders
from tfadvisor.cli.typer_commands import Command, argument, option
from tfadvisor.errors import UsageError
from tfadvisor.printable import one_line, printable
from tfadvisor.program_files import check_program
from tfadvisor.text_page import DIM, TITLE, TextPage, screen_of
from tfadvisor.trace.remote_path import place_of

if TYPE_CHECKING:
    from tfadvisor.advice.explaining.explained import Explained, Known

_EXAMPLES = """\
Examples:
  tfadvisor explain input-not-prefetched      a rule
  tfadvisor explain input_bound_fraction      a metric
  tfadvisor explain mfu                       a word of the field
  tfadvisor explain launch gap                one that is two words
  tfadvisor explain --xla_dump_to             a flag of XLA
  tfadvisor explain metrics                   all metrics, a line each
  tfadvisor explain train.py:24 --trace logdir/    what a line costs

Exit codes: 0 fine, 2 usage, or a name that nothing has."""

Names = Annotated[
    list[str],
    argument("NAME", "a rule, metric, fact, flag, class of time, verdict or word"),
]

Traced = Annotated[
    str | None,
    option(
        "--trace",
        "PATH",
        "the run in which NAME is a line (train.py:24), a file or an op",
        path_type=str,
    ),
]
Source = Annotated[
    Path | None,
    option(
        "--source",
        "DIR",
        "the program: its folder, or its script, which is read with what it imports; "
        "never run",
    ),
]

_INDENT = 4

app = typer.Typer(add_completion=False)


@app.command(
    "explain",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="what a rule, metric, flag or word means",
    context_settings={"ignore_unknown_options": True},
)
def explain(
    names: Names,
    rules: RuleFolders = None,
    trace: Traced = None,
    source: Source = None,
) -> int:
    """Explain a rule, metric, fact, flag, class of time, verdict or word, also by what
    others call it; with --trace a line of the program, or an op.
    """
    if trace is not None:
        write_out(_of_trace(names, trace, source))
        return 0
    from tfadvisor.advice.explaining.find import asked_for, meant
    from tfadvisor.advice.loading.catalogue import load_catalogue

    catalogue = load_catalogue(rules or (), preview=True).rules
    page = TextPage(screen_of(sys.stdout))
    mistakes = []
    for name in asked_for(names, catalogue):
        try:
            found = meant(name, catalogue)
        except UsageError as error:
            mistakes.append(str(error))
            continue
        for explained in found.explained:
            _write(page, explained)
        _list(page, found.listed)
    write_out(page.text())
    for mistake in mistakes:
        note(mistake)
    return UsageError.exit_code if mistakes else 0


def _of_trace(names: Sequence[str], trace: str, source: Path | None) -> str:
    """What a run spends on lines and ops. Raises UsageError for what it has not, and
    TraceError.
    """
    from tfadvisor.analysis import Options, analyze_run
    from tfadvisor.report.forms import place_text

    if source is not None:
        check_program(source)
    options = Options(source=source)
    report = analyze_run(chosen_run([place_of(trace)], options), options)
    texts = [place_text(report, name) for name in names]
    for name, text in zip(names, texts, strict=True):
        if not text:
            raise UsageError(
                f"{name}: the run spends nothing there. Give FILE:LINE, a file or an "
                "op as `tfadvisor analyze --details` names them."
            )
    return "\n".join(texts)


def _write(page: TextPage, explained: Explained) -> None:
    page.line((one_line(explained.name), TITLE), (f"  {explained.kind}", DIM))
    for paragraph in explained.paragraphs:
        if paragraph.is_code:
            page.code(paragraph.text, "")
        else:
            page.hanging("", printable(paragraph.text), paragraph.indent)
    page.line()


def _list(page: TextPage, known: Sequence[Known]) -> None:
    if not known:
        return
    for term in known:
        page.line((one_line(term.name), TITLE), (f"  {term.kind}", DIM))
        page.hanging("", one_line(term.title), _INDENT)
    page.line()
