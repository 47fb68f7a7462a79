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
from tfadvisor.act.repair.reading.loops import callee, directly_in, is_rare, step_loops
from tfadvisor.act.repair.reading.program import (
    FUNCTIONS,
    LOOPS,
    Program,
    dotted,
    keyword,
    pairs,
    text_of,
)
from tfadvisor.act.repair.registry import Hit, Place

_COMPUTES = {
    "jax.jit": re.compile(r"\b(jnp|jax|optax|eqx|nnx)\."),
    "tf.function": re.compile(r"GradientTape|apply_gradients|update_state|assign(_add|_sub)?\(|strategy\.run|\btf\."),
}


def compile_step(program: Program, _place: Place) -> list[Hit]:
    """`jax.jit` or `tf.function` for what the loop calls as its step and nothing compiles.

    One for each function that a loop over steps calls uncompiled.
    https://www.tensorflow.org/guide/function, https://docs.jax.dev/en/latest/jit-compilation.html
    """
    compiler = compiler_for(program)
    found: dict[int, Hit] = {}
    for loop in step_loops(program) if compiler else ():
        for call in (one for one in directly_in(loop) if isinstance(one, ast.Call)):
            hit = None if is_compiled(program, call.func) else _for_call(program, call, compiler)
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
    method = isinstance(program.inside(function, ast.ClassDef, *FUNCTIONS), ast.ClassDef)
    if len(functions) > 1 or (method and compiler == "jax.jit"):
        return None
    decorated = program.line_above(function, f"@{compiler}")
    return program.hit(function, f"@{compiler} on {function.name}", decorated, names=names)


def _compilable(program: Program, function: Any, compiler: str) -> bool:
    words = words_reached(program, function)
    computes = _COMPUTES[compiler].search(words) or reaches_step(program, function)
    return bool(computes) and not NOT_COMPILABLE.search(words)


_TF_FUNCTION = ("tf.function", "tensorflow.function")


def reduce_retracing(program: Program, _place: Place) -> list[Hit]:
    """`reduce_retracing=True`: a tf.function generalises over shapes that change instead of tracing anew for each.

    One for each tf.function that a loop calls, without a signature of its own.
    https://www.tensorflow.org/api_docs/python/tf/function
    """
    calls = [call for loop in program.all(*LOOPS) for call in directly_in(loop) if isinstance(call, ast.Call)]
    classes = {one.name for one in program.all(ast.ClassDef)}
    in_loops = {callee(call) for call in calls} - {callee(call) for call in calls if _takes_new_object(call, classes)}
    found = []
    for function in program.all(*FUNCTIONS):
        for one in function.decorator_list if function.name in in_loops else ():
            settled = isinstance(one, ast.Call) and (
                keyword(one, "input_signature") or keyword(one, "reduce_retracing")
            )
            if dotted(one.func if isinstance(one, ast.Call) else one) in _TF_FUNCTION and not settled:
                name, said = "reduce_retracing", f"reduce_retracing=True for {function.name}"
                called = isinstance(one, ast.Call)
                edit = program.with_keyword(one, name, "True") if called else program.behind(one, f"({name}=True)")
                found.append(program.hit(function, said, edit, names=(function.name,)))
    return found


def _takes_new_object(call: Any, classes: set[str]) -> bool:
    """An object of the program's own class is another one in every step, whatever its shapes."""
    given = [*call.args, *(one.value for one in call.keywords)]
    return any(isinstance(one, ast.Call) and callee(one) in classes for one in given)


_SWITCH = re.compile(
    r"""config\.update\(\s*["'](jax_disable_jit|jax_debug_nans|jax_debug_infs)["']\s*,\s*True
    |jax\.clear_caches\(\)|config\.run_functions_eagerly\(\s*True|enable_check_numerics\(\)|enable_debug_mode\(\)""",
    re.X,
)


def debug_switches(program: Program, _place: Place) -> list[Hit]:
    """Settings left from debugging go: jit switched off, caches cleared, numbers checked, functions run eagerly.

    One for each statement that only sets such a switch.
    """
    return [
        program.hit(line, f"no {text_of(line)[:60]}", program.removed(line))
        for line in program.lone_lines()
        if isinstance(line, ast.Expr) and _SWITCH.search(text_of(line))
    ]


def run_eagerly(program: Program, _place: Place) -> list[Hit]:
    """`run_eagerly=True` goes from a Keras model, which then compiles its step.

    One for each model that is compiled so, or set so afterwards.
    https://keras.io/api/models/model_training_apis/#compile-method
    """
    values = [arg.value for call in program.calls("compile") if (arg := keyword(call, "run_eagerly")) is not None]
    values += [value for target, value in pairs(program) if text_of(target).endswith(".run_eagerly")]
    return [
        program.hit(value, "run_eagerly=False", program.instead(value, "False"))
        for value in values
        if text_of(value) == "True"
    ]


_PRINTS = ("jax.debug.print", "tf.print", "debug.print", "jax.debug.callback")


def debug_print(program: Program, _place: Place) -> list[Hit]:
    """`jax.debug.print` and `tf.print` go from the compiled step, which waits for Python at each.

    One for each such statement that each step runs.
    https://docs.jax.dev/en/latest/debugging/print_breakpoint.html
    """
    return [
        program.hit(line, f"no {text_of(line)[:60]}", program.removed(line))
        for line in program.lone_lines()
        if isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Call)
        and dotted(line.value.func) in _PRINTS
        and not is_rare(program, line)
    ]
