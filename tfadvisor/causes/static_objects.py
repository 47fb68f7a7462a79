"""Methods that are compiled with their object as a static argument: each object that
the program makes anew compiles them anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfadvisor.causes.called import last_name
from tfadvisor.causes.compiled_again import CompiledAgain
from tfadvisor.causes.made_anew import compiles, indented
from tfadvisor.causes.made_objects import MadeObject, all_made
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import Function, calls_in, covers, functions_in, nodes_in
from tfadvisor.causes.witness import signature
from tfadvisor.timeline.names.frames import place_in_words

_BY_VALUE = frozenset({"__eq__", "__hash__"})
"""A class with one of these may say that two objects are the same."""
_PLAIN_BASES = frozenset({"object", "ABC"})
_FIRST = "__init__"


class _Method(NamedTuple):
    parsed: ParsedFile
    of: ast.ClassDef
    function: Function


def static_object(
    files: Sequence[ParsedFile],
    parsed: ParsedFile,
    line: int,
    compiled: str,
    called_again: frozenset[str],
) -> CompiledAgain | None:
    """Of a line that calls such a method, of a class whose objects are all made in
    loops or in functions of called_again. compiled: its name in the trace, "" for any.
    """
    for call in calls_in(parsed.tree):
        name = last_name(call)
        is_it = covers(call, line) and parsed.names.called(call).is_method
        if not is_it or compiled not in ("", name):
            continue
        methods = [*_methods(files, name)]
        if len(methods) == 1 and _is_known_by_identity(methods[0]):
            made = all_made(files, methods[0].of.name, called_again)
            if made:
                return _compiled_again(methods[0], made[0])
    return None


def _methods(files: Sequence[ParsedFile], name: str) -> Iterator[_Method]:
    for parsed in files:
        for node in nodes_in(parsed.tree):
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, Function) and inner.name == name:
                        yield _Method(parsed, node, inner)


def _is_known_by_identity(method: _Method) -> bool:
    """Whether a method is compiled with its object static, which equals no other."""
    names, of = method.parsed.names, method.of
    defined = {inner.name for inner in of.body if isinstance(inner, Function)}
    bases = {ast.unparse(base).rpartition(".")[2] for base in of.bases}
    is_plain = bases <= _PLAIN_BASES and not of.decorator_list and not of.keywords
    return (
        is_plain
        and defined.isdisjoint(_BY_VALUE)
        and any(
            compiles(names, by) and _is_static(by, method.function)
            for by in method.function.decorator_list
        )
    )


def _is_static(decorator: ast.expr, function: Function) -> bool:
    """Whether options of a compiler name the first argument."""
    places = [*function.args.posonlyargs, *function.args.args]
    if not isinstance(decorator, ast.Call) or not places:
        return False
    first = {"static_argnums": 0, "static_argnames": places[0].arg}
    for word in decorator.keywords:
        value = word.value
        given = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
        asked = first.get(word.arg or "")
        if asked is not None and any(
            isinstance(node, ast.Constant) and node.value == asked for node in given
        ):
            return True
    return False


# In words and code.


def _compiled_again(method: _Method, made: MadeObject) -> CompiledAgain:
    function, of = method.function, method.of.name
    given = {inner.id for inner in ast.walk(made.call) if isinstance(inner, ast.Name)}
    reads = tuple(sorted(given & made.changing))
    by = "".join(f"@{ast.unparse(by)}\n" for by in function.decorator_list)
    place = place_in_words(method.parsed.file, function.lineno, function.name)
    return CompiledAgain(
        words=f"{of}, whose method {place} is compiled with self as a static argument, "
        f"is made anew in {made.where}",
        before=f"class {of}:\n{indented(f'{by}{signature(function).head} ...')}\n"
        f"{ast.unparse(made.call)}                # each object compiles",
        once=_without_self(method) if reads else _one_object(made.call, of),
        reads=reads,
    )


def _one_object(call: ast.Call, of: str) -> str:
    return f"{of.lower()} = {ast.unparse(call)}        # once: all use this one"


def _without_self(method: _Method) -> str:
    """As a function that takes what the method reads of its object."""
    function = method.function
    own, *given = [argument.arg for argument in function.args.args]
    methods = {inner.name for inner in functions_in(method.of)}
    reads = {
        node.attr: None
        for node in nodes_in(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == own
        and node.attr not in methods
    }
    star = ["*", *reads] if reads else []
    return (
        f"# once, outside of {method.of.name}; what its objects hold as arguments\n"
        f"@jax.jit\ndef {function.name}({', '.join([*given, *star])}): ..."
    )
