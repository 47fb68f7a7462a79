"""What is compiled, how often, and what the compiled step leaves out."""

from __future__ import annotations

import ast
import re
from typing import Any

from tfadvisor.act.repair.hits import FaultPlace, Hit
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

_COMPUTES = {
    "jax.jit": re.compile(r"\b(jnp|jax|optax|eqx|nnx)\."),
    "tf.function": re.compile(
        r"GradientTape|apply_gradients|update_state|assign(_add|_sub)?\("
        r"|strategy\.run|\btf\."
    ),
}


def compile_step(
    program: Program,
    _place: FaultPlace,
) -> list[Hit]:
    """`jax.jit` or `tf.function` for what the loop calls as its step and nothing
    compiles.

    One for each function that a loop over steps calls uncompiled.
    https://www.tensorflow.org/guide/function,
    https://docs.jax.dev/en/latest/jit-compilation.html
    """
    compiler = compiler_for(program)
    if not compiler:
        return []

    found: dict[int, Hit] = {}
    for loop in step_loops(program):
        for call in directly_in(loop):
            if not isinstance(call, ast.Call):
                continue
            if is_compiled(program, call.func):
                continue
            hit = _for_call(program, call, compiler)
            if hit is not None:
                found.setdefault(hit.first, hit)
    return list(found.values())


def _for_call(
    program: Program,
    call: Any,
    compiler: str,
) -> Hit | None:
    functions = functions_named(program, call.func)
    if not functions or not _compilable(program, functions[-1], compiler):
        return None

    names = [callee.name for callee in functions]
    alias = alias_of(program, call.func)
    if alias is not None:
        value = program.written(alias.value)
        edit = program.instead(alias.value, f"{compiler}({value})")
        return program.hit(
            alias,
            f"{compiler} around {value}",
            edit,
            names=names,
        )

    function = functions[0]
    owner = program.inside(function, ast.ClassDef, *FUNCTIONS)
    is_method = isinstance(owner, ast.ClassDef)
    if len(functions) > 1 or (is_method and compiler == "jax.jit"):
        return None
    did = f"@{compiler} on {function.name}"
    edit = program.line_above(function, f"@{compiler}")
    return program.hit(
        function,
        did,
        edit,
        names=names,
    )


def _compilable(
    program: Program,
    function: Any,
    compiler: str,
) -> bool:
    words = words_reached(program, function)
    computes = _COMPUTES[compiler].search(words) or reaches_step(program, function)
    return bool(computes) and not NOT_COMPILABLE.search(words)


def run_eagerly(
    program: Program,
    _place: FaultPlace,
) -> list[Hit]:
    """`run_eagerly=True` goes from a Keras model, which then compiles its step.

    One for each model that is compiled so, or set so afterwards.
    https://keras.io/api/models/model_training_apis/#compile-method
    """
    given = [keyword(call, "run_eagerly") for call in program.calls("compile")]
    values = [argument.value for argument in given if argument is not None]
    for target, value in pairs(program):
        if text_of(target).endswith(".run_eagerly"):
            values.append(value)

    found = []
    for value in values:
        if text_of(value) == "True":
            edit = program.instead(value, "False")
            found.append(program.hit(value, "run_eagerly=False", edit))
    return found
