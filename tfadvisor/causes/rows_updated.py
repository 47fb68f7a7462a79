"""Rows of an array of JAX that a loop of Python updates one after the other."""

from __future__ import annotations

import ast
import copy

from tfadvisor.causes.loop_elements import elements, leaves_out
from tfadvisor.causes.witness import own_nodes

_UPDATES = frozenset("add divide max min mul multiply set subtract".split())


def rows_updated(call: ast.Call, function: ast.AST) -> str | None:
    """All updates of the loop around `x = x.at[i].set(...)` in one call, in the
    program's own names; "" where it does more with its index than take rows. None for
    other calls, and where a round may need what an earlier one wrote.
    """
    subscript = _updated(call)
    loop = _loop_around(call, function)
    if subscript is None or loop is None or leaves_out(loop.iter):
        return None
    array = subscript.value
    assert isinstance(array, ast.Attribute)
    base, index = ast.unparse(array.value), subscript.slice
    known = dict(elements(loop.target, loop.iter))
    is_element = isinstance(index, ast.Name) and index.id in known
    if not is_element or not _is_kept(loop, call, base):
        return None
    assert isinstance(index, ast.Name)
    value = call.args[0] if len(call.args) == 1 else None
    if value is None or _reads_others(value, base, index.id):
        return None
    whole = _Whole(known, _length(loop))
    shown = whole.visit(copy.deepcopy(call))
    return "" if whole.is_more else f"{base} = {ast.unparse(shown)}"


def _updated(call: ast.Call) -> ast.Subscript | None:
    """`x.at[i]` of `x.at[i].set(...)`."""
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr not in _UPDATES:
        return None
    owner = func.value
    is_at = isinstance(owner, ast.Subscript) and isinstance(owner.value, ast.Attribute)
    if not is_at or not isinstance(owner, ast.Subscript):
        return None
    at = owner.value
    return owner if isinstance(at, ast.Attribute) and at.attr == "at" else None


def _loop_around(call: ast.Call, function: ast.AST) -> ast.For | None:
    found = None
    for node in own_nodes(function):
        if isinstance(node, ast.For) and any(inner is call for inner in ast.walk(node)):
            found = node
    return found


def _is_kept(loop: ast.For, call: ast.Call, base: str) -> bool:
    """Whether a statement of the loop itself keeps it in the same variable, and no
    other writes or reads that.
    """
    keeps = [each for each in loop.body if _keeps(each, call, base)]
    others = [each for each in loop.body if each not in keeps]
    return len(keeps) == 1 and not any(_names(each, base) for each in others)


def _keeps(statement: ast.stmt, call: ast.Call, base: str) -> bool:
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return False
    return [ast.unparse(target) for target in statement.targets] == [base]


def _names(node: ast.AST, base: str) -> bool:
    return any(
        isinstance(inner, ast.Name | ast.Attribute) and ast.unparse(inner) == base
        for inner in ast.walk(node)
    )


def _reads_others(value: ast.expr, base: str, index: str) -> bool:
    """Whether an expression reads more of an array than the row that is updated."""
    own = {
        id(node.value)
        for node in ast.walk(value)
        if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == index
    }
    return any(
        isinstance(node, ast.Name | ast.Attribute)
        and ast.unparse(node) == base
        and id(node) not in own
        for node in ast.walk(value)
    )


def _length(loop: ast.For) -> str:
    """How many rounds it has, as code: `len(rows)` of `enumerate(rows)`."""
    iterated = loop.iter
    if isinstance(iterated, ast.Call) and iterated.args:
        first = ast.unparse(iterated.args[0])
        is_count = ast.unparse(iterated.func).rpartition(".")[2] in ("range", "arange")
        return first if is_count else f"len({first})"
    return f"len({ast.unparse(iterated)})"


class _Whole(ast.NodeTransformer):
    """An expression for all rounds: arrays in place of their elements."""

    def __init__(self, known: dict[str, str], length: str) -> None:
        self._known, self._length = known, length
        self.is_more = False
        """Whether a number of the loop stands for more than a row."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`z[row]` as `z[:n]`, where `row` counts rounds."""
        index = node.slice
        if isinstance(index, ast.Name) and self._known.get(index.id) == "":
            part = ast.Slice(None, ast.parse(self._length, mode="eval").body, None)
            return ast.Subscript(self.visit(node.value), part, node.ctx)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """An element as its array."""
        array = self._known.get(node.id)
        if array is None:
            return node
        self.is_more = self.is_more or not array
        return ast.parse(array, mode="eval").body if array else node
