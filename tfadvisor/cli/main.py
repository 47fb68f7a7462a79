"""The command: how errors are said, and which exit code it ends with."""

from __future__ import annotations

import errno
import os
import sys

from tfadvisor.cli.analyzing import analyze_plainly, plain_analysis
from tfadvisor.cli.ending import EXIT_INTERRUPTED, asked_to_end
from tfadvisor.cli.streams import unwritten
from tfadvisor.errors import (
    AdvisorError,
    SeveralMistakes,
    TraceError,
    UsageError,
    fault_of_environment,
)
from tfadvisor.printable import in_one_message

EXIT_INTERNAL = 5


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
    completing = "_TFADVISOR_COMPLETE" in os.environ  # a shell asks what could follow
    plain = None if completing else plain_analysis(arguments)
    if plain is not None:
        return analyze_plainly(*plain)
    from tfadvisor.cli.typer_app import run_command  # imports Typer

    return run_command(arguments)


def _told(error: Exception) -> int:
    """Says what went wrong and returns its exit code."""
    if asked_to_end():  # and what was interrupted took it for something else
        return EXIT_INTERNAL
    if isinstance(error, AdvisorError):
        for failure in error.each if isinstance(error, SeveralMistakes) else (error,):
            _say(str(failure))
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
