"""Which arrays of the program a loop goes over, an element a round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfadvisor.causes.called import last_name

_COUNTING = frozenset({"arange", "range"})
_SHOWING = frozenset({"tqdm"})
"""Around what a loop goes over."""


def elements(target: ast.expr, iterated: ast.expr) -> Iterator[tuple[str, str]]:
    """Names with the array of which they are an element each; "" for its number."""
    iterated = _shown(iterated)
    if isinstance(target, ast.Name):
        is_plain = isinstance(iterated, ast.Name | ast.Attribute)
        if is_plain or _is_count(iterated):
            yield target.id, ast.unparse(iterated) if is_plain else ""
    elif isinstance(target, ast.Tuple) and isinstance(iterated, ast.Call):
        yield from _elements_of(target, iterated)


def leaves_out(iterated: ast.expr) -> bool:
    """Whether a loop does not count from 0 by ones: `range(0, n, 8)`."""
    iterated = _shown(iterated)
    return (
        isinstance(iterated, ast.Call)
        and _is_count(iterated)
        and len(iterated.args) != 1
    )


def _is_count(iterated: ast.expr) -> bool:
    return isinstance(iterated, ast.Call) and last_name(iterated) in _COUNTING


def _shown(iterated: ast.expr) -> ast.expr:
    """Without what only shows how far a loop is."""
    is_call = isinstance(iterated, ast.Call) and last_name(iterated) in _SHOWING
    given = getattr(iterated, "args", []) if is_call else []
    return given[0] if given else iterated


def _elements_of(target: ast.Tuple, call: ast.Call) -> Iterator[tuple[str, str]]:
    name, given = last_name(call), call.args
    if name == "enumerate" and len(given) == 1 and len(target.elts) == 2:
        if isinstance(target.elts[0], ast.Name):
            yield target.elts[0].id, ""
        yield from elements(target.elts[1], given[0])
    elif name == "zip" and len(given) == len(target.elts):
        for inner, array in zip(target.elts, given, strict=True):
            yield from elements(inner, array)
