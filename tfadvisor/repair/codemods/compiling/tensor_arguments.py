"""A Python number that changes from step to step becomes a tensor: a tf.function or `eqx.filter_jit` traces none anew.

https://www.tensorflow.org/guide/function#controlling_retracing
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import libcst as cst

from tfadvisor.repair.codemods.compiling.no_static_arguments import is_number
from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.compiled import assigned_in, functions_named, is_compiled
from tfadvisor.repair.reading.loops import callee, directly_in, is_step
from tfadvisor.repair.reading.program import Change, Program, expression, names_in, pairs_of, text_of

_TENSORS = re.compile(r"\b(tf|np|jnp|keras|tensorflow)\.|next\(|\.numpy|\[")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each compiled function, with all calls of it that loops make with such numbers."""
    grouped: dict[str, dict[cst.CSTNode, Change]] = {}
    lines: dict[str, tuple[int, int]] = {}
    array = _array_in(program)
    for loop in program.all(cst.For, cst.While) if array else ():
        inner = {text_of(t): v for one in directly_in(loop) if isinstance(one, cst.Assign) for t, v in pairs_of(one)}
        for call in (one for one in directly_in(loop) if isinstance(one, cst.Call) and is_compiled(program, one.func)):
            for arg in call.args:
                if not arg.star and _is_changing_number(program, arg.value, inner, assigned_in(loop)):
                    grouped.setdefault(callee(call), {})[arg.value] = partial(_as_array, array=array)
                    lines.setdefault(callee(call), program.lines(call))
    return [
        Hit(*lines[name], f"numbers for {name} as tensors", program.changed(changes), (name,))
        for name, changes in grouped.items()
    ]


def _is_changing_number(program: Program, node: Any, inner: dict[str, Any], changing: set[str]) -> bool:
    value = inner.get(str(node.value)) if isinstance(node, cst.Name) else node
    if value is None or not names_in(node) & changing or _TENSORS.search(text_of(value)):
        return False
    if isinstance(value, cst.Call) and is_step(program, value):
        return False
    functions = functions_named(program, value.func) if isinstance(value, cst.Call) else []
    if functions:
        return not any(_TENSORS.search(text_of(one.body)) for one in functions)
    return is_number(value)


def _array_in(program: Program) -> str:
    """What makes an array of a number; "" for plain JAX, whose jit takes numbers as they are."""
    if program.imports("tensorflow"):
        return "tf.constant"
    return "jnp.asarray" if "eqx.filter_jit" in program.source and "jnp" in program.source else ""


def _as_array(node: Any, array: str) -> Any:
    return cst.Call(expression(array), [cst.Arg(node)])
