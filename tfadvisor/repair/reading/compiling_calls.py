"""Which calls of a compiler make the function that a name stands for."""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.reading.program import Program, dotted, text_of, walk

COMPILERS = frozenset(
    ("jax.jit", "jit", "jax.pmap", "pmap", "tf.function", "tensorflow.function", "eqx.filter_jit", "nnx.jit", "nn.jit")
)
_PARTIAL = ("partial", "functools.partial")


def compiler_in(node: cst.CSTNode) -> str:
    """`jax.jit` of `jax.jit`, `partial(jax.jit, ...)` or `jax.jit(...)`; "" of what compiles nothing."""
    if isinstance(node, cst.Call):
        if dotted(node.func) in _PARTIAL and node.args:
            return compiler_in(node.args[0].value)
        return compiler_in(node.func)
    name = dotted(node)
    return name if name in COMPILERS else ""


def compiling_calls(program: Program, value: cst.CSTNode) -> list[cst.Call]:
    """The calls of a compiler of which a value is one: `jax.jit(f)`, both arms of `jax.jit(f) if fast else jax.jit(g)`,
    and what `make_step(...)` returns. Empty where it may be anything else.
    """
    if isinstance(value, cst.IfExp):
        arms = [compiling_calls(program, arm) for arm in (value.body, value.orelse)]
        return [call for arm in arms for call in arm] if all(arms) else []
    if not isinstance(value, cst.Call):
        return []
    if compiler_in(value.func):
        return [value]
    factories = program.functions.get(dotted(value.func), [])
    return _returned(factories[0]) if len(factories) == 1 else []


def _returned(factory: Any) -> list[cst.Call]:
    """The calls of a compiler that a function returns, of its own returns all."""
    own = {one for inner in walk(factory.body) if isinstance(inner, cst.FunctionDef) for one in walk(inner)}
    returns = [one.value for one in walk(factory.body) if isinstance(one, cst.Return) and one not in own]
    calls = [one for one in returns if isinstance(one, cst.Call) and compiler_in(one.func)]
    return calls if len(calls) == len(returns) else []


def compiled_function(call: cst.Call) -> str:
    """The name of the function that a call of a compiler is given, "" where that is no name."""
    return text_of(call.args[0].value).split(".")[-1] if call.args and not call.args[0].keyword else ""
