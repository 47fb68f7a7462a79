"""Loops and branches of JAX that no compiled function holds, with a body that is made
anew: JAX knows a body by its identity, so each new one is traced and compiled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import msgspec

from tfadvisor.causes.called import FileNames, stored_in
from tfadvisor.causes.compiled_again import CompiledAgain
from tfadvisor.causes.compiled_names import COMPILERS
from tfadvisor.causes.made_anew import (
    gives_new,
    indented,
    itself,
    names_made_new,
    read_by,
    variables,
)
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import (
    Function,
    Loop,
    covers,
    functions_in,
    nodes_in,
    own_nodes,
)
from tfadvisor.causes.witness import function_around, head_of, signature
from tfadvisor.causes.wrapped_once import Wrapped, variables_in, wrapped_once
from tfadvisor.timeline.names.frames import place_in_words

_BODIES = {
    "jax.lax.map": (0,),
    "jax.lax.scan": (0,),
    "jax.lax.fori_loop": (2,),
    "jax.lax.while_loop": (0, 1),
    "jax.lax.cond": (1, 2),
    "jax.lax.switch": (1,),
}
"""Places of the functions that each is given."""
_AS_KEYWORDS = frozenset("f body_fun cond_fun true_fun false_fun branches".split())
EAGER_PROGRAMS = frozenset({"scan", "while", "cond"})
"""As traces name what these compile."""


class _Op(msgspec.Struct, frozen=True):
    """A call of one of these, with what is new in it."""

    call: ast.Call
    path: str
    bodies: tuple[ast.expr, ...]
    where: str
    """`each call of sample (train.py:8), which a loop calls`."""
    outside: str
    """Of what it should be made: `of sample`, `of the loop`."""
    variables: frozenset[str]
    """That differ from one such call or round to the next."""


def eager_body(
    parsed: ParsedFile, line: int, called_again: frozenset[str]
) -> CompiledAgain | None:
    """Of a line that calls such a loop or branch with a body that each round of a loop
    around it makes, or each call of its function, which is one of called_again.
    """
    function = function_around(parsed.tree, line)
    scope = function or parsed.tree
    own = [*own_nodes(scope)]
    for call in own:
        path = parsed.names.called(call).path if isinstance(call, ast.Call) else ""
        if isinstance(call, ast.Call) and path in _BODIES and covers(call, line):
            op = _in_a_loop(parsed, call, path, own)
            if op is None and function is not None and function.name in called_again:
                op = _in_a_call(parsed, call, path, function)
            if op is not None:
                return _compiled_again(parsed, scope, op)
    return None


def run_while_traced(files: Sequence[ParsedFile]) -> frozenset[str]:
    """Names of functions of the program that a compiled one may call, and of these."""
    inside = {
        function.name: set(_words_in(function))
        for parsed in files
        for function in functions_in(parsed.tree)
    }
    left = [name for parsed in files for name in _given_to_compilers(parsed.tree)]
    found = set(left)
    while left:
        new = inside.get(left.pop(), set()) & inside.keys() - found
        found |= new
        left += new
    return frozenset(found)


def _given_to_compilers(tree: ast.Module) -> Iterator[str]:
    for node in nodes_in(tree):
        if isinstance(node, Function):
            by = {name for word in node.decorator_list for name in _words_in(word)}
            yield from [node.name] if by & COMPILERS else []
        elif isinstance(node, ast.Call) and {*_words_in(node.func)} & COMPILERS:
            yield from (name for given in node.args for name in _words_in(given))


def _words_in(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr


def _in_a_loop(
    parsed: ParsedFile, call: ast.Call, path: str, own: list[ast.AST]
) -> _Op | None:
    around = [
        node for node in own if isinstance(node, Loop) and call in own_nodes(node)
    ]
    if not around:
        return None
    bodies = _new_bodies(parsed.names, call, path, [*own_nodes(around[-1])])
    if not bodies:
        return None
    place = place_in_words(parsed.file, around[-1].lineno, "")
    where = f"each round of `{head_of(around[-1])}` ({place})"
    changing = frozenset(stored_in(around[-1]))
    return _Op(call, path, bodies, where, "of the loop", changing)


def _in_a_call(
    parsed: ParsedFile, call: ast.Call, path: str, function: Function
) -> _Op | None:
    bodies = _new_bodies(parsed.names, call, path, [*own_nodes(function)])
    if not bodies:
        return None
    around = signature(function)
    place = place_in_words(parsed.file, around.line, around.name)
    where = f"each call of {place}, which a loop calls"
    changing = frozenset(variables(function))
    return _Op(call, path, bodies, where, f"of {around.name}", changing)


def _new_bodies(
    names: FileNames, call: ast.Call, path: str, own: list[ast.AST]
) -> tuple[ast.expr, ...]:
    new = names_made_new(names, own)
    return tuple(body for body in _bodies(call, path) if gives_new(names, body, new))


def _bodies(call: ast.Call, path: str) -> Iterator[ast.expr]:
    given = [node for at in _BODIES[path] for node in call.args[at : at + 1]]
    given += [word.value for word in call.keywords if word.arg in _AS_KEYWORDS]
    for node in given:
        yield from node.elts if isinstance(node, ast.List | ast.Tuple) else [node]


def _compiled_again(
    parsed: ParsedFile, scope: Function | ast.Module, op: _Op
) -> CompiledAgain:
    own = itself(scope) if isinstance(scope, Function) else ""
    bodies = {name for body in op.bodies for name in variables_in(body)}
    named = [*dict.fromkeys(variables_in(op.call))]
    given = [name for name in named if name in op.variables - bodies - {own}]
    read = _read_by_bodies(parsed, scope, op, bodies)
    reads = tuple(sorted(read - {*given, own, *bodies}))
    is_of_self = bool(own) and own in read.union(named)
    wrapped = Wrapped(
        name=f"compiled_{op.path.rpartition('.')[2]}",
        call=op.call,
        given=tuple([own, *given] if is_of_self else given),
        reads=reads,
    )
    options = ["static_argnums=0"] if is_of_self else []
    once = wrapped_once(parsed, scope, wrapped, options=options)
    may_change = f" (it reads {', '.join(reads)}, which may change)" if reads else ""
    return CompiledAgain(
        words=f"the body of {op.path}, {_in_words(op.bodies[0])}, is made anew in "
        f"{op.where}{may_change}",
        before=_before(scope, op),
        once=f"# once, outside {op.outside}; what changes as arguments\n{once}",
        reads=reads,
    )


def _read_by_bodies(
    parsed: ParsedFile, scope: Function | ast.Module, op: _Op, bodies: set[str]
) -> set[str]:
    """bodies: names of functions, where they have one."""
    if isinstance(scope, Function):
        return set[str]().union(*(read_by(parsed, scope, body) for body in op.bodies))
    defined = [node for node in nodes_in(scope) if _is_one_of(node, bodies)]
    return {name for node in defined for name in variables_in(node)} & op.variables


def _is_one_of(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, Function) and node.name in names


def _in_words(body: ast.expr) -> str:
    return "a lambda" if isinstance(body, ast.Lambda) else ast.unparse(body)


def _before(scope: Function | ast.Module, op: _Op) -> str:
    text = ast.unparse(op.call)
    if isinstance(scope, ast.Module):
        return text
    return f"{signature(scope).head}\n{indented(text)}"
