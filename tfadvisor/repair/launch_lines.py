"""A fix's variables and flags as lines for the script that launches the program."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from tfadvisor.report.printable import one_line

_FLAGS = ("XLA_FLAGS", "TF_XLA_FLAGS", "LIBTPU_INIT_ARGS")
"""Variables that hold several flags: what is set already stays."""
_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")


def launch_lines(env: Mapping[str, str]) -> str:
    """Lines of a shell; values may hold text from a trace, so nothing in them is expanded but what a variable held before."""
    lines = []
    for name, value in env.items():
        if not _NAME.match(name):
            continue
        given = one_line(value)
        before = f"${name}"
        if name in _FLAGS:
            lines.append(f'export {name}="${{{name}:-}}"{shlex.quote(" " + given)}\n')
        elif given.endswith(f":{before}"):
            lines.append(f'export {name}={shlex.quote(given.removesuffix(before))}"${{{name}:-}}"\n')
        else:
            lines.append(f"export {name}={shlex.quote(given)}\n")
    return "".join(lines)
