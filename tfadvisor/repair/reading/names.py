"""Names: what they hold where they are read, and new ones for what a codemod adds."""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.reading.program import Program, pairs, text_of


def unused(program: Program, wanted: str) -> str:
    """The name itself, or with a number behind it where the program has one of that name."""
    taken = {str(one.value) for one in program.all(cst.Name)}
    number = 2
    name = wanted
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def values_of(program: Program, name: Any) -> list[Any]:
    """What a name gets where it is read, also as one of several from a call: in the innermost function that gives it a value."""
    made = [value for target, value in pairs(program) if name.value in _given_in(target) and value is not name]
    for scope in (*(one for one in program.around(name) if isinstance(one, cst.FunctionDef)), program.module):
        own = [value for value in made if program.scope(value) is scope]
        if own:
            return own
        if isinstance(scope, cst.FunctionDef) and any(one.name.value == name.value for one in scope.params.params):
            return []
    return []


def _given_in(target: Any) -> list[str]:
    if isinstance(target, cst.Tuple | cst.List):
        return [text_of(one.value) for one in target.elements]
    return [text_of(target)]
