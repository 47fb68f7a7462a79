"""A call in a loop of the program that works on all of what the loop extends round by
round, and of whose result each round uses one position: a model that reads a text anew
for each word that it adds.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from tfadvisor.causes.called import ON_DEVICES
from tfadvisor.causes.loop_data import Binding, bindings_in, names_in
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import Loop, calls_in, loops, own_nodes
from tfadvisor.printable import cut

_OF_ARRAYS = ON_DEVICES | {"numpy"}
"""Packages whose functions change an array rather than run a model on it."""
_LONGEST = 60
"""Characters of what is shown of a call."""


class WholeForOne(NamedTuple):
    """Such a call."""

    file: str
    line: int
    call: str
    """`self(tokens)[:, index - 1]`."""
    extended: str
    """`tokens`."""
    lines: tuple[int, int]
    """The first of the loop and its last."""


def whole_for_one(files: Sequence[ParsedFile]) -> WholeForOne | None:
    """The first of them; None where no loop has one."""
    for parsed in files:
        for loop in loops(parsed.tree):
            found = _in_loop(parsed, loop)
            if found is not None:
                return found
    return None


def _in_loop(parsed: ParsedFile, loop: Loop) -> WholeForOne | None:
    bindings = list(bindings_in(loop))
    grown = set[str]().union(*(_made_of_itself(binding) for binding in bindings))
    head = names_in(loop.target) if isinstance(loop, ast.For) else set[str]()
    for used in _positions(loop, grown | head):
        call = _result_of(used, loop, bindings, grown | head)
        if call is None or parsed.names.called(call).package in _OF_ARRAYS:
            continue
        extended = _in_arguments(call) & grown & _made_of(used, bindings)
        if extended:
            shown = f"{ast.unparse(call)}[{ast.unparse(used.slice)}]"
            end = loop.end_lineno or loop.lineno
            return WholeForOne(
                parsed.file,
                call.lineno,
                cut(shown.replace("[(", "[").replace(")]", "]"), _LONGEST),
                min(extended),
                (loop.lineno, end),
            )
    return None


def _made_of_itself(binding: Binding) -> set[str]:
    """What a statement makes of what it was, or writes a part of."""
    if isinstance(binding.target, ast.Subscript):
        return binding.written
    return binding.written & names_in(binding.value)


def _positions(loop: Loop, moved: set[str]) -> list[ast.Subscript]:
    """What is read in a loop at one position, which a round moves or is the last."""
    return [
        node
        for node in own_nodes(loop)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and _is_position(node.slice, moved)
    ]


def _is_position(index: ast.expr, moved: set[str]) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    whole = [part for part in parts if not isinstance(part, ast.Slice)]
    if any(isinstance(part, ast.Slice) and names_in(part) for part in parts):
        return False
    is_last = len(parts) > 1 and any(map(_is_negative, whole))
    return is_last or any(names_in(part) & moved for part in whole)


def _is_negative(index: ast.expr) -> bool:
    return (
        isinstance(index, ast.UnaryOp)
        and isinstance(index.op, ast.USub)
        and isinstance(index.operand, ast.Constant)
    )


def _result_of(
    used: ast.Subscript, loop: Loop, bindings: Sequence[Binding], moved: set[str]
) -> ast.Call | None:
    """The call whose result is used at one position alone."""
    if isinstance(used.value, ast.Call):
        return used.value
    if not isinstance(used.value, ast.Name):
        return None
    name = used.value.id
    made = [binding.value for binding in bindings if name in binding.written]
    reads = _reads(loop, name)
    at_one = [node.value for node in _positions(loop, moved)]
    if len(made) != 1 or not all(any(node is at for at in at_one) for node in reads):
        return None
    return made[0] if isinstance(made[0], ast.Call) else None


def _reads(loop: Loop, name: str) -> list[ast.Name]:
    return [
        node
        for node in own_nodes(loop)
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
    ]


def _in_arguments(call: ast.Call) -> set[str]:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    plain = [each for each in given if not any(calls_in(each))]
    return set[str]().union(*map(names_in, plain))


def _made_of(used: ast.Subscript, bindings: Sequence[Binding]) -> set[str]:
    """What statements of the loop make of what is used there."""
    found = set[str]()
    for _ in bindings:
        for binding in bindings:
            is_it = any(node is used for node in ast.walk(binding.value))
            if is_it or names_in(binding.value) & found:
                found |= binding.written
    return found
