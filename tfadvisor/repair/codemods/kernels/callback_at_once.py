"""A callback under `jax.vmap` is called once with all elements instead of once for each.

Right where its Python function takes arrays of any shape, as NumPy's functions do.
https://docs.jax.dev/en/latest/external-callbacks.html
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import keyword
from tfadvisor.repair.reading.program import Change, Program, instead, text_of


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each sequential callback."""
    found = []
    for call in program.calls("pure_callback"):
        given: Any = keyword(call, "vmap_method")
        if given is not None and text_of(given.value).strip("\"'") == "sequential":
            changes: dict[cst.CSTNode, Change] = {given.value: instead('"expand_dims"')}
            first, last = program.lines(call)
            found.append(Hit(first, last, "one callback for all elements", program.changed(changes)))
    return found
