"""What is compiled, how often, and what the compiled step leaves out."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import libcst as cst

from tfadvisor.act.repair.reading.compiled import (
    NOT_COMPILABLE,
    alias_of,
    compiled_function,
    compiler_for,
    compiler_in,
    compiling_calls,
    decorator_of,
    functions_named,
    is_compiled,
    reaches_step,
    traced_functions,
    words_reached,
)
from tfadvisor.act.repair.reading.loops import callee, directly_in, is_rare, step_loops, steps_in
from tfadvisor.act.repair.reading.pipelines import assignments
from tfadvisor.act.repair.reading.program import (
    Program,
    dotted,
    expression,
    keyword,
    names_in,
    pairs,
    pairs_of,
    positional,
    removed,
    text_of,
    with_default,
    with_keyword,
    without_keywords,
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


def no_jit_compile(program: Program, _place: Place) -> list[Hit]:
    """A tf.function with free dimensions goes without `jit_compile`: XLA compiles for each shape, TensorFlow's graph for all.

    One for each function whose signature leaves a dimension open and that XLA compiles.
    https://www.tensorflow.org/xla/known_issues
    """
    found = []
    for function in program.all(cst.FunctionDef):
        for one in (decorator.decorator for decorator in function.decorators):
            if _is_open_and_compiled(program, one):
                name = str(function.name.value)
                changes = {one: lambda now: without_keywords(now, "jit_compile")}
                found.append(program.hit(function, f"no jit_compile for {name}", changes, (name,)))
    return found


def _is_open_and_compiled(program: Program, node: Any) -> bool:
    if not isinstance(node, cst.Call) or dotted(node.func) != "tf.function":
        return False
    compiled, signature = keyword(node, "jit_compile"), keyword(node, "input_signature")
    if compiled is None or text_of(compiled.value) != "True" or signature is None:
        return False
    given = signature.value
    values = assignments(program, str(given.value)) if isinstance(given, cst.Name) else [given]
    return any("None" in text_of(value) for value in values)


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


_DONATES = "donate_arg"
"""Begins the names of jax.jit's arguments that donate."""
_IMPORT = "import functools"
_NAMED = re.compile(r"jax\.jit\((\w+), donate_argnames=")
"""The function in what the finding prescribes, where the trace names it."""


def donate(program: Program, place: Place) -> list[Hit]:
    """The step's inputs that its results replace are donated: their memory is written in place instead of copied.

    One for each jitted function whose arguments a loop overwrites with its results. Where the finding names the
    function, only that one.
    https://docs.jax.dev/en/latest/buffer_donation.html
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
            changes = {jit: partial(_donating, numbers=given)}
            imports = _IMPORT if plain else ""
            found[jit] = program.hit(jit, f"donate_argnums={given}", changes, (callee(step),), imports)
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
        return with_default(node, "donate_argnums", numbers)
    return expression(f"functools.partial({text_of(node)}, donate_argnums={numbers})")


_NOT_FOR_XLA = re.compile(
    r"summary\.|\bprint\(|tf\.(strings|io|py_function|numpy_function|debugging|unique|boolean_mask|ragged|string|lookup)\b"
    r"|as_string|StringLookup|TextVectorization|Hashing\(|RaggedTensor|logging\."
)
"""What XLA refuses or leaves out: summaries, text, printing, Python, shapes that hang on values."""


def jit_compile(program: Program, _place: Place) -> list[Hit]:
    """`jit_compile=True`: XLA fuses the step's ops into fewer kernels.

    One for each tf.function that is a loop's step, and for each Keras model that is trained.
    https://www.tensorflow.org/xla
    """
    if not program.imports("tensorflow") and not program.imports("keras"):
        return []
    steps = {callee(step) for loop in step_loops(program) for step in steps_in(program, loop)}
    found = []
    for function in program.all(cst.FunctionDef):
        name = str(function.name.value)
        for one in (decorator.decorator for decorator in function.decorators):
            if name in steps and _may_be_compiled(one) and not _NOT_FOR_XLA.search(words_reached(program, function)):
                found.append(_for_xla(program, function, one, name))
    trained = program.calls("fit", "train_on_batch") if not _model_has_more(program) else []
    for call in program.calls("compile") if trained else ():
        if dotted(call.func) != "re.compile" and not _says(call, "True"):
            found.append(_for_xla(program, call, call, "the model"))
    return found


def _model_has_more(program: Program) -> bool:
    """Whether a layer or step that Keras would compile, or one that the program makes, does what XLA cannot."""
    if any(_NOT_FOR_XLA.search(text_of(one)) for one in traced_functions(program)):
        return True
    return bool(program.calls("StringLookup", "TextVectorization", "Hashing"))


def _may_be_compiled(node: Any) -> bool:
    if isinstance(node, cst.Call):
        return dotted(node.func) in _TF_FUNCTION and not _says(node, "True")
    return dotted(node) in _TF_FUNCTION


def _says(call: Any, value: str) -> bool:
    given = keyword(call, "jit_compile")
    return given is not None and text_of(given.value) == value


def _for_xla(program: Program, place: Any, node: Any, name: str) -> Hit:
    return program.hit(place, f"jit_compile=True for {name}", {node: partial(_set_true, name="jit_compile")}, (name,))


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
