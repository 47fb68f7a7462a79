"""What the names in a file of the program stand for, where one statement alone says it:
a variable, an argument that one call gives, what a function of the file returns.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes.called import Function, arguments_in, last_name, owner_of
from tfadvisor.causes.unchanged import given_for
from tfadvisor.causes.witness import own_nodes
from tfadvisor.tallies import listed

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

Scope = Function | ast.Module
_DEEPEST = 12
"""Names that stand for one another."""


class Meaning(NamedTuple):
    """An expression, with the function that it stands in."""

    node: ast.expr
    scope: Scope


class Definitions:
    """Of a file."""

    def __init__(self, parsed: ParsedFile) -> None:
        """Reads nothing yet."""
        self._parsed = parsed
        self._stored: dict[int, dict[str, list[ast.AST]]] = {}

    def of(self, node: ast.expr, scope: Scope) -> Meaning:
        """What an expression in a function stands for, as far as it is known: a name,
        what it was given; a call of the file's own function, what that returns; others
        themselves.
        """
        meaning = Meaning(node, scope)
        for _ in range(_DEEPEST):
            following = self._next(*meaning)
            if following is None:
                break
            meaning = following
        return meaning

    def bindings(self, name: str, scope: Scope) -> list[ast.AST]:
        """The statements, and others, that write a variable of a function."""
        return self._written_in(scope).get(name, [])

    def _next(self, node: ast.expr, scope: Scope) -> Meaning | None:
        if isinstance(node, ast.Name):
            return self._of_name(node.id, scope)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(ast.unparse(node))
        if isinstance(node, ast.Call):
            return self._of_call(node)
        return None

    def _of_name(self, name: str, scope: Scope) -> Meaning | None:
        where: Scope | None = scope
        while where is not None:
            written = self.bindings(name, where)
            given = name in _arguments(where)
            if written:
                only = None if given or len(written) > 1 else written[0]
                value = _value_of(only, name)
                return None if value is None else Meaning(value, where)
            if given:
                return self._of_argument(name, where)
            where = self._around.get(where)
        return None

    def _of_argument(self, name: str, function: Scope) -> Meaning | None:
        """What the only call of a function gives for it."""
        if not isinstance(function, Function):
            return None
        calls = self._calls.get(function.name, [])
        is_known = self._functions.get(function.name) is function
        if len(calls) != 1 or not is_known or function.name in self._handed_over:
            return None
        call, scope = calls[0]
        value = given_for(call, function, name)
        return None if value is None else Meaning(value, scope)

    def _of_attribute(self, words: str) -> Meaning | None:
        """Of the object: what one statement of the file alone gives it."""
        found = self._attributes.get(words, [])
        return found[0] if len(found) == 1 else None

    def _of_call(self, call: ast.Call) -> Meaning | None:
        """What the function returns, of one of the file with one return."""
        owner = owner_of(call)
        if owner is not None and ast.unparse(owner) != "self":
            return None
        function = self._functions.get(last_name(call))
        if function is None:
            return None
        returned = [
            node.value for node in own_nodes(function) if isinstance(node, ast.Return)
        ]
        only = returned[0] if len(returned) == 1 else None
        return None if only is None else Meaning(only, function)

    def _written_in(self, scope: Scope) -> dict[str, list[ast.AST]]:
        if id(scope) not in self._stored:
            self._stored[id(scope)] = listed(
                (name, node)
                for node in own_nodes(scope)
                for name in _names_written(node)
            )
        return self._stored[id(scope)]

    @cached_property
    def _scopes(self) -> list[Scope]:
        tree = self._parsed.tree
        found: list[Scope] = [tree]
        found += [node for node in ast.walk(tree) if isinstance(node, Function)]
        return found

    @cached_property
    def _around(self) -> dict[Scope, Scope]:
        """Function -> the one that defines it, or the file."""
        return {
            node: scope
            for scope in self._scopes
            for node in _defined_in(scope)
            if isinstance(node, Function)
        }

    @cached_property
    def _functions(self) -> dict[str, Function]:
        """By name, those of a name of their own."""
        found = listed(
            (scope.name, scope) for scope in self._scopes if isinstance(scope, Function)
        )
        return {name: of[0] for name, of in found.items() if len(of) == 1}

    @cached_property
    def _calls(self) -> dict[str, list[tuple[ast.Call, Scope]]]:
        """Of functions by name, with the function that calls."""
        found: list[tuple[str, tuple[ast.Call, Scope]]] = []
        for scope in self._scopes:
            for node in own_nodes(scope):
                if isinstance(node, ast.Call):
                    found.append((last_name(node), (node, scope)))
        return listed(found)

    @cached_property
    def _handed_over(self) -> set[str]:
        """Names that the file reads for something else than a call."""
        nodes = [*ast.walk(self._parsed.tree)]
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        return {
            node.id
            for node in nodes
            if isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Load)
            and id(node) not in called
        }

    @cached_property
    def _attributes(self) -> dict[str, list[Meaning]]:
        return listed(
            (ast.unparse(target), Meaning(node.value, scope))
            for scope in self._scopes
            for node in own_nodes(scope)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Attribute)
        )


def _arguments(scope: Scope) -> set[str]:
    return arguments_in(scope.args) if isinstance(scope, Function) else set()


def _names_written(node: ast.AST) -> set[str]:
    """By one statement, loop or comprehension: once for each name."""
    targets: list[ast.AST] = []
    if isinstance(node, ast.Assign):
        targets = [*node.targets]
    elif isinstance(
        node,
        ast.AugAssign
        | ast.AnnAssign
        | ast.For
        | ast.AsyncFor
        | ast.comprehension
        | ast.NamedExpr,
    ):
        targets = [node.target]
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        targets = [node.optional_vars]
    elif isinstance(node, Function | ast.ClassDef):
        return {node.name}
    return {
        inner.id
        for target in targets
        for inner in ast.walk(target)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    }


def _value_of(node: ast.AST | None, name: str) -> ast.expr | None:
    """What a statement gives a name; of several that it gives parts of one value, the
    part: `jnp.meshgrid(x, y)[1]`.
    """
    if isinstance(node, ast.AnnAssign | ast.NamedExpr):
        return node.value
    if not isinstance(node, ast.Assign) or len(node.targets) > 1:
        return None
    target = node.targets[0]
    if isinstance(target, ast.Tuple | ast.List):
        return _part_of(target, node.value, name)
    return node.value if isinstance(target, ast.Name) else None


def _part_of(
    target: ast.Tuple | ast.List, value: ast.expr, name: str
) -> ast.expr | None:
    names = [each.id if isinstance(each, ast.Name) else "" for each in target.elts]
    if names.count(name) != 1:
        return None
    at = names.index(name)
    if isinstance(value, ast.Tuple | ast.List):
        is_even = len(value.elts) == len(names)
        return value.elts[at] if is_even else None
    part = ast.Subscript(value, ast.Constant(at), ast.Load())
    return ast.fix_missing_locations(ast.copy_location(part, value))


def _defined_in(scope: Scope) -> list[ast.AST]:
    """With those in its classes."""
    found: list[ast.AST] = []
    waiting = [*own_nodes(scope)]
    for node in waiting:
        found.append(node)
        if isinstance(node, ast.ClassDef):
            waiting += own_nodes(node)
    return found
