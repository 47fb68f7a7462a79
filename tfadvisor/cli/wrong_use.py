"""What Typer says about wrong use, as one line in our words."""

from __future__ import annotations

from typing import Any

import typer

from tfadvisor.did_you_mean import did_you_mean

# Typer brings Click's errors along inside itself since 0.26 and takes them from Click before; BadParameter is the one that
# it exports, and their base is UsageError in both.
WrongUse: Any = typer.BadParameter.__mro__[1]
"""Every error of Typer about a command line."""


def words_of(error: Any) -> str:
    """One line, with the option that was meant where one is near, and where to read on."""
    context = error.ctx
    where = context.command_path if context is not None else "tfadvisor"
    option = getattr(error, "option_name", None)
    if option is not None and hasattr(error, "possibilities"):
        known = [flag for one in context.command.get_params(context) for flag in one.opts] if context else []
        said = f"no option is called {option}.{did_you_mean(option, known)}"
    else:
        said = " ".join(error.format_message().split())
    said = said.rstrip(".")
    return f"{said}{'' if said.endswith('?') else '.'} Try '{where} --help'."
