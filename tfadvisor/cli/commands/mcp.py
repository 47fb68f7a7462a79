"""`tfadvisor mcp`: the server for agents, on standard input and output."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Annotated

import typer

from tfadvisor.cli.outputs import note
from tfadvisor.cli.typer_commands import Command, option
from tfadvisor.errors import UsageError

_EXAMPLES = """\
Examples:
  tfadvisor mcp --root ~/project        what an agent starts
  claude mcp add tfadvisor -- tfadvisor mcp --root .

It speaks on standard input and output. docs/agents.md has other agents, and
lines for your AGENTS.md.

Exit codes: 0 the agent closed the connection, 2 usage."""

Root = Annotated[
    Path,
    option(
        "--root",
        "DIR",
        "nothing outside of this folder is read (the folder where you are)",
        show_default=False,
    ),
]

app = typer.Typer(add_completion=False)


@app.command(
    "mcp",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="serve reports to coding agents over MCP",
)
def mcp(root: Root = Path()) -> int:
    """Answer an agent's questions about traces below a folder, over the Model Context
    Protocol.

    Tools: list_runs, analyze, ops, explain, fix, compare, check_flags.
    None of them writes or runs anything, and paths that lead out of the folder, by
    links too, are refused.
    """
    from tfadvisor.serve import root_of  # --help needs none of these

    folder = root_of(root)
    try:
        from tfadvisor.serve import serve
    except ImportError as error:
        raise UsageError(
            f"`tfadvisor mcp` needs the MCP SDK, which cannot be loaded ({error}): "
            "pip install 'tfadvisor[mcp]'"
        ) from error
    if sys.stdin.isatty():
        note(
            "an agent is to start this: it speaks the Model Context Protocol here. "
            "Control-D ends it. docs/agents.md"
        )
    gc.enable()  # it lives as long as the agent does
    serve(folder)
    return 0
