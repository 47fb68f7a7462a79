"""The step's inputs that its results replace are donated: their memory is written in place instead of copied.

https://docs.jax.dev/en/latest/buffer_donation.html
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.compiled import compiled_function, compiler_in, compiling_calls, decorator_of
from tfadvisor.act.repair.reading.loops import callee, step_loops, steps_in
from tfadvisor.act.repair.reading.program import (
    Change,
    Program,
    expression,
    names_in,
    pairs,
    pairs_of,
    positional,
    text_of,
    with_keyword,
)

_DONATES = "donate_arg"
"""Begins the names of jax.jit's arguments that donate."""
_IMPORT = "import functools"
_NAMED = re.compile(r"jax\.jit\((\w+), donate_argnames=")
"""The function in what the finding prescribes, where the trace names it."""


def hits(program: Program, place: Place) -> list[Hit]:
    """One for each jitted function whose arguments a loop overwrites with its results. Where the finding names the
    function, only that one.
    """
    named = _NAMED.search(place.snippets)
    found: dict[Any, Hit] = {}
    for loop in step_loops(program):
        for step in steps_in(program, loop):
            numbers = _overwritten(program, step)
            jit = _where_jitted(program, callee(step)) if numbers else None
            if jit is None or jit in found or (named and named[1] not in _functions(jit, callee(step))):
                continue
            given = f"({', '.join(map(str, numbers))},)" if len(numbers) == 1 else f"({', '.join(map(str, numbers))})"
            plain = not isinstance(jit, cst.Call)
            changes: dict[cst.CSTNode, Change] = {jit: partial(_donating, numbers=given)}
            first, last = program.lines(jit)
            source = program.changed(changes, imports=_IMPORT if plain else "")
            found[jit] = Hit(first, last, f"donate_argnums={given}", source, (callee(step),))
    return list(found.values())


def _functions(jit: Any, name: str) -> tuple[str, str]:
    """What the trace may call the function: the name that the program calls, or that of what it compiles."""
    return name, compiled_function(jit) if isinstance(jit, cst.Call) else name


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
        call
        for target, value in pairs(program)
        if text_of(target).split(".")[-1] == name
        for call in compiling_calls(program, value)
        if compiler_in(call.func) == "jax.jit"
    ]
    made += [
        decorator.decorator
        for function in program.functions.get(name, [])
        if (decorator := decorator_of(function)) is not None and compiler_in(decorator.decorator) == "jax.jit"
    ]
    left = [one for one in dict.fromkeys(made) if not (isinstance(one, cst.Call) and _DONATES in text_of(one))]
    return left[0] if len(left) == 1 else None


def _donating(node: Any, numbers: str) -> Any:
    if isinstance(node, cst.Call):
        starred = next((arg for arg in node.args if arg.star == "**"), None)
        if starred is None:
            return with_keyword(node, "donate_argnums", numbers)
        merged = expression(f'{{"donate_argnums": {numbers}, **{text_of(starred.value)}}}')
        return node.with_changes(args=[arg.with_changes(value=merged) if arg is starred else arg for arg in node.args])
    return expression(f"functools.partial({text_of(node)}, donate_argnums={numbers})")
