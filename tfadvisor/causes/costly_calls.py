"""Calls that are known to cost more than they look, by the documentation of their
libraries (costly_calls.yaml), and which of them a line of the program makes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from tfadvisor.causes.called import Called, FileNames, dotted
from tfadvisor.causes.diagonals import factors_of, product_with_diagonal
from tfadvisor.causes.every_kth import every_kth
from tfadvisor.causes.last_of_all import last_of_all
from tfadvisor.causes.loop_data import bindings_by_name
from tfadvisor.causes.mostly_zero import Factor, mostly_zero
from tfadvisor.causes.of_numpy import is_of_numpy
from tfadvisor.causes.searched_lists import searched
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.used_for import used_for
from tfadvisor.causes.walked import Function, calls_in, covers, own_nodes, walked
from tfadvisor.causes.witness import scope_around
from tfadvisor.printable import cut

Where = Literal["host", "launch", "device"]
"""What runs where the time is: Python and NumPy, the launch of ops one by one, or a
compiled program."""
_TABLE = Path(__file__).with_suffix(".yaml")
_POSITIONS = ("iloc", "loc", "iat")
"""Attributes of pandas' frames that look rows up."""
_ANY = "any"
_LONGEST = 60
"""Characters of an expression."""
_DERIVATIVES = frozenset(("jax.hessian", "jax.jacfwd", "jax.jacobian", "jax.jacrev"))
"""They give a function, which costs where the program calls it."""
_OTHER_WAY = {
    "jax.jacfwd": "jax.jacrev",
    "jax.jacrev": "jax.jacfwd",
    "jax.jacobian": "jax.jacfwd",
}
"""To a Jacobian."""
_WRAPPERS = frozenset("jit pjit vmap pmap partial filter_jit filter_vmap".split())
"""They give the function that they are given in another form."""
_MOST_WRAPPERS = 8


class CostlyCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of some calls. The table's head explains the fields."""

    calls: tuple[str, ...]
    where: Literal["host", "launch", "device", "any"]
    why: str
    change: str
    before: str
    after: str
    cost: str
    guide: str
    keyword: Mapping[str, Any] = {}
    without: tuple[str, ...] = ()
    arguments: int = 0
    """That it has at least."""
    constant: int | None = None
    """Its first argument."""
    first: Literal["", "list", "name"] = ""
    """What its first argument is written as."""
    owner: tuple[str, ...] = ()
    """Of a method, how what it belongs to is called."""
    around: bool = False
    """Whether it is meant too where its line calls the one that takes the time."""
    but_of_numpy: bool = False
    """Whether it is not meant where ops are launched one by one on an array that NumPy
    gave: there it makes data that the step is given.
    """
    path: str = ""
    passes: Literal["", "inputs", "outputs"] = ""
    """Of a Jacobian, for each of what it takes one."""
    shown: str = ""
    """What helps where the shapes tell that these are many more than the others."""
    window: int = 0
    """Elements of a convolution's kernel, as far as a program's shapes tell them, that
    it has at least.
    """
    square: bool = False
    """Whether it is meant only where a program's shapes tell that a factor of a product
    of matrices is as high as it is wide.
    """
    classes: int = 0
    """Elements along the last axis of a softmax, as far as shapes tell them,
    that it has at least.
    """
    gradients: bool = False
    """Whether the gradients of its ops in a graph belong to it."""

    def runs(self, where: Where) -> bool:
        """Whether its time is of this kind."""
        return self.where in (where, _ANY)

    def is_on(self, paths: str) -> bool:
        """Whether the framework's paths to the ops of a line agree."""
        return not self.path or re.search(self.path, paths) is not None


class MadeCall(NamedTuple):
    """A call of the table that a line of the program makes."""

    known: CostlyCall
    words: str
    """As the program writes it: `np.random.choice`."""
    own: str = ""
    """What costs less in the program's own names; "" for unknown."""
    lines: tuple[int, ...] = ()
    """Others of the file that belong to it."""


class _Made(NamedTuple):
    """A call, or what is as good as one, in the program."""

    name: str
    """In the terms of the table."""
    words: str
    node: ast.expr | ast.For
    call: ast.Call | None
    """That has its arguments."""
    names: tuple[str, ...]
    """Of a method, as it is written."""
    own: str = ""
    lines: tuple[int, ...] = ()


@cache
def costly_calls() -> tuple[CostlyCall, ...]:
    """The table."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = _TABLE.read_text(encoding="utf-8")
    return msgspec.convert(yaml.load(text, loader), tuple[CostlyCall, ...])


class CallsOfFile:
    """Which calls of the table the lines of a file make."""

    def __init__(self, parsed: ParsedFile) -> None:
        """parsed: the file."""
        self._parsed = parsed
        self._known: dict[ast.AST, list[_Made]] = {}

    def made_on(
        self,
        line: int,
        where: Where,
        paths: str = "",
        *,
        around: bool = False,
    ) -> MadeCall | None:
        """The first of the table that a line makes. paths: the framework's, of the ops
        whose time it is, "" for unknown. around: whether the line only calls the one
        that takes the time.
        """
        made = self._on(line)
        for known in costly_calls():
            if not known.runs(where) or (around and not known.around):
                continue
            if where == "device" and not known.is_on(paths):
                continue
            for call in made:
                if _is_meant(known, call) and not self._makes_data(known, call, where):
                    return MadeCall(known, call.words, call.own, call.lines)
        return None

    def _makes_data(self, known: CostlyCall, made: _Made, where: Where) -> bool:
        """Whether it is one that is not meant where it is given NumPy's arrays."""
        if not known.but_of_numpy or where != "launch" or made.call is None:
            return False
        return any(is_of_numpy(self._parsed, given) for given in made.call.args[:1])

    def _on(self, line: int) -> list[_Made]:
        """Those that begin on a line; else those that it is a line of."""
        function = scope_around(self._parsed.tree, line)
        if function not in self._known:
            self._known[function] = [*self._made(function)]
        known = self._known[function]
        on_line = [made for made in known if covers(_head(made.node), line)]
        begin = [made for made in on_line if made.node.lineno == line]
        return begin or on_line

    def _made(self, function: Function | ast.Module) -> Iterator[_Made]:
        for node in own_nodes(function):
            if isinstance(node, ast.Call | ast.Compare):
                yield from self._of_list(node)
            if isinstance(node, ast.Call):
                yield from self._of_last(node, function)
                yield from self._of_use(node, function)
                yield from self._of_product(node, function)
                yield from self._of_kth(node, function)
                yield from self._of_derivative(node)
                yield self._of_call(node)
            elif isinstance(node, ast.Subscript):
                yield from self._of_items(node, "{}[]")
                yield from self._of_archive(node)
            elif isinstance(node, ast.Attribute) and node.attr in _POSITIONS:
                yield _Made(f".{node.attr}", node.attr, node, None, (node.attr,))
            elif isinstance(node, ast.For):
                yield from self._of_items(node, "for {}")
            elif isinstance(node, ast.BinOp):
                yield from _of_operation(node)
                yield from self._of_product(node, function)

    @property
    def _names(self) -> FileNames:
        return self._parsed.names

    def _of_call(self, call: ast.Call) -> _Made:
        called = self._names.called(call)
        special = _of_diagonal(call, called) or _of_mask(call, called)
        if special:
            return _expression(special, call)
        origin = self._origin(call.func)
        name = called.path or (origin[0] if origin else "") or called.words
        method = () if called.path else tuple(called.names)
        own = _by_fourier(call, name) or self._other_way(call, name)
        return _Made(name, called.words, call, call, method, own)

    def _other_way(self, call: ast.Call, name: str) -> str:
        """The same Jacobian by passes the other way; "" for other calls."""
        if name not in _OTHER_WAY or not call.args:
            return ""
        whole = ast.unparse(walked(self._parsed.tree).call_of(call) or call)
        return whole.replace(ast.unparse(call.func), _OTHER_WAY[name], 1)

    def _of_archive(self, node: ast.Subscript) -> Iterator[_Made]:
        """What is taken by its name out of what np.load gave."""
        origin = self._origin(node.value)
        is_named = isinstance(_value(node.slice), str)
        if is_named and origin is not None and origin[0] == "numpy.load()":
            yield _expression("npz member", node)

    def _of_list(self, node: ast.Call | ast.Compare) -> Iterator[_Made]:
        """What goes through a list for one element."""
        found = searched(self._parsed, node)
        if found is not None:
            yield _Made(found.name, found.words, node, None, (), found.own)

    def _of_last(self, call: ast.Call, function: ast.AST) -> Iterator[_Made]:
        """All prefixes, of which the function takes the last alone."""
        name = last_of_all(call, function, self._names)
        if name:
            words = self._names.called(call).words
            yield _Made(name, words, call, call, ())

    def _of_use(self, call: ast.Call, function: ast.AST) -> Iterator[_Made]:
        """The call, and what alone its result is used for."""
        use = used_for(call, function, self._names)
        if use is not None:
            words = self._names.called(call).words
            for node in {id(each): each for each in (call, use.node)}.values():
                yield _Made(use.name, words, node, None, (), use.own, use.lines)

    def _of_product(
        self, node: ast.BinOp | ast.Call, function: Function | ast.Module
    ) -> Iterator[_Made]:
        """A product with a matrix of one diagonal, or of zeros and a few values."""
        found = product_with_diagonal(node, function, self._names)
        if found is not None:
            yield _Made(found.name, found.words, node, None, (), found.own, found.lines)
        scopes = (function, self._parsed.tree)
        zeros = mostly_zero(factors_of(node, self._names), scopes, self._names)
        if zeros is not None:
            words = cut(ast.unparse(node), _LONGEST)
            own = _sparse(zeros, is_of_tensorflow=self._is_of_tensorflow)
            yield _Made("zeros @ x", words, node, None, (), own)

    def _of_kth(self, call: ast.Call, function: ast.AST) -> Iterator[_Made]:
        """The call, and where alone every k-th place of its result is taken."""
        kth = every_kth(call, function, self._names, self._maker_of)
        if kth is not None:
            words = f"{self._names.called(call).words} … {_slice_of(kth.node)}"
            for node in (call, kth.node):
                yield _Made(kth.name, words, node, None, (), kth.own, kth.lines)

    def _maker_of(self, node: ast.expr) -> ast.Call | None:
        return self._makers.get(self._name_of(node))

    @cached_property
    def _is_of_tensorflow(self) -> bool:
        calls = calls_in(self._parsed.tree)
        packages = {self._names.called(call).package for call in calls}
        return bool(packages & {"tensorflow", "keras"}) and "jax" not in packages

    def _of_derivative(self, call: ast.Call) -> Iterator[_Made]:
        """The call of a function that a name stands for, which takes derivatives."""
        made = self._makers.get(self._name_of(call.func))
        for _ in range(_MOST_WRAPPERS):
            called = self._names.called(made) if made is not None else None
            if made is None or called is None:
                return
            if called.path in _DERIVATIVES:
                words = cut(ast.unparse(made), _LONGEST)
                own = self._other_way(made, called.path)
                yield _Made(called.path, words, call, made, (), own)
                return
            if called.names[-1] not in _WRAPPERS or not made.args:
                return
            inner = made.args[0]
            known = self._makers.get(self._name_of(inner))
            made = inner if isinstance(inner, ast.Call) else known

    def _name_of(self, node: ast.expr) -> str:
        """Of a variable, or of an attribute of the object; "" for others."""
        is_name = isinstance(node, ast.Name | ast.Attribute)
        return ast.unparse(node) if is_name else ""

    def _of_items(self, node: ast.Subscript | ast.For, pattern: str) -> Iterator[_Made]:
        """What is taken, one by one or in a loop, out of what a call made."""
        owner = node.value if isinstance(node, ast.Subscript) else node.iter
        origin = self._origin(owner)
        if origin is not None:
            name, call = origin
            words = pattern.format(".".join(dotted(owner)))
            yield _Made(pattern.format(name), words, node, call, ())

    def _origin(self, node: ast.expr) -> tuple[str, ast.Call] | None:
        """(`gymnasium.make().step` of `env.step`, the call that made `env`), or of a
        name alone what made it.
        """
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
            path = self._names.called(node.value).path
            return (f"{path}().{node.attr}", node.value) if path else None
        first, *rest = dotted(node)
        if first == "self" and rest:
            first, *rest = f"self.{rest[0]}", *rest[1:]
        call = self._makers.get(first)
        if call is None:
            return None
        path = self._names.called(call).path
        return (".".join([f"{path}()", *rest]), call) if path else None

    @cached_property
    def _makers(self) -> dict[str, ast.Call]:
        """The call whose result bears a name, of names that one alone gives."""
        found = {
            name: [each for each in bound if not isinstance(each.target, ast.Subscript)]
            for name, bound in bindings_by_name(self._parsed.tree).items()
        }
        return {
            name: bound[0].value
            for name, bound in found.items()
            if len(bound) == 1
            and isinstance(bound[0].target, ast.Name | ast.Attribute)
            and isinstance(bound[0].value, ast.Call)
        }


def _head(node: ast.expr | ast.For) -> ast.expr:
    """Of a loop what it goes through."""
    return node.iter if isinstance(node, ast.For) else node


def _sparse(found: Factor, *, is_of_tensorflow: bool) -> str:
    """The same product of a sparse matrix, where that stands first; "" for others."""
    if not found.other:
        return ""
    made = f"once; it is made by {found.made}"
    if is_of_tensorflow:
        return (
            f"edges = tf.sparse.from_dense({found.factor})      # {made}\n"
            f"tf.sparse.sparse_dense_matmul(edges, {found.other})"
        )
    return (
        f"edges = jax.experimental.sparse.BCOO.fromdense({found.factor})  # {made}\n"
        f"edges @ {found.other}"
    )


def _slice_of(node: ast.Subscript) -> str:
    return f"[{ast.unparse(node.slice).strip('()')}]"


_CONVOLVES = ("jax.numpy.convolve", "jax.scipy.signal.convolve")


def _by_fourier(call: ast.Call, name: str) -> str:
    """The same convolution by Fourier transforms; "" for other calls."""
    is_plain = {keyword.arg for keyword in call.keywords} <= {"mode"}
    if name not in _CONVOLVES or not is_plain or len(call.args) > _MODE:
        return ""
    given = ", ".join(ast.unparse(each) for each in (*call.args, *call.keywords))
    return f"jax.scipy.signal.fftconvolve({given})"


_MODE = 3
"""Arguments, with the mode."""


# What is meant.


def _is_meant(known: CostlyCall, made: _Made) -> bool:
    if not any(_is_name(name, made) for name in known.calls):
        return False
    if known.owner and (len(made.names) < 2 or made.names[-2] not in known.owner):
        return False
    return made.call is None or _has_arguments(known, made.call)


def _is_name(name: str, made: _Made) -> bool:
    if name.startswith("."):
        return name == made.name or name[1:] in made.names[1:][-1:]
    if name.endswith(".*"):
        return made.name.startswith(name[:-1])
    return made.name == name


def _has_arguments(known: CostlyCall, call: ast.Call) -> bool:
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if given.keys() & set(known.without):
        return False
    if known.keyword and not _has_one(known.keyword, given):
        return False
    if len(call.args) < known.arguments:
        return False
    return _begins_with(known, call)


def _has_one(wanted: Mapping[str, Any], given: Mapping[str, ast.expr]) -> bool:
    return any(
        name in given and (value == _ANY or _value(given[name]) == value)
        for name, value in wanted.items()
    )


def _begins_with(known: CostlyCall, call: ast.Call) -> bool:
    first = call.args[0] if call.args else None
    if known.constant is not None and _value(first) != known.constant:
        return False
    if known.first == "list":
        return isinstance(first, ast.List | ast.ListComp | ast.GeneratorExp)
    return known.first != "name" or isinstance(first, ast.Name | ast.Attribute)


def _value(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


# Expressions that stand for calls.

_DIAGONALS = ("diag", "diagonal", "trace")
_CHOICE = 3
"""Arguments of a where that chooses."""


def _of_operation(node: ast.BinOp) -> Iterator[_Made]:
    if isinstance(node.op, ast.Sub) and _is_of_pairs(node.left, node.right):
        yield _expression("x[:, None] - y[None]", node)


def _expression(name: str, node: ast.expr) -> _Made:
    return _Made(name, cut(ast.unparse(node), _LONGEST), node, None, ())


def _is_of_pairs(left: ast.expr, right: ast.expr) -> bool:
    """Whether both have new axes, at different places, or are one array with one."""
    axes = _new_axes(left), _new_axes(right)
    if not any(axes) or axes[0] == axes[1]:
        return False
    bases = (
        ast.dump(side.value if isinstance(side, ast.Subscript) else side)
        for side in (left, right)
    )
    return all(axes) or len(set(bases)) == 1


def _new_axes(node: ast.AST) -> list[int]:
    """Where it is written with axes of length one."""
    if not isinstance(node, ast.Subscript):
        return []
    indexes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return [
        at
        for at, index in enumerate(indexes)
        if isinstance(index, ast.Constant) and index.value is None
    ]


def _of_mask(call: ast.Call, called: Called) -> str:
    """`where(mask[:, None], x, 0)` and the like; "" for other calls."""
    if not called.path or called.names[-1] != "where" or len(call.args) != _CHOICE:
        return ""
    is_wide = any(_new_axes(node) for node in ast.walk(call.args[0]))
    is_zero = _value(call.args[2]) == 0
    return "where(mask[:, None], x, 0)" if is_wide and is_zero else ""


def _of_diagonal(call: ast.Call, called: Called) -> str:
    """`trace(x @ y)` and the like; "" for other calls."""
    if not called.path or called.names[-1] not in _DIAGONALS or not call.args:
        return ""
    first = call.args[0]
    if not (isinstance(first, ast.BinOp) and isinstance(first.op, ast.MatMult)):
        return ""
    name = "trace" if called.names[-1] == "trace" else "diag"
    return f"{name}(x @ y)"
