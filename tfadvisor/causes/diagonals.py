"""Products with a matrix that the program makes of its diagonal: what costs less, in
the program's own names.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from tfadvisor.causes.called import FileNames, last_name, owner_of
from tfadvisor.causes.definitions import value_of
from tfadvisor.printable import cut

_ARRAYS = frozenset({"numpy", "jax", "tensorflow", "keras"})
"""Packages."""
_DIAGONAL = frozenset(("diag", "diagflat", "tensor_diag"))
_OF_VECTORS = frozenset({"tensorflow"})
"""Packages whose `diag` takes nothing but diagonals; NumPy's takes the diagonal of a
matrix too.
"""
_MATRICES = frozenset("inv pinv cov corrcoef outer cholesky expm matmul dot".split())
"""What gives a matrix, of which NumPy's `diag` takes the diagonal."""
_PRODUCTS = frozenset(("matmul", "dot"))
_LONGEST = 60
"""Characters of an expression."""


class Product(NamedTuple):
    """With a diagonal matrix."""

    name: str
    """In the terms of the table."""
    words: str
    """As the program writes it."""
    own: str
    """The same without the matrix."""
    lines: tuple[int, ...]
    """Where it and the matrix are made."""


def product_with_diagonal(
    node: ast.BinOp | ast.Call, function: ast.AST, names: FileNames
) -> Product | None:
    """`diag(x) @ y`, where either factor may be the matrix, or a name that the function
    gives it alone; None for others.
    """
    for at, factor in enumerate(factors := factors_of(node, names)):
        call = value_of(factor, function)
        if isinstance(call, ast.Call) and _makes_matrix(call, names):
            is_tensor = names.called(call).package in _OF_VECTORS
            name = "tf.linalg.diag(x) @ y" if is_tensor else "diag(x) @ y"
            words = cut(ast.unparse(node), _LONGEST)
            own = _scaled(factors, at, call.args[0], is_tensor=is_tensor)
            return Product(name, words, own, (node.lineno, call.lineno))
    return None


def factors_of(node: ast.BinOp | ast.Call, names: FileNames) -> list[ast.expr]:
    """Of a product of two matrices; empty for anything else."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right] if isinstance(node.op, ast.MatMult) else []
    if node.keywords or last_name(node) not in _PRODUCTS:
        return []
    owner, called = owner_of(node), names.called(node)
    if not called.path and owner is not None:  # x.dot(y)
        return [owner, *node.args] if len(node.args) == 1 else []
    is_whole = called.package in _ARRAYS and len(node.args) == len(("x", "y"))
    return node.args if is_whole else []


def _makes_matrix(call: ast.Call, names: FileNames) -> bool:
    called = names.called(call)
    is_plain = len(call.args) == 1 and not call.keywords
    if called.package not in _ARRAYS or called.names[-1] not in _DIAGONAL:
        return False
    return is_plain and not _is_matrix(call.args[0])


def _is_matrix(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return last_name(node) in _MATRICES
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)


def _scaled(
    factors: list[ast.expr], at: int, diagonal: ast.expr, *, is_tensor: bool
) -> str:
    """Rows of the second factor, or columns of the first one."""
    other, scale = _in_brackets(factors[1 - at]), _in_brackets(diagonal)
    if at == 0:
        return f"{scale}{'[..., None]' if is_tensor else '[:, None]'} * {other}"
    return f"{other} * {scale}{'[..., None, :]' if is_tensor else ''}"


def _in_brackets(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.BinOp | ast.UnaryOp) else text
