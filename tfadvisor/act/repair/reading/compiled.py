"""Which functions of a program are compiled or traced, and by what."""

from __future__ import annotations

import ast
import re
from typing import Any

from tfadvisor.act.repair.reading.program import (
    FUNCTIONS,
    Program,
    called,
    dotted,
    names_in,
    once,
    pairs,
    pairs_of,
    text_of,
    walk,
)
from tfadvisor.tallies import listed

_TRACING = (
    "grad",
    "value_and_grad",
    "vmap",
    "scan",
    "fori_loop",
    "while_loop",
    "cond",
    "checkpoint",
    "shard_map",
    "run",
)
"""Calls that trace a function given to them."""
_TRACED_METHODS = ("call", "train_step", "test_step")
"""Of a Keras model or layer: Keras compiles them."""
NOT_COMPILABLE = re.compile(
    r"\.numpy\(|np\.asarray|\.item\(|\.tolist\(|\bopen\(|\bprint\(|\bnext\("
    r"|profiler|\byield\b|get_weights|set_weights|get_value|summary\.\w+\("
    r"|\blog(?:ger|ging)?\.(?:debug|info|warning|error)\(|block_until_ready"
    r"|device_get|train_on_batch|\.fit\(|time\.(sleep|time|perf)"
    r"|StepTraceAnnotation|\.write\(|json\.|pickle\."
)
"""What a compiled function must not do: it would run while the function is traced, and
never again.
"""
_GRADIENT = re.compile(
    r"\b(GradientTape|value_and_grad|grad|apply_gradients|strategy\.run)\b"
)


def decorator_of(function: Any) -> Any:
    """The decorator that compiles a function, None without one."""
    for decorator in function.decorator_list:
        if compiler_in(decorator):
            return decorator
    return None


def compiler_for(program: Program) -> str:
    """What compiles a function of this program: jax.jit or tf.function; "" for neither
    framework.
    """
    if program.imports("tensorflow"):
        return "tf.function"
    return "jax.jit" if program.imports("jax") else ""


@once
def compiled_names(program: Program) -> frozenset[str]:
    """Last names of functions that are compiled when they are called: decorated ones,
    and what a compiler's result is called.
    """
    found = {
        function.name
        for function in program.all(*FUNCTIONS)
        if decorator_of(function) is not None
    }
    for target, value in pairs(program):
        if compiling_calls(program, value) or _lists_compiled(value):
            found.add(text_of(target).split(".")[-1])
    return frozenset(found)


def _lists_compiled(value: ast.AST) -> bool:
    """`[tf.function(block) for block in blocks]`."""
    return (
        isinstance(value, ast.ListComp)
        and isinstance(value.elt, ast.Call)
        and bool(compiler_in(value.elt.func))
    )


@once
def traced_functions(program: Program) -> frozenset[Any]:
    """Functions whose body a compiler runs: compiled ones, those inside them, those
    that only they call or hand on.
    """
    functions = program.all(*FUNCTIONS)
    left = [node for node in functions if _is_compiled_by_itself(program, node)]
    for call in program.calls():
        if _traces(call) and call.args:
            left += functions_named(program, call.args[0])

    found: set[Any] = set()
    while left:
        function = left.pop()
        if function in found:
            continue
        found.add(function)
        left += [node for node in walk(function) if isinstance(node, FUNCTIONS)]
        for call in calls_in(function):
            left += functions_named(program, call.func)
    return frozenset(found)


def _is_compiled_by_itself(program: Program, function: Any) -> bool:
    """Whether it has a decorator for it, or Keras compiles it."""
    if decorator_of(function) is not None:
        return True
    owner = program.inside(function, ast.ClassDef, *FUNCTIONS)
    return function.name in _TRACED_METHODS and isinstance(owner, ast.ClassDef)


def _traces(call: Any) -> bool:
    """Whether a call traces the function that it is given."""
    return bool(compiler_in(call.func)) or called(call) in _TRACING


def calls_in(function: Any) -> list[Any]:
    """What its body calls."""
    nodes = walk(function.body)
    return [node for node in nodes if isinstance(node, ast.Call)]


def functions_named(
    program: Program,
    node: ast.AST,
) -> list[Any]:
    """The functions of the module that a name, attribute or alias of it may be."""
    for _ in range(_LONGEST_ALIAS):
        name = dotted(node).split(".")[-1]
        alias = None if name in program.functions else alias_of(program, node)
        if alias is None:
            return program.functions.get(name, [])
        node = alias.value
    return []


_LONGEST_ALIAS = 8


def alias_of(
    program: Program,
    node: ast.AST,
) -> Any:
    """The one assignment `step = other` of a name to another name or attribute, None
    otherwise.
    """
    if not isinstance(node, ast.Name):
        return None
    found = _assigns(program).get(node.id, [])
    if len(found) != 1:
        return None

    (alias,) = found
    plain = isinstance(alias.value, ast.Name | ast.Attribute)
    return alias if plain and isinstance(alias.targets[0], ast.Name) else None


@once
def _assigns(program: Program) -> dict[str, list[Any]]:
    """By name, the assignments that give it a value."""
    found = []
    for assignment in program.all(ast.Assign):
        for target, _ in pairs_of(assignment):
            found.append((dotted(target), assignment))
    return listed(found)


def reached(
    program: Program,
    function: Any,
) -> list[Any]:
    """A function, and those of the module that it calls, by itself or through
    others.
    """
    found: dict[Any, None] = {}
    left = [function]
    while left:
        callee = left.pop()
        if callee not in found:
            found[callee] = None
            left += _called_by(program, callee)
    return list(found)


def _called_by(
    program: Program,
    function: Any,
) -> list[Any]:
    """Functions of the module that a function calls itself."""
    if function not in program.answers:
        called_ones: list[Any] = []
        for call in calls_in(function):
            called_ones += functions_named(program, call.func)
        program.answers[function] = called_ones
    found: list[Any] = program.answers[function]
    return found


def is_compiled(
    program: Program,
    node: ast.AST,
) -> bool:
    """Whether calling this runs a compiled function."""
    compiled = compiled_names(program)
    if _last_name(node) in compiled:
        return True
    if "__call__" in compiled and _is_object(program, node):
        return True
    alias = alias_of(program, node)
    return alias is not None and _last_name(alias.value) in compiled


def _last_name(node: ast.AST) -> str:
    """`step` of `model.step`."""
    return dotted(node).split(".")[-1]


def _is_object(program: Program, node: Any) -> bool:
    """A name that a loop or an assignment gives a value, and that is no function."""
    if not isinstance(node, ast.Name) or node.id in program.functions:
        return False
    given = [loop.target for loop in program.all(ast.For)]
    given += [target for target, _ in pairs(program)]
    return any(node.id in names_in(target) for target in given)


def reaches_step(program: Program, function: Any) -> bool:
    """Whether a function takes gradients or calls something compiled, by itself or
    through others.
    """
    return any(callee in _with_steps(program) for callee in reached(program, function))


@once
def _with_steps(program: Program) -> set[Any]:
    """Functions that take gradients or call something compiled themselves."""
    functions = program.all(*FUNCTIONS)
    return {function for function in functions if _is_step_itself(program, function)}


def _is_step_itself(program: Program, function: Any) -> bool:
    if _GRADIENT.search(text_of(function.body)):
        return True
    return any(is_compiled(program, call.func) for call in calls_in(function))


def words_reached(program: Program, function: Any) -> str:
    """The text of a function and of those of the module that it calls."""
    return "\n".join(map(text_of, reached(program, function)))


# Which calls of a compiler make the function that a name stands for.

COMPILERS = frozenset(
    (
        "jax.jit",
        "jit",
        "jax.pmap",
        "pmap",
        "tf.function",
        "tensorflow.function",
        "eqx.filter_jit",
        "nnx.jit",
        "nn.jit",
    )
)
_PARTIAL = ("partial", "functools.partial")


def compiler_in(node: ast.AST) -> str:
    """`jax.jit` of `jax.jit`, `partial(jax.jit, ...)` or `jax.jit(...)`; "" of what
    compiles nothing.
    """
    if isinstance(node, ast.Call):
        if dotted(node.func) in _PARTIAL and node.args:
            return compiler_in(node.args[0])
        return compiler_in(node.func)
    name = dotted(node)
    return name if name in COMPILERS else ""


def compiling_calls(
    program: Program,
    value: ast.AST,
) -> list[ast.Call]:
    """The calls of a compiler of which a value is one: `jax.jit(f)`, both arms of
    `jax.jit(f) if fast else jax.jit(g)`, and what `make_step(...)` returns. Empty where
    it may be anything else.
    """
    if isinstance(value, ast.IfExp):
        body = compiling_calls(program, value.body)
        orelse = compiling_calls(program, value.orelse)
        return [*body, *orelse] if body and orelse else []
    if not isinstance(value, ast.Call):
        return []
    if compiler_in(value.func):
        return [value]
    factories = program.functions.get(dotted(value.func), [])
    return _returned(factories[0]) if len(factories) == 1 else []


def _returned(factory: Any) -> list[ast.Call]:
    """The calls of a compiler that a function returns, of its own returns all."""
    inner: set[Any] = set()
    for function in walk(factory.body):
        if isinstance(function, FUNCTIONS):
            inner.update(walk(function))

    calls = []
    for node in walk(factory.body):
        if not isinstance(node, ast.Return) or node in inner:
            continue
        value = node.value
        if not isinstance(value, ast.Call) or not compiler_in(value.func):
            return []
        calls.append(value)
    return calls
