"""A product with one-hot rows becomes a lookup of the rows themselves.

https://www.tensorflow.org/api_docs/python/tf/gather
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.program import Change, Program, called, dotted, instead, text_of

_PRODUCTS = ("tensordot", "matmul", "dot")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each product whose left side is made of indexes in the same expression."""
    found = []
    for node in program.all(cst.Call, cst.BinaryOperation):
        text = _lookup(node)
        if text is not None:
            first, last = program.lines(node)
            changes: dict[cst.CSTNode, Change] = {node: instead(text)}
            found.append(Hit(first, last, "rows by index instead of a one-hot product", program.changed(changes)))
    return found


def _lookup(node: Any) -> str | None:
    if isinstance(node, cst.BinaryOperation):
        left, right = (node.left, node.right) if isinstance(node.operator, cst.MatrixMultiply) else (None, None)
    elif called(node) in _PRODUCTS and len(node.args) >= 2:
        left, right = node.args[0].value, node.args[1].value
        if called(node) == "tensordot" and (len(node.args) != 3 or text_of(node.args[2].value) not in ("1", "axes=1")):
            return None
    else:
        return None
    if not isinstance(left, cst.Call) or called(left) != "one_hot" or len(left.args) != 2:
        return None
    rows, table = text_of(left.args[0].value), text_of(right)
    if dotted(left.func).startswith("jax."):
        return f"({table})[{rows}]" if not dotted(right) else f"{table}[{rows}]"
    return f"tf.gather({table}, {rows})"
