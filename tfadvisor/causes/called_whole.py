"""A call on a line of the program that can be compiled whole, by its source."""

from __future__ import annotations

import ast
import builtins
from typing import NamedTuple

from tfadvisor.causes.called import last_name
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import Loop, calls_in, covers, own_nodes
from tfadvisor.causes.witness import function_around, scope_around

_STATEMENTS = ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return
_LONGEST = 100
"""Characters of what is shown."""
_OF_OBJECTS = frozenset({"__call__", "call"})
"""Methods that run where an object is called."""


class CalledWhole(NamedTuple):
    """A statement that calls a method."""

    statement: str
    """`logits = model(**inputs)`."""
    call: str
    """`model(**inputs)`."""
    callee: str
    """`model`."""

    def once(self, compiler: str) -> str:
        """What compiles the callee, and the statement with it."""
        name = f"compiled_{self.callee.rpartition('.')[2]}"
        after = self.call.replace(self.callee, name, 1)
        return (
            f"{name} = {compiler}({self.callee})\n"
            f"# in the loop\n{self.statement.replace(self.call, after, 1)}"
        )


def called_whole(parsed: ParsedFile, line: int, method: str) -> CalledWhole | None:
    """Of the statement on a line, which calls this method of an object by one name;
    None where none does, or several.
    """
    statement = next(
        (
            node
            for node in own_nodes(scope_around(parsed.tree, line))
            if isinstance(node, _STATEMENTS) and covers(node, line)
        ),
        None,
    )
    if statement is None:
        return None
    calls = [call for call in calls_in(statement) if _is_of(parsed, call, method)]
    text = ast.unparse(statement)
    if len(calls) != 1 or len(text) > _LONGEST:
        return None
    callee = ast.unparse(calls[0].func)
    if not all(name.isidentifier() for name in callee.split(".")):
        return None  # one of many, or one that is made there
    return CalledWhole(text, ast.unparse(calls[0]), callee)


def _is_of(parsed: ParsedFile, call: ast.Call, method: str) -> bool:
    if last_name(call) == method:
        return isinstance(call.func, ast.Attribute)
    called = parsed.names.called(call)
    is_known = called.names[-1] in parsed.names.defined or hasattr(
        builtins, called.words
    )
    return method in _OF_OBJECTS and not called.path and not is_known


def is_in_loop(parsed: ParsedFile, line: int) -> bool:
    """Whether the function around a line has it in a loop."""
    function = function_around(parsed.tree, line) or parsed.tree
    loops = (node for node in own_nodes(function) if isinstance(node, Loop))
    return any(covers(loop, line) for loop in loops)
