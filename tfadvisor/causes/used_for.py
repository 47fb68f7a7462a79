"""What a call's result is used for, where something cheaper gives that: one-hot rows
that only choose rows of a table, an order of which only the first few are taken.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from tfadvisor.causes.called import FileNames
from tfadvisor.causes.definitions import reads_of
from tfadvisor.causes.walked import nodes_in

_ONE_HOT = frozenset(("jax.nn.one_hot", "tensorflow.one_hot", "keras.ops.one_hot"))
_PLAIN = frozenset(("num_classes", "depth", "dtype", "name", "indices", "x"))
"""Arguments of theirs with which rows are zeros and a one, along the last axis."""
_CLASSES = 2
"""Arguments without a keyword that they may have then."""
_PRODUCTS = frozenset(
    "jax.numpy.matmul jax.numpy.dot tensorflow.matmul tensorflow.linalg.matmul "
    "keras.ops.matmul keras.ops.dot".split()
)
_ORDERS = frozenset(
    "jax.numpy.argsort jax.numpy.sort tensorflow.argsort tensorflow.sort".split()
)
_DIRECTIONS = frozenset(("axis", "direction", "descending", "stable"))


class Use(NamedTuple):
    """Of a call's result."""

    name: str
    """In the terms of the table: `one_hot() @ table`."""
    node: ast.expr
    """What of the program does it."""
    own: str
    """What gives the same, in the program's own names."""
    lines: tuple[int, ...]
    """All lines that it takes."""


class _Taken(NamedTuple):
    """A part of an order."""

    of: ast.Subscript
    first: str
    """Of the taken places, "" for the beginning."""
    upto: str
    """Up to which place from there on they are counted."""
    is_end: bool
    """Whether they are counted from the end."""


def used_for(call: ast.Call, function: ast.AST, names: FileNames) -> Use | None:
    """What a function uses the result of a call for, and for nothing else; None for
    other calls.
    """
    path = names.called(call).path
    if path in _ONE_HOT:
        return _of_rows(call, function, names)
    return _of_few(call, path, function) if path in _ORDERS else None


# Rows of a table.

_MAY_MULTIPLY = ast.BinOp | ast.Call


def _of_rows(call: ast.Call, function: ast.AST, names: FileNames) -> Use | None:
    given = {each.arg for each in call.keywords}
    if not given <= _PLAIN or not call.args or len(call.args) > _CLASSES:
        return None
    used = _uses(call, function)
    products = _products_of(used, function, names)
    if not products or len(products) < len(used):
        return None
    table = ast.unparse(_factors(products[0], names)[1])
    ids = ast.unparse(call.args[0])
    is_jax = names.called(call).path.startswith("jax.")
    own = f"{table}[{ids}]" if is_jax else f"tf.gather({table}, {ids})"
    lines = (call.lineno, *(node.lineno for node in products))
    return Use("one_hot() @ table", products[0], own, lines)


def _products_of(
    used: Sequence[ast.expr], function: ast.AST, names: FileNames
) -> list[ast.BinOp | ast.Call]:
    nodes = (node for node in nodes_in(function) if isinstance(node, _MAY_MULTIPLY))
    return [node for node in nodes if _factors(node, names)[0] in used]


def _factors(
    node: ast.BinOp | ast.Call, names: FileNames
) -> tuple[ast.expr | None, ast.expr]:
    """Of a product of matrices; (None, the node) for others."""
    if isinstance(node, ast.BinOp):
        is_product = isinstance(node.op, ast.MatMult)
        return (node.left, node.right) if is_product else (None, node)
    is_plain = len(node.args) == len(("x", "y")) and not node.keywords
    if is_plain and names.called(node).path in _PRODUCTS:
        return node.args[0], node.args[1]
    return None, node


# The first few of an order.


def _of_few(call: ast.Call, path: str, function: ast.AST) -> Use | None:
    given = {each.arg: ast.unparse(each.value) for each in call.keywords if each.arg}
    if len(call.args) != 1 or not given.keys() <= _DIRECTIONS:
        return None
    axis = given.get("axis", "-1")
    taken = [_taken(use, function) for use in _uses(call, function)]
    parts = [part for part in taken if part is not None and _is_along(axis, part)]
    if not parts or len(parts) < len(taken):
        return None
    is_down = given.get("descending") == "True" or "DESC" in given.get("direction", "")
    kind = path.rpartition(".")[2]
    own = _top_k(call.args[0], parts[0], is_down=is_down, kind=kind, path=path)
    return Use(f"{kind}()[:k]", call, own, (call.lineno,))


def _is_along(axis: str, part: _Taken) -> bool:
    """Whether a part is taken along the axis of the order: the last, or the second of
    `order[:, :k]`.
    """
    if axis == "1":
        return ast.unparse(part.of.slice).lstrip("(").startswith(":, ")
    return axis == "-1"


def _top_k(
    values: ast.expr, part: _Taken, *, is_down: bool, kind: str, path: str
) -> str:
    is_negated = isinstance(values, ast.UnaryOp) and isinstance(values.op, ast.USub)
    takes_largest = part.is_end != is_down
    if isinstance(values, ast.UnaryOp) and is_negated:
        inner, turned = values.operand, takes_largest
    else:
        inner, turned = values, not takes_largest
    text = ast.unparse(inner)
    if turned:
        is_name = isinstance(inner, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
        text = f"-{text}" if is_name else f"-({text})"
    top_k = "jax.lax.top_k" if path.startswith("jax.") else "tf.math.top_k"
    at = 1 if kind == "argsort" else 0
    sign = "-" if kind == "sort" and is_negated != turned else ""
    rest = f"[..., {part.first}:]" if part.first else ""
    return f"{sign}{top_k}({text}, {part.upto})[{at}]{rest}"


def _taken(use: ast.expr, function: ast.AST) -> _Taken | None:
    """What is taken of an order, turned or not: `order[:, :k]`, `order[..., -k:]`,
    `order[:, ::-1][:, :k]`; None for anything else.
    """
    outer = _subscript_of(use, function)
    if outer is None:
        return None
    last = _last(outer)
    if last is None:
        return None
    step = "" if last.step is None else ast.unparse(last.step)
    if step == "-1" and last.lower is None and last.upper is None:
        turned = _taken(outer, function)
        return None if turned is None else turned._replace(is_end=not turned.is_end)
    return None if step else _few(outer, last)


def _few(outer: ast.Subscript, last: ast.Slice) -> _Taken | None:
    lower, upper = last.lower, last.upper
    if upper is not None and not _is_negative(upper):
        is_begin = lower is None or isinstance(lower, ast.Constant)
        first = "" if lower is None else ast.unparse(lower)
        return _Taken(outer, first, ast.unparse(upper), False) if is_begin else None
    if isinstance(lower, ast.UnaryOp) and _is_negative(lower) and upper is None:
        return _Taken(outer, "", ast.unparse(lower.operand), True)
    return None


def _subscript_of(use: ast.expr, function: ast.AST) -> ast.Subscript | None:
    for node in nodes_in(function):
        if isinstance(node, ast.Subscript) and node.value is use:
            return node
    return None


def _last(node: ast.Subscript) -> ast.Slice | None:
    """The slice of the last axis, where all others are whole."""
    several = isinstance(node.slice, ast.Tuple)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if several and not all(ast.unparse(part) in (":", "...") for part in parts[:-1]):
        return None
    return parts[-1] if isinstance(parts[-1], ast.Slice) else None


def _is_negative(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _uses(call: ast.Call, function: ast.AST) -> Sequence[ast.expr]:
    """Where its result is read: the call itself, else the name that it alone gives."""
    for node in nodes_in(function):
        if isinstance(node, ast.Assign) and node.value is call:
            target = node.targets[0]
            is_name = isinstance(target, ast.Name) and not node.targets[1:]
            return reads_of(ast.unparse(target), function) if is_name else []
    return [call]
