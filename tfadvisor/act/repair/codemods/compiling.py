"""What is compiled, how often, and what the compiled step leaves out."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import libcst as cst

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
    Program,
    dotted,
    expression,
    keyword,
    pairs,
    removed,
    text_of,
    with_keyword,
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
        around = {value: lambda now: cst.Call(expression(compiler), [cst.Arg(now)])}
        return program.hit(alias, f"{compiler} around {text_of(value)}", around, _named(functions))
    function = functions[0]
    method = isinstance(program.inside(function, cst.ClassDef, cst.FunctionDef), cst.ClassDef)
    if len(functions) > 1 or (method and compiler == "jax.jit"):
        return None
    decorated = {function: partial(_decorated, compiler=compiler)}
    return program.hit(function, f"@{compiler} on {function.name.value}", decorated, _named(functions))


def _compilable(program: Program, function: Any, compiler: str) -> bool:
    words = words_reached(program, function)
    computes = _COMPUTES[compiler].search(words) or reaches_step(program, function)
    return bool(computes) and not NOT_COMPILABLE.search(words)


def _decorated(function: Any, compiler: str) -> Any:
    return function.with_changes(decorators=[cst.Decorator(expression(compiler)), *function.decorators])


def _named(functions: list[Any]) -> tuple[str, ...]:
    return tuple(str(one.name.value) for one in functions)


_TF_FUNCTION = ("tf.function", "tensorflow.function")


def reduce_retracing(program: Program, _place: Place) -> list[Hit]:
    """`reduce_retracing=True`: a tf.function generalises over shapes that change instead of tracing anew for each.

    One for each tf.function that a loop calls, without a signature of its own.
    https://www.tensorflow.org/api_docs/python/tf/function
    """
    calls = [
        call for loop in program.all(cst.For, cst.While) for call in directly_in(loop) if isinstance(call, cst.Call)
    ]
    in_loops = {callee(call) for call in calls} - {callee(call) for call in calls if _takes_new_object(program, call)}
    found = []
    for function in program.all(cst.FunctionDef):
        for decorator in function.decorators:
            if _may_generalise(decorator.decorator) and function.name.value in in_loops:
                name = str(function.name.value)
                changes = {decorator.decorator: partial(_set_true, name="reduce_retracing")}
                found.append(program.hit(function, f"reduce_retracing=True for {name}", changes, (name,)))
    return found


def _takes_new_object(program: Program, call: Any) -> bool:
    """An object of the program's own class is another one in every step, whatever its shapes."""
    classes = {str(one.name.value) for one in program.all(cst.ClassDef)}
    return any(isinstance(arg.value, cst.Call) and callee(arg.value) in classes for arg in call.args)


def _may_generalise(node: Any) -> bool:
    if isinstance(node, cst.Call):
        settled = keyword(node, "input_signature") is not None or keyword(node, "reduce_retracing") is not None
        return dotted(node.func) in _TF_FUNCTION and not settled
    return dotted(node) in _TF_FUNCTION


def _set_true(node: Any, name: str) -> Any:
    """A decorator, or a call, with this option."""
    return with_keyword(node if isinstance(node, cst.Call) else cst.Call(node), name, "True")


_SWITCH = re.compile(
    r"""config\.update\(\s*["'](jax_disable_jit|jax_debug_nans|jax_debug_infs)["']\s*,\s*True
    |jax\.clear_caches\(\)|config\.run_functions_eagerly\(\s*True|enable_check_numerics\(\)|enable_debug_mode\(\)""",
    re.X,
)


def debug_switches(program: Program, _place: Place) -> list[Hit]:
    """Settings left from debugging go: jit switched off, caches cleared, numbers checked, functions run eagerly.

    One for each statement that only sets such a switch.
    """
    found = []
    for line in program.all(cst.SimpleStatementLine):
        if len(line.body) == 1 and isinstance(line.body[0], cst.Expr) and _SWITCH.search(text_of(line)):
            found.append(program.hit(line, f"no {text_of(line.body[0])[:60]}", {line: removed(program, line)}))
    return found


def run_eagerly(program: Program, _place: Place) -> list[Hit]:
    """`run_eagerly=True` goes from a Keras model, which then compiles its step.

    One for each model that is compiled so, or set so afterwards.
    https://keras.io/api/models/model_training_apis/#compile-method
    """
    values = [arg.value for call in program.calls("compile") if (arg := keyword(call, "run_eagerly")) is not None]
    values += [value for target, value in pairs(program) if text_of(target).endswith(".run_eagerly")]
    found = []
    for value in values:
        if text_of(value) == "True":
            found.append(program.hit(value, "run_eagerly=False", {value: lambda _: cst.Name("False")}))
    return found


_PRINTS = ("jax.debug.print", "tf.print", "debug.print", "jax.debug.callback")


def debug_print(program: Program, _place: Place) -> list[Hit]:
    """`jax.debug.print` and `tf.print` go from the compiled step, which waits for Python at each.

    One for each such statement that each step, or one in a few, runs.
    https://docs.jax.dev/en/latest/debugging/print_breakpoint.html
    """
    found = []
    for line in program.all(cst.SimpleStatementLine):
        one = line.body[0]
        if (
            len(line.body) == 1
            and isinstance(one, cst.Expr)
            and isinstance(one.value, cst.Call)
            and dotted(one.value.func) in _PRINTS
            and not is_rare(program, line)
        ):
            found.append(program.hit(line, f"no {text_of(one)[:60]}", {line: removed(program, line)}))
    return found
