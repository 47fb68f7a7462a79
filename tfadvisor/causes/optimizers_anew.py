"""Optimizers of Optax that a program makes anew in each round of an outer loop, and
gives to a compiled function with what holds them: that is compiled for each, since
their functions are known by identity.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfadvisor.causes.called import last_name
from tfadvisor.causes.compiled_again import CompiledAgain
from tfadvisor.causes.given_anew import is_in, is_under_a_condition
from tfadvisor.causes.made_anew import compiles
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import (
    Function,
    Loop,
    calls_in,
    covers,
    functions_in,
    own_nodes,
)
from tfadvisor.causes.witness import head_of, made_by_calls, scope_around
from tfadvisor.printable import cut
from tfadvisor.timeline.names.frames import place_in_words

_PACKAGE = "optax."
_PLAIN = ("schedule", "decay", "loss", "cross_entropy", "norm", "apply_")
"""Parts of names of Optax that give no optimizer."""
_HOLDERS = ("Optimizer", "ModelAndOptimizer", "create", "TrainState")
"""What keeps an optimizer as a static part of it: of Flax's nnx and linen."""
_WIDEST = 100


class _Made(NamedTuple):
    """A variable that holds a new optimizer in each round."""

    name: str
    holder: ast.Call
    """That is given it."""
    optimizer: ast.Call
    loop: Loop


def optimizer_anew(
    files: Sequence[ParsedFile], parsed: ParsedFile, line: int, compiled: str
) -> CompiledAgain | None:
    """Of a line that calls a compiled function on what holds an optimizer which an
    outer loop makes anew, or on that. compiled: its name in the trace, "" for any.
    """
    known = {name for each in files for name in _compiled_in(each)}
    for call in calls_in(parsed.tree):
        name = last_name(call)
        if covers(call, line) and name in known and compiled in ("", name):
            made = _given(parsed, call)
            if made is not None:
                return _compiled_again(parsed, name, made)
    return None


def _compiled_in(parsed: ParsedFile) -> Iterator[str]:
    """Names by which compiled functions are called."""
    for function in functions_in(parsed.tree):
        if any(compiles(parsed.names, by) for by in function.decorator_list):
            yield function.name
    for name, call in made_by_calls(parsed.tree):
        if compiles(parsed.names, call.func):
            yield name


def _given(parsed: ParsedFile, call: ast.Call) -> _Made | None:
    scope = scope_around(parsed.tree, call.lineno)
    around = [
        node
        for node in own_nodes(scope)
        if isinstance(node, Loop) and is_in(node, call)
    ]
    values = [*call.args, *(word.value for word in call.keywords)]
    for value in values:
        if not isinstance(value, ast.Name):
            continue
        for loop in around:
            made = _made_in(parsed, scope, loop, value.id)
            if made is not None:
                return made
    return None


def _made_in(
    parsed: ParsedFile, scope: Function | ast.Module, loop: Loop, name: str
) -> _Made | None:
    """Where a loop alone gives a variable such a value, in each of its rounds."""
    for holder in _given_in(scope, loop, name):
        optimizer = _optimizer_in(parsed, scope, loop, holder)
        if optimizer is not None:
            return _Made(name, holder, optimizer, loop)
    return None


def _given_in(
    scope: Function | ast.Module, loop: Loop, name: str
) -> Iterator[ast.Call]:
    """Calls that give a variable its value in each round of a loop."""
    for node in own_nodes(loop):
        if not isinstance(node, ast.Assign) or not is_in(loop, node):
            continue
        named = {each.id for each in node.targets if isinstance(each, ast.Name)}
        if name not in named or is_under_a_condition(scope, node):
            continue
        if isinstance(node.value, ast.Call):
            yield node.value


def _optimizer_in(
    parsed: ParsedFile, scope: Function | ast.Module, loop: Loop, holder: ast.Call
) -> ast.Call | None:
    """What a call is given, or is; by a variable of the loop too."""
    if _is_optimizer(parsed, holder):
        return holder
    if last_name(holder) not in _HOLDERS:
        return None
    for value in [*holder.args, *(word.value for word in holder.keywords)]:
        given = [value] if isinstance(value, ast.Call) else []
        if isinstance(value, ast.Name):
            given = [*_given_in(scope, loop, value.id)]
        for call in given:
            if _is_optimizer(parsed, call):
                return call
    return None


def _is_optimizer(parsed: ParsedFile, call: ast.Call) -> bool:
    path = parsed.names.called(call).path
    last = path.rpartition(".")[2]
    return path.startswith(_PACKAGE) and not any(part in last for part in _PLAIN)


# In words and code.


def _compiled_again(parsed: ParsedFile, name: str, made: _Made) -> CompiledAgain:
    loop, optimizer = made.loop, ast.unparse(made.optimizer.func)
    place = place_in_words(parsed.file, made.optimizer.lineno, "")
    held = "" if made.holder is made.optimizer else f" which `{made.name}` holds,"
    head = f"{head_of(loop)}:"
    once = copy.deepcopy(made.holder, {id(made.optimizer): ast.Name("tx", ast.Load())})
    is_all = made.holder is made.optimizer
    after = "" if is_all else f"\n{head}\n    {made.name} = {_text(once)}"
    own = made.name if is_all else "tx"
    return CompiledAgain(
        words=f"`{optimizer}` ({place}) makes a new optimizer in each round of "
        f"`{head_of(loop)}`,{held} and {name} is compiled for each: Optax's functions "
        "are static, and known by identity",
        before=f"{head}\n    {made.name} = {_text(made.holder)}",
        once=f"# once, before the loop\n{own} = {_text(made.optimizer)}{after}",
    )


def _text(node: ast.AST) -> str:
    return cut(ast.unparse(node), _WIDEST)
