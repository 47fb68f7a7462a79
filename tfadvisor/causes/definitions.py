"""What a variable stands for, where one statement alone writes it, and which number."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfadvisor.causes.called import Function
from tfadvisor.causes.witness import own_nodes

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
        own = [*own_nodes(scope)]
        written = [each for each in own if _binds(node.id, each)]
        given = [
            value
            for each in own
            for target, value in _given(each)
            if ast.unparse(target) == node.id
        ]
        if written:
            return given[0] if given and len(written) == 1 else node
    return node


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


def _binds(name: str, node: ast.AST) -> bool:
    return writes(name, node) or (isinstance(node, ast.arg) and node.arg == name)


def writes(name: str, node: ast.AST) -> bool:
    """Whether a node binds a name; nothing of a function's own parameters."""
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Store | ast.Del)
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return node.name == name
    if isinstance(node, ast.MatchMapping):
        return node.rest == name
    if isinstance(node, ast.alias):
        return (node.asname or node.name.partition(".")[0]) == name
    return isinstance(node, _SCOPES) and node.name == name


def reads_of(name: str, function: ast.AST) -> list[ast.Name]:
    """Where a variable is read that is written once; empty for others."""
    named = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    found = [node for node in named if node.id == name]
    read = [node for node in found if isinstance(node.ctx, ast.Load)]
    return read if len(found) == len(read) + 1 else []
