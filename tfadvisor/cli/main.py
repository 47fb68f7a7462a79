"""The command: which commands there are, how errors are said, which exit code it ends
with.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Annotated, ClassVar

import typer
import typer.main

from tfadvisor.cli.ending import EXIT_INTERRUPTED, asked_to_end
from tfadvisor.cli.streams import unwritten
from tfadvisor.cli.typer_commands import LazyCommands, WrongUse, words_of
from tfadvisor.errors import (
    AdvisorError,
    SeveralMistakes,
    TraceError,
    UsageError,
    fault_of_environment,
)
from tfadvisor.printable import in_one_message
from tfadvisor.version import VERSION

EXIT_INTERNAL = 5

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


def guarded_main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code; never lets an exception or traceback
    out, but for Ended.
    """
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        _say("interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:
        return _told(error)
    failure = unwritten()
    if failure is not None:
        _say(f"standard output cannot be written: {failure.strerror}.")
        return code or UsageError.exit_code
    return code


def _run(arguments: list[str]) -> int:
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


def _told(error: Exception) -> int:
    """Says what went wrong and returns its exit code."""
    if asked_to_end():  # and what was interrupted took it for something else
        return EXIT_INTERNAL
    if isinstance(error, WrongUse):
        _say(words_of(error))
        return 2
    if isinstance(error, AdvisorError):
        for one in error.each if isinstance(error, SeveralMistakes) else (error,):
            _say(str(one))
        return error.exit_code
    mistake = _mistake_in_paths(error)
    if mistake is not None:
        _say(mistake)
        return UsageError.exit_code
    fault = fault_of_environment(error)
    if fault is not None:
        _say(fault)
        return TraceError.exit_code
    if os.environ.get("TFADVISOR_TRACEBACK"):
        import traceback

        traceback.print_exc()
    _say(
        f"this is a bug in tfadvisor: {type(error).__name__}: {error}. Please report "
        "it with the trace, or with the "
        "traceback that TFADVISOR_TRACEBACK=1 prints."
    )
    return EXIT_INTERNAL


def _mistake_in_paths(error: Exception) -> str | None:
    """What to say of a name that no file system takes, and of a working folder that is
    gone.
    """
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"{error.filename}: the name is too long for a file. Check the path."
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return "the working folder was removed. Go to another one and try again."
    except OSError:
        pass
    return None


def _say(message: str) -> None:
    sys.stderr.write(f"tfadvisor: {in_one_message(message)}\n")
