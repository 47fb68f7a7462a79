"""Which calls make all prefixes of an array, sums or what a scan combines, of which the
function that makes them takes the last alone: what a reduction gives.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfadvisor.causes.called import FileNames
from tfadvisor.causes.walked import nodes_in

_DEFAULT_AXES = {
    "jax.lax.associative_scan": "0",
    "jax.lax.cumsum": "0",
    "jax.lax.cumprod": "0",
    "jax.lax.cummax": "0",
    "jax.lax.cummin": "0",
    "jax.lax.cumlogsumexp": "0",
    "jax.numpy.cumsum": "None",
    "jax.numpy.cumprod": "None",
    "numpy.cumsum": "None",
    "numpy.cumprod": "None",
    "tensorflow.cumsum": "0",
    "tensorflow.math.cumsum": "0",
    "tensorflow.math.cumprod": "0",
    "tensorflow.math.cumulative_logsumexp": "0",
}
"""Of calls that make all prefixes, the axis along which they do if none is given."""
_SCAN = "jax.lax.associative_scan"
_AXIS_OF_SCAN = 3
_AXIS_OF_SUMS = 1
"""Places of the argument."""
_TURNED = frozenset(("reverse", "exclusive"))
"""Arguments with which the last place holds something else."""
_WHOLE = ("None", "0")
"""An array that was flattened has this axis alone."""
_MAPS = ("jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map")
_TAKES = {
    "jax.numpy.take": "None",
    "numpy.take": "None",
    "tensorflow.gather": "0",
    "jax.lax.index_in_dim": "0",
}
"""With the axis that they take from if none is given."""
_AXIS_OF_TAKE = 2


def last_of_all(call: ast.Call, function: ast.AST, names: FileNames) -> str:
    """`associative_scan()[-1]`, `cumsum()[-1]` and the like, of a call in a function
    that takes nothing else of its result; "" for others.
    """
    path = names.called(call).path
    if path not in _DEFAULT_AXES or _is_turned(call, path):
        return ""
    place = _AXIS_OF_SCAN if path == _SCAN else _AXIS_OF_SUMS
    axis = _axis(call, place, _DEFAULT_AXES[path])
    lasts = {
        id(of) for of, along in _taken_in(function, names) if _is_same(axis, along)
    }
    is_last = id(call) in lasts or _are_all_in(lasts, call, function)
    return f"{path.rpartition('.')[2]}()[-1]" if is_last else ""


def _are_all_in(lasts: set[int], call: ast.Call, function: ast.AST) -> bool:
    """Whether the function gives names to the result of a call alone, and reads these
    in such places only.
    """
    bound = _names_bound(call, function)
    used = [
        node
        for node in nodes_in(function)
        if isinstance(node, ast.Name) and node.id in bound
    ]
    read = [node for node in used if isinstance(node.ctx, ast.Load)]
    is_written_once = len(used) - len(read) == len(bound)
    return is_written_once and bool(read) and all(id(node) in lasts for node in read)


def _is_turned(call: ast.Call, path: str) -> bool:
    given = {keyword.arg for keyword in call.keywords}
    most = _AXIS_OF_SCAN - 1 if path == _SCAN else _AXIS_OF_SUMS + 1
    return bool(given & _TURNED or None in given or len(call.args) > most)


def _axis(call: ast.Call, place: int, default: str) -> str:
    """As the program writes it."""
    for keyword in call.keywords:
        if keyword.arg == "axis":
            return ast.unparse(keyword.value)
    return ast.unparse(call.args[place]) if len(call.args) > place else default


def _is_same(axis: str, along: str) -> bool:
    return axis == along or (axis == "None" and along in _WHOLE)


def _names_bound(call: ast.Call, function: ast.AST) -> set[str]:
    """That a statement gives its result, or the parts of it; empty where something else
    may hold it too.
    """
    for node in nodes_in(function):
        if isinstance(node, ast.Assign) and node.value is call:
            targets = [*_leaves(node.targets)]
            if all(isinstance(target, ast.Name) for target in targets):
                return {target.id for target in targets if isinstance(target, ast.Name)}
    return set()


def _leaves(targets: list[ast.expr]) -> Iterator[ast.expr]:
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            yield from _leaves(target.elts)
        else:
            yield target


def _taken_in(function: ast.AST, names: FileNames) -> Iterator[tuple[ast.expr, str]]:
    """(what, along which axis) of all that takes the last place of an array."""
    for node in nodes_in(function):
        found = None
        if isinstance(node, ast.Subscript):
            found = _of_index(node)
        elif isinstance(node, ast.Call):
            found = _of_take(node, names) or _of_map(node, names)
        if found is not None:
            yield found


def _of_index(node: ast.Subscript) -> tuple[ast.expr, str] | None:
    """`x[-1]`, `x[:, -1]`, `x[..., -1]`."""
    *others, last = (
        node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    ) or [node.slice]
    if not _is_minus_one(last):
        return None
    if all(isinstance(other, ast.Slice) and _is_all(other) for other in others):
        return node.value, str(len(others))
    is_dots = [ast.unparse(other) for other in others] == ["..."]
    return (node.value, "-1") if is_dots else None


def _of_take(call: ast.Call, names: FileNames) -> tuple[ast.expr, str] | None:
    """`jnp.take(x, -1, axis=0)`."""
    path = names.called(call).path
    if path not in _TAKES or len(call.args) < _AXIS_OF_TAKE:
        return None
    if not _is_minus_one(call.args[1]):
        return None
    return call.args[0], _axis(call, _AXIS_OF_TAKE, _TAKES[path])


def _of_map(call: ast.Call, names: FileNames) -> tuple[ast.expr, str] | None:
    """`jax.tree.map(lambda x: x[-1], tree)`."""
    if names.called(call).path not in _MAPS or len(call.args) != len(("f", "tree")):
        return None
    taking, tree = call.args
    if not isinstance(taking, ast.Lambda):
        return None
    inner = None
    if isinstance(taking.body, ast.Subscript):
        inner = _of_index(taking.body)
    elif isinstance(taking.body, ast.Call):
        inner = _of_take(taking.body, names)
    arguments = [argument.arg for argument in taking.args.args]
    is_own = inner is not None and [ast.unparse(inner[0])] == arguments
    return (tree, inner[1]) if inner is not None and is_own else None


def _is_minus_one(node: ast.expr) -> bool:
    return ast.unparse(node) == "-1"


def _is_all(node: ast.Slice) -> bool:
    return node.lower is None and node.upper is None and node.step is None
