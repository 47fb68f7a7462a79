"""What is compiled, how often, and what the compiled step leaves out."""

from __future__ import annotations

import ast
import re
from typing import Any

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
from tfadvisor.act.repair.reading.program import (
    FUNCTIONS,
    Program,
    keyword,
    pairs,
    text_of,
)
from tfadvisor.act.repair.registry import Hit, Place

_COMPUTES = {
    "jax.jit": re.compile(r"\b(jnp|jax|optax|eqx|nnx)\."),
    "tf.function": re.compile(
        r"GradientTape|apply_gradients|update_state|assign(_add|_sub)?\(|strategy\.run|\btf\."
    ),
}


def compile_step(program: Program, _place: Place) -> list[Hit]:
    """`jax.jit` or `tf.function` for what the loop calls as its step and nothing
    compiles.

    One for each function that a loop over steps calls uncompiled.
    https://www.tensorflow.org/guide/function,
    https://docs.jax.dev/en/latest/jit-compilation.html
    """
    compiler = compiler_for(program)
    found: dict[int, Hit] = {}
    for loop in step_loops(program) if compiler else ():
        for call in (one for one in directly_in(loop) if isinstance(one, ast.Call)):
            hit = (
                None
                if is_compiled(program, call.func)
                else _for_call(program, call, compiler)
            )
            if hit is not None:
                found.setdefault(hit.first, hit)
    return list(found.values())


def _for_call(program: Program, call: Any, compiler: str) -> Hit | None:
    functions = functions_named(program, call.func)
    if not functions or not _compilable(program, functions[-1], compiler):
        return None
    names = [one.name for one in functions]
    alias = alias_of(program, call.func)
    if alias is not None:
        value = program.written(alias.value)
        edit = program.instead(alias.value, f"{compiler}({value})")
        return program.hit(alias, f"{compiler} around {value}", edit, names=names)
    function = functions[0]
    method = isinstance(
        program.inside(function, ast.ClassDef, *FUNCTIONS), ast.ClassDef
    )
    if len(functions) > 1 or (method and compiler == "jax.jit"):
        return None
    decorated = program.line_above(function, f"@{compiler}")
    return program.hit(
        function, f"@{compiler} on {function.name}", decorated, names=names
    )


def _compilable(program: Program, function: Any, compiler: str) -> bool:
    words = words_reached(program, function)
    computes = _COMPUTES[compiler].search(words) or reaches_step(program, function)
    return bool(computes) and not NOT_COMPILABLE.search(words)


def run_eagerly(program: Program, _place: Place) -> list[Hit]:
    """`run_eagerly=True` goes from a Keras model, which then compiles its step.

    One for each model that is compiled so, or set so afterwards.
    https://keras.io/api/models/model_training_apis/#compile-method
    """
    values = [
        arg.value
        for call in program.calls("compile")
        if (arg := keyword(call, "run_eagerly")) is not None
    ]
    values += [
        value
        for target, value in pairs(program)
        if text_of(target).endswith(".run_eagerly")
    ]
    return [
        program.hit(value, "run_eagerly=False", program.instead(value, "False"))
        for value in values
        if text_of(value) == "True"
    ]
