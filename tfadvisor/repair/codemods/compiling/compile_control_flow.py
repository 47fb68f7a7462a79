"""`jax.jit` around a function that hands a function of its own to `lax.scan` or the like: a new one each time compiles anew.

https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.compiled import NOT_COMPILABLE, is_compiled, traced_functions, words_reached
from tfadvisor.repair.reading.loops import callers_of
from tfadvisor.repair.reading.program import Program, dotted, expression

_CONTROL_FLOW = ("scan", "while_loop", "fori_loop", "cond", "switch", "map", "associative_scan")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each such function that nothing compiles."""
    if not program.imports("jax"):
        return []
    traced = traced_functions(program)
    found: dict[Any, Hit] = {}
    for call in program.calls(*_CONTROL_FLOW):
        function = program.inside(call, cst.FunctionDef, cst.ClassDef)
        if not isinstance(function, cst.FunctionDef) or function in found or function in traced:
            continue
        if "lax" in dotted(call.func).split(".")[:-1] and _own(program, function, call):
            if is_compiled(program, function.name) or not _may_compile(program, function):
                continue
            found[function] = _compiled(program, function)
    return list(found.values())


def _own(program: Program, function: Any, call: Any) -> bool:
    """Whether one of the functions that it is given is made in each call."""
    for arg in call.args:
        if isinstance(arg.value, cst.Lambda):
            return True
        if isinstance(arg.value, cst.Name) and any(
            program.scope(one) is function for one in program.functions.get(arg.value.value, [])
        ):
            return True
    return False


def _may_compile(program: Program, function: Any) -> bool:
    method = isinstance(program.inside(function, cst.ClassDef, cst.FunctionDef), cst.ClassDef)
    return not (method or function.decorators or NOT_COMPILABLE.search(words_reached(program, function)))


def _compiled(program: Program, function: Any) -> Hit:
    def decorated(now: Any) -> Any:
        return now.with_changes(decorators=[cst.Decorator(expression("jax.jit"))])

    first, last = program.lines(function)
    source = program.changed({function: decorated}, imports="import jax")
    name = str(function.name.value)
    return Hit(first, last, f"@jax.jit on {name}", source, (name, *callers_of(program, name)))
