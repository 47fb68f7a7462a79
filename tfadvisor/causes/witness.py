"""What stands in the program's source at a place that costs: the call with its
arguments, the loop around it, what made the function that is called.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.causes.called import last_name, owner_of
from tfadvisor.causes.walked import (
    Function,
    asked_once,
    comprehensions_by_line,
    covers,
    first_line,
    functions_in,
    loops_by_line,
    nodes_in,
    own_nodes,
    walked,
)
from tfadvisor.printable import cut

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile
    from tfadvisor.timeline.attribution import Spent

_LONGEST = 100
"""Characters of an expression."""
_INNER = re.compile(r"\A<\w+> \(([^()]+):(\d+)\)")
"""A comprehension or lambda, which has the line on which it begins."""
_SAMPLED = re.compile(r"line (\d+)")
_READS = frozenset("float int bool str print asarray array item tolist numpy".split())
"""What reads an array's value, as programs write it."""
_READING = frozenset("_value __array__ __float__ __int__ __bool__ __str__".split())
"""The same as frames name it."""
_Function = Function | ast.Module


class Witness(msgspec.Struct, frozen=True):
    """What the program's source says of a call."""

    line: int
    """On which it begins."""
    call: str
    """With its arguments: `jnp.array(rows[at:at + 8])`."""
    loop: str
    """The innermost loop around it in its function: `for at in range(0, 80, 8)`; "" for
    none.
    """
    loop_line: int | None
    """On which that begins."""
    made_by: tuple[str, ...]
    """The decorators of the function that is called, or the call that made it, as
    `jax.jit(model)`; empty where the file does not say.
    """


class Signature(msgspec.Struct, frozen=True):
    """How the program's source defines a function."""

    name: str
    head: str
    """`def sample(key, state):`, without its types."""
    line: int
    """On which it begins, decorators included."""
    is_method: bool
    """Whether its first argument is the object that it belongs to."""
    decorators: tuple[str, ...]


def called_in(spent: Spent) -> frozenset[str]:
    """Names under which the program may call what takes the time; empty for what it
    does itself.
    """
    words = (spent.called or spent.detail).partition(" (")[0]
    name = words.rpartition(" ")[2]  # of `waits in _value` or `builtins print`
    if name in _READING:
        return _READS | {name}
    return frozenset({name}) if name.isidentifier() else frozenset()


def with_aliases(
    tree: ast.Module,
    names: frozenset[str],
) -> frozenset[str]:
    """With the names of what is made of one of these functions: `predict` of
    `predict = jax.jit(model)`.
    """
    found = set(names)
    for target, call in made_by_calls(tree):
        if any(_is_one_of(names, argument) for argument in call.args):
            found.add(target)
    return frozenset(found)


def _is_one_of(
    names: frozenset[str],
    node: ast.expr,
) -> bool:
    return isinstance(node, ast.Name) and node.id in names


@asked_once
def made_by_calls(tree: ast.Module) -> tuple[tuple[str, ast.Call], ...]:
    """(name, the call whose result it bears)."""
    return tuple(_made_by_calls(tree))


def _made_by_calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for node in walked(tree).nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    yield target.attr, node.value
                elif isinstance(target, ast.Name):
                    yield target.id, node.value


def line_within(
    detail: str,
    file: str,
) -> int | None:
    """The line that a detail names itself: of a comprehension in the same file, or as
    samples have it.
    """
    inner = _INNER.fullmatch(detail)
    if inner is not None:
        return int(inner[2]) if inner[1] == file else None
    sampled = _SAMPLED.fullmatch(detail)
    return int(sampled[1]) if sampled is not None else None


def function_at(
    tree: ast.Module,
    line: int,
) -> _Function | None:
    """The function that begins on a line, decorators included, as frames name it."""
    for function in functions_in(tree):
        if first_line(function) == line:
            return function
    return None


def line_of_call(
    function: _Function,
    names: frozenset[str],
) -> int | None:
    """Where a function calls one of these; None for nowhere, or on several lines."""
    lines = {call.lineno for call in _own_calls(function) if last_name(call) in names}
    return lines.pop() if len(lines) == 1 else None


def witness_of(
    parsed: ParsedFile,
    line: int,
    names: frozenset[str],
) -> Witness | None:
    """Of the call of one of these names on a line, else of the outermost one there."""
    function = scope_around(parsed.tree, line)
    calls = [call for call in _own_calls(function) if covers(call, line)]
    named = [call for call in calls if last_name(call) in names]
    chosen = next(iter(named or calls), None)
    if chosen is None:
        return None
    loop = _loop_around(function, line)
    return Witness(
        line=chosen.lineno,
        call=_text(chosen),
        loop="" if loop is None else _head(loop),
        loop_line=None if loop is None else loop.lineno,
        made_by=_made_by(parsed.tree, chosen),
    )


def _own_calls(function: _Function) -> Iterator[ast.Call]:
    for node in own_nodes(function):
        if isinstance(node, ast.Call):
            yield node


def defines(
    tree: ast.Module,
    name: str,
) -> bool:
    """Whether a file defines a function, or gives this name to what a call makes."""
    is_defined = any(function.name == name for function in functions_in(tree))
    return is_defined or any(target == name for target, _ in made_by_calls(tree))


def only_calls(
    function: ast.AST,
    name: str,
) -> bool:
    """Whether a function calls what it gives a name, and does nothing else with it."""
    nodes = [*nodes_in(function)]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    reads = [
        node
        for node in nodes
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
    ]
    return bool(reads) and all(id(read) in called for read in reads)


def signature(function: Function) -> Signature:
    """Of a function, as its file has it."""
    arguments = function.args
    names = [*arguments.posonlyargs, *arguments.args]
    shown = [name.arg for name in names]
    if arguments.vararg is not None or arguments.kwonlyargs:
        shown.append("*" if arguments.vararg is None else f"*{arguments.vararg.arg}")
    shown += [name.arg for name in arguments.kwonlyargs]
    if arguments.kwarg is not None:
        shown.append(f"**{arguments.kwarg.arg}")
    return Signature(
        name=function.name,
        head=cut(f"def {function.name}({', '.join(shown)}):", _LONGEST),
        line=first_line(function),
        is_method=shown[:1] in (["self"], ["cls"]),
        decorators=tuple(map(_text, function.decorator_list)),
    )


def functions_around(tree: ast.Module, line: int) -> list[Function]:
    """Those that hold a line, the outermost first."""
    return walked(tree).functions_around(line)


def function_around(tree: ast.Module, line: int) -> Function | None:
    """The innermost one that holds a line; None outside of all."""
    return walked(tree).function_around(line)


def scope_around(tree: ast.Module, line: int) -> Function | ast.Module:
    """The innermost function that holds a line, else the module."""
    return function_around(tree, line) or tree


def statement_at(scope: ast.AST, line: int) -> ast.stmt | None:
    """The first plain statement of a function, or of the module, that holds a line: an
    assignment, a return or an expression.
    """
    plain = ast.Assign | ast.Return | ast.Expr | ast.AugAssign | ast.AnnAssign
    for node in own_nodes(scope):
        if isinstance(node, plain) and covers(node, line):
            return node
    return None


def class_of(tree: ast.Module, method: Function) -> ast.ClassDef | None:
    """The class that defines a method; None for a function."""
    return walked(tree).class_of(method)


def element_loop(tree: ast.Module, line: int) -> ast.AST | None:
    """The innermost loop or comprehension around a line in its function, which defines
    it; None outside of all.
    """
    function = scope_around(tree, line)
    within = comprehensions_by_line(function).get(line)
    return within or _loop_around(function, line)


def head_of(loop: ast.AST) -> str:
    """`for row in rows`."""
    if isinstance(loop, ast.For | ast.While):
        return _head(loop)
    generators = getattr(loop, "generators", ())
    heads = (f"for {_text(c.target)} in {_text(c.iter)}" for c in generators)
    return " ".join(heads)


def _loop_around(
    function: _Function,
    line: int,
) -> ast.For | ast.While | None:
    return loops_by_line(function).get(line)


def _head(loop: ast.For | ast.While) -> str:
    if isinstance(loop, ast.While):
        return f"while {_text(loop.test)}"
    return f"for {_text(loop.target)} in {_text(loop.iter)}"


def _made_by(
    tree: ast.Module,
    call: ast.Call,
) -> tuple[str, ...]:
    """Empty for a function of another module, or one that is defined twice."""
    owner = owner_of(call)
    if owner is not None and _text(owner) != "self":
        return ()
    name = last_name(call)
    found: list[Sequence[ast.expr]] = [
        function.decorator_list
        for function in functions_in(tree)
        if function.name == name
    ]
    found += [[made] for target, made in made_by_calls(tree) if target == name]
    return tuple(map(_text, found[0])) if len(found) == 1 else ()


def _text(node: ast.expr) -> str:
    try:
        words = ast.unparse(node).split()
    except RecursionError:
        return ""
    return cut(" ".join(words), _LONGEST)
