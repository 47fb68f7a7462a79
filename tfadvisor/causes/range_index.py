"""Arrays of the program that a line indexes by a range of Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes.walked import covers, own_nodes
from tfadvisor.causes.witness import scope_around

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

_MOST_BOUNDS = 3
"""Of a range: where it begins and ends, and its step."""


class RangeIndex(NamedTuple):
    """What takes an element for each number of a range."""

    taken: str
    """As it is written: `data[rows]`."""
    range: str
    """`range(i - n, i)`."""
    slice: str
    """What takes the same without an index for each: `data[i - n:i]`."""


def range_index(parsed: ParsedFile, line: int) -> RangeIndex | None:
    """The first on a line; None for none. What a list gives is none: it takes no range
    as an index.
    """
    function = scope_around(parsed.tree, line)
    nodes = [*own_nodes(function)]
    ranges = dict(_named_ranges(nodes))
    for node in nodes:
        if isinstance(node, ast.Subscript) and covers(node, line):
            index = node.slice
            if isinstance(index, ast.Name):
                index = ranges.get(index.id, index)
            made = _range_of(index)
            if made is not None and isinstance(node.ctx, ast.Load):
                whole = ast.unparse(node.value)
                cut = f"{whole}[{_as_slice(made)}]"
                return RangeIndex(ast.unparse(node), ast.unparse(made), cut)
    return None


def _named_ranges(nodes: list[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Names that a function gives to ranges, and to nothing else."""
    stored = [
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    for node in nodes:
        if isinstance(node, ast.Assign) and _range_of(node.value) is not None:
            (target, *_) = node.targets
            if isinstance(target, ast.Name) and stored.count(target.id) == 1:
                yield target.id, node.value


def _range_of(node: ast.expr) -> ast.Call | None:
    """`range(n)`, also of `list(range(n))`; None for anything else."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    if node.func.id == "list" and len(node.args) == 1:
        return _range_of(node.args[0])
    is_plain = node.func.id == "range" and 1 <= len(node.args) <= _MOST_BOUNDS
    return node if is_plain else None


def _as_slice(made: ast.Call) -> str:
    bounds = list(map(ast.unparse, made.args))
    return ":".join(bounds) if len(bounds) > 1 else f":{bounds[0]}"
