"""Which commands there are, and how Typer runs one."""

from __future__ import annotations

import os
import sys
from typing import Annotated, ClassVar

import typer
import typer.main

from tfadvisor.cli.typer_commands import LazyCommands, WrongUse, words_of
from tfadvisor.errors import UsageError
from tfadvisor.version import VERSION

_ABOUT = (
    "Reads a TensorFlow or JAX profiler trace and says where the step's time goes, "
    "why, and what to change."
)
_EXAMPLES = """\
Examples:
  tfadvisor logdir/                    the newest run of a logdir, analysed
  tfadvisor logdir/ -o report.html     a page for a browser
  tfadvisor run -- python train.py     record a program, print its report
  tfadvisor fix logdir/ --source train.py
  tfadvisor try --from logdir/ -- python train.py
  tfadvisor compare before/ after/
  tfadvisor explain mfu                what a word, rule or metric means
  tfadvisor COMMAND --help             a command's options and examples

Exit codes: 0 fine, 1 the gate failed or a finding at --fail-on level, 2 usage,
3 nothing to analyse, 4 not comparable or not enough data to judge, 5 a rule or
metric broke, 130 interrupted, 143 terminated."""

_FILES = {"try": "try_out"}
"""Where a command stands whose name is a word of Python."""


_FIRST = ("run", "analyze", "try", "fix", "gate")
_MORE = (
    "compare",
    "baseline",
    "explain",
    "rules",
    "flags",
    "fleet",
    "export",
    "mcp",
)


class _Commands(LazyCommands):
    modules: ClassVar = {
        name: f"tfadvisor.cli.commands.{_FILES.get(name, name)}"
        for name in (*_FIRST, *_MORE)
    }
    first: ClassVar = _FIRST


app = typer.Typer(
    cls=_Commands,
    help=_ABOUT,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"tfadvisor {VERSION}\n")
        raise typer.Exit()


@app.callback()
def tfadvisor(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="show the version"
        ),
    ] = False,
) -> None:
    """The options before a command."""


def run_command(arguments: list[str]) -> int:
    """Its exit code. Raises UsageError for a command line that is none of ours, and as
    the command.
    """
    command = typer.main.get_command(app)
    if "_TFADVISOR_COMPLETE" in os.environ:
        command.main(
            args=[], prog_name="tfadvisor"
        )  # a shell asks what could come next
    try:
        with command.make_context("tfadvisor", list(arguments)) as context:
            return int(command.invoke(context) or 0)
    except typer.Exit as ended:  # --help and --version
        return ended.exit_code
    except WrongUse as error:
        raise UsageError(words_of(error)) from error
