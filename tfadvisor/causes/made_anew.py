"""A compiled function that the program makes in each call of another one. Compilers
know a function by its identity: JAX compiles a lambda, a partial, a bound method or an
inner function again each time that it is made, TensorFlow whatever tf.function is
called on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import msgspec

from tfadvisor.causes.called import (
    FileNames,
    Function,
    arguments_in,
    called_names,
    calls_in,
    stored_in,
)
from tfadvisor.causes.compiled_names import COMPILERS
from tfadvisor.causes.loop_data import loops
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.witness import (
    COMPREHENSIONS,
    Signature,
    functions_around,
    only_calls,
    own_nodes,
    signature,
)
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.names.stack_frames import FRAMEWORKS

_LAMBDA = "<lambda>"
_BOUND_ONCE = frozenset({"staticmethod", "classmethod"})
"""Decorators that leave a function to run in each call."""
_MAKING = FRAMEWORKS | {"functools"}
"""Packages whose calls give another function each time: of `jax.grad`, `partial`."""
_UNNAMED = "compiled"


class MadeAnew(msgspec.Struct, frozen=True):
    """A compiled function, and what makes it in each of its calls."""

    file: str
    line: int
    """On which it is made."""
    compiled: str
    """What is compiled: `<lambda>`, the name of a function; "" for another
    expression.
    """
    by: str
    """The compiler as it is written: `jax.jit`; "" for a decorator."""
    around: Signature
    """The function that makes it."""
    before: str
    """The function's head, and the lines that make it."""
    once: str
    """Code that makes it once, outside of that function."""
    reads: tuple[str, ...]
    """What it reads of the function's own variables, but for `self`."""

    @property
    def words(self) -> str:
        """The begin of a sentence."""
        made = {_LAMBDA: f"{self.by} of a lambda", "": f"what {self.by} gives"}
        what = made.get(self.compiled, self.compiled)
        place = place_in_words(self.file, self.around.line, self.around.name)
        reads = f"; it reads {', '.join(self.reads)} of it" if self.reads else ""
        return f"{what} is made anew in each call of {place}, which a loop calls{reads}"


class _Making(msgspec.Struct, frozen=True):
    """A statement that makes a compiled function."""

    node: ast.expr | Function
    """What is compiled: a function with its decorators, else the first argument."""
    call: ast.Call | None
    """Of the compiler; None for a decorator."""
    name: str
    """That it is called by; "" where it is called at once."""


def made_anew(
    parsed: ParsedFile, line: int, compiled: str = "", *, but_in_loops: bool = False
) -> MadeAnew | None:
    """What the innermost function around a line that makes compiled functions makes;
    None where there is none, or several. compiled: the name of what is compiled, ""
    for any. but_in_loops: leave out what a loop of the function calls, which may run
    its steps.
    """
    for function in reversed(functions_around(parsed.tree, line)):
        found = [
            making
            for making in _makings(parsed.names, function)
            if compiled in ("", _name_of(making.node) or compiled)
            and not (but_in_loops and _is_called_in_a_loop(function, making))
        ]
        if found:
            return _made(parsed, function, found[0]) if len(found) == 1 else None
    return None


def called_again(files: Sequence[ParsedFile]) -> frozenset[str]:
    """Names of functions that a loop of the program calls, or that a function calls
    which is one of these.
    """
    inside = {
        name: called_names(function)
        for parsed in files
        for name, function in parsed.names.functions.items()
    }
    looping = (loop for parsed in files for loop in _all_loops(parsed.tree))
    found = set[str]().union(*map(called_names, looping))
    left = [*found]
    while left:
        new = inside.get(left.pop(), set()) - found
        found |= new
        left += new
    return frozenset(found)


def _all_loops(tree: ast.Module) -> Iterator[ast.AST]:
    yield from loops(tree)
    for node in ast.walk(tree):
        if isinstance(node, COMPREHENSIONS):
            yield node


# What is made.


def _makings(names: FileNames, function: Function) -> Iterator[_Making]:
    """Those of a function that nothing outside of it keeps."""
    if not {*map(ast.unparse, function.decorator_list)} <= _BOUND_ONCE:
        return
    kept_out = {
        name
        for node in own_nodes(function)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }
    for making in _all_makings(names, function):
        is_kept = making.name in kept_out
        if not is_kept and (not making.name or only_calls(function, making.name)):
            yield making


def _all_makings(names: FileNames, function: Function) -> Iterator[_Making]:
    own = list(own_nodes(function))
    inner = [node for node in own if isinstance(node, Function)]
    new = {node.name for node in inner}
    for node in own:
        if isinstance(node, ast.Assign) and _gives_new(names, node.value, new):
            new |= stored_in(node)
    for node in inner:
        if any(_compiles(names, by) for by in node.decorator_list):
            yield _Making(node, None, node.name)
    for name, call in _named_and_called(own):
        if _is_new(names, call, new):
            yield _Making(call.args[0], call, name)


def _named_and_called(own: Sequence[ast.AST]) -> Iterator[tuple[str, ast.Call]]:
    """(name, call) of each call whose result has a name alone, or is called at once,
    "" then.
    """
    for node in own:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Call):
            yield "", node.func
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            target = node.targets[0]
            if isinstance(target, ast.Name) and len(node.targets) == 1:
                yield target.id, node.value


def _compiles(names: FileNames, node: ast.expr) -> bool:
    """Whether a decorator is a compiler, with arguments or without, or a partial of
    one.
    """
    if isinstance(node, ast.Call):
        return any(_compiles(names, inner) for inner in (node.func, *node.args[:1]))
    called = names.stands_for(node)
    return called.package in FRAMEWORKS and called.names[-1] in COMPILERS


def _is_new(names: FileNames, call: ast.Call, new: set[str]) -> bool:
    """Whether a call compiles what is another object in each call. new: names that the
    function gives to such objects.
    """
    if not call.args or not _compiles(names, call.func):
        return False
    is_new = names.stands_for(call.func).package == "tensorflow"
    return is_new or _gives_new(names, call.args[0], new)


def _gives_new(names: FileNames, node: ast.expr, new: set[str]) -> bool:
    """Whether an expression gives another function in each call: a lambda, a partial or
    a gradient, a method bound to its object.
    """
    if isinstance(node, ast.Call):
        return names.called(node).package in _MAKING
    if isinstance(node, ast.Attribute):
        return not names.stands_for(node).path and node.attr in names.methods
    named = isinstance(node, ast.Name) and node.id in new
    return named or isinstance(node, ast.Lambda)


def _name_of(node: ast.expr | Function) -> str:
    """As a trace names what is compiled; "" for what no source tells."""
    if isinstance(node, Function):
        return node.name
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Lambda):
        return _LAMBDA
    return node.id if isinstance(node, ast.Name) else ""


def _is_called_in_a_loop(function: Function, making: _Making) -> bool:
    whole = ast.Module([function], [])
    return any(
        isinstance(call.func, ast.Name) and call.func.id == making.name
        for loop in loops(whole)
        for call in calls_in(loop)
    )


# What to do instead.


def _made(parsed: ParsedFile, function: Function, making: _Making) -> MadeAnew:
    around = signature(function)
    reads = _reads(function, making)
    own = set(around.head.partition("(")[2].split(", ")[:1]) if around.is_method else ()
    others = tuple(sorted(reads.difference(own)))
    node = making.node if making.call is None else making.call
    return MadeAnew(
        file=parsed.file,
        line=node.lineno,
        compiled=_name_of(making.node),
        by="" if making.call is None else ast.unparse(making.call.func),
        around=around,
        before=f"{around.head}\n{_indented(_as_it_is(making))}",
        once=_once(making, around, others, is_of_self=bool(reads.intersection(own))),
        reads=others,
    )


def _reads(function: Function, making: _Making) -> set[str]:
    """Variables of the function that what is compiled reads."""
    node = making.node
    outside = {argument.arg for argument in _arguments(function)}
    outside |= {
        inner.id
        for inner in own_nodes(function)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    }
    inside = arguments_in(node) | (stored_in(node) if _defines(node) else set())
    read = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return (read & outside) - inside - {making.name}


def _arguments(function: Function) -> list[ast.arg]:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return named + [rest for rest in (given.vararg, given.kwarg) if rest is not None]


def _defines(node: ast.expr | Function) -> bool:
    return isinstance(node, Function | ast.Lambda)


def _as_it_is(making: _Making) -> str:
    if isinstance(making.node, Function):
        by = "".join(f"@{ast.unparse(by)}\n" for by in making.node.decorator_list)
        return f"{by}{signature(making.node).head} ..."
    text = "" if making.call is None else ast.unparse(making.call)
    return f"{making.name} = {text}" if making.name else f"{text}(...)"


def _once(
    making: _Making, around: Signature, reads: tuple[str, ...], *, is_of_self: bool
) -> str:
    name = making.name or _UNNAMED
    where = "in __init__" if is_of_self else f"outside of {around.name}"
    note = f"# once, {where}"
    if reads:
        note += f"; {', '.join(reads)} as arguments"
    if isinstance(making.node, Function):
        by = "".join(f"@{ast.unparse(by)}\n" for by in making.node.decorator_list)
        head, _, rest = signature(making.node).head.partition("(")
        given = ", ".join(filter(None, (rest.rpartition(")")[0], *reads)))
        code = f"{by}{head}({given}): ..."
        return f"{note}\n{code}" + (f"\nself.{name} = {name}" if is_of_self else "")
    if making.call is None:
        return note
    compiled = ast.unparse(making.call.func)
    owner = "self." if is_of_self else ""
    code = f"{owner}{name} = {compiled}({_with_arguments(making.node, reads)}"
    options = [ast.unparse(option) for option in making.call.args[1:]]
    options += [
        f"{option.arg}={ast.unparse(option.value)}" for option in making.call.keywords
    ]
    return f"{note}\n{', '.join([code, *options])})"


def _with_arguments(node: ast.expr | Function, reads: tuple[str, ...]) -> str:
    """What is compiled, with more arguments: of a lambda before its own, which may have
    defaults, of a partial in place of what it holds.
    """
    text = ast.unparse(node)
    if not reads:
        return text
    if isinstance(node, ast.Lambda):
        given = ", ".join(filter(None, (*reads, ast.unparse(node.args))))
        return f"lambda {given}: {ast.unparse(node.body)}"
    if isinstance(node, ast.Call) and node.args and _is_partial(node):
        return ast.unparse(node.args[0])
    return text


def _is_partial(call: ast.Call) -> bool:
    return ast.unparse(call.func).rpartition(".")[2] == "partial"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
