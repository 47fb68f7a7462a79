"""A static argument that is another number in every step compiles anew for each; as an ordinary argument it does not.

https://docs.jax.dev/en/latest/jit-compilation.html#marking-arguments-as-static
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import keyword, without_keywords
from tfadvisor.repair.reading.compiled import assigned_in, is_compiled
from tfadvisor.repair.reading.compiling_calls import compiler_in
from tfadvisor.repair.reading.loops import directly_in, step_loops
from tfadvisor.repair.reading.program import Program, called, names_in, pairs_of, text_of

_STATIC = ("static_argnums", "static_argnames")
_NUMBERS = frozenset(("min", "max", "float", "int", "abs", "round", "pow", "exp", "cos", "sin", "sqrt", "log"))


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each compiled function with static arguments, where a loop gives it a number that changes."""
    found = []
    if not _gives_changing_number(program):
        return []
    for call in program.calls():
        if compiler_in(call) and any(keyword(call, one) is not None for one in _STATIC):
            first, last = program.lines(call)
            source = program.changed({call: lambda now: without_keywords(now, *_STATIC)})
            found.append(Hit(first, last, "no static arguments", source))
    return found


def _gives_changing_number(program: Program) -> bool:
    for loop in step_loops(program):
        changing = assigned_in(loop)
        inner = {text_of(t): v for one in directly_in(loop) if isinstance(one, cst.Assign) for t, v in pairs_of(one)}
        for call in (one for one in directly_in(loop) if isinstance(one, cst.Call) and is_compiled(program, one.func)):
            for arg in call.args:
                value = inner.get(str(arg.value.value), arg.value) if isinstance(arg.value, cst.Name) else arg.value
                if names_in(value) & changing and is_number(value):
                    return True
    return False


def is_number(value: Any) -> bool:
    """An expression of Python numbers, as far as its text tells."""
    if isinstance(value, cst.BinaryOperation):
        return not isinstance(value.operator, cst.MatrixMultiply)
    return isinstance(value, cst.Call) and called(value) in _NUMBERS
