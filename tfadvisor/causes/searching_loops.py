"""Functions of the program that look numbers up, or add them up, one after the other in
a loop of Python: what NumPy, and a compiled program, do with all at once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from tfadvisor.causes.called import Function, functions_in, last_name
from tfadvisor.causes.witness import covers, head_of, own_nodes, scope_around

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

LOOKS_UP, ADDS_UP, ELEMENTS = "looks up", "adds up", "elements"
_CALLBACKS = {
    "jax.pure_callback": 0,
    "jax.experimental.io_callback": 0,
    "tensorflow.py_function": 0,
    "tensorflow.numpy_function": 0,
    "tensorflow.py_func": 0,
}
"""Calls that have a compiled program call a function of Python, with its place."""
_RISING: dict[type[ast.cmpop], str] = {ast.Lt: "left", ast.LtE: "right"}
"""While `sums[j] < x`: up to the first that is not below."""
_FALLING: dict[type[ast.cmpop], str] = {ast.Gt: "left", ast.GtE: "right"}
"""The same as `x > sums[j]`."""
_SEARCHES = {
    "bisect.bisect_left": "left",
    "bisect.bisect_right": "right",
    "bisect.bisect": "right",
    "numpy.searchsorted": "left",
}
_STOPS: dict[type[ast.cmpop], str] = {ast.GtE: "left", ast.Gt: "right"}
"""If `sums[j] >= x`, it ends."""
_STOPS_TURNED: dict[type[ast.cmpop], str] = {ast.LtE: "left", ast.Lt: "right"}


class SearchingLoop(NamedTuple):
    """A loop of Python over the elements of an array."""

    function: str
    """In which it stands."""
    line: int
    head: str
    """`for i in range(n)`."""
    does: str
    """What it does in each round, as the end of "in each round it …"."""
    whole: str
    """What does the same for all elements, in the program's own names; "" where it is
    not known to be one of these.
    """
    kind: str
    """LOOKS_UP, ADDS_UP, or ELEMENTS for what is not known."""


def called_back(parsed: ParsedFile, line: int, framework: str) -> SearchingLoop | None:
    """The loop of the function that a line has the compiled program call; None where it
    has none, or is of another file.
    """
    function = _function_on(parsed, line)
    if function is None:
        return None
    root = "tf" if framework == "tensorflow" else "jnp"
    for loop in _loops(function):
        found = _search(parsed, loop, root) or _sum(loop, root)
        if found is None and _is_over_elements(loop):
            found = _Done("takes one element", "", ELEMENTS)
        if found is not None:
            return SearchingLoop(function.name, loop.lineno, head_of(loop), *found)
    return None


def _function_on(parsed: ParsedFile, line: int) -> Function | None:
    scope = scope_around(parsed.tree, line)
    for node in own_nodes(scope):
        if isinstance(node, ast.Call) and covers(node, line):
            name = _name_called_back(parsed, node)
            found = [each for each in functions_in(parsed.tree) if each.name == name]
            if len(found) == 1:
                return found[0]
    return None


def _name_called_back(parsed: ParsedFile, call: ast.Call) -> str:
    """Of the function that it has the compiled program call; "" for none."""
    path = parsed.names.called(call).path
    if path not in _CALLBACKS or not call.args:
        return ""
    given = call.args[_CALLBACKS[path]]
    if isinstance(given, ast.Call) and last_name(given) == "partial":
        given = given.args[0] if given.args else given
    return given.id if isinstance(given, ast.Name) else ""


def _loops(function: Function) -> Iterator[ast.For]:
    """The outer ones."""
    inner = set[int]()
    for node in own_nodes(function):
        if isinstance(node, ast.For):
            if id(node) not in inner:
                yield node
            inner |= {id(each) for each in ast.walk(node)}


def _is_over_elements(loop: ast.For) -> bool:
    """Whether it takes, or writes, an element in each round."""
    names = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    return any(
        isinstance(node, ast.Subscript)
        and names & {each.id for each in ast.walk(node.slice) if _is_name(each)}
        for node in ast.walk(loop)
    )


def _is_name(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


class _Done(NamedTuple):
    """In each round. The fields are those of SearchingLoop."""

    does: str
    whole: str
    kind: str


# What it looks up.


class _Compared(NamedTuple):
    """An element of an array beside a number."""

    array: str
    at: str
    """The variable that is its place."""
    number: ast.expr
    side: str
    bound: str = ""
    """What the place stays below; "" for none."""


def _search(parsed: ParsedFile, loop: ast.For, root: str) -> _Done | None:
    """Rounds that go on until an element is not below a number, or that search for one
    number each.
    """
    for node in ast.walk(loop):
        compared = None
        if isinstance(node, ast.While):
            compared = _goes_on(node)
        elif isinstance(node, ast.For) and node is not loop:
            compared = _stops(node)
        elif isinstance(node, ast.Call):
            compared = _searches(parsed, node)
        if compared is None:
            continue
        does = f"goes through {compared.array} for the place of one number"
        return _Done(does, _looked_up(loop, compared, root), LOOKS_UP)
    return None


def _goes_on(loop: ast.While) -> _Compared | None:
    """`while sums[j] < x: j += 1`, with or without a bound."""
    step = loop.body[0]
    if len(loop.body) != 1 or not isinstance(step, ast.AugAssign):
        return None
    if ast.unparse(step.value) != "1" or not isinstance(step.op, ast.Add):
        return None
    at, tests = ast.unparse(step.target), _tests(loop.test)
    found = [_compared(test, _RISING, _FALLING) for test in tests]
    known = [each for each in found if each is not None and each.at == at]
    return known[0]._replace(bound=_bound(tests, at)) if len(known) == 1 else None


def _tests(test: ast.expr) -> Sequence[ast.expr]:
    """All that must hold."""
    is_all = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
    return test.values if isinstance(test, ast.BoolOp) and is_all else [test]


def _bound(tests: Sequence[ast.expr], name: str) -> str:
    """`n - 1` of `j < n - 1`."""
    for test in tests:
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Lt):
            is_plain = len(test.ops) == 1 and ast.unparse(test.left) == name
            if is_plain:
                return ast.unparse(test.comparators[0])
    return ""


def _searches(parsed: ParsedFile, call: ast.Call) -> _Compared | None:
    """`bisect.bisect_left(sums, x)`, `np.searchsorted(sums, x)`."""
    side = _SEARCHES.get(parsed.names.called(call).path, "")
    if not side or len(call.args) != len(("array", "number")) or call.keywords:
        return None
    array, number = call.args
    is_name = isinstance(array, ast.Name)
    return (
        _Compared(ast.unparse(array), ast.unparse(call), number, side)
        if is_name
        else None
    )


def _stops(loop: ast.For) -> _Compared | None:
    """`for j in range(m): if sums[j] >= x: ...; break`."""
    names = [node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)]
    for node in loop.body:
        if isinstance(node, ast.If) and any(
            isinstance(each, ast.Break) for each in node.body
        ):
            found = _compared(node.test, _STOPS, _STOPS_TURNED)
            if found is not None and found.at in names:
                return found
    return None


def _compared(
    test: ast.expr,
    plain: dict[type[ast.cmpop], str],
    turned: dict[type[ast.cmpop], str],
) -> _Compared | None:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    kind, left, right = type(test.ops[0]), test.left, test.comparators[0]
    for side, other, sides in ((left, right, plain), (right, left, turned)):
        if kind not in sides or not isinstance(side, ast.Subscript):
            continue
        at = side.slice
        if isinstance(side.value, ast.Name) and isinstance(at, ast.Name):
            return _Compared(side.value.id, at.id, other, sides[kind])
    return None


def _looked_up(loop: ast.For, compared: _Compared, root: str) -> str:
    """For all rounds; "" where the numbers are not known for all of them."""
    number = compared.number
    if isinstance(number, ast.Name):
        given = [
            node.value
            for node in loop.body
            if isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == number.id
        ]
        if len(given) == 1:
            number = given[0]
        elif ast.unparse(_element_of(loop)[0]) != number.id:
            return ""
    numbers = _for_all(loop, number, root)
    if not numbers:
        return ""
    side = "" if compared.side == "left" else ', side="right"'
    search = f"{root}.searchsorted({compared.array}, wanted{side})"
    if compared.bound:
        search = f"{root}.minimum({search}, {compared.bound})"
    name = _kept_in(loop, compared.at)
    return f"wanted = {numbers}\n{name} = {search}"


def _kept_in(loop: ast.For, at: str) -> str:
    """The array that gets the place; `places` where none does."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == at:
            target = node.targets[0]
            if isinstance(target, ast.Subscript):
                return ast.unparse(target.value)
    return "places"


def _for_all(loop: ast.For, number: ast.expr, root: str) -> str:
    """What is a number of each round, as an array of all rounds; "" for unknown."""
    target, over = _element_of(loop)
    if isinstance(target, ast.Name) and ast.unparse(number) == target.id:
        return ast.unparse(over)
    target, over = loop.target, loop.iter
    index, whole = _index_of(target, over)
    if not index:
        return ""
    text = ast.unparse(_Taken(index, whole, root).visit(_again(number)))
    return text if _reads_whole(text, loop, index) else ""


def _element_of(loop: ast.For) -> tuple[ast.expr, ast.expr]:
    """(`x`, `u`) of `for x in u` and of `for i, x in enumerate(u)`."""
    target, over = loop.target, loop.iter
    is_numbered = isinstance(over, ast.Call) and last_name(over) == "enumerate"
    if is_numbered and isinstance(target, ast.Tuple) and isinstance(over, ast.Call):
        return target.elts[-1], over.args[0]
    return target, over


def _again(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body


def _index_of(target: ast.expr, over: ast.expr) -> tuple[str, str]:
    """(`i`, `n`) of `for i in range(n)`."""
    if not isinstance(over, ast.Call) or not isinstance(target, ast.Name):
        return "", ""
    is_range = last_name(over) == "range" and len(over.args) == 1
    return (target.id, ast.unparse(over.args[0])) if is_range else ("", "")


class _Taken(ast.NodeTransformer):
    """`u[i]` as `u`, and `i` as `arange(n)`."""

    def __init__(self, index: str, whole: str, root: str) -> None:
        arange = f"{'tf.range' if root == 'tf' else f'{root}.arange'}({whole})"
        self._index, self._all = index, ast.parse(arange, mode="eval").body

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """An element of an array."""
        if ast.unparse(node.slice) == self._index:
            return node.value
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The index itself."""
        return self._all if node.id == self._index else node


def _reads_whole(text: str, loop: ast.For, index: str) -> bool:
    """Whether no other variable of the round is in it."""
    written = {
        root.id
        for node in ast.walk(loop)
        if isinstance(getattr(node, "ctx", None), ast.Store)
        for root in [_root(node)]
        if isinstance(root, ast.Name)
    } - {index}
    names = {
        node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)
    }
    return not written & names


def _root(node: ast.AST) -> ast.AST:
    """What a part of it is of."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node


# What it adds up.


def _sum(loop: ast.For, root: str) -> _Done | None:
    """`total += w[i]` with `sums[i] = total`."""
    index, _ = _index_of(loop.target, loop.iter)
    running = _running(loop.body)
    for node in loop.body:
        if not isinstance(node, ast.Assign) or not isinstance(
            node.targets[0], ast.Subscript
        ):
            continue
        kept = ast.unparse(node.targets[0].value)
        name = ast.unparse(node.value)
        if name in running and ast.unparse(node.targets[0].slice) == index:
            added = _for_all(loop, running[name], root)
            cumsum = "tf.cumsum" if root == "tf" else f"{root}.cumsum"
            whole = f"{kept} = {cumsum}({added})" if added else ""
            return _Done(f"adds one number to {name}", whole, ADDS_UP)
    return None


def _running(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """Sums that go on from round to round, with what is added."""
    return {
        node.target.id: node.value
        for node in body
        if isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add)
        and isinstance(node.target, ast.Name)
    }
