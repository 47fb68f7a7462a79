"""New names for what a codemod adds."""

from __future__ import annotations

import libcst as cst

from tfadvisor.repair.reading.program import Program


def unused(program: Program, wanted: str) -> str:
    """The name itself, or with a number behind it where the program has one of that name."""
    taken = {str(one.value) for one in program.all(cst.Name)}
    number = 2
    name = wanted
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name
