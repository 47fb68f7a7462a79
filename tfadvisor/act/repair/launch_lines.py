"""A fix's variables and flags as lines for the script that launches the program."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from tfadvisor.advice.flags.settings import FLAG_VARIABLES
from tfadvisor.printable import one_line

_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")


def launch_lines(env: Mapping[str, str]) -> str:
    """Lines of a shell; values may hold text from a trace, so nothing in them is
    expanded but what a variable held before.
    """
    lines = []
    for name, value in env.items():
        if _NAME.match(name):
            lines.append(_line(name, one_line(value)))
    return "".join(lines)


def _line(name: str, given: str) -> str:
    held = f'"${{{name}:-}}"'
    if name in FLAG_VARIABLES:  # what is set already stays
        value = shlex.quote(f" {given}")
        return f"export {name}={held}{value}\n"
    if given.endswith(f":${name}"):
        value = shlex.quote(given.removesuffix(f"${name}"))
        return f"export {name}={value}{held}\n"
    return f"export {name}={shlex.quote(given)}\n"
