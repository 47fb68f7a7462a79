"""A function that makes a compiled one for its caller keeps it: one made anew at each call compiles anew.

https://docs.jax.dev/en/latest/jit-compilation.html#jit-and-caching, https://docs.python.org/3/library/functools.html#functools.cache
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.compiled import functions_named, makes_compiled
from tfadvisor.repair.reading.loops import called_in_loop, callers_of
from tfadvisor.repair.reading.program import Program, expression

_ARGUMENTS = (cst.Name, cst.Attribute, cst.Integer, cst.Float, cst.SimpleString)
"""What may have a hash; arrays, lists and dictionaries have none, and a lambda is another one each time."""


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each such function of the module, where a loop makes several calls of it."""
    found = {}
    for call in program.calls():
        function = _factory(program, call)
        if function is not None and function not in found:
            found[function] = _kept(program, function)
    return list(found.values())


def _factory(program: Program, call: Any) -> Any:
    """The function that is called here, and makes a compiled one each time. One inside another sees its names, and stays."""
    if not makes_compiled(program, call) or not called_in_loop(program, call):
        return None
    if not all(isinstance(one.value, _ARGUMENTS) and not one.star for one in call.args):
        return None
    functions = functions_named(program, call.func)
    plain = len(functions) == 1 and not functions[0].decorators
    return functions[0] if plain and program.scope(functions[0]) is program.module else None


def _kept(program: Program, function: Any) -> Hit:
    def decorated(now: Any) -> Any:
        return now.with_changes(decorators=[cst.Decorator(expression("functools.cache"))])

    first, last = program.lines(function)
    return Hit(
        first,
        last,
        f"{function.name.value} keeps what it has compiled",
        program.changed({function: decorated}, imports="import functools"),
        (function.name.value, *callers_of(program, function.name.value)),
    )
