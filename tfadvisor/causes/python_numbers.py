"""Numbers of Python that a loop changes and gives to a compiled function: that is
traced anew for each of them, where an array or tensor would do.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfadvisor.causes.called import (
    Function,
    calls_in,
    functions_in,
    last_name,
    stored_in,
)
from tfadvisor.causes.given_anew import values_of
from tfadvisor.causes.loop_data import Binding, Loop, all_bindings_in, loops
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.witness import head_of, own_nodes, scope_around
from tfadvisor.printable import cut
from tfadvisor.timeline.names.frames import place_in_words

_GIVE_NUMBERS = frozenset("float int len".split())
"""Of Python, whatever they are given."""
_KEEP_NUMBERS = frozenset("abs max min pow round sum".split())
"""Of Python, where they are given numbers."""
_ARITHMETIC = ast.Add | ast.Sub | ast.Mult | ast.Div | ast.FloorDiv | ast.Pow
_DEEPEST = 6
_LONGEST = 88
_SIGNATURE = "input_signature"


class NumberGiven(NamedTuple):
    """One that a call gives."""

    written: str
    """As the call has it: `temperature`."""
    head: str
    """Of the loop that changes it."""
    place: str
    """Of the call: `main (train.py:49)`."""
    before: str
    """Its statement."""
    after: str
    """The same with a tensor."""


class _Scope(NamedTuple):
    """Where a name is looked up, the innermost first."""

    parsed: ParsedFile
    nodes: tuple[ast.AST, ...]
    known: frozenset[str]
    """Names that hold numbers."""


def number_given(files: Sequence[ParsedFile], compiled: str) -> NumberGiven | None:
    """The first that a loop of the files changes and gives to a function by this name,
    which uses it for nothing that decides how it is traced; None for none.
    """
    function = _defined(files, compiled)
    if function is None or _has_signature(function):
        return None
    for parsed in files:
        for loop in loops(parsed.tree):
            for call in calls_in(loop):
                if last_name(call) == compiled:
                    found = _given(parsed, call, function)
                    if found is not None:
                        return found
    return None


def _defined(files: Sequence[ParsedFile], name: str) -> Function | None:
    found = [
        function
        for parsed in files
        for function in functions_in(parsed.tree)
        if function.name == name
    ]
    return found[0] if len(found) == 1 else None


def _has_signature(function: Function) -> bool:
    return any(_SIGNATURE in ast.unparse(by) for by in function.decorator_list)


def _given(
    parsed: ParsedFile, call: ast.Call, function: Function
) -> NumberGiven | None:
    holder = scope_around(parsed.tree, call.lineno)
    scope = _Scope(parsed, (holder, parsed.tree), frozenset())
    around = [
        loop
        for loop in loops(parsed.tree)
        if any(node is call for node in own_nodes(loop))
    ]
    for name, value in values_of(function, call).items():
        changing = next(
            (loop for loop in around if _changes(value, loop, around)), None
        )
        if changing is None or _decides(function, name):
            continue
        if _is_number(value, scope, 0):
            return _shown(parsed, call, value, changing)
    return None


def _changes(value: ast.expr, loop: Loop, around: list[Loop]) -> bool:
    """Whether an expression reads what a loop writes, but for what loops inside of
    another go over: that comes again.
    """
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    inner = [each for each in around if _is_inside(each, around)]
    targets = (each.target for each in inner if isinstance(each, ast.For))
    again = set[str]().union(*map(stored_in, targets))
    return bool((names - again) & stored_in(loop))


def _is_inside(loop: Loop, others: list[Loop]) -> bool:
    return any(node is loop for outer in others for node in own_nodes(outer))


def _decides(function: Function, name: str) -> bool:
    """Whether an argument says what a function is traced to: how often a loop goes
    round, what a condition asks, of which size or at which place something is.
    """
    for node in ast.walk(function):
        if isinstance(node, ast.For | ast.comprehension):
            asked: list[ast.AST] = [node.iter]
        elif isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            asked = [node.test]
        elif isinstance(node, ast.Subscript):
            asked = [node.slice]
        elif isinstance(node, ast.keyword) and node.arg in _SIZES:
            asked = [node.value]
        elif isinstance(node, ast.Tuple | ast.List) and _holds_name(node, name):
            return True
        else:
            continue
        if any(_holds_name(part, name) for part in asked):
            return True
    return False


_SIZES = frozenset("axis depth k maxlen num shape size".split())


def _holds_name(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id == name for each in ast.walk(node)
    )


# Whether something is a number of Python.


def _is_number(node: ast.expr, scope: _Scope, depth: int) -> bool:
    if depth > _DEEPEST:
        return False
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.Call):
        return _gives_number(node, scope, depth + 1)
    if isinstance(node, ast.Name):
        return _holds_number(node.id, scope, depth + 1)
    parts = _parts(node)
    return bool(parts) and all(_is_number(part, scope, depth + 1) for part in parts)


def _parts(node: ast.expr) -> list[ast.expr]:
    """Of which an expression computes a number, where these are; none for others."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else []


def _gives_number(call: ast.Call, scope: _Scope, depth: int) -> bool:
    called = scope.parsed.names.called(call)
    if called.package == "math" or last_name(call) == "item":
        return True
    if called.words in _GIVE_NUMBERS:
        return True
    if called.words in _KEEP_NUMBERS:
        return all(_is_number(each, scope, depth) for each in call.args)
    function = scope.parsed.names.functions.get(called.words)
    return function is not None and _returns_number(function, call, scope, depth)


def _returns_number(
    function: Function, call: ast.Call, scope: _Scope, depth: int
) -> bool:
    """Of a function of the file, for what it is given there."""
    values = _defaults(function) | values_of(function, call)
    known = frozenset(
        name for name, value in values.items() if _is_number(value, scope, depth + 1)
    )
    inside = _Scope(scope.parsed, (function, scope.parsed.tree), known)
    returned = [node for node in own_nodes(function) if isinstance(node, ast.Return)]
    return (
        bool(returned)
        and not function.decorator_list
        and all(
            node.value is not None and _is_number(node.value, inside, depth + 1)
            for node in returned
        )
    )


def _defaults(function: Function) -> dict[str, ast.expr]:
    arguments, given = function.args.args, function.args.defaults
    first = len(arguments) - len(given)
    return {
        argument.arg: value
        for argument, value in zip(arguments[first:], given, strict=True)
    }


def _holds_number(name: str, scope: _Scope, depth: int) -> bool:
    """Of a variable, of which all that it is given is one."""
    if name in scope.known:
        return True
    for at, holder in enumerate(scope.nodes):
        bindings = [each for each in _own_bindings(holder) if name in each.written]
        if bindings:
            # what is made of itself is one if all else is
            inner = _Scope(scope.parsed, scope.nodes[at:], scope.known | {name})
            return all(_binds_number(each, name, inner, depth) for each in bindings)
    return False


def _own_bindings(holder: ast.AST) -> Iterator[Binding]:
    inside = {id(node) for node in own_nodes(holder)}
    for binding in all_bindings_in(holder):
        if id(binding.target) in inside:
            yield binding


def _binds_number(binding: Binding, name: str, scope: _Scope, depth: int) -> bool:
    target, value = binding.target, binding.value
    if not isinstance(value, ast.expr):
        return False
    if _is_iterated(binding, scope):
        return _is_element(target, value, name, scope, depth)
    return isinstance(target, ast.Name) and _is_number(value, scope, depth)


def _is_iterated(binding: Binding, scope: _Scope) -> bool:
    return any(
        isinstance(node, ast.For | ast.comprehension) and node.iter is binding.value
        for holder in scope.nodes
        for node in ast.walk(holder)
    )


def _is_element(
    target: ast.AST, iterated: ast.expr, name: str, scope: _Scope, depth: int
) -> bool:
    """Whether what a loop goes over gives numbers for a name of its target."""
    if isinstance(target, ast.Name):
        return target.id != name or _holds_numbers(iterated, scope, depth)
    if not isinstance(target, ast.Tuple) or not isinstance(iterated, ast.Call):
        return False
    kind, given = last_name(iterated), iterated.args
    if kind == "enumerate" and len(target.elts) == 2:
        first, second = target.elts
        is_count = isinstance(first, ast.Name) and first.id == name
        return is_count or _is_element(second, given[0], name, scope, depth)
    pairs = zip(target.elts, given, strict=False)
    is_zip = kind == "zip" and len(target.elts) == len(given)
    return is_zip and all(_is_element(*pair, name, scope, depth) for pair in pairs)


def _holds_numbers(node: ast.expr, scope: _Scope, depth: int) -> bool:
    if depth > _DEEPEST:
        return False
    if isinstance(node, ast.List | ast.Tuple):
        return all(_is_number(each, scope, depth + 1) for each in node.elts)
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return _is_number(node.elt, scope, depth + 1)
    if isinstance(node, ast.Call):
        name = last_name(node)
        if name in _KEEP_ELEMENTS and node.args:
            return _holds_numbers(node.args[0], scope, depth + 1)
        return name in _GIVE_ELEMENTS
    return isinstance(node, ast.Name) and _are_numbers(node.id, scope, depth)


_KEEP_ELEMENTS = frozenset("list reversed sorted tqdm tuple".split())
_GIVE_ELEMENTS = frozenset("range tolist".split())


def _are_numbers(name: str, scope: _Scope, depth: int) -> bool:
    """Of a variable, of which all that it is given holds numbers."""
    for holder in scope.nodes:
        found = [each for each in _own_bindings(holder) if name in each.written]
        if found:
            return all(
                isinstance(each.target, ast.Name)
                and isinstance(each.value, ast.expr)
                and _holds_numbers(each.value, scope, depth + 1)
                for each in found
            )
    return False


# In words and code.


def _shown(
    parsed: ParsedFile, call: ast.Call, value: ast.expr, loop: Loop
) -> NumberGiven:
    scope = scope_around(parsed.tree, call.lineno)
    statement = _statement_of(scope, call)
    tensor = ast.parse(f"{_tensorflow(parsed)}.constant(x)", mode="eval").body
    assert isinstance(tensor, ast.Call)
    tensor.args = [value]
    after = copy.deepcopy(statement, {id(value): tensor})
    function = scope.name if isinstance(scope, Function) else ""
    return NumberGiven(
        cut(ast.unparse(value), _LONGEST),
        head_of(loop),
        place_in_words(parsed.file, call.lineno, function),
        cut(ast.unparse(statement), _LONGEST),
        cut(ast.unparse(after), _LONGEST),
    )


def _statement_of(scope: ast.AST, call: ast.Call) -> ast.AST:
    """The innermost one that holds a call."""
    found: ast.AST = call
    for node in own_nodes(scope):
        is_plain = isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return)
        if is_plain and any(inner is call for inner in ast.walk(node)):
            found = node
    return found


def _tensorflow(parsed: ParsedFile) -> str:
    """As the file calls it."""
    for node in ast.walk(parsed.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "tensorflow":
                    return alias.asname or alias.name
    return "tf"
