"""`tfadvisor completion`: what a shell needs to complete our commands, and the answers to what it then asks."""

from __future__ import annotations

import sys
from typing import Any

import typer

from tfadvisor.cli.reading_options import listed
from tfadvisor.cli.typer_commands import Command
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError

SHELLS = ("bash", "zsh", "fish", "powershell")
_VARIABLE = "_TFADVISOR_COMPLETE"
_EXAMPLES = """\
Examples:
  tfadvisor completion bash > ~/.local/share/bash-completion/completions/tfadvisor
  tfadvisor completion zsh > ~/.zfunc/_tfadvisor                   with fpath+=~/.zfunc before compinit in ~/.zshrc
  tfadvisor completion fish > ~/.config/fish/completions/tfadvisor.fish
  tfadvisor completion powershell >> $PROFILE

Exit codes: 0 fine, 2 usage."""

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


def _shells() -> list[str]:
    return list(SHELLS)


@app.command("completion", cls=Command, epilog=_EXAMPLES, short_help="completion for bash, zsh, fish or PowerShell")
def completion(
    shell: str = typer.Argument(
        ..., metavar="|".join(SHELLS), help="the shell to print for", autocompletion=_shells, show_default=False
    ),
) -> int:
    """Print completion for a shell, to be read by it: commands, options, rule ids, runs, hosts, formats and paths."""
    if shell not in SHELLS:
        raise UsageError(f"{shell}: choose {listed(SHELLS)}.{did_you_mean(shell, SHELLS)}")
    from typer._completion_shared import get_completion_script

    script = get_completion_script(prog_name="tfadvisor", complete_var=_VARIABLE, shell=shell)
    sys.stdout.write(script + "\n")
    return 0


def complete(command: Any) -> int:
    """Answers a shell that asks what could come next, as its script above does. command: the whole command line."""
    from typer._completion_classes import completion_init

    completion_init()
    try:
        command.main(args=[], prog_name="tfadvisor", complete_var=_VARIABLE, standalone_mode=False)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    return 0
