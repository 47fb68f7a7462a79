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
from tfadvisor.repair.reading.arguments import positional
from tfadvisor.repair.reading.compiled import alias_of, assigned_in, functions_named, is_compiled, traced_functions
from tfadvisor.repair.reading.loops import callee, directly_in, is_step
from tfadvisor.repair.reading.program import Change, Program, expression, names_in, pairs_of, text_of, walk

_TENSORS = re.compile(r"\b(tf|np|jnp|keras|tensorflow)\.|next\(|\.numpy|\[")
_REPLACES = ("eqx.tree_at", "equinox.tree_at", "tree_at")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each compiled function, with all calls of it that loops make with such numbers."""
    grouped: dict[str, dict[cst.CSTNode, Change]] = {}
    lines: dict[str, tuple[int, int]] = {}
    array = _array_in(program)
    for body, changing in _bodies(program) if array else ():
        inner = {text_of(t): v for one in directly_in(body) if isinstance(one, cst.Assign) for t, v in pairs_of(one)}
        for call in (one for one in directly_in(body) if isinstance(one, cst.Call)):
            for arg in _passed_on(program, call):
                if not arg.star and _is_changing_number(program, arg.value, inner, changing):
                    grouped.setdefault(callee(call), {})[arg.value] = partial(_as_array, array=array)
                    lines.setdefault(callee(call), program.lines(call))
    return [
        Hit(*lines[name], f"numbers for {name} as tensors", program.changed(changes), (name,))
        for name, changes in grouped.items()
    ]


def _bodies(program: Program) -> list[tuple[Any, set[str]]]:
    """Loops, and functions that loops call, each with the names that differ from turn to turn in it."""
    found: dict[Any, set[str]] = {loop: assigned_in(loop) for loop in program.all(cst.For, cst.While)}
    traced = traced_functions(program)
    for loop in list(found):
        for call in (one for one in directly_in(loop) if isinstance(one, cst.Call)):
            functions = functions_named(program, call.func)
            if len(functions) != 1 or functions[0] in traced or is_compiled(program, call.func):
                continue
            params = [str(one.name.value) for one in functions[0].params.params]
            given = dict(zip(params, positional(call), strict=False))
            changing = {name for name, arg in given.items() if names_in(arg.value) & assigned_in(loop)}
            own = assigned_in(functions[0].body)
            found.setdefault(functions[0], set()).update(changing | own)
    return list(found.items())


def _passed_on(program: Program, call: Any) -> list[Any]:
    """Arguments that reach a compiled function: its own, and the new leaf of a module by `eqx.tree_at`."""
    if is_compiled(program, call.func):
        return [arg for number, arg in enumerate(call.args) if not _decides(program, call, number, arg)]
    return list(call.args[2:3]) if text_of(call.func) in _REPLACES else []


def _decides(program: Program, call: Any, number: int, arg: Any) -> bool:
    """Whether JAX needs the number while it traces: for a branch or a range of Python."""
    if program.imports("tensorflow"):
        return False
    for function in functions_named(program, call.func):
        params = [str(one.name.value) for one in function.params.params]
        name = str(arg.keyword.value) if arg.keyword is not None else params[number] if number < len(params) else ""
        for one in walk(function.body):
            test = one.test if isinstance(one, cst.If | cst.IfExp | cst.While) else None
            asked = one if isinstance(one, cst.Call) and callee(one) == "range" else test
            if asked is not None and name in names_in(asked):
                return True
    return False


def _is_changing_number(program: Program, node: Any, inner: dict[str, Any], changing: set[str]) -> bool:
    value = inner.get(str(node.value)) if isinstance(node, cst.Name) else node
    if value is None or not names_in(node) & changing or _TENSORS.search(text_of(value)):
        return False
    if isinstance(value, cst.Call) and is_step(program, value):
        return False
    functions = functions_named(program, value.func) if isinstance(value, cst.Call) else []
    alias = alias_of(program, value.func) if isinstance(value, cst.Call) and not functions else None
    if alias is not None and text_of(alias.value) in ("float", "int"):
        return True
    if functions:
        return all(_gives_number(one) for one in functions)
    return is_number(value)


def _gives_number(function: Any) -> bool:
    """No tensors in it, and each return is arithmetic, a number, or a name that it gives one."""
    if _TENSORS.search(text_of(function.body)):
        return False
    inner = {text_of(t): v for one in walk(function.body) if isinstance(one, cst.Assign) for t, v in pairs_of(one)}
    returned = [one.value for one in walk(function.body) if isinstance(one, cst.Return)]
    values = [inner.get(str(one.value), one) if isinstance(one, cst.Name) else one for one in returned]
    return bool(values) and all(one is not None and _is_arithmetic(one) for one in values)


def _is_arithmetic(node: Any) -> bool:
    if isinstance(node, cst.IfExp):
        return _is_arithmetic(node.body) and _is_arithmetic(node.orelse)
    return is_number(node) or isinstance(node, cst.Integer | cst.Float)


def _array_in(program: Program) -> str:
    """What makes an array of a number; "" for plain JAX, whose jit takes numbers as they are."""
    if program.imports("tensorflow"):
        return "tf.constant"
    return "jnp.asarray" if "eqx.filter_jit" in program.source and "jnp" in program.source else ""


def _as_array(node: Any, array: str) -> Any:
    return cst.Call(expression(array), [cst.Arg(node)])
