"""Arrays that a loop of the program takes apart with an index of each round."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import msgspec

from tfadvisor.causes.called import last_name, stored_in
from tfadvisor.causes.compiled_names import HostCalls
from tfadvisor.causes.loop_data import bindings_in, names_in
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import (
    COMPREHENSIONS,
    Function,
    calls_in,
    covers,
    own_nodes,
)
from tfadvisor.causes.witness import function_around, head_of, scope_around

_IN_PYTHON = (
    ast.List
    | ast.Tuple
    | ast.Dict
    | ast.Set
    | ast.ListComp
    | ast.DictComp
    | ast.SetComp
    | ast.Constant
    | ast.JoinedStr
)
_GOING_OVER = frozenset("enumerate reversed tqdm zip".split())
_MOST_PARTS = 8
_Rounds = ast.For | ast.While | COMPREHENSIONS


class Indexed(msgspec.Struct, frozen=True):
    """A part of an array that a loop takes."""

    text: str
    """`losses[i, :lengths[i]]`."""
    array: str
    """`losses`."""
    file: str
    line: int
    goes_into_call: bool
    """Whether the round gives it to what is compiled."""


def indexed_on(parsed: ParsedFile, line: int, host: HostCalls) -> Indexed | None:
    """The first part that a line takes with an index of its loop, of an array that may
    lie on a device; None for none.
    """
    scope = scope_around(parsed.tree, line)
    nodes = list(own_nodes(scope))
    around = [node for node in nodes if isinstance(node, _Rounds) and _in(node, line)]
    if not around:
        return None
    of_round = set[str]().union(*map(_of_round, around))
    on_host = _made_on_host(scope, host)
    for node in _parts_read(nodes, line):
        array = ast.unparse(node.value)
        if _takes_a_part(node, of_round) and array not in on_host:
            goes = any(_is_given(loop, node, host) for loop in around)
            text = ast.unparse(node)
            return Indexed(text, array, parsed.file, node.lineno, goes)
    return None


def _parts_read(nodes: Sequence[ast.AST], line: int) -> Iterator[ast.Subscript]:
    written = _written_to(nodes)
    parts = (node for node in nodes if isinstance(node, ast.Subscript))
    for part in parts:
        if covers(part, line) and id(part) not in written:
            yield part


def _written_to(nodes: Sequence[ast.AST]) -> set[int]:
    """Parts of which a part is written: `found[i]` of `found[i][:] = x`."""
    return {
        id(inner)
        for node in nodes
        if isinstance(node, ast.Subscript | ast.Attribute)
        and not isinstance(node.ctx, ast.Load)
        for inner in _chain(node.value)
    }


def _chain(node: ast.expr) -> Iterator[ast.expr]:
    yield node
    if isinstance(node, ast.Subscript | ast.Attribute):
        yield from _chain(node.value)


def _root(node: ast.AST) -> str | None:
    """`values` of `values[i][j]`; None where an attribute or a call is part of it."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def made_of_outside(parsed: ParsedFile, line: int, array: str) -> str:
    """What an array that the loops around a line make is a part of, and they do not
    change: `values` of `part = values[i][j]`; itself where they do not make it, "" for
    unknown.
    """
    scope = scope_around(parsed.tree, line)
    around = [
        node
        for node in own_nodes(scope)
        if isinstance(node, ast.For | ast.While) and _in(node, line)
    ]
    of_round = set[str]().union(*map(stored_in, around))
    for _ in range(_MOST_PARTS):
        if array not in of_round:
            return array
        made = [b.value for b in bindings_in(scope) if array in b.written]
        is_part = len(made) == 1 and isinstance(made[0], ast.Subscript)
        whole = _root(made[0]) if is_part else None
        if whole is None:
            return ""
        array = whole
    return ""


def gone_over_on(parsed: ParsedFile, line: int, host: HostCalls) -> Indexed | None:
    """The first array, which may lie on a device, over whose elements a loop with its
    head on a line goes: `weights` of `for i, w in enumerate(weights)`.
    """
    scope = scope_around(parsed.tree, line)
    on_host = _made_on_host(scope, host)
    for node in own_nodes(scope):
        if isinstance(node, ast.For) and node.lineno == line:
            arrays = [*map(ast.unparse, _gone_over(node.iter))]
            for array in (name for name in arrays if name not in on_host):
                return Indexed(head_of(node), array, parsed.file, line, False)
    return None


def _gone_over(iterated: ast.expr) -> Iterator[ast.expr]:
    if isinstance(iterated, ast.Name | ast.Attribute):
        yield iterated
    elif isinstance(iterated, ast.Call) and last_name(iterated) in _GOING_OVER:
        for given in iterated.args:
            yield from _gone_over(given)


def indexed_for_caller(
    parsed: ParsedFile, line: int, calling: ParsedFile, call_line: int
) -> Indexed | None:
    """The part that a line of a function takes with an index that the loop around the
    call of the function gives it: `values[index]`. Its array is the argument of the
    call that it comes of.
    """
    function = function_around(parsed.tree, line)
    scope = scope_around(calling.tree, call_line)
    nodes = [*own_nodes(scope)]
    loops = [
        node for node in nodes if isinstance(node, _Rounds) and _in(node, call_line)
    ]
    if function is None or not loops:
        return None
    of_round = _of_round(loops[-1])
    for call in nodes:
        if not isinstance(call, ast.Call) or not covers(call, call_line):
            continue
        if last_name(call) == function.name:
            part = _part_of_argument(function, line, call, of_round)
            if part is not None:
                return Indexed(*part, calling.file, call_line, False)
    return None


def _part_of_argument(
    function: Function, line: int, call: ast.Call, of_round: set[str]
) -> tuple[str, str] | None:
    """(the part, the argument): of one that does not change in the rounds."""
    given = _arguments(function, call)
    varies = {name for name, value in given.items() if names_in(value) & of_round}
    found = _part_by(function, line, varies)
    array = None if found is None else _comes_of(function, found, given)
    if found is None or array is None or names_in(array) & of_round:
        return None
    return ast.unparse(found), ast.unparse(array)


def _arguments(function: Function, call: ast.Call) -> dict[str, ast.expr]:
    names = [name.arg for name in (*function.args.posonlyargs, *function.args.args)]
    is_bound = names[:1] == ["self"] and isinstance(call.func, ast.Attribute)
    given = dict(zip(names[is_bound:], call.args, strict=False))
    return given | {word.arg: word.value for word in call.keywords if word.arg}


def _part_by(function: Function, line: int, varies: set[str]) -> ast.Subscript | None:
    for node in own_nodes(function):
        if (
            isinstance(node, ast.Subscript)
            and covers(node, line)
            and _takes_a_part(node, varies)
        ):
            return node
    return None


def _comes_of(
    function: Function, part: ast.Subscript, given: dict[str, ast.expr]
) -> ast.expr | None:
    """The argument which is the array, or which holds it."""
    names = names_in(part.value)
    for binding in bindings_in(function):
        if binding.written & names:
            names |= names_in(binding.value)
    found = [given[name] for name in given if name in names]
    plain = [value for value in found if isinstance(value, ast.Name | ast.Attribute)]
    return plain[0] if len(plain) == 1 else None


def _made_on_host(scope: ast.AST, host: HostCalls) -> set[str]:
    """Elements of what lies there do so, too."""
    bindings = [*bindings_in(scope)]
    found = set[str]()
    before = None
    while before != found:
        before = set(found)
        for binding in bindings:
            if _is_of_python(binding.value, host, found):
                found |= binding.written
    return found


def _in(node: ast.AST, line: int) -> bool:
    """Whether a line is of the rounds, and not the head alone."""
    if isinstance(node, ast.For | ast.While):
        return node.lineno < line <= (node.end_lineno or node.lineno)
    return isinstance(node, ast.expr) and covers(node, line)


def _of_round(loop: ast.AST) -> set[str]:
    """Variables that have another value in each round, but for the keys of a mapping:
    what they look up is no part of an array.
    """
    keys = set[str]()
    for node in ast.walk(loop):
        if isinstance(node, ast.For | ast.comprehension):
            keys |= _keys_in(node.target, node.iter)
    return stored_in(loop) - keys


def _keys_in(target: ast.expr, iterated: ast.expr) -> set[str]:
    """`name` of `name, item in items.items()`, and of `name in ("x", "y")`."""
    if isinstance(iterated, ast.Call) and not iterated.args:
        looked_up = {"keys": target, "items": _first_of(target)}
        return names_in(looked_up.get(last_name(iterated)) or ast.Tuple([]))
    texts = getattr(iterated, "elts", ())
    is_text = [
        isinstance(part, ast.Constant) and isinstance(part.value, str) for part in texts
    ]
    return names_in(target) if is_text and all(is_text) else set()


def _first_of(target: ast.expr) -> ast.expr | None:
    return target.elts[0] if isinstance(target, ast.Tuple) else None


def _takes_a_part(node: ast.Subscript, of_round: set[str]) -> bool:
    is_plain = isinstance(node.value, ast.Name | ast.Attribute)
    is_read = isinstance(node.ctx, ast.Load)
    return is_plain and is_read and bool(names_in(node.slice) & of_round)


def _is_of_python(value: ast.AST, host: HostCalls, known: set[str]) -> bool:
    """Whether it is known to lie on the host: a list, what NumPy or a builtin gives;
    what goes over arrays gives their elements. known: names of what does.
    """
    if isinstance(value, ast.BinOp):
        sides = value.left, value.right
        return any(_is_of_python(side, host, set()) for side in sides)
    if isinstance(value, ast.Call) and last_name(value) in _GOING_OVER:
        return all(
            ast.unparse(given) in known or _is_of_python(given, host, known)
            for given in value.args
        )
    if isinstance(value, ast.Call):
        return not host.may_dispatch(value)
    return isinstance(value, _IN_PYTHON)


def _is_given(loop: ast.AST, node: ast.Subscript, host: HostCalls) -> bool:
    """Whether a call of the loop that is compiled gets it, or what is named after
    it.
    """
    named = {
        name
        for binding in bindings_in(loop)
        if any(inner is node for inner in ast.walk(binding.value))
        for name in binding.written
    }
    return any(
        host.is_compiled(last_name(call))
        and any(_holds(given, node, named) for given in _given(call))
        for call in calls_in(loop)
    )


def _given(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (keyword.value for keyword in call.keywords)


def _holds(given: ast.expr, node: ast.Subscript, named: set[str]) -> bool:
    inside = any(inner is node for inner in ast.walk(given))
    return inside or bool(names_in(given) & named)
