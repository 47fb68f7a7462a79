"""Arrays that a loop of the program takes apart with an index of each round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from tfadvisor.causes.called import calls_in, last_name, stored_in
from tfadvisor.causes.compiled_names import HostCalls
from tfadvisor.causes.loop_data import bindings_in, names_in
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.witness import (
    COMPREHENSIONS,
    covers,
    functions_around,
    own_nodes,
)

_IN_PYTHON = (
    ast.List
    | ast.Tuple
    | ast.Dict
    | ast.Set
    | ast.ListComp
    | ast.DictComp
    | ast.SetComp
    | ast.Constant
    | ast.JoinedStr
)
_Rounds = ast.For | ast.While | COMPREHENSIONS


class Indexed(msgspec.Struct, frozen=True):
    """A part of an array that a loop takes."""

    text: str
    """`losses[i, :lengths[i]]`."""
    array: str
    """`losses`."""
    file: str
    line: int
    goes_into_call: bool
    """Whether the round gives it to what is compiled."""


def indexed_on(parsed: ParsedFile, line: int, host: HostCalls) -> Indexed | None:
    """The first part that a line takes with an index of its loop, of an array that may
    lie on a device; None for none.
    """
    scope = [parsed.tree, *functions_around(parsed.tree, line)][-1]
    nodes = list(own_nodes(scope))
    around = [node for node in nodes if isinstance(node, _Rounds) and _in(node, line)]
    if not around:
        return None
    of_round = set[str]().union(*map(stored_in, around))
    on_host = _made_on_host(scope, host)
    for node in nodes:
        if isinstance(node, ast.Subscript) and covers(node, line):
            array = ast.unparse(node.value)
            if _takes_a_part(node, of_round) and array not in on_host:
                goes = any(_is_given(loop, node, host) for loop in around)
                text = ast.unparse(node)
                return Indexed(text, array, parsed.file, node.lineno, goes)
    return None


def _made_on_host(scope: ast.AST, host: HostCalls) -> set[str]:
    return {
        name
        for binding in bindings_in(scope)
        if _is_of_python(binding.value, host)
        for name in binding.written
    }


def _in(node: ast.AST, line: int) -> bool:
    """Whether a line is of the rounds, and not the head alone."""
    if isinstance(node, ast.For | ast.While):
        return node.lineno < line <= (node.end_lineno or node.lineno)
    return isinstance(node, ast.expr) and covers(node, line)


def _takes_a_part(node: ast.Subscript, of_round: set[str]) -> bool:
    is_plain = isinstance(node.value, ast.Name | ast.Attribute)
    is_read = isinstance(node.ctx, ast.Load)
    return is_plain and is_read and bool(names_in(node.slice) & of_round)


def _is_of_python(value: ast.AST, host: HostCalls) -> bool:
    """Whether it is known to lie on the host: a list, what NumPy or a builtin gives."""
    if isinstance(value, ast.BinOp):
        return _is_of_python(value.left, host) or _is_of_python(value.right, host)
    if isinstance(value, ast.Call):
        return not host.may_dispatch(value)
    return isinstance(value, _IN_PYTHON)


def _is_given(loop: ast.AST, node: ast.Subscript, host: HostCalls) -> bool:
    """Whether a call of the loop that is compiled gets it, or what is named after
    it.
    """
    named = {
        name
        for binding in bindings_in(loop)
        if any(inner is node for inner in ast.walk(binding.value))
        for name in binding.written
    }
    return any(
        host.is_compiled(last_name(call))
        and any(_holds(given, node, named) for given in _given(call))
        for call in calls_in(loop)
    )


def _given(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (keyword.value for keyword in call.keywords)


def _holds(given: ast.expr, node: ast.Subscript, named: set[str]) -> bool:
    inside = any(inner is node for inner in ast.walk(given))
    return inside or bool(names_in(given) & named)
