"""The step's inputs that its results replace are donated: their memory is written in place instead of copied.

https://docs.jax.dev/en/latest/buffer_donation.html
"""

from __future__ import annotations

from functools import partial
from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import keyword, positional, with_keyword
from tfadvisor.repair.reading.compiled import compiler_in, decorator_of
from tfadvisor.repair.reading.loops import callee, step_loops, steps_in
from tfadvisor.repair.reading.program import Change, Program, expression, names_in, pairs, pairs_of, text_of

_DONATED = ("donate_argnums", "donate_argnames")
_IMPORT = "import functools"


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each jitted function whose arguments a loop overwrites with its results."""
    found: dict[Any, Hit] = {}
    for loop in step_loops(program):
        for step in steps_in(program, loop):
            numbers = _overwritten(program, step)
            jit = _where_jitted(program, callee(step)) if numbers else None
            if jit is None or jit in found:
                continue
            given = f"({', '.join(map(str, numbers))},)" if len(numbers) == 1 else f"({', '.join(map(str, numbers))})"
            plain = not isinstance(jit, cst.Call)
            changes: dict[cst.CSTNode, Change] = {jit: partial(_donating, numbers=given)}
            first, last = program.lines(jit)
            source = program.changed(changes, imports=_IMPORT if plain else "")
            found[jit] = Hit(first, last, f"donate_argnums={given}", source, (callee(step),))
    return list(found.values())


def _overwritten(program: Program, step: Any) -> list[int]:
    """Numbers of the arguments whose names get a result of the same call."""
    assign = next(program.around(step))
    if not isinstance(assign, cst.Assign):
        return []
    targets = {name for target, _ in pairs_of(assign) for name in names_in(target)}
    return [
        number
        for number, arg in enumerate(positional(step))
        if isinstance(arg.value, cst.Name) and arg.value.value in targets and arg in step.args[: number + 1]
    ]


def _where_jitted(program: Program, name: str) -> Any:
    """The call of jax.jit, or the bare decorator, that makes a function; None where it donates already."""
    made = [
        value
        for target, value in pairs(program)
        if text_of(target).split(".")[-1] == name and isinstance(value, cst.Call)
    ]
    made = [value for value in made if compiler_in(value.func) == "jax.jit"]
    made += [
        decorator.decorator
        for function in program.functions.get(name, [])
        if (decorator := decorator_of(function)) is not None and compiler_in(decorator.decorator) == "jax.jit"
    ]
    if len(made) != 1:
        return None
    donates = isinstance(made[0], cst.Call) and any(keyword(made[0], one) is not None for one in _DONATED)
    return None if donates else made[0]


def _donating(node: Any, numbers: str) -> Any:
    if isinstance(node, cst.Call):
        return with_keyword(node, "donate_argnums", numbers)
    return expression(f"functools.partial({text_of(node)}, donate_argnums={numbers})")
