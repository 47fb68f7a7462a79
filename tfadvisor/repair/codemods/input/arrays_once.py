"""An array of the host that the loop hands to its step in every turn is put on the device once, before the loop.

https://docs.jax.dev/en/latest/_autosummary/jax.device_put.html
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import positional
from tfadvisor.repair.reading.compiled import assigned_in, functions_named, is_compiled, keeps_argument
from tfadvisor.repair.reading.loops import callee, step_loops, stepping_functions, steps_in
from tfadvisor.repair.reading.names import unused, values_of
from tfadvisor.repair.reading.program import Change, Program, before, text_of, walk

_ON_HOST = re.compile(r"^np\.|\brandom\.|\bnumpy\.|np\.\w+\(")
_ON_DEVICE = re.compile(r"jnp\.|jax\.|device_put|torch\.|tf\.")
_CHANGES_IT = re.compile(r"\.(shuffle|fill|sort|put|copyto|resize|partition)\(")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each array."""
    found: dict[str, Hit] = {}
    if not program.imports("jax"):
        return []
    for body in (*step_loops(program), *stepping_functions(program)):
        for step in steps_in(program, body):
            if not is_compiled(program, step.func):
                continue
            for number, arg in enumerate(positional(step)):
                name = _host_array(program, arg.value, body)
                if name and name not in found and keeps_argument(program, callee(step), number):
                    found[name] = _hit(program, body, name)
    return list(found.values())


def _host_array(program: Program, node: Any, body: Any) -> str:
    """The name of an array of the host that is the same in every turn, "" of anything else."""
    if not isinstance(node, cst.Name) or node.value in assigned_in(body) or _is_changed(program, node):
        return ""
    if isinstance(body, cst.FunctionDef):
        made = [program.lines(value)[0] for value in values_of(program, node)]
        inside = {str(one.name.value) for one in body.params.params}
        if node.value in inside or not made or max(made) > program.lines(body)[0]:
            return ""
    return str(node.value) if _is_of_host(program, node, 3) else ""


def _is_of_host(program: Program, name: Any, depth: int) -> bool:
    values = values_of(program, name)
    if len(values) != 1 or not depth:
        return False
    value = values[0]
    if isinstance(value, cst.Name):
        return _is_of_host(program, value, depth - 1)
    functions = functions_named(program, value.func) if isinstance(value, cst.Call) else []
    text = "\n".join(text_of(one) for one in functions) or text_of(value)
    return bool(_ON_HOST.search(text)) and not _ON_DEVICE.search(text)


def _is_changed(program: Program, name: Any) -> bool:
    """Whether the program writes into the array anywhere."""
    written: list[Any] = []
    for one in program.all(cst.AssignTarget, cst.AugAssign):
        target = one.target
        inner = (
            target.value if isinstance(target, cst.Subscript) else target if isinstance(one, cst.AugAssign) else None
        )
        written += [inner]
    for call in program.all(cst.Call):
        written += [one for one in walk(call) if _CHANGES_IT.search(text_of(call))]
    same = [one for one in written if isinstance(one, cst.Name) and one.value == name.value]
    return any(values_of(program, one) == values_of(program, name) for one in same)


def _hit(program: Program, body: Any, host: str) -> Hit:
    """The array on the device has a name of its own: what the host does with its array stays."""
    name = unused(program, f"{host}_on_device")
    changes: dict[cst.CSTNode, Change] = {body: before(program, f"{name} = jax.device_put({host})\n")}
    steps = [one for one in steps_in(program, body) if is_compiled(program, one.func)]
    for step in steps:
        for number, arg in enumerate(positional(step)):
            if text_of(arg.value) == host and keeps_argument(program, callee(step), number):
                changes[arg.value] = lambda _: cst.Name(name)
    first, last = program.lines(steps[0])
    return Hit(first, last, f"{host} put on the device once", program.changed(changes), (callee(steps[0]),))
