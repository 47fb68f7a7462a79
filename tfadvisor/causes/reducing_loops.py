"""Loops of the program inside of one another that, by their source, reduce small arrays
of NumPy to one number in each round.
"""

from __future__ import annotations

import ast
import builtins
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tfadvisor.causes.called import last_name
from tfadvisor.causes.walked import calls_in

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

_REDUCING = frozenset(
    "all any argmax argmin average count_nonzero max mean median min nanmean nansum"
    " norm prod std sum var".split()
)
"""Of NumPy: what gives one number of an array without an axis."""
_CONVERTING = frozenset({"float", "int", "round"})
_READING = frozenset(
    "fromfile genfromtxt load loadtxt memmap open savez save tofile".split()
)
"""Of NumPy and Python: what takes its time elsewhere."""


def reducing_loop(parsed: ParsedFile, loop: ast.AST) -> ast.For | None:
    """The loop inside of one that keeps one number of arrays in each round, where both
    call NumPy and Python alone; None for none.
    """
    if not all(_is_of_numpy(parsed, call) for call in calls_in(loop)):
        return None
    inner = [
        node
        for node in ast.walk(loop)
        if isinstance(node, ast.For) and node is not loop
    ]
    for each in reversed(inner):
        if any(_keeps_number(parsed, node) for node in ast.walk(each)):
            return each
    return None


def _is_of_numpy(parsed: ParsedFile, call: ast.Call) -> bool:
    """Or of Python, or a method of their values."""
    called, name = parsed.names.called(call), last_name(call)
    if name in _READING or ".random." in called.path:
        return False
    if called.path:
        return called.package in {"numpy", "math"}
    if isinstance(call.func, ast.Name):
        return name not in parsed.names.defined and hasattr(builtins, name)
    return name in _methods() and name not in parsed.names.defined


@cache
def _methods() -> frozenset[str]:
    kinds = (str, list, dict, set, np.ndarray)
    return frozenset(name for kind in kinds for name in dir(kind) if name[0] != "_")


def _keeps_number(parsed: ParsedFile, node: ast.AST) -> bool:
    """Whether it appends, stores or adds a number that it reduces an array to."""
    if isinstance(node, ast.Call) and last_name(node) == "append":
        return len(node.args) == 1 and _is_number(parsed, node.args[0])
    if isinstance(node, ast.AugAssign):
        return _is_number(parsed, node.value)
    if isinstance(node, ast.Assign):
        stores = any(isinstance(target, ast.Subscript) for target in node.targets)
        return stores and _is_number(parsed, node.value)
    return False


def _is_number(parsed: ParsedFile, node: ast.expr) -> bool:
    """Whether it computes with what reduces an array, and with constants alone."""
    if isinstance(node, ast.BinOp):
        sides = node.left, node.right
        known = [side for side in sides if not isinstance(side, ast.Constant)]
        return bool(known) and all(_is_number(parsed, side) for side in known)
    if not isinstance(node, ast.Call) or node.keywords:
        return False
    if isinstance(node.func, ast.Name) and node.func.id in _CONVERTING:
        return all(_is_number(parsed, given) for given in node.args)
    return _reduces(parsed, node)


def _reduces(parsed: ParsedFile, call: ast.Call) -> bool:
    """`np.mean(x)`, `x.mean()`: of all that x holds."""
    called = parsed.names.called(call)
    if called.names[-1] not in _REDUCING or not (called.path or called.is_method):
        return False
    wanted = {"numpy": 1, "": 0}.get(called.package)
    return len(call.args) == wanted
