"""Which names of a program stand for what is compiled, and which of its calls run on
the host alone, by its own lines.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from tfadvisor.causes.called import ON_DEVICES, called_names, last_name
from tfadvisor.causes.loop_data import bindings_in, names_in, spread
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import calls_in, covers, functions_in, nodes_in
from tfadvisor.causes.witness import made_by_calls, scope_around

COMPILERS = frozenset("jit pjit pmap function filter_jit filter_pmap".split())
"""Functions and decorators of JAX, TensorFlow, Flax and Equinox."""
_STEPS = frozenset(
    "evaluate fit predict predict_on_batch test_on_batch train_on_batch".split()
)
"""Methods of Keras' models."""


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
    makers, known = COMPILERS, frozenset[str]()
    before = None
    while before != (makers, known):
        before = makers, known
        known |= {found.name for found in defined if _is_compiled(found, makers, known)}
        makers |= {found.name for found in defined if found.words & makers} - known
    return known


def _is_compiled(
    found: _Definition,
    makers: frozenset[str],
    known: frozenset[str],
) -> bool:
    return bool(found.made_by & makers or found.called & known)


def _definitions(tree: ast.Module) -> Iterator[_Definition]:
    for function in functions_in(tree):
        by = set[str]().union(*map(_words, function.decorator_list))
        yield _Definition(function.name, by, _words(function), called_names(function))
    for name, call in made_by_calls(tree):
        yield _Definition(name, _words(call.func), set(), set())


def _words(node: ast.AST) -> set[str]:
    """Names of variables and of attributes."""
    inside = list(ast.walk(node))
    names = {inner.id for inner in inside if isinstance(inner, ast.Name)}
    return names | {inner.attr for inner in inside if isinstance(inner, ast.Attribute)}


class HostCalls:
    """Which lines of a file run on the host."""

    def __init__(
        self,
        parsed: ParsedFile,
        compiled: frozenset[str],
    ) -> None:
        """compiled: as compiled_names."""
        self._tree, self._names = parsed.tree, parsed.names
        self._compiled = compiled
        self._found: dict[int, set[str]] = {}

    def are_all_on(self, line: int) -> bool:
        """Whether each call of a line is known to run there, on nothing that another
        call gives: an array of a device is waited for where it is read.
        """
        function = scope_around(self._tree, line)
        nodes = [
            node
            for node in nodes_in(function)
            if isinstance(node, ast.expr) and covers(node, line)
        ]
        if not all(map(self._is_known, nodes)):
            return False
        return set().union(*map(names_in, nodes)).isdisjoint(self._given(function))

    def _given(self, function: ast.AST) -> set[str]:
        """Names in a function of what other calls give, and of what is made of it."""
        if id(function) not in self._found:
            ties, known = [], set[str]()
            for binding in bindings_in(function):
                ties.append((binding.reads, binding.written))
                if not all(map(self._is_known, ast.walk(binding.value))):
                    known |= binding.written
            self._found[id(function)] = spread(ties, known)
        return self._found[id(function)]

    def may_dispatch(self, call: ast.Call) -> bool:
        """Whether it is not known to run on the host, or runs the program's own."""
        return not self._is_known(call) or last_name(call) in self._names.defined

    def is_compiled(self, name: str) -> bool:
        """Whether the program calls what is compiled by a name."""
        return name in self._compiled

    def is_on_devices(self, call: ast.Call) -> bool:
        """Whether it may run what is compiled, a framework, or a function of the file
        that does, as an eager step.
        """
        return last_name(call) in self._on_devices or self._may_be_a_step(call)

    def _may_be_a_step(self, call: ast.Call) -> bool:
        """By its own name: also of what nothing is known, as a model."""
        name, called = last_name(call), self._names.called(call)
        if called.path or called.is_method:
            return called.package in ON_DEVICES or name in _STEPS
        return not self._is_known(call)

    @cached_property
    def _on_devices(self) -> frozenset[str]:
        """Names of what is compiled, and of functions that call it or a framework."""
        functions = self._names.functions
        called = {name: called_names(inside) for name, inside in functions.items()}
        found = set(self._compiled)
        for name, inside in functions.items():
            if any(map(self._may_be_a_step, calls_in(inside))):
                found.add(name)
        before = -1
        while before != len(found):
            before = len(found)
            found |= {name for name, calls in called.items() if calls & found}
        return frozenset(found)

    def _is_known(self, node: ast.AST) -> bool:
        """Whether it is no call, or one that is known to run on the host."""
        if not isinstance(node, ast.Call):
            return True
        name = last_name(node)
        if not name or name in self._compiled:
            return False
        called = self._names.called(node)
        if called.path:
            return called.package not in ON_DEVICES
        if called.is_method:
            return name in _methods()
        return name in self._names.defined or hasattr(builtins, name)


@cache
def _methods() -> frozenset[str]:
    """Of Python's values and NumPy's; what an array of JAX has of these has a frame."""
    random = np.random.Generator, np.random.RandomState
    kinds = (str, bytes, list, dict, set, np.ndarray, *random)
    return frozenset(name for kind in kinds for name in dir(kind) if name[0] != "_")
