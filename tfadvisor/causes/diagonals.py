"""Products with a matrix that the program makes of its diagonal, and systems of
equations with a matrix that it makes of a few diagonals: what costs less, in the
program's own names.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tfadvisor.causes.called import FileNames, last_name, owner_of
from tfadvisor.causes.definitions import Definitions, Meaning, Scope
from tfadvisor.causes.witness import own_nodes
from tfadvisor.printable import cut

_ARRAYS = frozenset({"numpy", "jax", "tensorflow", "keras"})
"""Packages."""
_DIAGONAL = frozenset(("diag", "diagflat", "tensor_diag"))
_OF_VECTORS = frozenset({"tensorflow"})
"""Packages whose `diag` takes nothing but diagonals; NumPy's takes the diagonal of a
matrix too.
"""
_MATRICES = frozenset("inv pinv cov corrcoef outer eye identity cholesky expm".split())
"""What gives a matrix, of which NumPy's `diag` takes the diagonal."""
_PRODUCTS = frozenset(("matmul", "dot"))
_TRANSPOSES = ("transpose_a", "transpose_b")
_LONGEST = 60
"""Characters of an expression."""


class Product(NamedTuple):
    """With a diagonal matrix."""

    node: ast.expr
    words: str
    """As the program writes it."""
    own: str
    """The same without the matrix; "" for unknown."""
    lines: tuple[int, ...]
    """Where it and the matrix are made."""


class _Factor(NamedTuple):
    """Of a product."""

    node: ast.expr
    diagonal: ast.expr | None = None
    """Of which it is the matrix; None for others."""
    batched: bool = False
    """Whether the diagonal may be several."""
    line: int = 0


def products_with_diagonals(
    function: Scope, names: FileNames, definitions: Definitions
) -> Iterator[Product]:
    """Of a function: `x.T @ diag(w) @ x` as a whole, by whatever call or operator."""
    inner = set[int]()
    for node in own_nodes(function):
        if not isinstance(node, ast.BinOp | ast.Call) or id(node) in inner:
            continue
        parts = _factors(node, names)
        if len(parts) == 1:
            if isinstance(node, ast.Call):
                yield from _of_einsum(node, function, names, definitions)
            continue
        inner |= {id(part) for part in _products_in(node, names)}
        found = [_factor(part, function, names, definitions) for part in parts]
        if any(each.diagonal is not None for each in found):
            yield _product(node, found)


def _products_in(node: ast.expr, names: FileNames) -> Iterator[ast.expr]:
    """Those that a product goes on with, and itself."""
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp | ast.Call) and len(_factors(part, names)) > 1:
            yield part


def _factors(node: ast.expr, names: FileNames) -> list[ast.expr]:
    """Of a product of matrices, all of them in order; else the expression alone."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return [*_factors(node.left, names), *_factors(node.right, names)]
    if isinstance(node, ast.Call):
        return [
            factor for given in _given(node, names) for factor in _factors(given, names)
        ] or [node]
    return [node]


def _given(call: ast.Call, names: FileNames) -> Sequence[ast.expr]:
    """Of a call that multiplies matrices, these; empty for others."""
    called = names.called(call)
    if not called.path:
        return _of_method(call)
    if called.package not in _ARRAYS or not call.args:
        return ()
    first = call.args[0]
    if isinstance(first, ast.List) and called.names[-1] == "multi_dot":
        return first.elts
    return _turned_as(call) if called.names[-1] in _PRODUCTS else ()


def _of_method(call: ast.Call) -> Sequence[ast.expr]:
    """`x.dot(y)`."""
    owner = owner_of(call)
    is_plain = len(call.args) == 1 and not call.keywords
    is_product = is_plain and last_name(call) == "dot"
    return (owner, call.args[0]) if is_product and owner is not None else ()


def _turned_as(call: ast.Call) -> Sequence[ast.expr]:
    """Both factors, as its arguments turn them; empty where others are given."""
    turned = {each.arg for each in call.keywords if ast.unparse(each.value) == "True"}
    is_plain = {each.arg for each in call.keywords} <= {*_TRANSPOSES, "name"}
    if not is_plain or len(call.args) != len(_TRANSPOSES):
        return ()
    return [
        _turned(given) if transpose in turned else given
        for given, transpose in zip(call.args, _TRANSPOSES, strict=True)
    ]


def _turned(node: ast.expr) -> ast.expr:
    made = ast.Call(_names("tf.linalg.matrix_transpose"), [node], [])
    return ast.fix_missing_locations(ast.copy_location(made, node))


def _factor(
    node: ast.expr, function: Scope, names: FileNames, definitions: Definitions
) -> _Factor:
    made = definitions.of(node, function)
    call = made.node
    if not isinstance(call, ast.Call) or made.scope is not function:
        return _Factor(node)
    if not _makes_diagonal(call, names) or len(call.args) != 1:
        return _Factor(node)
    if {each.arg for each in call.keywords} - {"name"}:
        return _Factor(node)
    of_vectors = names.called(call).package in _OF_VECTORS
    diagonal = call.args[0]
    if not of_vectors and _is_matrix(definitions.of(diagonal, function), names):
        return _Factor(node)
    return _Factor(node, diagonal, of_vectors, call.lineno)


def _makes_diagonal(call: ast.Call, names: FileNames) -> bool:
    called = names.called(call)
    return called.package in _ARRAYS and called.names[-1] in _DIAGONAL


def _is_matrix(made: Meaning, names: FileNames) -> bool:
    node = made.node
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    return isinstance(node, ast.Call) and last_name(node) in _MATRICES


def _product(node: ast.expr, factors: list[_Factor]) -> Product:
    lines = sorted({node.lineno, *(each.line for each in factors if each.line)})
    words = cut(ast.unparse(node), _LONGEST)
    return Product(node, words, _scaled(factors), tuple(lines))


def _scaled(factors: list[_Factor]) -> str:
    """The product with its factors scaled instead; "" where all are diagonal."""
    kept: list[ast.expr] = []
    pending: list[_Factor] = []
    is_of_rows = False
    for each in factors:
        if each.diagonal is None:
            made = each.node
            for scale in reversed(pending):
                made = _times(_column(scale), made)
                is_of_rows = True
            pending = []
            kept.append(made)
        elif kept:
            kept[-1] = _times(kept[-1], _row(each))
        else:
            pending.append(each)
    if not kept:
        return ""
    note = f"   # {_of_vectors(factors)}" if is_of_rows else ""
    return " @ ".join(_in_brackets(each, alone=len(kept) == 1) for each in kept) + note


def _in_brackets(node: ast.expr, *, alone: bool) -> str:
    text = ast.unparse(ast.fix_missing_locations(node))
    return f"({text})" if isinstance(node, ast.BinOp) and not alone else text


def _of_vectors(factors: list[_Factor]) -> str:
    first = next(each.diagonal for each in factors if each.diagonal is not None)
    return f"without [:, None] where {ast.unparse(first)} scales a vector"


def _times(left: ast.expr, right: ast.expr) -> ast.expr:
    return ast.BinOp(left, ast.Mult(), right)


def _column(each: _Factor) -> ast.expr:
    return _indexed(each, "[..., None]" if each.batched else "[:, None]")


def _row(each: _Factor) -> ast.expr:
    """The last axis of what is multiplied has the elements of the diagonal."""
    return _indexed(each, "[..., None, :]") if each.batched else _copy(each)


def _copy(each: _Factor) -> ast.expr:
    return each.diagonal if each.diagonal is not None else each.node


def _indexed(each: _Factor, index: str) -> ast.expr:
    made = ast.parse(f"x{index}", mode="eval").body
    if isinstance(made, ast.Subscript):
        made.value = _copy(each)
    return made


def _names(words: str) -> ast.expr:
    return ast.parse(words, mode="eval").body


# Sums by letters.


def _of_einsum(
    call: ast.Call, function: Scope, names: FileNames, definitions: Definitions
) -> Iterator[Product]:
    """`einsum("ij,jk,kl->il", x.T, diag(w), x)`."""
    called = names.called(call)
    if called.package not in _ARRAYS or called.names[-1] != "einsum":
        return
    inputs, arrow, output = _spec(call).partition("->")
    given = [*call.args[1:]]
    factors = [_factor(part, function, names, definitions) for part in given]
    of = inputs.split(",")
    is_whole = arrow and len(of) == len(factors)
    if is_whole and any(each.diagonal is not None for each in factors):
        own = _without_matrices(ast.unparse(call.func), of, output, factors)
        yield _product(call, factors)._replace(own=own)


def _spec(call: ast.Call) -> str:
    """`ij,jk->ik`; "" where it stands elsewhere, or leaves axes out."""
    node = call.args[0] if call.args else None
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    text = ast.unparse(node).strip("'\"").replace(" ", "") if node and is_text else ""
    return "" if "." in text else text


def _without_matrices(
    function: str, inputs: list[str], output: str, factors: list[_Factor]
) -> str:
    parts, args = [*inputs], [ast.unparse(each.node) for each in factors]
    for at, each in enumerate(factors):
        if each.diagonal is None:
            continue
        if len(parts[at]) != len("ij") or parts[at][0] == parts[at][1]:
            return ""
        first, second = parts[at][0], parts[at][1]
        parts = [part.replace(second, first) for part in parts]
        output = output.replace(second, first)
        parts[at], args[at] = first, ast.unparse(each.diagonal)
    if len(set(output)) < len(output):
        return ""
    return f'{function}("{",".join(parts)}->{output}", {", ".join(args)})'


# Systems of equations.

_SOLVERS = {"solve": 1, "lu_factor": 0, "inv": 0, "lu": 0}
"""With the least number of arguments after the matrix."""
_IDENTITIES = frozenset({"eye", "identity"})
_MOST_BANDS = 8
"""From the diagonal; a system with more is no narrow one."""
_Bands = dict[int, ast.expr | None]
"""Which diagonals of a matrix are not 0, with their elements as far as known."""


class Solved(NamedTuple):
    """A system of equations with a matrix of a few diagonals."""

    is_tridiagonal: bool
    own: str
    lines: tuple[int, ...]


def banded_system(
    call: ast.Call, function: Scope, names: FileNames, definitions: Definitions
) -> Solved | None:
    """Of a call that solves one, or inverts its matrix; None for others."""
    called = names.called(call)
    is_linear = called.package in {*_ARRAYS, "scipy"} and "linalg" in called.path
    kind = called.names[-1]
    if not is_linear or kind not in _SOLVERS or len(call.args) <= _SOLVERS[kind]:
        return None
    reader = _Reader(names, definitions)
    bands = reader.read(call.args[0], function)
    if bands is None or len(bands) < 2 or max(map(abs, bands)) > _MOST_BANDS:
        return None
    is_tri = all(abs(offset) <= 1 for offset in bands)
    own = _tridiagonal(call, bands, called.package, kind) if is_tri else ""
    return Solved(is_tri, own, (call.lineno, *sorted(reader.lines)))


class _Reader:
    """Reads expressions."""

    def __init__(self, names: FileNames, definitions: Definitions) -> None:
        self._names = names
        self._definitions = definitions
        self._open: set[tuple[str, int]] = set()
        self.lines: set[int] = set()

    def read(self, node: ast.expr, scope: Scope) -> _Bands | None:
        """Of a matrix; None where it may have other elements."""
        if isinstance(node, ast.Name):
            return self._of_name(node, scope)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            found = self.read(node.operand, scope)
            return None if found is None else _scaled_by(found, _minus)
        if isinstance(node, ast.BinOp):
            return self._of_operation(node, scope)
        if isinstance(node, ast.Call):
            return self._of_call(node, scope)
        return None

    def _of_name(self, node: ast.Name, scope: Scope) -> _Bands | None:
        """All that a function adds up under a name."""
        if (node.id, id(scope)) in self._open:
            return {}
        written = self._definitions.bindings(node.id, scope)
        if len(written) <= 1:
            made = self._definitions.of(node, scope)
            if made.node is node:
                return None
            found = self.read(made.node, made.scope)
            is_here = made.scope is scope
            return found if is_here or found is None else dict.fromkeys(found)
        self._open.add((node.id, id(scope)))
        parts = [self._of_statement(each, node.id, scope) for each in written]
        self._open.discard((node.id, id(scope)))
        together: _Bands = {}
        for part in parts:
            if part is None:
                return None
            together.update(dict.fromkeys(part))
        return together

    def _of_statement(self, node: ast.AST, name: str, scope: Scope) -> _Bands | None:
        is_sum = isinstance(node, ast.AugAssign) and isinstance(
            node.op, ast.Add | ast.Sub
        )
        if isinstance(node, ast.AugAssign) and is_sum:
            return self.read(node.value, scope)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id == name:
                return self.read(node.value, scope)
        return None

    def _of_operation(self, node: ast.BinOp, scope: Scope) -> _Bands | None:
        left = self.read(node.left, scope)
        if isinstance(node.op, ast.Div):
            return None if left is None else dict.fromkeys(left)
        right = self.read(node.right, scope)
        if isinstance(node.op, ast.Mult):
            return _multiplied(node, left, right)
        is_sum = isinstance(node.op, ast.Add | ast.Sub)
        if left is None or right is None or not is_sum:
            return None
        return _added(left, right, node.op)

    def _of_call(self, call: ast.Call, scope: Scope) -> _Bands | None:
        called = self._names.called(call)
        if not called.path:
            return self._of_function(call, scope)
        if called.package not in {*_ARRAYS, "scipy"} or not call.args:
            return None
        if called.names[-1] in _IDENTITIES:
            return self._of_identity(call)
        if called.names[-1] not in _DIAGONAL:
            return None
        offset = _offset(call)
        of = self._definitions.of(call.args[0], scope)
        if offset is None or _is_matrix(of, self._names):
            return None
        self.lines.add(call.lineno)
        return {offset: call.args[0]}

    def _of_function(self, call: ast.Call, scope: Scope) -> _Bands | None:
        """What a function of the file returns."""
        made = self._definitions.of(call, scope)
        found = None if made.node is call else self.read(made.node, made.scope)
        return None if found is None else dict.fromkeys(found)

    def _of_identity(self, call: ast.Call) -> _Bands | None:
        offset = _offset(call) if len(call.args) == 1 else None
        if offset is None:
            return None
        self.lines.add(call.lineno)
        root = ".".join(self._names.called(call).names[:1])
        size = ast.unparse(call.args[0])
        short = f"{size} - {abs(offset)}" if offset else size
        return {offset: _names(f"{root}.ones({short})")}


def _offset(call: ast.Call) -> int | None:
    """Of the diagonal, from the main one; None for unknown."""
    given = {each.arg: each.value for each in call.keywords}
    if not given.keys() <= {"k", "dtype", "name"}:
        return None
    node = given.get("k")
    if node is None and len(call.args) > 1:
        node = call.args[1]
    if node is None:
        return 0
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _minus(node: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.USub(), node)


def _scaled_by(bands: _Bands, scale: Callable[[ast.expr], ast.expr]) -> _Bands:
    return {
        offset: None if node is None else scale(node) for offset, node in bands.items()
    }


def _multiplied(
    node: ast.BinOp, left: _Bands | None, right: _Bands | None
) -> _Bands | None:
    """Element by element: what is 0 stays so."""
    if left is not None and _is_number(node.right):
        return _scaled_by(left, lambda x: _times(node.right, x))
    if right is not None and _is_number(node.left):
        return _scaled_by(right, lambda x: _times(node.left, x))
    known = left if left is not None else right
    return None if known is None else dict.fromkeys(known)


def _added(left: _Bands, right: _Bands, op: ast.operator) -> _Bands:
    found = dict(left)
    for offset, node in right.items():
        own = node
        if node is not None and isinstance(op, ast.Sub):
            own = _minus(node)
        if offset in found:
            before = found[offset]
            both = before is not None and node is not None
            own = ast.BinOp(before, op, node) if both else None  # type: ignore[arg-type]
        found[offset] = own
    return found


def _tridiagonal(call: ast.Call, bands: _Bands, package: str, kind: str) -> str:
    """The same by a solver of such systems; "" where the right side is not known."""
    if kind != "solve" or len(call.args) < 2:
        return ""
    matrix, right = ast.unparse(call.args[0]), ast.unparse(call.args[1])
    root = {"jax": "jnp", "tensorflow": "tf"}.get(package, "np")

    def band(offset: int) -> str:
        node = bands.get(offset)
        if offset in bands and node is not None:
            return ast.unparse(ast.fix_missing_locations(node))
        if package == "tensorflow":
            return f"tf.linalg.diag_part({matrix}, k={offset})"
        return f"{root}.diagonal({matrix}, {offset})"

    lower, main, upper = band(-1), band(0), band(1)
    if package == "jax":
        return (
            f"jax.lax.linalg.tridiagonal_solve(\n    jnp.pad({lower}, (1, 0)),\n"
            f"    {main},\n    jnp.pad({upper}, (0, 1)),\n    {right},\n"
            f")   # of a vector {right}[:, None], and [:, 0] of the result"
        )
    if package == "tensorflow":
        return (
            f"tf.linalg.tridiagonal_solve(\n    (tf.pad({upper}, [[0, 1]]), {main}, "
            f'tf.pad({lower}, [[1, 0]])),\n    {right}, diagonals_format="sequence")'
        )
    return (
        f"scipy.linalg.solve_banded((1, 1), np.stack([\n    np.pad({upper}, (1, 0)), "
        f"{main}, np.pad({lower}, (0, 1))]), {right})"
    )
