"""The command: builds the parser, calls the commands, prints errors, chooses the exit code."""

from __future__ import annotations

import importlib
import os
import sys

from tfadvisor.cli.arguments import Parser
from tfadvisor.errors import AdvisorError, TraceError
from tfadvisor.report.printable import printable
from tfadvisor.version import VERSION

# In the order of --help. Each is a module `<name>_command` of this package, imported when it is asked for.
_COMMANDS = ("analyze", "compare", "gate", "baseline", "export", "rules", "flags")

EXIT_INTERNAL = 5
EXIT_INTERRUPTED = 130

_ABOUT = "Reads a TensorFlow or JAX profiler trace and says where the step's time goes, why, and what to change."
_EXIT_CODES = (
    "Exit codes: 0 fine, 1 the gate failed or a finding at --fail-on level, 2 usage, 3 nothing to analyse, 4 not comparable "
    "or not enough data to judge, 5 a rule or metric broke."
)


def parser(only: str | None = None) -> Parser:
    """All commands and options. only: a command that is known to be the one, to build its options alone."""
    top = Parser(prog="tfadvisor", description=_ABOUT, epilog=_EXIT_CODES)
    top.add_argument("--version", action="version", version=f"tfadvisor {VERSION}")
    commands = top.add_subparsers(
        title="commands",
        metavar="COMMAND",
        required=True,
        parser_class=Parser,
        prog="tfadvisor",  # else argparse formats a usage line to find it, which imports three compression libraries
    )
    for name in _COMMANDS if only is None else (only,):
        importlib.import_module(f"tfadvisor.cli.{name}_command").add_command(commands)
    completion = commands.add_parser(
        "completion", help="shell completion", description="Print completion for a shell, to be sourced by it."
    )
    completion.add_argument("shell", choices=["bash", "zsh", "tcsh"], help="the shell to print for")
    completion.set_defaults(call=lambda arguments: _print_completion(arguments.shell))
    return top


def guarded_main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code; never lets an exception or traceback out."""
    try:
        try:
            first = arguments[0] if arguments else None
            chosen = parser(first if first in _COMMANDS else None).parse_args(arguments)
            code = int(chosen.call(chosen))
        except SystemExit as exit_:  # --help and --version
            code = exit_.code if isinstance(exit_.code, int) else 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        _say("interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:
        return _told(error)


def _told(error: Exception) -> int:
    """Says what went wrong and returns its exit code."""
    if isinstance(error, AdvisorError):
        _say(str(error))
        return error.exit_code
    if isinstance(error, MemoryError):
        _say("not enough memory for this trace. Give one host with --host, or a machine with more.")
        return TraceError.exit_code
    if os.environ.get("TFADVISOR_TRACEBACK"):
        import traceback  # noqa: PLC0415

        traceback.print_exc()
    _say(
        f"this is a fault of tfadvisor: {type(error).__name__}: {error}. Please report it with the trace, or with the "
        "traceback that TFADVISOR_TRACEBACK=1 shows."
    )
    return EXIT_INTERNAL


def _print_completion(shell: str) -> int:
    import shtab  # noqa: PLC0415

    sys.stdout.write(shtab.complete(parser(), shell) + "\n")
    return 0


def _say(message: str) -> None:
    sys.stderr.write(f"tfadvisor: {printable(message)}\n")
