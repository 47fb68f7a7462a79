"""Which names of a program stand for what is compiled, and which of its calls run on
the host alone, by its own lines.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from tfadvisor.causes.loop_data import (
    names_in,
    read_by,
    spread,
    value_of,
    writings_in,
    written_by,
)
from tfadvisor.causes.witness import (
    covers,
    functions_around,
    functions_in,
    last_name,
    made_by_calls,
)
from tfadvisor.timeline.names.stack_frames import FRAMEWORKS

_COMPILERS = frozenset("jit pjit pmap function filter_jit filter_pmap".split())
"""Functions and decorators of JAX, TensorFlow, Flax and Equinox."""


class _Definition(NamedTuple):
    """Of a function, or of what the result of a call is named."""

    name: str
    made_by: set[str]
    """Words of its decorators, or of what is called."""
    words: set[str]
    """That its lines hold."""
    called: set[str]


def compiled_names(trees: Sequence[ast.Module]) -> frozenset[str]:
    """Names under which a program calls what is compiled: of functions that a compiler
    decorates, of what it or a function that uses one gives, and of functions that call
    one of these.
    """
    defined = [found for tree in trees for found in _definitions(tree)]
    makers, known = _COMPILERS, frozenset[str]()
    before = None
    while before != (makers, known):
        before = makers, known
        known |= {found.name for found in defined if _is_compiled(found, makers, known)}
        makers |= {found.name for found in defined if found.words & makers} - known
    return known


def _is_compiled(
    found: _Definition, makers: frozenset[str], known: frozenset[str]
) -> bool:
    return bool(found.made_by & makers or found.called & known)


def _definitions(tree: ast.Module) -> Iterator[_Definition]:
    for function in functions_in(tree):
        by = set[str]().union(*map(_words, function.decorator_list))
        yield _Definition(function.name, by, _words(function), _called(function))
    for name, call in made_by_calls(tree):
        yield _Definition(name, _words(call.func), set(), set())


def _words(node: ast.AST) -> set[str]:
    """Names of variables and of attributes."""
    inside = list(ast.walk(node))
    names = {inner.id for inner in inside if isinstance(inner, ast.Name)}
    return names | {inner.attr for inner in inside if isinstance(inner, ast.Attribute)}


def _called(node: ast.AST) -> set[str]:
    calls = (inner for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return {last_name(call) for call in calls}


class HostCalls:
    """Which lines of a file run on the host."""

    def __init__(self, tree: ast.Module, compiled: frozenset[str]) -> None:
        """compiled: as compiled_names."""
        self._tree, self._compiled = tree, compiled
        self._package = _packages(tree)
        self._found: dict[int, set[str]] = {}
        self._own = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }

    def are_all_on(self, line: int) -> bool:
        """Whether each call of a line is known to run there, on nothing that another
        call gives: an array of a device is waited for where it is read.
        """
        function = [self._tree, *functions_around(self._tree, line)][-1]
        nodes = [
            node
            for node in ast.walk(function)
            if isinstance(node, ast.expr) and covers(node, line)
        ]
        if not all(map(self._is_known, nodes)):
            return False
        return set().union(*map(names_in, nodes)).isdisjoint(self._given(function))

    def _given(self, function: ast.AST) -> set[str]:
        """Names in a function of what other calls give, and of what is made of it."""
        if id(function) not in self._found:
            writings = list(writings_in(function))
            ties = [(read_by(writing), written_by(writing)) for writing in writings]
            known = set[str]()
            for writing, (_, written) in zip(writings, ties, strict=True):
                if not all(map(self._is_known, ast.walk(value_of(writing)))):
                    known |= written
            self._found[id(function)] = spread(ties, known)
        return self._found[id(function)]

    def may_dispatch(self, call: ast.Call) -> bool:
        """Whether it is not known to run on the host, or runs the program's own."""
        return not self._is_known(call) or last_name(call) in self._own

    def _is_known(self, node: ast.AST) -> bool:
        """Whether it is no call, or one that is known to run on the host."""
        if not isinstance(node, ast.Call):
            return True
        name = last_name(node)
        if not name or name in self._compiled:
            return False
        package = self._package.get(_root(node.func))
        if package is not None:
            return package not in FRAMEWORKS
        if isinstance(node.func, ast.Name):
            return name in self._own or hasattr(builtins, name)
        return name in _methods()


def _packages(tree: ast.Module) -> dict[str, str]:
    """By the name that a file gives it: the package of what it imports, "" for one
    beside it.
    """
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                package = alias.name.partition(".")[0]
                found[alias.asname or package] = package
        elif isinstance(node, ast.ImportFrom):
            package = (node.module or "").partition(".")[0]
            for alias in node.names:
                found[alias.asname or alias.name] = "" if node.level else package
    return found


def _root(node: ast.expr) -> str:
    """`np` of `np.random.rand`; "" for what begins with no name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


@cache
def _methods() -> frozenset[str]:
    """Of Python's values and NumPy's; what an array of JAX has of these has a frame."""
    random = np.random.Generator, np.random.RandomState
    kinds = (str, bytes, list, dict, set, np.ndarray, *random)
    return frozenset(name for kind in kinds for name in dir(kind) if name[0] != "_")
