"""How what runs on the thread that dispatches the steps is tied to these: by the loop
of the program that calls it, or calls a function that does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes.called import ON_DEVICES, called_names, last_name
from tfadvisor.causes.loop_data import (
    ARGUMENT,
    RESULT,
    Made,
    bindings_in,
    calls_of,
    made_on,
    names_in,
    only_reads,
    tie_in,
)
from tfadvisor.causes.walked import Loop, calls_in, covers, loops

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

_DEEPEST = 3
"""Calls of the program's functions between the loop and the one that takes the time."""
_PLAIN = ("numpy.", "jax.numpy.", "jax.device_put", "tensorflow.c", "tensorflow.stack")
"""Begin the names of what only makes or computes arrays: `tf.constant`, `tf.cast`."""
_DRAWS = "random"


class Tied(NamedTuple):
    """How such a call is tied to the step."""

    tie: str
    line: int
    """Where the loop calls it."""
    function: str
    """That it calls there; "" for a line of the loop itself."""
    each: tuple[str, ...] = ()
    """Of what only reads results: the statements of the loop."""
    counter: str = ""
    """The variable that counts the rounds of the loop; "" for unknown."""
    is_same: bool = False
    """Of what makes an argument, whether it is the same in each round."""


def tie_of(
    parsed: ParsedFile,
    function: str,
    line: int,
    steps: frozenset[str],
    compiled: frozenset[str],
) -> Tied | None:
    """Of a line of a function. steps: names of compiled functions that a step calls.
    compiled: of all in the program that are, or call such ones. None for unknown.
    """
    found = _by_loops(parsed, function, steps) or _on_line(
        parsed, line, steps, compiled
    )
    if found is not None:
        return found
    names = {function}
    for _ in range(_DEEPEST):
        for name in sorted(names):
            found = _by_loops(parsed, name, steps) or _by_loops(
                parsed, name, steps | (compiled - names)
            )
            if found is not None:
                return found
        names = {*_callers(parsed, names)} - compiled - steps
    return None


def _callers(parsed: ParsedFile, names: set[str]) -> Iterator[str]:
    for name, function in parsed.names.functions.items():
        if called_names(function) & names:
            yield name


# In a loop.


def _by_loops(parsed: ParsedFile, function: str, steps: frozenset[str]) -> Tied | None:
    for loop in loops(parsed.tree) if function else ():
        found = tie_in(loop, function, steps)
        if found is not None:
            tie, line = found
            asked = calls_of(loop, {function})
            return _tied(parsed, loop, tie, line, function, asked)
    return None


def _on_line(
    parsed: ParsedFile,
    line: int,
    steps: frozenset[str],
    compiled: frozenset[str],
) -> Tied | None:
    """Of a line of a loop that calls steps itself, and on another line."""
    known = steps | compiled
    around = [loop for loop in loops(parsed.tree) if covers(loop, line)]
    for loop in (loop for loop in around if loop.lineno != line):
        making = made_on(loop, line, "", known)
        stepping = making.steps_of(loop, lambda call: last_name(call) in known)
        calls = [call for call in calls_in(loop) if covers(call, line)]
        is_step = any(last_name(call) in known for call in calls)
        if stepping and not is_step and _is_of_host(parsed, making.calls):
            return _of_making(parsed, loop, making, stepping)
    return None


def _of_making(
    parsed: ParsedFile, loop: Loop, making: Made, stepping: list[ast.Call]
) -> Tied | None:
    calls = list(making.calls)
    if making.goes_into(loop, stepping):
        return _tied(parsed, loop, ARGUMENT, making.line, "", calls)
    if calls and only_reads(loop, calls, stepping):
        return _tied(parsed, loop, RESULT, making.line, "", calls)
    return None


def _is_of_host(parsed: ParsedFile, calls: tuple[ast.Call, ...]) -> bool:
    """Whether all calls are of NumPy and the like, or only make arrays: others may be a
    part of the step.
    """
    paths = [parsed.names.called(call).path for call in calls]
    return all(
        path.startswith(_PLAIN) or (path and path.partition(".")[0] not in ON_DEVICES)
        for path in paths
    )


def _tied(
    parsed: ParsedFile,
    loop: Loop,
    tie: str,
    line: int,
    function: str,
    asked: list[ast.Call],
) -> Tied:
    if tie == ARGUMENT:
        return Tied(tie, line, function, is_same=_is_same(parsed, loop, asked))
    if tie != RESULT:
        return Tied(tie, line, function)
    return Tied(tie, line, function, _each_round(loop, asked), _counter(loop))


def _is_same(parsed: ParsedFile, loop: Loop, asked: list[ast.Call]) -> bool:
    """Whether all of it is made by libraries of what the loop does not write."""
    written = set[str]().union(*(binding.written for binding in bindings_in(loop)))
    calls = [inner for call in asked for inner in calls_in(call)]
    paths = [parsed.names.called(call).path for call in calls]
    is_plain = all(path.startswith(_PLAIN) and _DRAWS not in path for path in paths)
    return bool(asked) and is_plain and written.isdisjoint(*map(names_in, asked))


def _each_round(loop: Loop, asked: list[ast.Call]) -> tuple[str, ...]:
    """The statements that call it, where all of them come in each round."""
    own = [node for node in loop.body if isinstance(node, ast.Expr)]
    mine = [node for node in own if any(node.value is call for call in asked)]
    is_all = len(mine) == len(asked) > 0
    return tuple(map(ast.unparse, mine)) if is_all else ()


def _counter(loop: Loop) -> str:
    """`step` of `for step in range(n)`, and of `for step, batch in enumerate(...)`."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return ""
    name, target = last_name(loop.iter), loop.target
    if name in ("range", "trange") and isinstance(target, ast.Name):
        return target.id
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else None
    is_counted = name == "enumerate" and isinstance(first, ast.Name)
    return first.id if is_counted and isinstance(first, ast.Name) else ""
