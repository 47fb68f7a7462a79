"""Arrays over a grid that are a product of one array for each axis: kernels of
convolutions, as a Gaussian's, and exponentials of sums over the axes.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from tfadvisor.causes.called import FileNames, last_name, owner_of
from tfadvisor.causes.definitions import Definitions, Meaning, Scope
from tfadvisor.causes.witness import own_nodes
from tfadvisor.printable import cut

_ARRAYS = frozenset({"numpy", "jax", "tensorflow", "keras", "scipy"})
"""Packages."""
_GRIDS = frozenset(("meshgrid", "mgrid", "ogrid", "indices"))
_STACKS = frozenset(("stack", "asarray", "array", "concatenate", "dstack"))
_MOVES = frozenset(
    "array asarray astype broadcast_to cast constant convert_to_tensor copy expand_dims"
    " flip float32 float64 repeat reshape tile transpose".split()
)
"""What keeps the elements, or repeats them along further axes."""
_SUMS = frozenset(("sum", "reduce_sum"))
_REDUCES = frozenset("max mean min norm prod reduce_max reduce_mean size".split())
_NUMBERS = _SUMS | _REDUCES | {"float", "int", "len"}
"""What gives a number, of whatever it is given."""
_MOST = 2_000
"""Expressions that are looked at."""
_PARTS = 2
"""Axes along which something must vary to be a product of several."""
_ALL = frozenset((0, 1))
_NONE = frozenset[int]()


class Separable(NamedTuple):
    """A convolution with such a kernel."""

    words: str
    own: str
    """The same by two passes, in the program's own names; "" for unknown."""
    lines: tuple[int, ...]


class _Grids:
    """What expressions of a file are made of, by the axes of the grid."""

    def __init__(self, names: FileNames, definitions: Definitions) -> None:
        self._names = names
        self._definitions = definitions
        self._left = _MOST

    def is_product(self, node: ast.expr, scope: Scope) -> bool:
        """Whether it varies along several axes, and is a product of what varies along
        one each.
        """
        several = len(self._axes(node, scope)) >= _PARTS
        return several and self._multiplies(node, scope)

    def _meaning(self, node: ast.expr, scope: Scope) -> Meaning | None:
        """Past what moves its elements; None where it goes on for too long."""
        while self._left > 0:
            self._left -= 1
            made = self._definitions.of(node, scope)
            inner = self._moved(made.node)
            if inner is None:
                return made
            node, scope = inner, made.scope
        return None

    def _moved(self, node: ast.expr) -> ast.expr | None:
        if isinstance(node, ast.Attribute) and node.attr == "T":
            return node.value
        if isinstance(node, ast.Subscript):
            is_whole = all(map(_is_whole, _indexes(node)))
            return node.value if is_whole and _new_axis(node) is None else None
        if not isinstance(node, ast.Call) or last_name(node) not in _MOVES:
            return None
        owner = owner_of(node)
        if self._names.called(node).package in _ARRAYS:
            is_list = node.args and isinstance(node.args[0], ast.List | ast.Tuple)
            return None if is_list or not node.args else node.args[0]
        return owner

    def _axes(self, node: ast.expr, scope: Scope) -> frozenset[int]:
        """Along which it varies, as far as known."""
        made = self._meaning(node, scope)
        if made is None:
            return _NONE
        node, scope = made
        if isinstance(node, ast.Subscript):
            return self._axes_of_part(node, scope)
        if isinstance(node, ast.Call):
            return self._axes_of_call(node, scope)
        if isinstance(node, ast.BinOp):
            return self._axes(node.left, scope) | self._axes(node.right, scope)
        if isinstance(node, ast.UnaryOp):
            return self._axes(node.operand, scope)
        return _NONE

    def _axes_of_part(self, node: ast.Subscript, scope: Scope) -> frozenset[int]:
        axis = _new_axis(node)
        if axis is not None:
            return frozenset((axis,))
        whole = self._meaning(node.value, scope)
        at = node.slice
        if whole is not None and self._is_grid(whole.node):
            is_one = isinstance(at, ast.Constant) and isinstance(at.value, int)
            return frozenset((int(ast.unparse(at)),)) if is_one else _ALL
        return _NONE

    def _axes_of_call(self, call: ast.Call, scope: Scope) -> frozenset[int]:
        if self._is_grid(call) or self._is_outer(call):
            return _ALL
        name = last_name(call)
        along = self._summed(call, scope)
        if along is not None:
            return self._axes(along, scope)
        if name in _SUMS | _REDUCES:
            return _NONE
        found = [self._axes(argument, scope) for argument in _parts_of(call)]
        return _NONE.union(*found)

    def _is_grid(self, node: ast.expr) -> bool:
        """Of coordinates: `meshgrid(...)`, `mgrid[...]`."""
        if isinstance(node, ast.Subscript):
            called = self._names.stands_for(node.value)
            return bool(called.path) and called.names[-1] in _GRIDS
        if not isinstance(node, ast.Call):
            return False
        called = self._names.called(node)
        return called.package in _ARRAYS and called.names[-1] in _GRIDS

    def _is_stack(self, node: ast.expr, scope: Scope) -> bool:
        """Whether its last axis has the coordinates of a point."""
        made = self._meaning(node, scope)
        if made is None or not isinstance(made.node, ast.Call):
            return False
        call = made.node
        if last_name(call) != "stack" or not call.args:
            return False
        axis = [each.value for each in call.keywords if each.arg == "axis"]
        if [ast.unparse(each) for each in axis] != ["-1"]:
            return False
        return self._holds_grid(call.args[0], made.scope)

    def _holds_grid(self, node: ast.expr, scope: Scope) -> bool:
        if isinstance(node, ast.List | ast.Tuple):
            axes = [self._axes(each, scope) for each in node.elts]
            return len(_NONE.union(*axes)) >= _PARTS and max(map(len, axes)) == 1
        whole = self._meaning(node, scope)
        return whole is not None and self._is_grid(whole.node)

    def _is_outer(self, call: ast.Call) -> bool:
        called = self._names.called(call)
        if called.package not in _ARRAYS:
            return False
        if called.names[-1] == "outer":
            return True
        if called.names[-1] != "einsum" or not call.args:
            return False
        spec = ast.unparse(call.args[0]).strip("'\"").replace(" ", "")
        first, comma, rest = spec.partition(",")
        second, arrow, output = rest.partition("->")
        is_plain = len(first) == len(second) == 1 and first != second
        return bool(comma and arrow) and is_plain and {*output} == {first, second}

    def _summed(self, call: ast.Call, scope: Scope) -> ast.expr | None:
        """What a sum over the coordinates of each point is of; None for others."""
        if last_name(call) not in _SUMS:
            return None
        axis = [ast.unparse(each.value) for each in call.keywords if each.arg == "axis"]
        is_method = not self._names.called(call).path
        given = [owner_of(call), *call.args] if is_method else [*call.args]
        of = given[0] if given else None
        axis += [ast.unparse(each) for each in given[1:2] if each is not None]
        if of is None or axis != ["-1"] or not self._is_of_stack(of, scope):
            return None
        return of

    def _is_of_stack(self, node: ast.expr, scope: Scope) -> bool:
        """Whether it is made, element by element, of coordinates of a grid."""
        if self._is_stack(node, scope):
            return True
        made = self._meaning(node, scope)
        if made is None:
            return False
        node, scope = made
        if isinstance(node, ast.BinOp):
            return self._is_of_stacks(node, scope)
        if isinstance(node, ast.UnaryOp):
            return self._is_of_stack(node.operand, scope)
        name = last_name(node) if isinstance(node, ast.Call) else ""
        is_square = name in ("square", "abs")
        parts = _parts_of(node) if isinstance(node, ast.Call) and is_square else []
        return any(self._is_of_stack(part, scope) for part in parts)

    def _is_of_stacks(self, node: ast.BinOp, scope: Scope) -> bool:
        if isinstance(node.op, ast.MatMult):
            return False
        sides = node.left, node.right
        stacks = [side for side in sides if self._is_of_stack(side, scope)]
        others = [side for side in sides if side not in stacks]
        return bool(stacks) and not any(self._axes(side, scope) for side in others)

    def _multiplies(self, node: ast.expr, scope: Scope) -> bool:
        """Whether it is a product of what varies along one axis each."""
        made = self._meaning(node, scope)
        if made is None:
            return False
        node, scope = made
        if len(self._axes(node, scope)) < _PARTS:
            return self._is_known(node, scope)
        if isinstance(node, ast.BinOp):
            return self._multiplies_both(node, scope)
        return isinstance(node, ast.Call) and self._gives_product(node, scope)

    def _gives_product(self, node: ast.Call, scope: Scope) -> bool:
        if self._is_outer(node):
            return True
        name = last_name(node)
        if name == "exp" and len(node.args) == 1:
            return self._adds(node.args[0], scope)
        is_root = name in ("sqrt", "square") and len(node.args) == 1
        return is_root and self._multiplies(node.args[0], scope)

    def _multiplies_both(self, node: ast.BinOp, scope: Scope) -> bool:
        if isinstance(node.op, ast.Div):
            right = self._axes(node.right, scope)
            is_number = not right or self._multiplies(node.right, scope)
            return is_number and self._multiplies(node.left, scope)
        if isinstance(node.op, ast.Mult):
            both = node.left, node.right
            return all(self._multiplies(side, scope) for side in both)
        if isinstance(node.op, ast.MatMult):
            return _new_axis(node.left) == 0 and _new_axis(node.right) == 1
        is_power = isinstance(node.op, ast.Pow)
        return is_power and self._multiplies(node.left, scope)

    def _is_known(self, node: ast.expr, scope: Scope) -> bool:
        """Whether it varies along one axis, or is a number; what is only given, or
        made by a call that is not known, may be an array.
        """
        if self._axes(node, scope):
            return True
        if isinstance(node, ast.UnaryOp):
            return self._is_known(node.operand, scope)
        if isinstance(node, ast.Call):
            return last_name(node) in _NUMBERS
        is_of_library = isinstance(node, ast.Attribute) and bool(
            self._names.stands_for(node).path
        )
        return is_of_library or isinstance(node, ast.Constant)

    def _adds(self, node: ast.expr, scope: Scope) -> bool:
        """Whether it is a sum of what varies along one axis each."""
        made = self._meaning(node, scope)
        if made is None:
            return False
        node, scope = made
        axes = self._axes(node, scope)
        if len(axes) < _PARTS:
            return bool(axes) or isinstance(node, ast.Constant | ast.Attribute)
        if isinstance(node, ast.UnaryOp):
            return self._adds(node.operand, scope)
        if isinstance(node, ast.BinOp):
            return self._adds_both(node, scope)
        if not isinstance(node, ast.Call):
            return False
        return self._summed(node, scope) is not None

    def _adds_both(self, node: ast.BinOp, scope: Scope) -> bool:
        if isinstance(node.op, ast.Add | ast.Sub):
            return self._adds(node.left, scope) and self._adds(node.right, scope)
        if isinstance(node.op, ast.Mult | ast.Div):
            sides = (node.left, node.right)
            several = [side for side in sides if self._axes(side, scope)]
            is_divided = isinstance(node.op, ast.Mult) or several == [node.left]
            return len(several) == 1 and is_divided and self._adds(several[0], scope)
        return False


def _parts_of(call: ast.Call) -> list[ast.expr]:
    """What a call, or a method, is given."""
    owner = owner_of(call)
    return [*([owner] if owner is not None else []), *call.args]


def _indexes(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_whole(index: ast.expr) -> bool:
    """`:`, `None` or `...`."""
    if isinstance(index, ast.Slice):
        return ast.unparse(index) == ":"
    is_new = isinstance(index, ast.Constant) and index.value in (None, Ellipsis)
    return is_new or ast.unparse(index).endswith("newaxis")


def _new_axis(node: ast.expr) -> int | None:
    """Along which a vector varies that is given an axis of length one: 0 of
    `x[:, None]`, 1 of `x[None, :]`; None for others.
    """
    if not isinstance(node, ast.Subscript) or not all(map(_is_whole, _indexes(node))):
        return None
    new = [not isinstance(index, ast.Slice) for index in _indexes(node)]
    return {(False, True): 0, (True, False): 1, (True,): 1}.get(tuple(new))


# Convolutions.

_KERNELS = {
    "jax.lax.conv_general_dilated": (1, "rhs"),
    "jax.lax.conv": (1, "rhs"),
    "jax.lax.conv_with_general_padding": (1, "rhs"),
    "tensorflow.nn.conv2d": (1, "filters"),
    "tensorflow.nn.depthwise_conv2d": (1, "filter"),
    "tensorflow.nn.convolution": (1, "filters"),
    "cv2.filter2D": (2, "kernel"),
    **{
        f"{package}.signal.{name}": (1, "in2")
        for package in ("scipy", "jax.scipy")
        for name in ("convolve", "convolve2d", "correlate", "correlate2d")
    },
    **{
        f"{package}.ndimage.{name}": (1, "weights")
        for package in ("scipy", "jax.scipy")
        for name in ("convolve", "correlate")
    },
}
"""Of calls that convolve, the place and name of the kernel."""
_STRIDES = {"jax.lax": (2, "window_strides"), "tensorflow.nn": (2, "strides")}
_REPEATS = frozenset(("broadcast_to", "repeat", "tile"))
_OTHER_STEPS = frozenset(("lhs_dilation", "rhs_dilation", "dilations"))


def separable_convolution(
    call: ast.Call, function: Scope, names: FileNames, definitions: Definitions
) -> Separable | None:
    """Of a call whose kernel the program makes of one vector an axis, as a Gaussian or
    an outer product; None for others.
    """
    path = names.called(call).path
    kernel = _argument(call, *_KERNELS[path]) if path in _KERNELS else None
    if kernel is None:
        return None
    if not _Grids(names, definitions).is_product(kernel, function):
        return None
    words = cut(ast.unparse(kernel), 60)
    mixes = _repeats(definitions.of(kernel, function).node)
    own = "" if mixes else _passes(call, kernel, path)
    return Separable(words, own, (call.lineno,))


def _repeats(kernel: ast.expr) -> bool:
    """Whether it is laid out for several channels, which a second pass would mix."""
    calls = (node for node in ast.walk(kernel) if isinstance(node, ast.Call))
    return any(last_name(call) in _REPEATS for call in calls)


def _argument(call: ast.Call, at: int, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[at] if at < len(call.args) else None


def _passes(call: ast.Call, kernel: ast.expr, path: str) -> str:
    """One convolution with the kernel's columns and one with its rows."""
    axes = _axes_of_kernel(call, path)
    data = call.args[0] if call.args else None
    if axes is None or data is None or not _goes_by_ones(call, path):
        return ""
    is_name = isinstance(kernel, ast.Name)
    name = ast.unparse(kernel) if is_name else "kernel"
    tensor = path.startswith("tensorflow.")

    def summed(axis: int) -> str:
        if tensor:
            return f"tf.reduce_sum({name}, {axis}, keepdims=True)"
        return f"{name}.sum({axis}, keepdims=True)"

    whole = f"tf.reduce_sum({name})" if tensor else f"{name}.sum()"
    if tensor and "depthwise" in path:
        whole = f"tf.reduce_sum({name}, [0, 1], keepdims=True)"
    first, second = axes
    lines = [] if is_name else [f"{name} = {ast.unparse(kernel)}"]
    lines += [
        f"column = {summed(second)}",
        f"row = {summed(first)} / {whole}",
    ]
    made = _called_with(call, kernel, "column", ast.unparse(data))
    lines += [f"passed = {made}"]
    lines += [_called_with(call, kernel, "row", "passed")]
    return "\n".join(lines)


def _called_with(call: ast.Call, kernel: ast.expr, name: str, data: str) -> str:
    args = [
        name if each is kernel else data if at == 0 else ast.unparse(each)
        for at, each in enumerate(call.args)
    ]
    keywords = [
        f"{each.arg}={name if each.value is kernel else ast.unparse(each.value)}"
        for each in call.keywords
    ]
    return f"{ast.unparse(call.func)}({', '.join([*args, *keywords])})"


def _axes_of_kernel(call: ast.Call, path: str) -> tuple[int, int] | None:
    """Which of its axes are rows and columns; None for unknown."""
    if path.startswith("tensorflow."):
        return 0, 1
    if not path.startswith("jax.lax."):
        return 0, 1
    given = _argument(call, 6, "dimension_numbers")
    if given is None:
        return 2, 3
    try:
        orders = ast.literal_eval(given)
    except ValueError:
        return None
    of = orders[1] if isinstance(orders, tuple) and len(orders) == 3 else ""
    is_plain = isinstance(of, str) and "H" in of and "W" in of
    return (of.index("H"), of.index("W")) if is_plain else None


def _goes_by_ones(call: ast.Call, path: str) -> bool:
    if any(each.arg in _OTHER_STEPS for each in call.keywords):
        return False
    place = next((of for name, of in _STRIDES.items() if path.startswith(name)), None)
    given = None if place is None else _argument(call, *place)
    if given is None:
        return True
    return {*ast.unparse(given)} <= {*"1, ()[]"}


# Exponentials.


class Exponential(NamedTuple):
    """Of a sum over the axes of a grid, at all of its points."""

    node: ast.Call
    words: str
    uses: tuple[ast.expr, ...]
    """Where the function reads it."""


def separable_exponential(
    call: ast.Call, function: Scope, names: FileNames, definitions: Definitions
) -> Exponential | None:
    """None for other calls."""
    called = names.called(call)
    if called.names[-1] != "exp" or called.package not in _ARRAYS:
        return None
    if not _Grids(names, definitions).is_product(call, function):
        return None
    words = cut(ast.unparse(call), 60)
    return Exponential(call, words, tuple(_uses(call, function)))


def _uses(call: ast.Call, function: Scope) -> list[ast.expr]:
    bound = {
        node.targets[0].id
        for node in own_nodes(function)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and any(inner is call for inner in ast.walk(node.value))
    }
    return [
        node
        for node in own_nodes(function)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.id in bound
    ]
