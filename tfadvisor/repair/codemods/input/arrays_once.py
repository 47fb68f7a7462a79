"""An array of the host that the loop hands to its step in every turn is put on the device once, before the loop.

https://docs.jax.dev/en/latest/_autosummary/jax.device_put.html
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import positional
from tfadvisor.repair.reading.compiled import assigned_in, is_compiled
from tfadvisor.repair.reading.loops import callee, step_loops, steps_in
from tfadvisor.repair.reading.names import unused
from tfadvisor.repair.reading.program import Change, Program, before, pairs, text_of

_ON_HOST = re.compile(r"^np\.|\brandom\.|\bnumpy\.|np\.\w+\(")
_ON_DEVICE = re.compile(r"jnp\.|jax\.|device_put")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each array."""
    found = []
    if not program.imports("jax"):
        return []
    for loop in step_loops(program):
        for step in steps_in(program, loop):
            if not is_compiled(program, step.func):
                continue
            for arg in positional(step):
                if _is_host_array(program, arg.value, loop):
                    found.append(_hit(program, loop, step, arg))
    return found


def _is_host_array(program: Program, node: Any, loop: Any) -> bool:
    if not isinstance(node, cst.Name) or node.value in assigned_in(loop):
        return False
    values = [text_of(value) for target, value in pairs(program) if text_of(target) == node.value]
    return len(values) == 1 and bool(_ON_HOST.search(values[0])) and not _ON_DEVICE.search(values[0])


def _hit(program: Program, loop: Any, step: Any, arg: Any) -> Hit:
    name = unused(program, f"{arg.value.value}_on_device")
    changes: dict[cst.CSTNode, Change] = {
        arg.value: lambda _: cst.Name(name),
        loop: before(program, f"{name} = jax.device_put({arg.value.value})\n"),
    }
    first, last = program.lines(step)
    return Hit(first, last, f"{arg.value.value} put on the device once", program.changed(changes), (callee(step),))
