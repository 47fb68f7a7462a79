"""Running sums: what an expression adds to a name, and whether a sum starts at zero."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.repair.reading.program import called, names_in, text_of

_ADDS = re.compile(r"^(jnp|jax\.numpy|operator|np|tf)\.add$|^tf\.math\.add$|^lax\.add$|^jax\.lax\.add$")
_TREE_MAPS = ("map", "tree_map", "tree_multimap", "map_structure")
_ZERO = re.compile(r"^-?0*\.?0*$|zeros\(|zeros_like")


def added_to(value: Any, names: set[str]) -> Any:
    """`b` of `total + b`, of `tree.map(jnp.add, total, b)` and of `[x + y for x, y in zip(total, b)]`; None of anything else.

    names: how the running sum is written. The sum is read once.
    """
    if isinstance(value, cst.IfExp):
        later = added_to(value.orelse, names)
        same = later is not None and text_of(later) == text_of(value.body)
        return later if same and text_of(value.test) in {f"{name} is None" for name in names} else None
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
        return _other(value.left, value.right, names)
    if isinstance(value, cst.Call) and called(value) in _TREE_MAPS and len(value.args) == 3:
        function = value.args[0].value
        return _other(value.args[1].value, value.args[2].value, names) if _is_addition(function) else None
    if isinstance(value, cst.ListComp):
        over, pair = value.for_in.iter, value.for_in.target
        zipped = isinstance(over, cst.Call) and called(over) == "zip" and len(over.args) == 2
        if (
            zipped
            and isinstance(pair, cst.Tuple)
            and _adds_both(value.elt, [text_of(one.value) for one in pair.elements])
        ):
            return _other(over.args[0].value, over.args[1].value, names)
    return None


def _other(left: Any, right: Any, names: set[str]) -> Any:
    if text_of(left) in names:
        return right
    return left if text_of(right) in names else None


def _is_addition(function: Any) -> bool:
    if isinstance(function, cst.Lambda):
        return _adds_both(function.body, [str(one.name.value) for one in function.params.params])
    return bool(_ADDS.match(text_of(function)))


def _adds_both(node: Any, names: list[str]) -> bool:
    """`a + b`, also `a + b / count` and `a + b * weight`."""
    if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Add) or len(names) != 2:
        return False
    sides = [node.left, node.right]
    plain = [one for one in sides if text_of(one) == names[0]]
    scaled = [one for one in sides if _is_scaled(one, names)]
    return len(plain) == 1 and len(scaled) == 1


def _is_scaled(node: Any, names: list[str]) -> bool:
    if text_of(node) == names[1]:
        return True
    scaled = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply | cst.Divide)
    return scaled and text_of(node.left) == names[1] and not names_in(node.right) & set(names)


def is_zero(node: Any) -> bool:
    """0, 0.0, zeros of a shape, a tree of zeros, or a tuple of these."""
    if isinstance(node, cst.Tuple | cst.List):
        return bool(node.elements) and all(is_zero(one.value) for one in node.elements)
    if isinstance(node, cst.Integer | cst.Float):
        return bool(_ZERO.match(text_of(node)))
    if not isinstance(node, cst.Call):
        return False
    if called(node) in ("zeros", "zeros_like"):
        return True
    if called(node) in _TREE_MAPS and node.args:
        function = node.args[0].value
        inner = function.body if isinstance(function, cst.Lambda) else function
        made = inner.func if isinstance(inner, cst.Call) else inner
        return text_of(made).split(".")[-1] in ("zeros", "zeros_like")
    return called(node) in ("array", "float32", "asarray") and bool(node.args) and is_zero(node.args[0].value)
