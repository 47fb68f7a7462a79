"""Which arrays of the program a loop goes over, an element a round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfadvisor.causes.called import last_name


def elements(target: ast.expr, iterated: ast.expr) -> Iterator[tuple[str, str]]:
    """Names with the array of which they are an element each; "" for its number."""
    if isinstance(target, ast.Name):
        is_plain = isinstance(iterated, ast.Name | ast.Attribute)
        is_count = isinstance(iterated, ast.Call) and last_name(iterated) == "range"
        if is_plain or is_count:
            yield target.id, ast.unparse(iterated) if is_plain else ""
    elif isinstance(target, ast.Tuple) and isinstance(iterated, ast.Call):
        yield from _elements_of(target, iterated)


def _elements_of(target: ast.Tuple, call: ast.Call) -> Iterator[tuple[str, str]]:
    name, given = last_name(call), call.args
    if name == "enumerate" and len(given) == 1 and len(target.elts) == 2:
        if isinstance(target.elts[0], ast.Name):
            yield target.elts[0].id, ""
        yield from elements(target.elts[1], given[0])
    elif name == "zip" and len(given) == len(target.elts):
        for inner, array in zip(target.elts, given, strict=True):
            yield from elements(inner, array)
