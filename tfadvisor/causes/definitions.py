"""What a variable stands for, where one statement alone writes it, and which number."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tfadvisor.causes.walked import Function, asked_once, nodes_in, own_nodes

_SCOPES = Function | ast.ClassDef
_MOST_NAMES = 10
"""That stand for one another."""
LARGEST = 10**15
"""Of a number that counts something; a program may write any."""


def value_of(node: ast.expr, *scopes: ast.AST) -> ast.expr:
    """Of a name what the only statement gives that writes it in the first of some
    functions that does, or in the file; anything else itself.
    """
    if not isinstance(node, ast.Name):
        return node
    for scope in scopes:
        written, value = _bound_in(scope).get(node.id, (0, None))
        if written:
            return value if value is not None and written == 1 else node
    return node


@asked_once
def _bound_in(scope: ast.AST) -> dict[str, tuple[int, ast.expr | None]]:
    """How often a function, or a file, binds each name, and what it gives it first."""
    counts = Counter(filter(None, map(_binds, own_nodes(scope))))
    given = [(target, value) for x in own_nodes(scope) for target, value in _given(x)]
    first = {x.id: value for x, value in reversed(given) if isinstance(x, ast.Name)}
    return {name: (count, first.get(name)) for name, count in counts.items()}


def behind_names(node: ast.expr, *scopes: ast.AST) -> ast.expr:
    """As value_of, as far as names stand for names: one that stands for itself, or for
    too many others, is given back.
    """
    for _ in range(_MOST_NAMES):
        value = value_of(node, *scopes)
        if value is node:
            break
        node = value
    return node


def whole_number(node: ast.expr, *scopes: ast.AST) -> int | None:
    """That an expression is, also by names of some scopes, the innermost first; None
    for what they do not show, and for more than there are things to count.
    """
    value = behind_names(node, *scopes)
    number = value.value if isinstance(value, ast.Constant) else None
    return number if type(number) is int and number <= LARGEST else None


def _given(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of an assignment."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value


def _binds(node: ast.AST) -> str:
    """The name that a node binds, a parameter too; "" for none."""
    return node.arg if isinstance(node, ast.arg) else _written(node)


def writes(name: str, node: ast.AST) -> bool:
    """Whether a node binds a name; nothing of a function's own parameters."""
    return _written(node) == name


def _written(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Store | ast.Del) else ""
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return node.name or ""
    if isinstance(node, ast.MatchMapping):
        return node.rest or ""
    if isinstance(node, ast.alias):
        return node.asname or node.name.partition(".")[0]
    return node.name if isinstance(node, _SCOPES) else ""


def reads_of(name: str, function: ast.AST) -> list[ast.Name]:
    """Where a variable is read that is written once; empty for others."""
    named = (node for node in nodes_in(function) if isinstance(node, ast.Name))
    found = [node for node in named if node.id == name]
    read = [node for node in found if isinstance(node.ctx, ast.Load)]
    return read if len(found) == len(read) + 1 else []
