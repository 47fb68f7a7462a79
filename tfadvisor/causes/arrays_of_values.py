"""Lines of the program that make an array of JAX of what may be Python's values."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tfadvisor.causes.called import ON_DEVICES
from tfadvisor.causes.walked import calls_in, covers
from tfadvisor.causes.witness import scope_around

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

_MAKING = frozenset({"jax.numpy.array", "jax.numpy.asarray"})


def makes_array(parsed: ParsedFile, line: int) -> bool:
    """Whether a line makes one of what no call of NumPy or of a framework gives."""
    return any(
        parsed.names.called(call).path in _MAKING
        and bool(call.args)
        and not _is_array(parsed, call.args[0])
        for call in calls_in(scope_around(parsed.tree, line))
        if covers(call, line)
    )


def _is_array(parsed: ParsedFile, value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return isinstance(value, ast.Constant)
    return parsed.names.called(value).package in ON_DEVICES | {"numpy"}
