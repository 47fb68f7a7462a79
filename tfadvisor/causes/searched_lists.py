"""Lists that a program searches for an element, one after the other, and which nothing
changes by then.
"""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes.called import last_name, owner_of
from tfadvisor.causes.loop_data import bindings_by_name
from tfadvisor.causes.walked import (
    Function,
    calls_in,
    nodes_in,
    own_nodes,
    walked,
)
from tfadvisor.causes.witness import function_around, scope_around, statement_at

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

INDEX, IN = "list.index()", "x in list"
"""In the terms of costly_calls.yaml."""
_CHANGES = frozenset("append clear extend insert pop remove reverse sort".split())
_LONG = 50
"""Elements of a list that is written down, from which a search takes long."""
_GIVE_LISTS = frozenset("list readlines sorted split splitlines tolist".split())


class Searched(NamedTuple):
    """Such a list."""

    name: str
    """INDEX or IN."""
    words: str
    """`self.vocabulary.index(word)`."""
    own: str
    """The same by a dict, or a set, in the program's own names."""


def searched(parsed: ParsedFile, node: ast.Call | ast.Compare) -> Searched | None:
    """Of a call of index, or a comparison by `in`; None where the file does not show
    that it is of a list which stays as it is.
    """
    whole = _searched_in(node)
    if whole is None:
        return None
    text = ast.unparse(whole)
    if isinstance(node, ast.Compare) and _calls_libraries(parsed, node.lineno):
        return None
    around = function_around(parsed.tree, node.lineno)
    made = _made_at(parsed, text)
    if made is None or _is_changed(parsed, text, made, around):
        return None
    name = INDEX if isinstance(node, ast.Call) else IN
    return Searched(name, ast.unparse(node), _once(parsed, node, text, made))


def _calls_libraries(parsed: ParsedFile, line: int) -> bool:
    """Whether a line calls what may take its time as well."""
    return any(
        parsed.names.called(call).path or last_name(call) in parsed.names.defined
        for call in walked(parsed.tree).calls_on(line)
    )


def _searched_in(node: ast.Call | ast.Compare) -> ast.expr | None:
    if isinstance(node, ast.Call):
        is_search = last_name(node) == "index" and len(node.args) == 1
        found = owner_of(node) if is_search and not node.keywords else None
    else:
        is_search = len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn)
        found = node.comparators[0] if is_search else None
    return found if isinstance(found, ast.Name | ast.Attribute) else None


def _made_at(parsed: ParsedFile, text: str) -> ast.expr | None:
    """What gives it, a list for all that one sees; None for several, and for none."""
    made = [
        binding.value
        for binding in bindings_by_name(parsed.tree).get(text, ())
        if not isinstance(binding.target, ast.Subscript)
    ]
    value = made[0] if len(made) == 1 else None
    is_long = isinstance(value, ast.expr) and _is_list(parsed, text, value)
    return value if is_long and isinstance(value, ast.expr) else None


def _is_list(parsed: ParsedFile, text: str, value: ast.expr) -> bool:
    """Whether it is one, and may be long."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Mult):
        sides = value.left, value.right
        return any(_is_list(parsed, text, side) for side in sides)
    if isinstance(value, ast.Call):
        builtins = ("list", "sorted")
        known = builtins if owner_of(value) is None else _GIVE_LISTS
        return last_name(value) in known
    if isinstance(value, ast.List):
        return len(value.elts) >= _LONG or (not value.elts and _is_filled(parsed, text))
    return isinstance(value, ast.ListComp)


def _is_filled(parsed: ParsedFile, text: str) -> bool:
    return any(
        last_name(call) in ("append", "extend") and _is_of(owner_of(call), text)
        for call in calls_in(parsed.tree)
    )


def _is_changed(
    parsed: ParsedFile, text: str, made: ast.expr, around: Function | None
) -> bool:
    """Whether anything changes it, but where it is made; what the function that
    searches it makes is another one in each call.
    """
    maker = function_around(parsed.tree, made.lineno)
    if maker is around and not _is_searched_in_a_loop(parsed, made, around):
        return True
    lines = _changing_lines(parsed, text)
    if any(function_around(parsed.tree, line) is not maker for line in lines):
        return True
    return bool(lines) and maker is around


def _is_searched_in_a_loop(
    parsed: ParsedFile, made: ast.expr, around: Function | None
) -> bool:
    """Whether a loop follows in the function that makes it; outside of functions it is
    made once.
    """
    if around is None or around.name == "__init__":
        return True
    loops = [node for node in own_nodes(around) if isinstance(node, ast.For)]
    return any(loop.lineno > made.lineno for loop in loops)


def _changing_lines(parsed: ParsedFile, text: str) -> list[int]:
    lines = [
        call.lineno
        for call in calls_in(parsed.tree)
        if last_name(call) in _CHANGES and _is_of(owner_of(call), text)
    ]
    lines += [
        node.lineno
        for node in nodes_in(parsed.tree)
        if isinstance(node, ast.Subscript | ast.AugAssign) and _writes(node, text)
    ]
    return lines


def _writes(node: ast.Subscript | ast.AugAssign, text: str) -> bool:
    if isinstance(node, ast.AugAssign):
        return _is_of(node.target, text)
    return not isinstance(node.ctx, ast.Load) and _is_of(node.value, text)


def _is_of(node: ast.expr | None, text: str) -> bool:
    return node is not None and ast.unparse(node) == text


def _once(
    parsed: ParsedFile, node: ast.Call | ast.Compare, text: str, made: ast.expr
) -> str:
    statement = statement_at(scope_around(parsed.tree, node.lineno), node.lineno)
    if statement is None:
        return ""
    owner, _, name = text.rpartition(".")
    places = f"{owner}.places_in_{name}" if owner else f"places_in_{name}"
    element = node.args[0] if isinstance(node, ast.Call) else node.left
    is_name = isinstance(element, ast.Name) and element.id != "i"
    each = ast.unparse(element) if is_name else "each"
    after = ast.unparse(_LookedUp(text, places).visit(copy.deepcopy(statement)))
    around = function_around(parsed.tree, node.lineno)
    here = "" if around is None else f"# in {around.name}\n"
    return (
        f"# once, behind line {made.end_lineno or made.lineno}\n"
        f"{places} = {{{each}: i for i, {each} in enumerate({text})}}\n{here}{after}"
    )


class _LookedUp(ast.NodeTransformer):
    def __init__(self, text: str, places: str) -> None:
        self._text, self._places = text, places

    def _of_places(self) -> ast.expr:
        return ast.parse(self._places, mode="eval").body

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`places[word]` for `words.index(word)`."""
        whole = _searched_in(node)
        self.generic_visit(node)
        if not _is_of(whole, self._text):
            return node
        return ast.Subscript(self._of_places(), node.args[0], ast.Load())

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`word in places` for `word in words`."""
        whole = _searched_in(node)
        self.generic_visit(node)
        if _is_of(whole, self._text):
            node.comparators = [self._of_places()]
        return node
