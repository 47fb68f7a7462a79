"""Selections of columns that copy all rows of an array, of whose result only some rows
are then taken.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes.called import calls_in, functions_in, last_name
from tfadvisor.causes.definitions import reads_of
from tfadvisor.causes.witness import covers, function_around, scope_around
from tfadvisor.printable import cut

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

_TAKE = frozenset({"iloc", "loc", "take"})
"""Attributes by which rows are taken."""
_LONGEST = 80
"""Characters of what is shown."""


class RowsLast(NamedTuple):
    """Such a selection."""

    file: str
    line: int
    """On which the rows are taken."""
    function: str
    columns: str
    """`self.values[:, [names.index(name) for name in wanted]]`."""
    rows: str
    """`self.readings.columns(names).rows(hours)`."""


def rows_last(parsed: ParsedFile, line: int, callers: Iterable[int]) -> RowsLast | None:
    """callers: lines of the file that call the function of the line. None where the
    line does not select columns by a list, or all that is made of it may be used.
    """
    parents = _parents(parsed.tree)
    for selected in _columns(parsed, line):
        taken = _taken(parsed, selected, parents) or next(
            (
                taken
                for call in _calls_of(parsed, selected, parents, callers)
                if (taken := _taken(parsed, call, parents))
            ),
            None,
        )
        if taken is not None:
            function = function_around(parsed.tree, taken.lineno)
            return RowsLast(
                parsed.file,
                taken.lineno,
                "" if function is None else function.name,
                cut(ast.unparse(selected), _LONGEST),
                cut(ast.unparse(taken), _LONGEST),
            )
    return None


def _parents(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    return {
        child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
    }


def _columns(parsed: ParsedFile, line: int) -> Iterator[ast.Subscript]:
    """`x[:, [...]]` on a line: by a list, so NumPy copies."""
    for node in ast.walk(parsed.tree):
        if not isinstance(node, ast.Subscript) or not covers(node, line):
            continue
        if isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Tuple):
            first, *others = node.slice.elts
            is_list = any(isinstance(part, ast.List | ast.ListComp) for part in others)
            if _is_all(first) and is_list:
                yield node


def _is_all(index: ast.expr) -> bool:
    return isinstance(index, ast.Slice) and not (index.lower or index.upper)


def _taken(
    parsed: ParsedFile, node: ast.expr, parents: dict[ast.AST, ast.AST]
) -> ast.expr | None:
    """What takes some rows of an expression, and nothing else is made of it."""
    parent = parents[node]
    if isinstance(parent, ast.Assign) and len(parent.targets) > 1:
        return None
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        scope = scope_around(parsed.tree, node.lineno)
        reads = reads_of(parent.targets[0].id, scope)
        taken = [_rows_of(parsed, read, parents) for read in reads]
        return taken[0] if taken and all(taken) else None
    return _rows_of(parsed, node, parents)


def _rows_of(
    parsed: ParsedFile, node: ast.expr, parents: dict[ast.AST, ast.AST]
) -> ast.expr | None:
    """`x[rows]`, `x.iloc[rows]`, `x.take(rows)`, or what a method of the program takes
    of x.
    """
    parent = parents[node]
    if isinstance(parent, ast.Subscript):
        return _indexed(parent, node)
    if not isinstance(parent, ast.Attribute):
        return None
    around = parents[parent]
    if isinstance(around, ast.Subscript):
        return _indexed(around, parent) if parent.attr in _TAKE else None
    if not isinstance(around, ast.Call) or around.func is not parent:
        return None
    is_rows = parent.attr in _TAKE or _takes_rows(parsed, parent.attr)
    return around if is_rows else None


def _indexed(around: ast.Subscript, node: ast.expr) -> ast.expr | None:
    return around if around.value is node and _are_some(around.slice) else None


def _are_some(index: ast.expr) -> bool:
    """Whether an index of rows is one of a variable: a batch's."""
    rows = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    return any(isinstance(node, ast.Name) for node in ast.walk(rows))


def _takes_rows(parsed: ParsedFile, name: str) -> bool:
    """Whether the one function of that name indexes what its object holds with its
    first argument.
    """
    known = [each for each in functions_in(parsed.tree) if each.name == name]
    if len(known) != 1 or len(known[0].args.args) != 2:
        return False
    of_object, index = (argument.arg for argument in known[0].args.args)
    return any(
        isinstance(node, ast.Subscript)
        and ast.unparse(node.value).startswith(f"{of_object}.")
        and _first(node.slice) == index
        for node in ast.walk(known[0])
    )


def _first(index: ast.expr) -> str:
    rows = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    return rows.id if isinstance(rows, ast.Name) else ""


def _calls_of(
    parsed: ParsedFile,
    selected: ast.Subscript,
    parents: dict[ast.AST, ast.AST],
    callers: Iterable[int],
) -> Iterator[ast.Call]:
    """Calls of the function that gives what is selected, alone or within an object."""
    node: ast.AST = parents[selected]
    if isinstance(node, ast.Call):
        node = parents[node]
    function = function_around(parsed.tree, selected.lineno)
    if not isinstance(node, ast.Return) or function is None:
        return
    lines = set(callers)
    for call in calls_in(parsed.tree):
        if last_name(call) == function.name:
            yield from [call for line in lines if covers(call, line)][:1]
