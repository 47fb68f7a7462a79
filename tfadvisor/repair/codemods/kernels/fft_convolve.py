"""`fftconvolve` for `convolve`: long filters cost less in the frequency domain.

https://docs.jax.dev/en/latest/_autosummary/jax.scipy.signal.fftconvolve.html
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.program import Change, Program, dotted


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each use of JAX's `convolve` of SciPy's signals."""
    found = []
    for node in program.all(cst.Attribute):
        if node.attr.value == "convolve" and dotted(node.value) in _signal_modules(program):
            first, last = program.lines(node)
            changes: dict[cst.CSTNode, Change] = {node: lambda now: now.with_changes(attr=cst.Name("fftconvolve"))}
            found.append(Hit(first, last, "fftconvolve instead of convolve", program.changed(changes)))
    return found


def _signal_modules(program: Program) -> set[str]:
    """The names under which the program knows jax.scipy.signal."""
    found = {"jax.scipy.signal", "jsp.signal"}
    for one in program.all(cst.ImportFrom):
        if one.module is not None and dotted(one.module) == "jax.scipy" and not isinstance(one.names, cst.ImportStar):
            found |= {_known_as(alias) for alias in one.names if alias.name.value == "signal"}
    return found


def _known_as(alias: Any) -> str:
    return str(alias.asname.name.value) if alias.asname is not None else "signal"
