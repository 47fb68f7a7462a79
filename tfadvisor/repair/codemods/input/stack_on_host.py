"""`jnp.stack` of arrays that are put on the device one by one becomes one stack on the host and one copy.

https://docs.jax.dev/en/latest/faq.html#controlling-data-and-computation-placement-on-devices
"""

from __future__ import annotations

from functools import partial
from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.compiled import traced_functions
from tfadvisor.repair.reading.program import Program, dotted, expression, text_of

_STACKS = {"jnp.stack": "np.stack", "jnp.concatenate": "np.concatenate", "jnp.array": "np.stack"}
_PUTS = ("jnp.asarray", "jnp.array", "jax.device_put")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each stack of single examples outside compiled functions."""
    found = []
    traced = traced_functions(program)
    for call in program.calls("stack", "concatenate", "array"):
        host = _STACKS.get(dotted(call.func))
        parts = call.args[0].value if call.args else None
        if (
            host is None
            or not isinstance(parts, cst.ListComp | cst.GeneratorExp)
            or any(one in traced for one in program.around(call))
        ):
            continue
        put = parts.elt
        if not isinstance(put, cst.Call) or dotted(put.func) not in _PUTS or len(put.args) != 1:
            continue
        source = program.changed({call: partial(_on_host, host=host)}, imports="import numpy as np")
        first, last = program.lines(call)
        function = program.inside(call, cst.FunctionDef)
        names = () if function is None else (str(function.name.value),)
        found.append(Hit(first, last, f"{host} on the host, one copy to the device", source, names))
    return found


def _on_host(call: Any, host: str) -> Any:
    parts = call.args[0].value
    put = parts.elt
    plain = parts.with_changes(elt=put.with_changes(func=expression("np.asarray")))
    args = [call.args[0].with_changes(value=plain), *call.args[1:]]
    return expression(f"jnp.asarray({text_of(call.with_changes(func=expression(host), args=args))})")
