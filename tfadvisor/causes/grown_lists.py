"""Lists that a program makes longer from round to round, by its own lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfadvisor.causes.called import Function, calls_in, last_name, owner_of
from tfadvisor.causes.loop_data import Loop, bindings_in
from tfadvisor.causes.unchanged import given_for, parameters
from tfadvisor.causes.witness import covers, function_around, own_nodes

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

_LENGTHENING = frozenset("append appendleft extend insert".split())
_DEEPEST = 3
"""Calls of the program's functions, one inside of another."""


def is_grown(parsed: ParsedFile, value: ast.expr, depth: int = 0) -> bool:
    """Whether what an expression reads is a list, or the like, to which a loop around
    it appends; an attribute to which the file appends, where the function of the
    expression makes no new one; or an argument that a call of the file gives so.
    """
    if not isinstance(value, ast.Name | ast.Attribute):
        return False
    text, scope = ast.unparse(value), function_around(parsed.tree, value.lineno)
    within = scope or parsed.tree
    if isinstance(value, ast.Attribute):
        is_new = any(text in binding.written for binding in bindings_in(within))
        return not is_new and _appends(parsed.tree, text)
    if scope is not None and text in parameters(scope) and depth < _DEEPEST:
        given = _given_as(parsed, scope, text)
        return any(is_grown(parsed, each, depth + 1) for each in given)
    return any(_grows_in(loop, text) for loop in _loops(within, value.lineno))


def _appends(node: ast.AST, text: str) -> bool:
    return any(
        last_name(call) in _LENGTHENING and _text(owner_of(call)) == text
        for call in calls_in(node)
    )


def _grows_in(loop: ast.AST, text: str) -> bool:
    """Whether it appends to what it does not make anew in each round."""
    is_new = any(
        text in binding.written and not isinstance(binding.value, ast.BinOp)
        for binding in bindings_in(loop)
    )
    return not is_new and _appends(loop, text)


def _loops(scope: ast.AST, line: int) -> Iterator[ast.AST]:
    for node in own_nodes(scope):
        if isinstance(node, Loop) and covers(node, line):
            yield node


def _given_as(parsed: ParsedFile, function: Function, name: str) -> Iterator[ast.expr]:
    """What the file's calls of a function give as an argument."""
    for call in calls_in(parsed.tree):
        if last_name(call) == function.name:
            value = given_for(call, function, name)
            if value is not None:
                yield value


def _text(node: ast.expr | None) -> str:
    return "" if node is None else ast.unparse(node)
