"""A call of a library within a loop of the program that can be compiled as it stands,
by the program's source.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from tfadvisor.causes.called import (
    COMPUTING,
    NOT_TRACED,
    TRACED,
    FileNames,
    arguments_in,
    dotted,
    stored_in,
)
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import COMPREHENSIONS, Loop, calls_in, covers, own_nodes
from tfadvisor.causes.witness import made_by_calls, scope_around

_OUTERMOST = (ast.Assign, ast.AnnAssign, ast.Expr)


class CallInLoop(msgspec.Struct, frozen=True):
    """A statement that calls a library, and what of it the loop changes."""

    statement: str
    """`updates, state = solver.update(grad, state, value_fn=loss)`."""
    call: str
    """`solver.update(grad, state, value_fn=loss)`."""
    name: str
    """`update`."""
    changing: tuple[str, ...]
    """Variables in it that the loop writes: `grad`, `state`."""

    @property
    def once(self) -> str:
        """A function that does what the call does, and the statement with it."""
        new = f"compiled_{self.name}({', '.join(self.changing)})"
        after = self.statement.replace(self.call, new, 1)
        return f"def {new}:\n    return {self.call}\n# in the loop\n{after}"


def call_in_loop(parsed: ParsedFile, line: int) -> CallInLoop | None:
    """Of the statement around a line, in a loop of its function, which does nothing but
    call what a compiler can trace; None for any other one.
    """
    function = scope_around(parsed.tree, line)
    around = [
        node
        for node in own_nodes(function)
        if isinstance(node, ast.stmt) and covers(node, line)
    ]
    loop = next((node for node in around if isinstance(node, Loop)), None)
    stated = next((node for node in around if isinstance(node, _OUTERMOST)), None)
    if loop is None or stated is None:
        return None
    call = stated.value
    if not isinstance(call, ast.Call) or not _can_be_traced(parsed, call):
        return None
    return _call_in(loop, stated, call)


def _call_in(loop: Loop, stated: ast.stmt, call: ast.Call) -> CallInLoop:
    written = stored_in(loop)
    changing = [name for name in _read(call) if name in written]
    return CallInLoop(
        statement=ast.unparse(stated),
        call=ast.unparse(call),
        name=dotted(call.func)[-1],
        changing=tuple(dict.fromkeys(changing)),
    )


def _read(node: ast.AST) -> Iterator[str]:
    """Variables from around an expression, in their order."""
    if isinstance(node, ast.Name):
        yield node.id
        return
    own = set[str]()
    if isinstance(node, ast.Lambda):
        own = arguments_in(node.args)
    elif isinstance(node, COMPREHENSIONS):
        own = stored_in(node)
    for inner in ast.iter_child_nodes(node):
        yield from (name for name in _read(inner) if name not in own)


def _can_be_traced(parsed: ParsedFile, call: ast.Call) -> bool:
    """Whether all its calls are of libraries that a compiler can trace, or of what such
    a library made, and nothing is read of an object, which the loop may change.
    """
    made = {
        name
        for name, maker in made_by_calls(parsed.tree)
        if parsed.names.called(maker).package in TRACED
    }
    return all(_is_traced(parsed.names, inner, made) for inner in calls_in(call)) and (
        not _reads_an_object(parsed.names, call, made)
    )


def _is_traced(names: FileNames, call: ast.Call, made: set[str]) -> bool:
    called = names.called(call)
    if called.package in TRACED:
        return NOT_TRACED.isdisjoint(called.path.split("."))
    return called.words in COMPUTING or called.names[0] in made


def _reads_an_object(names: FileNames, call: ast.Call, made: set[str]) -> bool:
    """Whether it holds an attribute of a variable that no library made."""
    attributes = (node for node in ast.walk(call) if isinstance(node, ast.Attribute))
    return any(
        names.stands_for(node).is_method and dotted(node)[0] not in made
        for node in attributes
    )
