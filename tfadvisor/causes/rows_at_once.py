"""Functions of NumPy that a loop of the program calls for one row after another, and
that the same operations can do for all rows at once.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes.called import FileNames, last_name, owner_of
from tfadvisor.causes.loop_data import bindings_in, names_in
from tfadvisor.causes.walked import (
    COMPREHENSIONS,
    Function,
    calls_in,
    covers,
    own_nodes,
)
from tfadvisor.causes.witness import head_of, scope_around

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

_ELEMENTWISE = frozenset(
    "abs absolute add arctan2 clip cos cosh divide equal exp exp2 expm1 fabs greater "
    "hypot less log log10 log1p log2 logical_and logical_not logical_or maximum "
    "minimum mod multiply negative power reciprocal sign sin sqrt square subtract tan "
    "tanh true_divide where".split()
)
_REDUCTIONS = frozenset("all any max mean min norm prod std sum var".split())
_PLAIN = (
    ast.Assign | ast.Return | ast.expr_context | ast.operator | ast.unaryop | ast.cmpop
)
_COMBINES = (
    ast.Attribute
    | ast.BinOp
    | ast.Call
    | ast.Compare
    | ast.Constant
    | ast.Name
    | ast.UnaryOp
    | ast.keyword
)
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
    once: str
    """A call of the function for all rows, and where that can stand."""


def rows_at_once(parsed: ParsedFile, line: int) -> RowsAtOnce | None:
    """Of a call on a line, in the innermost loop around it; None where a round needs
    what another made, and where the function does more than NumPy's operations on
    whole rows.
    """
    around = [
        node
        for node in own_nodes(scope_around(parsed.tree, line))
        if isinstance(node, _Loop) and covers(node, line)
    ]
    around.sort(key=lambda node: (node.lineno, node.col_offset))
    for call in calls_in(around[-1]) if around else ():
        function = parsed.names.functions.get(last_name(call))
        if not covers(call, line) or owner_of(call) is not None or function is None:
            continue
        once = _once(around, call) if _is_of_rows(function, parsed.names) else ""
        if once:
            loop, words = around[-1], ast.unparse(call)
            head = head_of(loop)
            return RowsAtOnce(function.name, words, head, loop.lineno, once)
    return None


def _is_of_rows(function: Function, names: FileNames) -> bool:
    """Whether all that it does is to compute by elements and to reduce."""
    nodes = [node for each in function.body for node in ast.walk(each)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return (
        not function.decorator_list
        and bool(calls)
        and all(isinstance(node, _PLAIN | _COMBINES) for node in nodes)
        and not any(isinstance(node, ast.MatMult) for node in nodes)
        and all(_is_known(call, names) for call in calls)
    )


def _is_known(call: ast.Call, names: FileNames) -> bool:
    path, name = names.called(call).path, last_name(call)
    if path == f"numpy.{name}" and name in _ELEMENTWISE:
        return not call.keywords
    is_method = owner_of(call) is not None and not path
    is_reduced = is_method or path in (f"numpy.{name}", f"numpy.linalg.{name}")
    is_plain = {word.arg for word in call.keywords} <= {"axis"}
    return is_reduced and name in _REDUCTIONS and is_plain


def _once(around: Sequence[_Loop], call: ast.Call) -> str:
    """The call of all that the innermost loop goes through; "" where it is given what
    the loop makes otherwise.
    """
    loop = around[-1]
    head = loop if isinstance(loop, ast.For) else loop.generators[0]
    written = _written(loop)
    words = [*call.args, *(word.value for word in call.keywords)]
    given = [_of_all(value, head, written) for value in words]
    if _has_more(loop) or not all(given) or given == [*map(ast.unparse, words)]:
        return ""
    of = [*given[: len(call.args)]]
    named = zip(call.keywords, given[len(call.args) :], strict=True)
    of += [f"{word.arg}={value}" for word, value in named]
    reads = names_in(head.iter).union(*map(names_in, words)) - names_in(head.target)
    first = loop
    for outer in around[::-1]:
        if reads & _written(outer):
            break
        first = outer
    name = ast.unparse(call.func)
    return (
        f"# before line {first.lineno}; {name} then reduces one axis later: axis 1 for "
        f"0, -1 for none\nof_all = {name}({', '.join(of)})"
    )


def _has_more(loop: _Loop) -> bool:
    """Whether a comprehension leaves rows out, or is of several loops."""
    parts = [] if isinstance(loop, ast.For) else loop.generators
    return len(parts) > 1 or any(part.ifs for part in parts)


def _written(loop: ast.AST) -> set[str]:
    """Names that it writes, those of its heads included."""
    return set[str]().union(*(binding.written for binding in bindings_in(loop)))


def _of_all(
    value: ast.expr, head: ast.For | ast.comprehension, written: set[str]
) -> str:
    """What a call is given in all rounds; itself where it is the same in each; "" for
    unknown.
    """
    if not names_in(value) & written:
        return ast.unparse(value)
    several, turn = ast.unparse(head.iter), ast.unparse(head.target)
    is_range = isinstance(head.iter, ast.Call) and last_name(head.iter) == "range"
    if not is_range and not isinstance(head.iter, ast.Name | ast.Attribute):
        return ""
    if ast.unparse(value) == turn:
        return "" if is_range else f"np.asarray({several})"
    if not isinstance(value, ast.Subscript) or ast.unparse(value.slice) != turn:
        return ""
    index = f"np.a{several}" if is_range else f"list({several})"
    is_same = not names_in(value.value) & written
    return f"np.asarray({ast.unparse(value.value)})[{index}]" if is_same else ""
