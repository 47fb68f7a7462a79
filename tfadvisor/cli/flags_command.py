"""`tfadvisor flags`: what is wrong with flags and variables before a run is started with them."""

from __future__ import annotations

import argparse
import os
import sys

from tfadvisor.cli.arguments import Parser
from tfadvisor.errors import UsageError
from tfadvisor.report.printable import one_line, printable

_ABOUT = """\
Say what is wrong with XLA, TensorFlow, JAX, NCCL and CUDA settings before a run is started with them.

FLAGS is one text: XLA's flags as they are, NAME=value pairs, or both, as a shell takes them; - reads it from standard
input. Each is unknown, removed, renamed, misplaced, deprecated, of a wrong value, the default already, in conflict with
another, dangerous, or fine. An unknown flag ends a process at its start, so which flags exist was asked of the libraries
themselves, version by version. An error is what ends the process or is not read; a warning costs speed or does something
else than it looks; a note is worth knowing."""
_EXAMPLES = """\
Examples:
  tfadvisor flags check "--xla_gpu_enable_latency_hiding_scheduler=true" --jaxlib 0.6.2
  tfadvisor flags check "XLA_FLAGS='--xla_gpu_autotune_level=0' NCCL_P2P_DISABLE=1 python train.py"
  tfadvisor flags check "$XLA_FLAGS" --fail-on warning --format json
  printenv XLA_FLAGS | tfadvisor flags check -

Exit codes: 0 fine (also when something was found, without --fail-on), 1 something at --fail-on level, 2 usage."""
_LABEL = 9
_NARROWEST, _WIDEST = 40, 110
# ANSI "select graphic rendition" codes.
_STYLES = {"error": "1;31", "warning": "1;33", "note": "36", "ok": "32"}
_DIM = "2"


class _TakesFlags(Parser):
    """Takes `--xla_dump_to=x` for the argument that it is, though it looks like an option."""

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """What begins with a blank is never taken for an option."""
        options = {option for action in self._actions for option in action.option_strings}
        flags = ("--", "-x", "-tf_")
        given = [f" {one}" if one.startswith(flags) and one.partition("=")[0] not in options else one for one in args]
        return super().parse_known_args(given, namespace)


def add_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Adds `flags` with check."""
    parser = commands.add_parser("flags", help="check flags and variables", description="Flags and variables.")
    below = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, prog="tfadvisor flags", parser_class=_TakesFlags
    )
    check = below.add_parser(
        "check", help="what is wrong with flags and variables", description=_ABOUT, epilog=_EXAMPLES
    )
    check.set_defaults(call=check_flags)
    check.add_argument("flags", metavar="FLAGS", help="flags and NAME=value pairs in quotes, or - for standard input")
    library = check.add_mutually_exclusive_group()
    library.add_argument("--jaxlib", metavar="V", help="judge by this jaxlib (the newest recorded)")
    library.add_argument("--tensorflow", metavar="V", help="judge XLA's flags by this TensorFlow instead")
    check.add_argument("--fail-on", choices=["error", "warning"], help="exit with 1 if anything is at least this bad")
    check.add_argument("-f", "--format", choices=["text", "json"], default="text", help="form of the report (text)")


def check_flags(arguments: argparse.Namespace) -> int:
    """Runs the command and returns its exit code."""
    from tfadvisor.flags.as_text import as_data, lines  # noqa: PLC0415  (other commands need none of it)
    from tfadvisor.flags.check import check  # noqa: PLC0415
    from tfadvisor.flags.versions import order  # noqa: PLC0415

    for option in ("jaxlib", "tensorflow"):
        version = getattr(arguments, option)
        if version is not None and order(version) is None:
            raise UsageError(f"--{option} {version}: give a version as 0.6.2")
    checked = check(_text(arguments.flags), arguments.jaxlib, arguments.tensorflow)
    if arguments.format == "json":
        import json  # noqa: PLC0415

        sys.stdout.write(json.dumps(as_data(checked), indent=2) + "\n")
    else:
        width = _width()
        colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        for line in lines(checked):
            sys.stdout.write(_wrapped(line.label, line.text, line.indent, line.quiet, width, colours))
    return 1 if arguments.fail_on and checked.has(arguments.fail_on) else 0


def _text(given: str) -> str:
    """The argument, or standard input; no more of that than a variable can hold."""
    from tfadvisor.flags.settings import LONGEST  # noqa: PLC0415

    return sys.stdin.read(LONGEST + 1) if given == "-" else given


def _width() -> int:
    if not sys.stdout.isatty():
        return _WIDEST
    import shutil  # noqa: PLC0415

    return min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)


def _wrapped(label: str, text: str, indent: int, quiet: bool, width: int, colours: bool) -> str:
    """One entry of the report: a label, then the text beside it on as many lines as it needs."""
    import textwrap  # noqa: PLC0415

    margin = " " * (_LABEL + indent if label or indent else 0)
    wrapped = textwrap.wrap(one_line(text), width - len(margin), break_long_words=False, break_on_hyphens=False) or [""]
    style = _STYLES.get(label, "")
    head = f"{label:<{len(margin)}}"
    if colours and style:
        head = f"\x1b[{style}m{label}\x1b[0m{head[len(label) :]}"
    body = [printable(line) for line in wrapped]
    if colours and quiet:
        body = [f"\x1b[{_DIM}m{line}\x1b[0m" for line in body if line]
    return "\n".join([(head + (body[0] if body else "")).rstrip(), *(margin + line for line in body[1:])]) + "\n"
