"""A compiled function that the loop makes anew in every turn is made once, before the loop: a new one compiles anew.

https://docs.jax.dev/en/latest/jit-compilation.html#jit-and-caching
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.compiled import assigned_in, makes_compiled
from tfadvisor.repair.reading.compiling_calls import compiler_in
from tfadvisor.repair.reading.loops import directly_in
from tfadvisor.repair.reading.names import unused
from tfadvisor.repair.reading.program import Change, Program, before, dotted, names_in, text_of, walk

_PARTIAL = ("partial", "functools.partial")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each such function."""
    found = []
    for loop in program.all(cst.For, cst.While):
        for call in (one for one in directly_in(loop) if isinstance(one, cst.Call)):
            if (compiler_in(call.func) and call.args) or makes_compiled(program, call):
                hit = _hoisted(program, loop, call)
                if hit is not None:
                    found.append(hit)
    return found


def _hoisted(program: Program, loop: Any, call: Any) -> Hit | None:
    first, last = program.lines(call)
    changing = assigned_in(loop)
    if not _free_names(call) & changing:
        line = program.statement(call)
        name = unused(program, "compiled")
        changes: dict[cst.CSTNode, Change]
        if isinstance(line, cst.SimpleStatementLine) and _assigns_it(line, call):
            name = text_of(line.body[0].targets[0].target)
        changes = {call: lambda _: cst.Name(name), loop: before(program, f"{name} = {text_of(call)}\n")}
        if isinstance(line, cst.SimpleStatementLine) and _assigns_it(line, call):
            changes = {line: lambda _: cst.RemovalSentinel.REMOVE, loop: changes[loop]}
        return Hit(first, last, f"{_short(call)} made once, before the loop", program.changed(changes), _names(call))
    return _parameters_as_arguments(program, loop, call, changing)


def _parameters_as_arguments(program: Program, loop: Any, call: Any, changing: set[str]) -> Hit | None:
    """`jit(partial(f, rate=rate))` becomes `partial(compiled, rate=rate)`: what changes is an argument."""
    inner = call.args[0].value if call.args else None
    if not isinstance(inner, cst.Call) or dotted(inner.func) not in _PARTIAL or len(call.args) > 1 or not inner.args:
        return None
    function = inner.args[0].value
    if names_in(function) & changing:
        return None
    name = unused(program, f"compiled_{dotted(function).split('.')[-1]}")
    made = f"{name} = {text_of(call.func)}({text_of(function)})\n"

    def replaced(now: Any) -> Any:
        partial = now.args[0].value
        return partial.with_changes(args=[partial.args[0].with_changes(value=cst.Name(name)), *partial.args[1:]])

    first, last = program.lines(call)
    source = program.changed({call: replaced, loop: before(program, made)})
    return Hit(first, last, f"{text_of(function)} compiled once, its parameters are arguments", source, _names(call))


def _free_names(call: Any) -> set[str]:
    """Names that it reads from around it: not a lambda's own parameters."""
    own = {str(one.name.value) for one in walk(call) if isinstance(one, cst.Param)}
    return names_in(call) - own


def _assigns_it(line: Any, call: Any) -> bool:
    one = line.body[0]
    return (
        len(line.body) == 1
        and isinstance(one, cst.Assign)
        and one.value is call
        and isinstance(one.targets[0].target, cst.Name)
    )


def _short(call: Any) -> str:
    text = " ".join(text_of(call).split())
    return text if len(text) <= 50 else f"{text[:47]}..."


def _names(call: Any) -> tuple[str, ...]:
    return tuple(name for name in (dotted(call.func).split(".")[-1],) if name)
