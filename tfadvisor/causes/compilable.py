"""Whether a function of the program can be compiled as it stands, by its source: what a
compiler runs once, while it traces, must not be needed in each call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.causes.called import (
    CHANGING,
    COMPUTING,
    DRAWING,
    GRADIENTS,
    NOT_TRACED,
    ON_CONSTANTS,
    ON_HOST,
    TRACED,
    TRACED_METHODS,
    Called,
    arguments_in,
    called_names,
    dotted,
    stored_in,
)
from tfadvisor.causes.walked import Function, functions_in, nodes_in

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile, SourceFiles

_DEEPEST = 6
"""Calls of the program's functions, one inside of another."""


class HostWork(msgspec.Struct, frozen=True):
    """What a compiler would not do in each call."""

    what: str
    """`np.random.uniform`, `yield`, `int`; "" for nothing."""
    on_arrays: bool = False
    """Whether it makes or gives arrays on the host, for a loop to take."""


NONE = HostWork("")


def host_work(
    files: SourceFiles,
    file: str,
    function: Function,
) -> HostWork:
    """Of a function of a file, with those of the program that it calls: what makes
    arrays first. What nobody knows counts as work of the host.
    """
    parsed = files.read(file)
    if parsed is None:
        return HostWork(f"{file} is not known")
    found = [*_Reader(files).of(parsed, function)]
    on_arrays = [work for work in found if work.on_arrays]
    return next(iter([*on_arrays, *found]), NONE)


class _Reader:
    """Follows calls through the program's files; each function is read once, with those
    inside of it.
    """

    def __init__(self, files: SourceFiles) -> None:
        self._files = files
        self._seen: set[tuple[str, int]] = set()

    def of(
        self,
        parsed: ParsedFile,
        function: Function,
        depth: int = 0,
    ) -> Iterator[HostWork]:
        """All that one finds in a function, and in what it calls."""
        key = parsed.file, function.lineno
        if key in self._seen:
            return
        self._seen.add(key)
        scope = _Scope.of(parsed, function)
        for node in nodes_in(function):
            if isinstance(node, ast.Call):
                yield from self._of_call(scope, node, depth)
            else:
                yield from _of_statement(scope, node)

    def _of_call(
        self,
        scope: _Scope,
        call: ast.Call,
        depth: int,
    ) -> Iterator[HostWork]:
        called = scope.parsed.names.called(call)
        root = called.names[0]
        if called.package in TRACED:
            if NOT_TRACED & {*called.path.split(".")}:
                yield HostWork(called.words)
        elif called.package in ON_HOST:
            yield from _of_host_package(scope, called)
        elif called.is_method:
            if not scope.may_call(called):
                yield HostWork(called.words)
        elif root and root not in COMPUTING and not scope.makes(root):
            yield from self._of_named(scope.parsed, called, depth)

    def _of_named(
        self,
        parsed: ParsedFile,
        called: Called,
        depth: int,
    ) -> Iterator[HostWork]:
        """A function of this file, or of another one of the program."""
        where: ParsedFile | None = parsed
        module, _, name = called.path.rpartition(".")
        if called.path:
            where = self._files.read(f"{module.rpartition('.')[2]}.py")
        known = {} if where is None else where.names.functions
        found = known.get(name or called.words)
        if where is None or found is None or depth >= _DEEPEST:
            yield HostWork(called.words)
            return
        yield from self.of(where, found, depth + 1)


class _Scope(msgspec.Struct, frozen=True):
    """What a function's names stand for."""

    parsed: ParsedFile
    arguments: frozenset[str]
    assigned: frozenset[str]
    """Variables that it makes itself, and functions inside of it."""
    trains: bool
    """Whether it computes a gradient."""

    @classmethod
    def of(
        cls,
        parsed: ParsedFile,
        function: Function,
    ) -> _Scope:
        """Of a function of a file."""
        inner = {inner.name for inner in functions_in(function)} - {function.name}
        return cls(
            parsed,
            frozenset(arguments_in(function)),
            frozenset(stored_in(function) | inner),
            not called_names(function).isdisjoint(GRADIENTS),
        )

    def makes(self, name: str) -> bool:
        """Whether it calls what it made itself; what it is given it may call where it
        trains, as a model.
        """
        return name in self.assigned or (self.trains and name in self.arguments)

    def may_call(self, called: Called) -> bool:
        """Whether a method computes, and changes nothing from outside."""
        root, *attributes = called.names
        if attributes[-1] not in TRACED_METHODS:
            return False
        is_own = root in self.assigned or "at" in attributes or not root
        return is_own or attributes[-1] not in CHANGING or self.trains


def _of_host_package(
    scope: _Scope,
    called: Called,
) -> Iterator[HostWork]:
    if called.path.startswith(DRAWING):
        yield HostWork(called.words, on_arrays=not scope.trains)
    elif called.path.rpartition(".")[2] not in ON_CONSTANTS:
        yield HostWork(called.words)


def _of_statement(
    scope: _Scope,
    node: ast.AST,
) -> Iterator[HostWork]:
    if isinstance(node, ast.Yield | ast.YieldFrom):
        yield HostWork("yield", on_arrays=not scope.trains)
    elif isinstance(node, ast.Global | ast.Nonlocal | ast.Await):
        yield HostWork(type(node).__name__.lower())
    elif isinstance(node, ast.If | ast.While):
        if _asks_for_values(scope, node.test):
            yield HostWork("while" if isinstance(node, ast.While) else "if")
    elif isinstance(node, ast.Attribute | ast.Subscript):
        is_written = isinstance(node.ctx, ast.Store | ast.Del)
        root, *names = dotted(node)
        is_local = root in scope.assigned - scope.arguments
        if is_written and (isinstance(node, ast.Attribute) or not is_local):
            yield HostWork(".".join([root, *names]))


def _asks_for_values(
    scope: _Scope,
    test: ast.expr,
) -> bool:
    """Whether a condition computes on what it is given, which has no value yet."""
    computes = any(
        isinstance(node, ast.Compare | ast.Call) and not _is_of_none(node)
        for node in ast.walk(test)
    )
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    return computes and bool(names & scope.arguments)


def _is_of_none(node: ast.AST) -> bool:
    """Whether it compares with None, or with a text."""
    return isinstance(node, ast.Compare) and all(
        isinstance(other, ast.Constant) and isinstance(other.value, str | None)
        for other in node.comparators
    )
