"""A file of the program, walked once: its nodes in the orders and by the places and
names that all others ask for, kept as long as the file is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property, wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from tfadvisor.tallies import listed

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.While
Scope = Function | ast.Module
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Node = TypeVar("_Node", bound=ast.AST)
_Found = TypeVar("_Found")
_KEPT = ast.Module | Function | ast.ClassDef | Loop
"""Of which many ask; expressions are walked anew."""


def asked_once(ask: Callable[[_Node], _Found]) -> Callable[[_Node], _Found]:
    """The same answer for a node as long as that is there. It must not hold the node
    itself, which would be there for ever.
    """
    known: WeakKeyDictionary[_Node, _Found] = WeakKeyDictionary()

    @wraps(ask)
    def of(node: _Node) -> _Found:
        found = known.get(node)
        if found is None:
            found = known[node] = ask(node)
        return found

    return of


class Walked:
    """What stands in a file."""

    def __init__(self, tree: ast.Module) -> None:
        """tree: of the whole file."""
        self.nodes = tuple(node for node in ast.walk(tree) if node is not tree)
        """The outer ones first."""
        self.functions = tuple(x for x in self.nodes if isinstance(x, Function))
        self.classes = tuple(x for x in self.nodes if isinstance(x, ast.ClassDef))
        self.calls = tuple(x for x in self.nodes if isinstance(x, ast.Call))
        self._around: dict[int, Function] = {}
        self._outer: dict[Function, Function | None] = {}
        for function in self.functions:
            lines = lines_of(function)
            self._outer[function] = self._around.get(lines[0])
            self._around |= dict.fromkeys(lines, function)
        self._by_name = listed((each.name, each) for each in self.functions)
        self._called = {call.func: call for call in reversed(self.calls)}
        self._on: dict[int, tuple[ast.Call, ...]] = {}

    @cached_property
    def lambdas(self) -> tuple[ast.Lambda, ...]:
        """As they stand."""
        return tuple(node for node in self.nodes if isinstance(node, ast.Lambda))

    @cached_property
    def _class_of(self) -> dict[ast.stmt, ast.ClassDef]:
        return {
            inner: holder for holder in reversed(self.classes) for inner in holder.body
        }

    @cached_property
    def _named(self) -> dict[str, list[ast.Name | ast.Attribute]]:
        return listed(
            (node.id if isinstance(node, ast.Name) else node.attr, node)
            for node in self.nodes
            if isinstance(node, ast.Name | ast.Attribute)
        )

    def function_around(self, line: int) -> Function | None:
        """The innermost one that holds a line; None outside of all."""
        return self._around.get(line)

    def functions_around(self, line: int) -> list[Function]:
        """Those that hold a line, the outermost first."""
        found = []
        function = self.function_around(line)
        while function is not None:
            found.append(function)
            function = self._outer[function]
        return found[::-1]

    def class_of(self, method: Function) -> ast.ClassDef | None:
        """The class that defines a method; None for a function."""
        return self._class_of.get(method)

    def functions_named(self, name: str) -> list[Function]:
        """Those that it defines by a name."""
        return self._by_name.get(name, [])

    def call_of(self, func: ast.expr) -> ast.Call | None:
        """The call that calls this; None for what none does."""
        return self._called.get(func)

    def named(self, name: str) -> list[ast.Name | ast.Attribute]:
        """Where a variable or an attribute by this name stands."""
        return self._named.get(name, [])

    def calls_named(self, name: str) -> Iterator[ast.Call]:
        """Calls of functions and methods by a name."""
        called = (self._called.get(node) for node in self.named(name))
        return (call for call in called if call is not None)

    def calls_on(self, line: int) -> tuple[ast.Call, ...]:
        """Those of which a line is one."""
        if line not in self._on:
            self._on[line] = tuple(call for call in self.calls if covers(call, line))
        return self._on[line]


@asked_once
def walked(tree: ast.Module) -> Walked:
    """A file as it stands."""
    return Walked(tree)


def nodes_in(node: ast.AST) -> Iterator[ast.AST]:
    """It and all that it holds, the outer ones first."""
    if isinstance(node, Scope):
        yield node
        yield from _below(node)
    else:
        yield from ast.walk(node)


@asked_once
def _below(node: ast.AST) -> tuple[ast.AST, ...]:
    if isinstance(node, ast.Module):
        return walked(node).nodes
    return tuple(inner for inner in ast.walk(node) if inner is not node)


def calls_in(node: ast.AST) -> Iterator[ast.Call]:
    """All calls in it, of functions that it defines too."""
    if isinstance(node, _KEPT):
        yield from _calls_in(node)
        return
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            yield inner


@asked_once
def _calls_in(node: ast.AST) -> tuple[ast.Call, ...]:
    if isinstance(node, ast.Module):
        return walked(node).calls
    return tuple(inner for inner in ast.walk(node) if isinstance(inner, ast.Call))


def functions_in(tree: ast.AST) -> tuple[Function, ...]:
    """The outer ones before those inside of them."""
    if isinstance(tree, ast.Module):
        return walked(tree).functions
    return tuple(node for node in ast.walk(tree) if isinstance(node, Function))


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """All that a function runs itself: nothing of functions that it defines."""
    if isinstance(function, Scope):
        yield from _own_nodes(function)
    else:
        yield from _walk_own(function)


@asked_once
def _own_nodes(function: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(_walk_own(function))


def _walk_own(function: ast.AST) -> Iterator[ast.AST]:
    left = [*ast.iter_child_nodes(function)][::-1]
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef):
            left += [*ast.iter_child_nodes(node)][::-1]


@asked_once
def loops(tree: ast.Module) -> tuple[Loop, ...]:
    """The innermost first: what a loop inside of another calls belongs to it."""
    found = [node for node in walked(tree).nodes if isinstance(node, Loop)]
    return tuple(sorted(found, key=lambda loop: -loop.lineno))


@asked_once
def loops_by_line(function: ast.AST) -> dict[int, Loop]:
    """Of a function or module the innermost of its own around each line; not its
    head.
    """
    found: dict[int, Loop] = {}
    for node in own_nodes(function):
        if isinstance(node, Loop):
            for line in range(node.lineno + 1, _last_line(node) + 1):
                found[line] = node
    return found


@asked_once
def comprehensions_by_line(function: ast.AST) -> dict[int, ast.expr]:
    """Of a function or module the innermost of its own around each line."""
    found: dict[int, ast.expr] = {}
    for node in own_nodes(function):
        if isinstance(node, COMPREHENSIONS):
            for line in range(node.lineno, _last_line(node) + 1):
                found[line] = node
    return found


def covers(node: ast.stmt | ast.expr, line: int) -> bool:
    """Whether a line is one of its own."""
    return node.lineno <= line <= _last_line(node)


def lines_of(function: Function) -> range:
    """Its lines, with those of its decorators."""
    return range(first_line(function), _last_line(function) + 1)


def first_line(function: Function) -> int:
    """Where it begins, decorators included."""
    lines = (decorator.lineno for decorator in function.decorator_list)
    return min([function.lineno, *lines])


def _last_line(node: ast.stmt | ast.expr) -> int:
    return node.end_lineno or node.lineno
