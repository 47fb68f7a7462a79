"""The command: reads arguments, calls the commands, prints errors, chooses the exit code."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated

import typer

from tfadvisor.cli import analyze_command, rules_command
from tfadvisor.errors import AdvisorError, TraceError, UsageError
from tfadvisor.report.printable import printable

EXIT_INTERNAL = 5
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="tfadvisor",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Reads a TensorFlow or JAX profiler trace and says where the step's time goes, why, and what to change.",
    epilog="Exit codes: 0 fine, 1 a finding at --fail-on level, 2 usage, 3 nothing to analyse, 5 a rule or metric broke.",
)
app.command("analyze")(analyze_command.analyze)
app.add_typer(rules_command.app, name="rules")


def _version(wanted: bool) -> None:
    if wanted:
        from tfadvisor.assemble import tool_version  # noqa: PLC0415

        typer.echo(f"tfadvisor {tool_version()}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Options that go before a command."""


def run() -> None:
    """Entry point: every error becomes one message on stderr and the contract's exit code."""
    sys.exit(guarded_main(sys.argv[1:]))


def guarded_main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code; never lets an exception or traceback out."""
    try:
        code = app(arguments, prog_name="tfadvisor", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except typer.Exit as exit_:
        return exit_.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        _say("interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:
        return _told(error)


def _told(error: Exception) -> int:
    """Says what went wrong and returns its exit code."""
    show, usage = getattr(error, "format_message", None), getattr(error, "exit_code", None)
    if isinstance(error, AdvisorError):
        _say(str(error))
        return error.exit_code
    if isinstance(error, MemoryError):
        _say("not enough memory for this trace. Give one host with --host, or a machine with more.")
        return TraceError.exit_code
    if callable(show) and isinstance(usage, int):  # the command-line library's own errors
        _say(f"{show()} Try 'tfadvisor --help'.")
        return UsageError.exit_code
    if os.environ.get("TFADVISOR_TRACEBACK"):
        traceback.print_exc()
    _say(
        f"this is a fault of tfadvisor: {type(error).__name__}: {error}. Please report it with the trace, or with the "
        "traceback that TFADVISOR_TRACEBACK=1 shows."
    )
    return EXIT_INTERNAL


def _say(message: str) -> None:
    sys.stderr.write(f"tfadvisor: {printable(message)}\n")
