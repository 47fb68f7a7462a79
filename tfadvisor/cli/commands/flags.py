"""`tfadvisor flags`: what is wrong with flags and variables before a run is started
with them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfadvisor.cli.outputs import write_json, write_out
from tfadvisor.cli.reading_options import choice, one_format
from tfadvisor.cli.typer_commands import Command, Commands, argument, option
from tfadvisor.errors import UsageError
from tfadvisor.printable import one_line
from tfadvisor.text_page import DIM, TextPage, screen_of

if TYPE_CHECKING:
    from tfadvisor.advice.flags.check_words import Line

_EXAMPLES = """\
Examples:
  tfadvisor flags check --xla_gpu_autotune_level=0 --jaxlib 0.6.2
  tfadvisor flags check "XLA_FLAGS='…' NCCL_P2P_DISABLE=1 python train.py"
  tfadvisor flags check "$XLA_FLAGS" --fail-on warning --format json
  printenv XLA_FLAGS | tfadvisor flags check -

Exit codes: 0 fine (also when something was found, without --fail-on), 1
something at --fail-on level, 2 usage."""
_LABEL = 9
_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "cyan", "ok": "green"}
_LOOK_LIKE_OPTIONS = ("--", "-x", "-tf_")


class _TakesFlags(Command):
    """Takes `--xla_dump_to=x` for the argument that it is, though it looks like an
    option.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What begins with a blank is never taken for an option."""
        options = {flag for param in self.get_params(ctx) for flag in param.opts}
        given = [
            f" {word}"
            if word != "--"
            and word.startswith(_LOOK_LIKE_OPTIONS)
            and word.partition("=")[0] not in options
            else word
            for word in args
        ]
        return list(super().parse_args(ctx, given))


Flags = Annotated[
    str,
    argument("FLAGS", "flags and NAME=value pairs in quotes, or - for standard input"),
]
Jaxlib = Annotated[
    str | None, option("--jaxlib", "V", "judge by this jaxlib (the newest recorded)")
]
TensorFlow = Annotated[
    str | None,
    option("--tensorflow", "V", "judge XLA's flags by this TensorFlow instead"),
]
FailOn = Annotated[
    str | None,
    choice(
        "--fail-on",
        names=("error", "warning"),
        metavar="LEVEL",
        help="exit with 1 if anything is at least this bad",
    ),
]
Format = Annotated[
    str | None, one_format(("text", "json"), "format of the report", None)
]

app = typer.Typer(
    cls=Commands, add_completion=False, short_help="check flags and variables"
)


@app.callback()
def flags() -> None:
    """Flags and variables."""


@app.command(
    "check",
    cls=_TakesFlags,
    epilog=_EXAMPLES,
    short_help="what is wrong with flags and variables",
)
def check_flags(
    flags: Flags,
    jaxlib: Jaxlib = None,
    tensorflow: TensorFlow = None,
    fail_on: FailOn = None,
    format: Format = None,
) -> int:
    """Say what is wrong with XLA, TensorFlow, JAX, NCCL and CUDA settings before a run
    is started with them.

    FLAGS is one text: XLA's flags as they are, NAME=value pairs, or both, as a shell
    takes them; - reads it from standard input. Each is unknown, removed, renamed,
    misplaced, deprecated, of a wrong value, the default already, in conflict with
    another, dangerous, or fine. An unknown flag ends a process at its start, so which
    flags exist was asked of the libraries themselves, version by version. An error is
    what ends the process or is not read; a warning costs speed or does something else
    than it looks; a note is worth knowing.
    """
    from tfadvisor.advice.flags.check import check
    from tfadvisor.advice.flags.check_words import (
        as_data,
        lines,
    )  # other commands need none of it

    _check_versions(jaxlib, tensorflow)
    checked = check(_text(flags), jaxlib, tensorflow)
    if format == "json":
        write_json(as_data(checked))
    else:
        write_out(_laid_out(lines(checked)))
    return 1 if fail_on and checked.has(fail_on) else 0


def _check_versions(jaxlib: str | None, tensorflow: str | None) -> None:
    from tfadvisor.advice.flags.recorded import order

    if jaxlib is not None and tensorflow is not None:
        raise UsageError(
            "--jaxlib and --tensorflow exclude each other: give one of them."
        )
    for name, version in (("jaxlib", jaxlib), ("tensorflow", tensorflow)):
        if version is not None and order(version) is None:
            raise UsageError(f"--{name} {version}: give a version as 0.6.2")


def _text(given: str) -> str:
    """The argument, or standard input; no more of that than a variable can hold."""
    from tfadvisor.advice.flags.settings import LONGEST

    return sys.stdin.read(LONGEST + 1) if given == "-" else given


def _laid_out(lines: Iterable[Line]) -> str:
    """One entry of the report after another: a label, then the text beside it on as
    many lines as it needs.
    """
    page = TextPage(screen_of(sys.stdout))
    for line in lines:
        indent = _LABEL + line.indent if line.label or line.indent else 0
        page.hanging(
            (line.label, _STYLES.get(line.label, "")),
            (one_line(line.text), DIM if line.quiet else ""),
            indent,
        )
    return page.text()
