"""Code that makes a compiled function once, of a call that its maker makes in each of
its own calls: what the call reads becomes arguments, what it defines moves inside.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import msgspec

from tfadvisor.causes.called import TRACED_METHODS, dotted, last_name, stored_in
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import Function, calls_in, nodes_in, own_nodes
from tfadvisor.causes.witness import signature


class Wrapped(msgspec.Struct, frozen=True):
    """A call that a compiled function would hold."""

    name: str
    """Of that function."""
    call: ast.Call
    given: tuple[str, ...]
    """Its arguments by place."""
    reads: tuple[str, ...]
    """Those by name: what else the call and its functions read."""


class _Inside(msgspec.Struct, frozen=True):
    """What such a function takes by name, and makes."""

    arguments: tuple[str, ...]
    static: tuple[str, ...]
    """Those that are functions."""
    lines: tuple[str, ...]


def wrapped_once(
    parsed: ParsedFile,
    function: Function | ast.Module,
    wrapped: Wrapped,
    by: str = "jax.jit",
    options: Sequence[str] = (),
) -> str:
    """The function, with its decorator. by, options: the compiler, as it is written."""
    inner = _defined_in(function, wrapped.call)
    inside = _inside(parsed, function, wrapped, [wrapped.call, *inner])
    if inside.static and not by.endswith("tf.function"):  # which takes them as they are
        options = [*options, f"static_argnames={[*inside.static]}"]
    decorator = f"functools.partial({', '.join([by, *options])})" if options else by
    is_open = any(name.startswith("*") for name in wrapped.given)
    star = ["*"] if inside.arguments and not is_open else []
    lines = [
        *inside.lines,
        *(f"{signature(node).head} ..." for node in inner),
        f"return {ast.unparse(wrapped.call)}",
    ]
    arguments = ", ".join([*wrapped.given, *star, *inside.arguments])
    head = f"@{decorator}\ndef {wrapped.name}({arguments}):"
    return "\n".join([head, *(f"    {line}" for line in lines)])


def _inside(
    parsed: ParsedFile,
    function: Function | ast.Module,
    wrapped: Wrapped,
    bodies: list[ast.AST],
) -> _Inside:
    """What holds functions is made inside, of what its maker takes."""
    arguments, static, lines = list[str](), list[str](), list[str]()
    for name in wrapped.reads:
        bare = name.rpartition(".")[2]
        if bare in wrapped.given:
            continue
        calls = _calls_of(bodies, name)
        maker = _maker_of(parsed, function, name)
        in_it = any(isinstance(call, ast.Subscript) for call in calls)
        is_one = any(isinstance(call, ast.Name) for call in calls)
        if maker is not None and (in_it or is_one):
            taken = [argument.arg for argument in maker.args.args]
            arguments += taken
            lines.append(f"{name} = {maker.name}({', '.join(taken)})")
        elif in_it:
            lines.append(f"# make here what {name} holds, of arrays as arguments")
        else:
            arguments.append(bare)
            is_static = calls and not _follows_itself(function, name)
            static += [bare] if is_static else []
    kept = tuple(dict.fromkeys(arguments))
    return _Inside(kept, tuple(static), tuple(lines))


def _defined_in(function: ast.AST, node: ast.AST) -> list[Function]:
    """Functions that a function defines and that an expression names, or one of these,
    in the order of its lines.
    """
    own = {
        inner.name: inner
        for inner in own_nodes(function)
        if isinstance(inner, Function)
    }
    found = dict[str, Function]()
    left: list[ast.AST] = [node]
    while left:
        new = {name: own[name] for name in variables_in(left.pop()) if name in own}
        left += [inner for name, inner in new.items() if name not in found]
        found |= new
    return sorted(found.values(), key=lambda inner: inner.lineno)


def variables_in(node: ast.AST) -> Iterator[str]:
    """Variables that stand in it, in the order of its parts."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id


def _calls_of(bodies: list[ast.AST], name: str) -> list[ast.expr]:
    """What is called of a variable: itself, what it holds, methods of it that no array
    has.
    """
    found = []
    for call in (call for body in bodies for call in calls_in(body)):
        root, *attributes = dotted(call.func)
        is_of_arrays = "at" in attributes or last_name(call) in TRACED_METHODS
        if root == name and not is_of_arrays:
            found.append(call.func)
    return found


def _follows_itself(function: ast.AST, name: str) -> bool:
    """Whether a method of a variable gives the next one: `state =
    state.apply_gradients(grads)`, so that it is a tree of arrays that changes.
    """
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and dotted(node.value.func)[0] == name
        and name in stored_in(node)
        for node in nodes_in(function)
    )


def _maker_of(
    parsed: ParsedFile, function: Function | ast.Module, name: str
) -> Function | None:
    """The function of the file whose result each call of a function in the file is
    given as this argument, if that takes plain arguments alone; None for none.
    """
    if isinstance(function, ast.Module):
        return None
    places = [argument.arg for argument in function.args.args]
    if name not in places:
        return None
    at, makers = places.index(name), set[str]()
    for call in calls_in(parsed.tree):
        if last_name(call) == function.name:
            by_name = [word.value for word in call.keywords if word.arg == name]
            given = next(iter([*by_name, *call.args[at : at + 1]]), None)
            makers.add(_plain_name(given))
    maker = parsed.names.functions.get(makers.pop()) if len(makers) == 1 else None
    return maker if maker is not None and _takes_names(maker) else None


def _plain_name(node: ast.expr | None) -> str:
    """Of the function that a call names; "" for anything else."""
    is_named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return last_name(node) if is_named and isinstance(node, ast.Call) else ""


def _takes_names(maker: Function) -> bool:
    arguments = maker.args
    others = arguments.vararg, arguments.kwarg, *arguments.kwonlyargs
    return bool(arguments.args) and not any(others)
