"""`jax.jit` or `tf.function` for what the loop calls as its step and nothing compiles.

https://www.tensorflow.org/guide/function, https://docs.jax.dev/en/latest/jit-compilation.html
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.compiled import (
    NOT_COMPILABLE,
    alias_of,
    compiler_for,
    functions_named,
    is_compiled,
    reaches_step,
    words_reached,
)
from tfadvisor.act.repair.reading.loops import directly_in, step_loops
from tfadvisor.act.repair.reading.program import Program, expression, text_of

_COMPUTES = {
    "jax.jit": re.compile(r"\b(jnp|jax|optax|eqx|nnx)\."),
    "tf.function": re.compile(r"GradientTape|apply_gradients|update_state|assign(_add|_sub)?\(|strategy\.run|\btf\."),
}


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each function that a loop over steps calls uncompiled."""
    compiler = compiler_for(program)
    found: dict[Any, Hit] = {}
    for loop in step_loops(program) if compiler else ():
        for call in (one for one in directly_in(loop) if isinstance(one, cst.Call)):
            if is_compiled(program, call.func):
                continue
            hit = _for_call(program, call, compiler)
            if hit is not None and hit.first not in found:
                found[hit.first] = hit
    return list(found.values())


def _for_call(program: Program, call: Any, compiler: str) -> Hit | None:
    functions = functions_named(program, call.func)
    if not functions or not _compilable(program, functions[-1], compiler):
        return None
    alias = alias_of(program, call.func)
    if alias is not None:
        value = alias.value
        source = program.changed({value: lambda now: cst.Call(expression(compiler), [cst.Arg(now)])})
        first, last = program.lines(alias)
        return Hit(first, last, f"{compiler} around {text_of(value)}", source, _named(functions))
    function = functions[0]
    method = isinstance(program.inside(function, cst.ClassDef, cst.FunctionDef), cst.ClassDef)
    if len(functions) > 1 or (method and compiler == "jax.jit"):
        return None
    source = program.changed({function: lambda now: _decorated(now, compiler)})
    first, last = program.lines(function)
    return Hit(first, last, f"@{compiler} on {function.name.value}", source, _named(functions))


def _compilable(program: Program, function: Any, compiler: str) -> bool:
    words = words_reached(program, function)
    computes = _COMPUTES[compiler].search(words) or reaches_step(program, function)
    return bool(computes) and not NOT_COMPILABLE.search(words)


def _decorated(function: Any, compiler: str) -> Any:
    return function.with_changes(decorators=[cst.Decorator(expression(compiler)), *function.decorators])


def _named(functions: list[Any]) -> tuple[str, ...]:
    return tuple(str(one.name.value) for one in functions)
