"""Numbers of Python that a loop changes and gives to a compiled function: that is
traced anew for each of them, where an array or tensor would do.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tfadvisor.causes.called import last_name, only_function, stored_in
from tfadvisor.causes.given_anew import values_of
from tfadvisor.causes.loop_data import Binding, bindings_in
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import Function, Loop, calls_in, loops, nodes_in, own_nodes
from tfadvisor.causes.witness import head_of, scope_around
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
    """The call."""
    after: str
    """The same with a tensor."""


def number_given(files: Sequence[ParsedFile], compiled: str) -> NumberGiven | None:
    """The first that a loop of the files changes and gives to a function by this name,
    which uses it for nothing that decides how it is traced; None for none.
    """
    function = only_function([parsed.tree for parsed in files], compiled)
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


def _has_signature(function: Function) -> bool:
    return any(_SIGNATURE in ast.unparse(by) for by in function.decorator_list)


def _given(
    parsed: ParsedFile, call: ast.Call, function: Function
) -> NumberGiven | None:
    holder = scope_around(parsed.tree, call.lineno)
    numbers = _Numbers(parsed, holder, parsed.tree)
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
        if numbers.has(value):
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
    for node in nodes_in(function):
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


class _Numbers:
    """Of some functions and the file around them, the innermost first."""

    def __init__(self, parsed: ParsedFile, *scopes: ast.AST) -> None:
        self._names, self._scopes = parsed.names, scopes
        self._open: list[str] = []
        """Names that are asked: what is made of itself is one if all else is."""

    def has(self, node: ast.AST) -> bool:
        """Whether it is one."""
        if isinstance(node, ast.Constant):
            return type(node.value) in (int, float)
        if isinstance(node, ast.Name):
            return self._are_all(node.id, self._is_bound)
        if isinstance(node, ast.Call):
            called = self._names.called(node)
            is_kept = called.words in _KEEP_NUMBERS and all(map(self.has, node.args))
            is_given = called.words in _GIVE_NUMBERS or last_name(node) == "item"
            return is_kept or is_given or called.package == "math"
        if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
            return self.has(node.left) and self.has(node.right)
        return isinstance(node, ast.UnaryOp) and self.has(node.operand)

    def _are_all(self, name: str, is_one: Callable[[Binding, str], bool]) -> bool:
        """Whether all that a variable is given is such."""
        if name in self._open or len(self._open) > _DEEPEST:
            return name in self._open
        for scope in self._scopes:
            bound = [each for each in bindings_in(scope) if name in each.written]
            if bound:
                self._open.append(name)
                found = all(is_one(each, name) for each in bound)
                self._open.remove(name)
                return found
        return False

    def _is_bound(self, binding: Binding, name: str) -> bool:
        if self._is_iterated(binding):
            return self._is_element(binding.target, binding.value, name)
        return isinstance(binding.target, ast.Name) and self.has(binding.value)

    def _is_iterated(self, binding: Binding) -> bool:
        return any(
            isinstance(node, ast.For | ast.comprehension) and node.iter is binding.value
            for scope in self._scopes
            for node in nodes_in(scope)
        )

    def _is_element(self, target: ast.AST, iterated: ast.AST, name: str) -> bool:
        """Whether what a loop goes over gives numbers for a name of its target."""
        if isinstance(target, ast.Name):
            return target.id != name or self._holds(iterated)
        if not isinstance(target, ast.Tuple) or not isinstance(iterated, ast.Call):
            return False
        parts, given = target.elts, iterated.args
        if last_name(iterated) == "enumerate":
            is_count = ast.unparse(parts[0]) == name
            return is_count or self._is_element(parts[-1], given[0], name)
        is_zip = last_name(iterated) == "zip" and len(parts) == len(given)
        pairs = zip(parts, given, strict=False)
        return is_zip and all(self._is_element(*pair, name) for pair in pairs)

    def _holds(self, node: ast.AST) -> bool:
        """Whether its elements are numbers."""
        if isinstance(node, ast.Name):
            return self._are_all(node.id, lambda each, _: self._holds(each.value))
        return isinstance(node, ast.Call) and last_name(node) in _GIVE_ELEMENTS


_GIVE_ELEMENTS = frozenset("range tolist".split())


# In words and code.


def _shown(
    parsed: ParsedFile, call: ast.Call, value: ast.expr, loop: Loop
) -> NumberGiven:
    scope = scope_around(parsed.tree, call.lineno)
    written, before = ast.unparse(value), ast.unparse(call)
    tensor = ast.parse(f"tf.constant({written})", mode="eval").body
    after = ast.unparse(copy.deepcopy(call, {id(value): tensor}))
    function = scope.name if isinstance(scope, Function) else ""
    return NumberGiven(
        cut(written, _LONGEST),
        head_of(loop),
        place_in_words(parsed.file, call.lineno, function),
        cut(before, _LONGEST),
        cut(after, _LONGEST),
    )
