"""Functions of NumPy that a loop of the program calls for one row after another, and
that the same operations can do for all rows at once.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes.called import (
    FileNames,
    Function,
    calls_in,
    last_name,
    owner_of,
)
from tfadvisor.causes.loop_data import bindings_in, names_in
from tfadvisor.causes.witness import COMPREHENSIONS, covers, head_of, own_nodes
from tfadvisor.causes.witness import scope_around as _scope_around

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

_ELEMENTWISE = frozenset(
    "abs absolute add arctan2 clip cos cosh divide equal exp exp2 expm1 fabs greater "
    "hypot less log log10 log1p log2 logical_and logical_not logical_or maximum "
    "minimum mod multiply negative power reciprocal sign sin sqrt square subtract tan "
    "tanh true_divide where".split()
)
_REDUCTIONS = frozenset("all any max mean min prod std sum var".split())
_OF_MATH = frozenset("cos exp hypot log sin sqrt tan tanh".split())
"""Functions of math that NumPy has by the same name."""
_OF_ARRAYS = frozenset("T astype dtype ndim reshape shape".split())
"""Attributes that a list has not."""
_COMBINES = ast.Constant | ast.UnaryOp | ast.BinOp | ast.Compare
_Loop = ast.For | COMPREHENSIONS


class RowsAtOnce(NamedTuple):
    """Such a loop."""

    called: str
    """`dist`."""
    call: str
    """`dist(embeddings[a], embeddings[k])`."""
    loop: str
    """`for k in others`."""
    loop_line: int
    statement: str
    """That holds the call, as far as it is one of its own."""
    once: str
    """What computes it for all rows, with the loop after it."""
    before_line: int
    """The line of the outermost loop before which that can stand."""


def rows_at_once(parsed: ParsedFile, line: int) -> RowsAtOnce | None:
    """Of a call on a line, in the innermost loop around it; None where a round needs
    what another made, and where the function does more than NumPy's operations on
    whole rows.
    """
    scope = _scope_around(parsed.tree, line)
    around = [
        node
        for node in own_nodes(scope)
        if isinstance(node, _Loop) and covers(node, line)
    ]
    around.sort(key=lambda node: (node.lineno, node.col_offset))
    if not around:
        return None
    for call in calls_in(around[-1]):
        function = parsed.names.functions.get(last_name(call))
        if not covers(call, line) or owner_of(call) is not None or function is None:
            continue
        found = _in_its_loop(parsed, scope, around, call, function)
        if found is not None:
            return found
    return None


def _in_its_loop(
    parsed: ParsedFile,
    scope: ast.AST,
    around: Sequence[_Loop],
    call: ast.Call,
    function: Function,
) -> RowsAtOnce | None:
    loop = around[-1]
    rows = _rows_of(scope, loop)
    given = _given(function, call)
    if rows is None or given is None:
        return None
    written = _stored(loop)
    whole = {
        name: _of_all(scope, value, rows, written) for name, value in given.items()
    }
    if None in whole.values() or not any(map(rows.is_in, given.values())):
        return None
    made = _Stacked(parsed.names).of(function, whole)
    if made is None:
        return None
    reads = names_in(made) | names_in(rows.iterated)
    first = loop
    for outer in around[::-1]:
        if reads & _stored(outer):
            break
        first = outer
    text = ast.unparse(made)
    return RowsAtOnce(
        called=function.name,
        call=ast.unparse(call),
        loop=head_of(loop),
        loop_line=loop.lineno,
        statement=_statement(loop, call),
        once=_once(loop, call, rows, text, first.lineno),
        before_line=first.lineno,
    )


# What the loop goes through.


class _Rows(NamedTuple):
    """What the rounds of a loop take."""

    at: str
    """The variable that is another index in each round; "" for none."""
    row: str
    """The variable that is another row in each round; "" for none."""
    all: Callable[[str], str]
    """The rows that the indexes take of an array, by its text."""
    iterated: ast.expr
    several: str
    """What holds the rows that are gone through; "" for none."""

    def is_in(self, node: ast.AST) -> bool:
        return not names_in(node).isdisjoint({self.at, self.row} - {""})


def _rows_of(scope: ast.AST, loop: _Loop) -> _Rows | None:
    head: ast.For | ast.comprehension
    if isinstance(loop, ast.For):
        head = loop
    else:
        head, *others = loop.generators
        if others or head.ifs:
            return None
    if isinstance(head.target, ast.Name):
        return _of_one(scope, head.target.id, head.iter)
    return _of_counted(head.target, head.iter)


def _of_counted(target: ast.expr, iterated: ast.expr) -> _Rows | None:
    """Of `for i, row in enumerate(rows)`."""
    is_call = isinstance(iterated, ast.Call) and last_name(iterated) == "enumerate"
    given = iterated.args if isinstance(iterated, ast.Call) and is_call else []
    parts = getattr(target, "elts", ())
    names = [node.id for node in parts if isinstance(node, ast.Name)]
    if len(names) != 2 or [*map(type, given)] not in ([ast.Name], [ast.Attribute]):
        return None
    whole = ast.unparse(given[0])
    return _Rows(
        names[0], names[1], lambda array: f"{array}[:len({whole})]", given[0], whole
    )


def _of_one(scope: ast.AST, name: str, iterated: ast.expr) -> _Rows | None:
    if isinstance(iterated, ast.Call) and last_name(iterated) == "range":
        bounds = [ast.unparse(bound) for bound in iterated.args]
        cut = ":".join(bounds) if len(bounds) > 1 else f":{bounds[0]}"

        def of_range(array: str) -> str:
            is_whole = bounds in ([f"len({array})"], [f"{array}.shape[0]"])
            return array if is_whole else f"{array}[{cut}]"

        return _Rows(name, "", of_range, iterated, "")
    if not isinstance(iterated, ast.Name | ast.Attribute):
        return None
    text = ast.unparse(iterated)
    is_listed = _is_listed(scope, text)
    index = text if is_listed else f"list({text})"
    return _Rows(name, name, lambda array: f"{array}[{index}]", iterated, text)


def _is_listed(scope: ast.AST, name: str) -> bool:
    """Whether a list, or an array of NumPy, bears a name for all that is seen."""
    made = [b.value for b in bindings_in(scope) if name in b.written]
    return bool(made) and all(
        isinstance(value, ast.List | ast.ListComp) for value in made
    )


def _stored(loop: ast.AST) -> set[str]:
    """Names that it writes, those of its heads included."""
    return set[str]().union(*(binding.written for binding in bindings_in(loop)))


def _given(function: Function, call: ast.Call) -> dict[str, ast.expr] | None:
    """By argument; None where the call leaves one out or unpacks any."""
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    is_plain = not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs)
    if not is_plain or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    given = dict(zip(names, call.args, strict=False))
    given |= {word.arg: word.value for word in call.keywords if word.arg}
    return given if given.keys() == set(names) else None


def _of_all(
    scope: ast.AST, value: ast.expr, rows: _Rows, written: set[str]
) -> ast.expr | None:
    """What a call is given in all rounds; itself where it is the same in each."""
    if not names_in(value) & written:
        return value
    if isinstance(value, ast.Name) and value.id == rows.row and rows.several:
        return _parsed(f"np.asarray({rows.several})")
    if not isinstance(value, ast.Subscript) or not rows.at:
        return None
    is_index = isinstance(value.slice, ast.Name) and value.slice.id == rows.at
    if not is_index or names_in(value.value) & written:
        return None
    array = ast.unparse(value.value)
    taken = rows.all(array)
    if not _is_array(scope, array):
        taken = f"np.asarray({array}){taken.removeprefix(array)}"
    return _parsed(taken)


def _is_array(scope: ast.AST, text: str) -> bool:
    """Whether the scope uses it as lists cannot be."""
    for node in ast.walk(scope):
        owner = getattr(node, "value", None)
        if isinstance(owner, ast.expr) and ast.unparse(owner) == text:
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
                return True
            if isinstance(node, ast.Attribute) and node.attr in _OF_ARRAYS:
                return True
    return False


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


# The function, of all rows.


class _Stacked:
    """Makes of a function's result the same for rows that lie along a new first
    axis.
    """

    def __init__(self, names: FileNames) -> None:
        self._names = names

    def of(
        self, function: Function, given: Mapping[str, ast.expr | None]
    ) -> ast.expr | None:
        """None for what is no single expression of known operations."""
        known = {name: value for name, value in given.items() if value is not None}
        body = _without_docstring(function)
        if function.decorator_list or not body or not any(calls_in(function)):
            return None
        for statement in body[:-1]:
            name, value = _named(statement)
            if value is None or _reads(body, name) > 1:
                return None
            made = self._whole(value, known)
            if made is None:
                return None
            known[name] = made
        last = body[-1]
        given_back = last.value if isinstance(last, ast.Return) else None
        return None if given_back is None else self._whole(given_back, known)

    def _whole(self, node: ast.expr, known: Mapping[str, ast.expr]) -> ast.expr | None:
        if isinstance(node, ast.Name):
            return copy.deepcopy(known.get(node.id, node))
        if isinstance(node, ast.Call):
            return self._of_call(node, known)
        is_product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
        is_known = isinstance(node, _COMBINES) and not is_product
        return self._of_parts(node, known) if is_known else None

    def _of_parts(
        self, node: ast.expr, known: Mapping[str, ast.expr]
    ) -> ast.expr | None:
        """Of what its parts give, which are of all rows."""
        made = copy.copy(node)
        for field, value in ast.iter_fields(node):
            parts = value if field == "comparators" else [value]
            if not all(isinstance(part, ast.expr) for part in parts):
                continue  # an operator
            whole = [self._whole(part, known) for part in parts]
            if None in whole:
                return None
            setattr(made, field, whole if field == "comparators" else whole[0])
        return made

    def _of_call(
        self, call: ast.Call, known: Mapping[str, ast.expr]
    ) -> ast.expr | None:
        path, name = self._names.called(call).path, last_name(call)
        is_plain = path == f"math.{name}" and name in _OF_MATH
        if is_plain or (path == f"numpy.{name}" and name in _ELEMENTWISE):
            given = [self._whole(each, known) for each in call.args]
            return None if call.keywords else _call(f"np.{name}", given, [])
        reduced, others = _reduced(call, path)
        axis = None if reduced is None else _axis(call, others)
        if reduced is None or axis is None:
            return None
        inner = "linalg.norm" if path == _NORM else name
        return _call(f"np.{inner}", [self._whole(reduced, known)], [axis])


_NORM = "numpy.linalg.norm"


def _reduced(call: ast.Call, path: str) -> tuple[ast.expr | None, Sequence[ast.expr]]:
    """(what a call reduces, arguments that may be an axis); None for other calls."""
    owner, name = owner_of(call), last_name(call)
    if path == _NORM and len(call.args) == 1:
        return call.args[0], []
    if path == f"numpy.{name}" and name in _REDUCTIONS and call.args:
        return call.args[0], call.args[1:]
    return (owner, call.args) if not path and name in _REDUCTIONS else (None, [])


def _without_docstring(function: Function) -> Sequence[ast.stmt]:
    first = function.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[is_text:]


def _named(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """(the one name that it gives, the value); None for another statement."""
    if not isinstance(statement, ast.Assign):
        return "", None
    (target, *others) = statement.targets
    is_one = isinstance(target, ast.Name) and not others
    return (ast.unparse(target), statement.value) if is_one else ("", None)


def _reads(body: Sequence[ast.stmt], name: str) -> int:
    return sum(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        for statement in body
        for node in ast.walk(statement)
    )


def _axis(call: ast.Call, others: Sequence[ast.expr]) -> int | None:
    """That a reduction of one row goes over, in an array of all rows: of rows of one
    axis without any. None for what is not known. others: arguments that may be it.
    """
    words = {word.arg: word.value for word in call.keywords}
    if not words.keys() <= {"axis"} or len(others) + len(words) > 1:
        return None
    given = [*others, *words.values()]
    if not given:
        return -1
    try:
        axis = ast.literal_eval(given[0])
    except ValueError:
        return None
    if type(axis) is not int:
        return None
    return axis + 1 if axis >= 0 else axis


def _call(
    name: str, given: Sequence[ast.expr | None], axis: Sequence[int]
) -> ast.expr | None:
    known = [each for each in given if each is not None]
    if len(known) < len(given):
        return None
    words = [ast.keyword("axis", _parsed(str(each))) for each in axis]
    return ast.Call(_parsed(name), known, words)


# The loop after it.


def _statement_of(loop: _Loop, call: ast.Call) -> ast.Assign | None:
    """That gives the result of a call a name, and nothing else."""
    for node in own_nodes(loop):
        if isinstance(node, ast.Assign) and node.value is call:
            (target, *others) = node.targets
            return node if isinstance(target, ast.Name) and not others else None
    return None


def _statement(loop: _Loop, call: ast.Call) -> str:
    found = _statement_of(loop, call)
    return ast.unparse(call if found is None else found)


def _once(loop: _Loop, call: ast.Call, rows: _Rows, text: str, before: int) -> str:
    statement = _statement_of(loop, call)
    name = "found" if statement is None else ast.unparse(statement.targets[0])
    lines = [f"{name}s = {text}", f"# of all rows at once, before line {before}"]
    if not isinstance(loop, ast.For):
        return "\n".join(lines[::-1])
    target, several = ast.unparse(loop.target), ast.unparse(loop.iter)
    target = f"({target})" if isinstance(loop.target, ast.Tuple) else target
    head = f"for {target}, {name} in zip({several}, {name}s):"
    return "\n".join([*lines[::-1], head, "    ..."])
