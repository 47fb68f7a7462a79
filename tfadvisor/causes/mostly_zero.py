"""Dense matrices of which, by how the program makes them, most entries may be 0: zeros
into which a few values are written, or a sparse matrix that was made dense.

Whether most of them are, the lines do not show.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

from tfadvisor.causes.called import FileNames, last_name, owner_of
from tfadvisor.causes.definitions import value_of
from tfadvisor.causes.walked import own_nodes
from tfadvisor.printable import cut

_LONGEST = 60
_ZEROS = frozenset({"zeros", "zeros_like", "eye", "identity"})
_DENSE = frozenset(
    "todense toarray to_dense to_numpy_array to_numpy_matrix scatter_nd block_diag "
    "adjacency_matrix".split()
)
"""Calls that make a dense matrix of places and values, or of a sparse one."""
_AT = frozenset({"set", "add", "max", "min"})
"""Of JAX's `zeros.at[rows, columns]`."""
_SAME = frozenset(
    "array asarray astype cast constant convert_to_tensor device_put float".split()
)
"""Calls that give what they are given, as far as its zeros go."""


class Factor(NamedTuple):
    """Of a product."""

    factor: str
    """As the program writes it: `adjacency`."""
    made: str
    """What makes it: `np.eye(n)`."""
    other: str
    """What stands behind it; "" where it stands behind the other."""


def mostly_zero(
    factors: list[ast.expr], scopes: Sequence[ast.AST], names: FileNames
) -> Factor | None:
    """That of both factors of a product which is such a matrix; None for neither.
    scopes: the function around it, and the file.
    """
    for factor in factors:
        inner = factor.value if _is_transposed(factor) else factor
        made = _made(inner, scopes, names)
        if made is not None:
            other = ast.unparse(factors[1]) if factor is factors[0] else ""
            return Factor(_words(factor), _words(made), other)
    return None


def _made(
    node: ast.expr, scopes: Sequence[ast.AST], names: FileNames
) -> ast.expr | None:
    """What makes such a matrix."""
    made = value_of(node, *scopes)
    while isinstance(made, ast.Call) and last_name(made) in _SAME:
        of_module = bool(names.called(made).path)
        given = next(iter(made.args), None) if of_module else owner_of(made)
        if given is None:
            return None
        node, made = given, value_of(given, *scopes)
    if not isinstance(made, ast.Call):
        return None
    is_filled = last_name(made) in _ZEROS and _is_filled(node, scopes)
    is_dense = last_name(made) in _DENSE or _writes_at(made)
    return made if is_filled or is_dense else None


def _is_transposed(node: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and node.attr == "T"


def _is_filled(node: ast.expr, scopes: Sequence[ast.AST]) -> bool:
    """Whether single places of a variable are written: `a[rows, columns] = 1`."""
    return any(
        isinstance(each, ast.Subscript)
        and isinstance(each.ctx, ast.Store)
        and ast.unparse(each.value) == ast.unparse(node)
        and _is_of_places(each)
        for scope in scopes
        for each in own_nodes(scope)
    )


def _writes_at(call: ast.Call) -> bool:
    """`jnp.zeros((n, n)).at[rows, columns].set(1)`."""
    at = owner_of(call)
    if last_name(call) not in _AT or not isinstance(at, ast.Subscript):
        return False
    of = at.value
    if not isinstance(of, ast.Attribute) or of.attr != "at" or not _is_of_places(at):
        return False
    return isinstance(of.value, ast.Call) and last_name(of.value) in _ZEROS


def _is_of_places(node: ast.Subscript) -> bool:
    indexes = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    is_sliced = any(isinstance(index, ast.Slice) for index in indexes)
    return bool(indexes) and not is_sliced


def _words(made: ast.expr) -> str:
    return cut(ast.unparse(made), _LONGEST)
