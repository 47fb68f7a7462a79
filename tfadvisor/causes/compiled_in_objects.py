"""Objects that compile functions where they begin: each object that the program makes
anew compiles them anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfadvisor.causes.called import arguments_in, dotted, last_name
from tfadvisor.causes.compiled_again import CompiledAgain
from tfadvisor.causes.made_anew import BEGINNINGS, compiles, gives_new, names_made_new
from tfadvisor.causes.made_objects import MadeObject, all_made
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import (
    Function,
    calls_in,
    covers,
    first_line,
    nodes_in,
    own_nodes,
)
from tfadvisor.causes.witness import signature
from tfadvisor.timeline.names.frames import place_in_words

_MOST_NAMED = 3


class _Kept(NamedTuple):
    """A compiled function that an object keeps: `self.gradient = jax.jit(…)`."""

    attribute: str
    call: ast.Call


class _Beginning(NamedTuple):
    parsed: ParsedFile
    of: ast.ClassDef
    function: Function
    kept: list[_Kept]


def compiled_in_objects(
    files: Sequence[ParsedFile],
    parsed: ParsedFile,
    line: int,
    compiled: str,
    called_again: frozenset[str],
) -> CompiledAgain | None:
    """Of a line in such a class, or that makes an object of one or calls what it keeps,
    where all objects of the class are made in loops or in functions of called_again.
    compiled: the name of what is compiled, in the trace, "" for any.
    """
    called = {last_name(call) for call in calls_in(parsed.tree) if covers(call, line)}
    for beginning in _beginnings(files):
        is_in_it = beginning.parsed is parsed and covers(beginning.of, line)
        names = {beginning.of.name, *(kept.attribute for kept in beginning.kept)}
        is_it = not compiled or compiled in map(_name_of, beginning.kept)
        if is_it and (is_in_it or called & names):
            made = all_made(files, beginning.of.name, called_again)
            if made:
                return _compiled_again(beginning, made[0])
    return None


def _beginnings(files: Sequence[ParsedFile]) -> Iterator[_Beginning]:
    for parsed in files:
        for node in nodes_in(parsed.tree):
            if not isinstance(node, ast.ClassDef):
                continue
            for inner in node.body:
                if isinstance(inner, Function) and inner.name in BEGINNINGS:
                    kept = [*_kept(parsed, inner)]
                    if kept:
                        yield _Beginning(parsed, node, inner, kept)


def _kept(parsed: ParsedFile, function: Function) -> Iterator[_Kept]:
    """What is another function in each object."""
    own = list(own_nodes(function))
    new = names_made_new(parsed.names, own)
    for node in own:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        target, call = node.targets[0], node.value
        is_kept = isinstance(target, ast.Attribute) and len(node.targets) == 1
        if is_kept and call.args and compiles(parsed.names, call.func):
            assert isinstance(target, ast.Attribute)
            if gives_new(parsed.names, call.args[0], new):
                yield _Kept(target.attr, call)


def _name_of(kept: _Kept) -> str:
    """As a trace has it: of a gradient the name of its function."""
    node = kept.call.args[0]
    while isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    return "<lambda>" if isinstance(node, ast.Lambda) else dotted(node)[-1]


def _compiled_again(beginning: _Beginning, made: MadeObject) -> CompiledAgain:
    of, kept = beginning.of.name, beginning.kept
    names = [f"self.{each.attribute}" for each in kept]
    shown = ", ".join(names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    line = first_line(beginning.function)
    place = place_in_words(beginning.parsed.file, line, beginning.function.name)
    data = _data_of(beginning)
    reads = f" (they read {', '.join(data)}, which may change)" if data else ""
    lines = [f"self.{each.attribute} = {ast.unparse(each.call)}" for each in kept]
    return CompiledAgain(
        words=f"what each {of} compiles for itself in {place}, {shown}{more}, is made "
        f"anew in {made.where}{reads}",
        before="\n".join(
            [signature(beginning.function).head]
            + [f"    {line}" for line in lines[:_MOST_NAMED]]
        ),
        once=_once(beginning, made.call, data),
        reads=data,
        of_several=len(kept) > 1,
    )


def _once(beginning: _Beginning, call: ast.Call, data: tuple[str, ...]) -> str:
    of = beginning.of.name
    once = f"# once, before the loop\n{of.lower()} = {ast.unparse(call)}"
    if not data:
        return once
    taking = (
        f"self.{kept.attribute} = {_taking(kept.call, data)}"
        for kept in beginning.kept
        if any(isinstance(node, ast.Lambda) for node in ast.walk(kept.call))
    )
    note = f"# in {of}: what changes as an argument, {', '.join(data)}"
    return "\n".join([note, *[*taking][:_MOST_NAMED], once])


def _taking(call: ast.Call, data: tuple[str, ...]) -> str:
    """The call with these as further arguments of its lambda."""
    changed = ast.parse(ast.unparse(call), mode="eval").body
    for node in ast.walk(changed):
        if isinstance(node, ast.Lambda):
            node.args.args += [ast.arg(name) for name in data]
    return ast.unparse(changed)


def _data_of(beginning: _Beginning) -> tuple[str, ...]:
    """Arguments of the beginning that compiled functions read, and do not call."""
    given = arguments_in(beginning.function.args)
    bodies = [*_lambdas(beginning.function)]
    called = {
        node.func.id
        for body in bodies
        for node in ast.walk(body)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    own = set[str]().union(*map(arguments_in, bodies))
    read = {
        node.id
        for body in bodies
        for node in ast.walk(body)
        if isinstance(node, ast.Name)
    }
    return tuple(sorted((read & given) - called - own - {"self"}))


def _lambdas(function: Function) -> Iterator[ast.AST]:
    for node in own_nodes(function):
        if isinstance(node, ast.Lambda | Function):
            yield node
