"""Dense matrices of which, by how the program makes them, most entries may be 0: zeros
into which a few values are written, a sparse matrix that was made dense, a mask.

Whether most of them are, the lines do not show.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tfadvisor.causes.called import (
    Function,
    calls_in,
    dotted,
    functions_in,
    last_name,
)
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.unchanged import given_for, parameters
from tfadvisor.causes.witness import (
    class_of,
    made_by_calls,
    own_nodes,
    scope_around,
    with_aliases,
)
from tfadvisor.printable import cut

_DEEPEST = 8
"""Names, arguments and functions that hand it on."""
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
    "Variable array asarray astype cast constant contiguous convert_to_tensor copy "
    "device_put float normalize numpy stop_gradient transpose".split()
)
"""Calls that give what they are given, as far as its zeros go."""
_PRODUCTS = frozenset({"matmul", "dot"})
_EINSUM = "einsum"
_SIDES = 2
_Scope = Function | ast.Module


class Factor(NamedTuple):
    """Of a product."""

    factor: str
    """As the program writes it: `self.adjacency`."""
    made: str
    """What makes it: `np.eye(n)`."""
    other: str
    """What stands behind it in a plain product; "" for other products."""


class Zeros:
    """How the matrices of a file are made."""

    def __init__(self, parsed: ParsedFile) -> None:
        """parsed: the file."""
        self._parsed = parsed

    def factor_of(self, node: ast.expr) -> Factor | None:
        """The factor of a product that is such a matrix; None for anything else."""
        factors = self._factors(node)
        is_plain = isinstance(node, ast.BinOp) or (
            isinstance(node, ast.Call) and not node.keywords and node.args == factors
        )
        for factor in factors:
            made = self._made(factor, scope_around(self._parsed.tree, node.lineno), 0)
            if made is not None:
                is_first = is_plain and factor is factors[0] and len(factors) == _SIDES
                other = ast.unparse(factors[1]) if is_first else ""
                return Factor(_words(factor), _words(made), other)
        return None

    def _factors(self, node: ast.expr) -> list[ast.expr]:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return [node.left, node.right]
        if not isinstance(node, ast.Call) or not self._parsed.names.called(node).path:
            return []
        if last_name(node) in _PRODUCTS:
            return node.args[:_SIDES]
        is_einsum = last_name(node) == _EINSUM and len(node.args) == 1 + _SIDES
        return node.args[1:] if is_einsum else []

    def _made(self, node: ast.expr, scope: _Scope, depth: int) -> ast.expr | None:
        """The expression that makes such a matrix of what another is made of."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Name):
            return self._of_name(node.id, scope, depth + 1)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node, scope, depth + 1)
        if isinstance(node, ast.Call):
            return self._of_call(node, scope, depth + 1)
        if isinstance(node, ast.BinOp):
            return self._of_operation(node, scope, depth + 1)
        return None

    def _of_operation(
        self, node: ast.BinOp, scope: _Scope, depth: int
    ) -> ast.expr | None:
        """A product by elements has the zeros of both, a quotient those of what is
        divided.
        """
        if isinstance(node.op, ast.Mult):
            left = self._made(node.left, scope, depth)
            return left or self._made(node.right, scope, depth)
        if isinstance(node.op, ast.Div):
            return self._made(node.left, scope, depth)
        return None

    def _of_call(self, call: ast.Call, scope: _Scope, depth: int) -> ast.expr | None:
        name = last_name(call)
        if name in _DENSE or _writes_at(call):
            return call
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if name in _SAME:
            is_of_module = bool(self._parsed.names.called(call).path)
            given = next(iter(call.args), None) if is_of_module else owner
            return None if given is None else self._made(given, scope, depth)
        return self._of_function(name, depth)

    def _of_function(self, name: str, depth: int) -> ast.expr | None:
        """What a function of the file returns, if that is all it returns."""
        function = self._parsed.names.functions.get(name)
        nodes = [] if function is None else list(own_nodes(function))
        given = [node.value for node in nodes if isinstance(node, ast.Return)]
        if function is None or len(given) != 1 or given[0] is None:
            return None
        return self._made(given[0], function, depth)

    def _of_name(self, name: str, scope: _Scope, depth: int) -> ast.expr | None:
        values = list(_values(scope, name))
        if values:
            return self._of_values(values, name, scope, depth)
        if isinstance(scope, ast.Module):
            return None
        if name not in parameters(scope):
            return self._of_name(name, self._outer(scope), depth)
        return self._of_argument(name, scope, depth)

    def _of_values(
        self, values: list[ast.expr], name: str, scope: _Scope, depth: int
    ) -> ast.expr | None:
        """Of those that a scope gives a name, the first that is such."""
        for value in values:
            if _is_zeros(value) and _is_filled(scope, name):
                return value
            made = None if _has(value, name) else self._made(value, scope, depth)
            if made is not None:
                return made
        return None

    def _outer(self, function: Function) -> _Scope:
        """The innermost function around another one, else the module."""
        around = [
            outer
            for outer in functions_in(self._parsed.tree)
            if outer is not function and any(x is function for x in ast.walk(outer))
        ]
        return around[-1] if around else self._parsed.tree

    def _of_argument(
        self, name: str, function: Function, depth: int
    ) -> ast.expr | None:
        """What a call of the file gives a function, of which all calls give such."""
        tree = self._parsed.tree
        given = [
            (given_for(call, function, name), scope_around(tree, at.lineno))
            for call, at in _calls_of(self._parsed, function)
        ]
        made = [
            None if value is None else self._made(value, scope, depth)
            for value, scope in given
        ]
        return made[0] if made and all(each is not None for each in made) else None

    def _of_attribute(
        self, node: ast.Attribute, scope: _Scope, depth: int
    ) -> ast.expr | None:
        """What a class gives an attribute, once."""
        if node.attr == "T":
            return self._made(node.value, scope, depth)
        given = [
            (each.value, function)
            for function in functions_in(self._parsed.tree)
            for each in own_nodes(function)
            if isinstance(each, ast.Assign)
            and any(_is_attribute(target, node.attr) for target in each.targets)
        ]
        if len(given) != 1:
            return None
        return self._made(*given[0], depth)


def _calls_of(
    parsed: ParsedFile, function: Function
) -> Iterator[tuple[ast.Call, ast.Call]]:
    """(a call as of the function itself, the call in the file): of a method, an object
    of its class, a gradient or what is compiled of it too.
    """
    names = _names_of(parsed, function)
    for call in calls_in(parsed.tree):
        given = _given(call, names)
        if given is not None:
            method = ast.Attribute(call.func, function.name, ast.Load())
            yield ast.Call(method, given, call.keywords), call


def _names_of(parsed: ParsedFile, function: Function) -> frozenset[str]:
    """That it is called by: a class for its beginning, objects for what their call
    runs.
    """
    owner = class_of(parsed.tree, function)
    if owner is not None and function.name == "__init__":
        return frozenset({owner.name})
    if owner is not None and function.name in ("__call__", "call"):
        made = made_by_calls(parsed.tree)
        return frozenset(name for name, call in made if last_name(call) == owner.name)
    return with_aliases(parsed.tree, frozenset({function.name}))


def _given(call: ast.Call, names: frozenset[str]) -> list[ast.expr] | None:
    """The arguments that a call gives what is called by one of these names; None for
    other calls.
    """
    if last_name(call) in names:
        return call.args
    if isinstance(call.func, ast.Call):  # jax.grad(loss)(…)
        inner = call.func.args
        is_it = any(isinstance(x, ast.Name) and x.id in names for x in inner)
        return call.args if is_it else None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "apply":  # of Flax
        return call.args[1:] if dotted(call.func.value)[-1] in names else None
    return None


def _has(node: ast.expr, name: str) -> bool:
    """Whether an expression reads a name."""
    return any(isinstance(x, ast.Name) and x.id == name for x in ast.walk(node))


def _values(scope: _Scope, name: str) -> Iterator[ast.expr]:
    """That statements give a name of its own."""
    for node in own_nodes(scope):
        if isinstance(node, ast.Assign):
            targets = node.targets
            if any(isinstance(x, ast.Name) and x.id == name for x in targets):
                yield node.value


def _is_attribute(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Attribute) and target.attr == name


def _is_zeros(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node) in _ZEROS


def _is_filled(scope: _Scope, name: str) -> bool:
    """Whether single places of it are written: `a[rows, columns] = 1`."""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and isinstance(node.slice, ast.Tuple)
        and not any(isinstance(part, ast.Slice) for part in node.slice.elts)
        for node in own_nodes(scope)
    )


def _writes_at(call: ast.Call) -> bool:
    """`jnp.zeros((n, n)).at[rows, columns].set(1)`."""
    if last_name(call) not in _AT or not isinstance(call.func, ast.Attribute):
        return False
    at = call.func.value
    if not isinstance(at, ast.Subscript) or not isinstance(at.value, ast.Attribute):
        return False
    several = isinstance(at.slice, ast.Tuple) and not any(
        isinstance(part, ast.Slice) for part in at.slice.elts
    )
    return at.value.attr == "at" and several and _is_zeros(at.value.value)


def _words(made: ast.expr) -> str:
    return cut(ast.unparse(made), _LONGEST)
