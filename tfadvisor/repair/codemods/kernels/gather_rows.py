"""A product with one-hot rows becomes a lookup of the rows themselves.

https://www.tensorflow.org/api_docs/python/tf/gather
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.pipelines import assignments
from tfadvisor.repair.reading.program import Change, Program, called, dotted, instead, text_of

_PRODUCTS = ("tensordot", "matmul", "dot")
_HARMLESS = {"num_classes", "depth", "dtype"}
_EINSUM = re.compile(r"(?P<rest>[a-z]*|\.\.\.)(?P<n>[a-z]),(?P=n)(?P<d>[a-z])->(?P=rest)(?P=d)")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each product whose left side is made of indexes in the same expression."""
    found = []
    for node in program.all(cst.Call, cst.BinaryOperation):
        text = _lookup(program, node)
        if text is not None:
            first, last = program.lines(node)
            changes: dict[cst.CSTNode, Change] = {node: instead(text)}
            found.append(Hit(first, last, "rows by index instead of a one-hot product", program.changed(changes)))
    return found


def _lookup(program: Program, node: Any) -> str | None:
    if isinstance(node, cst.BinaryOperation):
        left, right = (node.left, node.right) if isinstance(node.operator, cst.MatrixMultiply) else (None, None)
    elif called(node) in _PRODUCTS and len(node.args) >= 2:
        left, right = node.args[0].value, node.args[1].value
        if len(node.args) != 2 and not _contracts_one(node):
            return None
    elif called(node) == "einsum" and len(node.args) == 3:
        left, right = node.args[1].value, node.args[2].value
        if not _picks_rows(text_of(node.args[0].value)):
            return None
    else:
        return None
    hot = _one_hot(program, left)
    if hot is None:
        return None
    rows, table = text_of(hot.args[0].value), text_of(right)
    if dotted(hot.func).startswith(("jax.", "nn.")):
        return (
            f"({table})[{rows}]" if not dotted(right) and not isinstance(right, cst.Subscript) else f"{table}[{rows}]"
        )
    return f"tf.gather({table}, {rows})" if dotted(hot.func).startswith("tf.") else None


def _contracts_one(node: Any) -> bool:
    """`tensordot(a, b, 1)`; no product with a transposed side."""
    return called(node) == "tensordot" and len(node.args) == 3 and text_of(node.args[2].value) in ("1", "axes=1")


def _picks_rows(spec: str) -> bool:
    """`bn,nd->bd`, `...n,nd->...d`: the last of the left with the first of the right, nothing else changed."""
    match = _EINSUM.fullmatch(spec.strip("\"'").replace(" ", ""))
    return (
        match is not None
        and len({*match["rest"], match["n"], match["d"]}) == len(match["rest"].replace("...", ".")) + 2
    )


def _one_hot(program: Program, node: Any) -> Any:
    """The call that makes the left side: in its place, or in the one assignment of a name of the same function."""
    if isinstance(node, cst.Name):
        made = [one for one in assignments(program, str(node.value)) if program.scope(one) is program.scope(node)]
        node = made[0] if len(made) == 1 else None
    if not isinstance(node, cst.Call) or called(node) != "one_hot" or len(node.args) < 2:
        return None
    plain = [one for one in node.args if one.keyword is None]
    named = {str(one.keyword.value): text_of(one.value) for one in node.args if one.keyword is not None}
    if any(one.star for one in node.args) or not plain or not set(named) <= _HARMLESS or len(plain) + len(named) > 3:
        return None
    depth = named.get("num_classes", named.get("depth", ""))
    return node if len(plain) == 2 or (len(plain) == 1 and depth) else None
