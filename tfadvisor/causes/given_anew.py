"""Functions of Python that a program makes anew and gives to a compiled function: that
is compiled for each function that it is given, which it knows by identity.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeGuard

import msgspec

from tfadvisor.causes.called import (
    FileNames,
    arguments_in,
    declared_outer,
    dotted,
    last_name,
)
from tfadvisor.causes.compiled_again import CompiledAgain
from tfadvisor.causes.made_anew import compiles, indented, itself, read_by
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import (
    Function,
    Loop,
    calls_in,
    covers,
    functions_in,
    nodes_in,
    own_nodes,
)
from tfadvisor.causes.witness import (
    class_of,
    head_of,
    made_by_calls,
    scope_around,
    signature,
)
from tfadvisor.causes.wrapped_once import Wrapped, variables_in, wrapped_once
from tfadvisor.timeline.names.frames import place_in_words

_LAMBDA = "<lambda>"
_GIVE_FUNCTIONS = frozenset(
    "grad hessian jacfwd jacrev partial value_and_grad vmap".split()
)
"""Of JAX, Equinox and functools: each call gives another function."""
_RUN_EACH_TIME = frozenset({"staticmethod", "classmethod"})
"""Decorators that leave a function to run in each call."""
_DEEPEST = 4
"""Functions that hand it on, one to the next."""
_MOST_SHOWN = 3


class _Compiled(NamedTuple):
    """A function that is compiled."""

    name: str
    by: str
    """The compiler, as it is written."""

    @property
    def is_of_tensorflow(self) -> bool:
        """Whether it takes objects with their attributes."""
        return self.by.rpartition(".")[2] == "function"


class _New(NamedTuple):
    """A function that is made each time."""

    name: str
    """The variable that holds it; "" where it stands in the call."""
    node: ast.expr | Function
    choice: ast.expr | None = None
    """The expression, or the statement's test, that makes it only where an argument of
    the function around is left out.
    """


class _Handed(msgspec.Struct, frozen=True):
    """A call that gives such functions, in one that runs again and again."""

    parsed: ParsedFile
    scope: Function | ast.Module
    loop: Loop | None
    """That makes it in each of its rounds; None for the function that does."""
    call: ast.Call
    new: tuple[_New, ...]

    @property
    def where(self) -> str:
        """In which it is made anew."""
        return where_again(self.parsed, self.scope, self.loop)


def where_again(
    parsed: ParsedFile, scope: Function | ast.Module, loop: Loop | None
) -> str:
    """`each round of …`, or of a function that runs again `each call of …`."""
    if loop is not None:
        place = place_in_words(parsed.file, loop.lineno, "")
        return f"each round of `{head_of(loop)}` ({place})"
    assert isinstance(scope, Function)
    around = signature(scope)
    place = place_in_words(parsed.file, around.line, around.name)
    return f"each call of {place}, which a loop calls"


def is_under_a_condition(
    scope: Function | ast.Module, making: ast.AST, *others: type[ast.AST]
) -> bool:
    """Whether it may be made once, as where none is kept yet. others: statements that
    count as conditions too.
    """
    kinds = (ast.If, ast.IfExp, ast.BoolOp, *others)
    return any(
        isinstance(node, kinds) and any(inner is making for inner in ast.walk(node))
        for node in own_nodes(scope)
    )


class Program(NamedTuple):
    """What is known of all files."""

    files: Sequence[ParsedFile]
    called_again: frozenset[str]


def given_anew(
    program: Program, parsed: ParsedFile, line: int, compiled: str, *, is_whole: bool
) -> CompiledAgain | None:
    """Of a line that calls a compiled function on a function that is made there in each
    call, or that callers give so. compiled: its name in the trace, "" for any.
    is_whole: whether the function around the line can be compiled as it stands.
    """
    known = {
        found.name: found
        for file in program.files
        for found in _compiled_in(file, compiled)
    }
    for call in calls_in(parsed.tree):
        found = known.get(last_name(call)) if covers(call, line) else None
        if found is not None:
            given = [*call.args, *(word.value for word in call.keywords)]
            handed = _handed(program, parsed, call, given)
            if handed is not None:
                return _compiled_again(handed, found, is_whole=is_whole)
    return None


def call_that_gives(
    program: Program, parsed: ParsedFile, function: Function, by: str
) -> str | None:
    """The call of a function that calls its own argument, where callers make that in
    each of their calls, inside of a compiled function: compiled by itself it would be
    compiled for each. by: the compiler. None where it calls none such.
    """
    own = arguments_in(function.args)
    called = [
        call.func
        for call in calls_in(function)
        if isinstance(call.func, ast.Name) and call.func.id in own
    ]
    handed = _handed_on(program, function, called, 1) if called else None
    if handed is None:
        return None
    scope = handed.scope
    of = itself(scope) if isinstance(scope, Function) else ""
    compiled = _Compiled(function.name, by)
    return _wrapped(handed, compiled, _reads(handed), of, _outside(handed))


def _compiled_in(parsed: ParsedFile, compiled: str) -> Iterator[_Compiled]:
    """By the name that calls have for it. compiled: in the trace, "" for any."""
    names = parsed.names
    for function in functions_in(parsed.tree):
        for by in function.decorator_list:
            if compiled in ("", function.name) and compiles(names, by):
                yield _Compiled(function.name, _compiler(names, by))
    for name, call in made_by_calls(parsed.tree):
        if call.args and compiles(names, call.func):
            held = call.args[0]
            is_lambda = isinstance(held, ast.Lambda)
            of = _LAMBDA if is_lambda else dotted(held)[-1]
            if compiled in ("", of):
                yield _Compiled(name, _compiler(names, call.func))


def _compiler(names: FileNames, by: ast.expr) -> str:
    """`jax.jit` of `partial(jax.jit, static_argnums=1)`."""
    while isinstance(by, ast.Call):
        by = by.func if compiles(names, by.func) else by.args[0]
    return ast.unparse(by)


# Who makes what is given.


def _handed(
    program: Program,
    parsed: ParsedFile,
    call: ast.Call,
    given: Sequence[ast.expr],
    depth: int = 0,
) -> _Handed | None:
    """given: arguments of the call that count."""
    scope = scope_around(parsed.tree, call.lineno)
    loop = loop_of(scope, call)
    made = [*_new_of(program, parsed, scope, given)]
    in_rounds = [new for new in made if loop is not None and is_in(loop, new.node)]
    if in_rounds:
        return _Handed(parsed, scope, loop, call, tuple(in_rounds))
    if loop is None and made and runs_again(program, scope):
        return _Handed(parsed, scope, None, call, tuple(made))
    if isinstance(scope, Function) and depth < _DEEPEST:
        return _handed_on(program, scope, given, depth + 1)
    return None


def _handed_on(
    program: Program, scope: Function, given: Sequence[ast.expr], depth: int
) -> _Handed | None:
    """By a caller of a function that gives its own arguments on."""
    written = {name for name, _ in _stored(scope)}
    asked = {name for node in given for name in _names_alone(node)} - written
    for file in program.files:
        for call in calls_in(file.tree):
            if asked and last_name(call) == scope.name:
                values = values_of(scope, call)
                taken = [values[name] for name in values if name in asked]
                found = _handed(program, file, call, taken, depth)
                if found is not None:
                    return found
    return None


def _names_alone(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id


def values_of(function: Function, call: ast.Call) -> dict[str, ast.expr]:
    """What a call gives for each argument, by its name."""
    places = [argument.arg for argument in function.args.args]
    if signature(function).is_method and isinstance(call.func, ast.Attribute):
        del places[0]
    found = dict(zip(places, call.args, strict=False))
    return found | {word.arg: word.value for word in call.keywords if word.arg}


def runs_again(program: Program, scope: Function | ast.Module) -> bool:
    """Whether each of many calls runs a function, which nothing keeps or compiles."""
    return (
        isinstance(scope, Function)
        and scope.name in program.called_again
        and {*map(ast.unparse, scope.decorator_list)} <= _RUN_EACH_TIME
    )


def loop_of(scope: Function | ast.Module, call: ast.AST) -> Loop | None:
    """The innermost loop of a function that holds a node."""
    around = [
        node
        for node in own_nodes(scope)
        if isinstance(node, Loop) and is_in(node, call)
    ]
    return around[-1] if around else None


def is_in(loop: Loop, node: ast.AST) -> bool:
    """Whether each round of a loop comes to a node."""
    return any(inner is node for part in loop.body for inner in ast.walk(part))


# What is made.


def _new_of(
    program: Program,
    parsed: ParsedFile,
    scope: Function | ast.Module,
    given: Sequence[ast.expr],
) -> Iterator[_New]:
    """Those of a call's arguments that its scope makes."""
    held = _held_new(parsed, scope)
    for node in given:
        new = held.get(node.id) if isinstance(node, ast.Name) else None
        if new is None and _gives_function(parsed.names, node):
            new = _New("", node)
        if new is not None and _is_taken(program, scope, new):
            yield new


def _held_new(parsed: ParsedFile, scope: Function | ast.Module) -> dict[str, _New]:
    """By variables that hold nothing else."""
    stored = [*_stored(scope)]
    outer = declared_outer(own_nodes(scope))
    found = dict[str, _New]()
    for name, value in stored:
        others = [other for other, _ in stored if other == name]
        if name not in outer and len(others) == 1:
            new = _held(parsed.names, scope, name, value)
            if new is not None:
                found[name] = new
    return found


def _stored(
    scope: Function | ast.Module,
) -> Iterator[tuple[str, ast.expr | Function | None]]:
    """(variable, what it is given) of each place that writes it; None for what is no
    plain value.
    """
    plain = set[int]()
    for node in own_nodes(scope):
        if isinstance(node, Function):
            yield node.name, node
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                plain.add(id(target))
                yield target.id, node.value
        elif _is_stored(node) and id(node) not in plain:
            yield node.id, None


def _is_stored(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _held(
    names: FileNames,
    scope: Function | ast.Module,
    name: str,
    value: ast.expr | Function | None,
) -> _New | None:
    if isinstance(value, Function):
        return _New(name, value, _test_of(scope, value))
    made = None if value is None else _made_or_chosen(names, value)
    if made is None or value is None:
        return None
    return _New(name, made, value if made is not value else _test_of(scope, value))


def _made_or_chosen(names: FileNames, value: ast.expr) -> ast.expr | None:
    """The function that an expression makes, perhaps beside another choice."""
    choices = [value]
    if isinstance(value, ast.IfExp):
        choices = [value.body, value.orelse]
    elif isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or):
        choices = value.values
    return next((node for node in choices if _gives_function(names, node)), None)


def _gives_function(names: FileNames, node: ast.expr) -> bool:
    if isinstance(node, ast.Lambda):
        return True
    path = names.called(node).path if isinstance(node, ast.Call) else ""
    root, _, last = path.rpartition(".")
    return last in _GIVE_FUNCTIONS and root in ("jax", "functools", "equinox")


def _test_of(scope: Function | ast.Module, value: ast.AST) -> ast.expr | None:
    """Of the condition under which a variable is written."""
    for node in own_nodes(scope):
        is_in_it = any(inner is value for inner in ast.walk(node))
        if isinstance(node, ast.If) and is_in_it:
            return node.test
    return None


def _is_taken(program: Program, scope: Function | ast.Module, new: _New) -> bool:
    """Whether it is made in each call, or some call leaves out the argument in whose
    place it is made.
    """
    if new.choice is None:
        return True
    if isinstance(scope, ast.Module):
        return False
    asked = _asked_by(new) & arguments_in(scope.args)
    return bool(asked) and any(
        last_name(call) == scope.name
        and all(word.arg is not None for word in call.keywords)
        and asked.isdisjoint(values_of(scope, call))
        for file in program.files
        for call in calls_in(file.tree)
    )


def _asked_by(new: _New) -> set[str]:
    """Variables that a choice takes instead, or that a condition asks for."""
    choice = new.choice
    assert choice is not None
    nodes = [choice]
    if isinstance(choice, ast.IfExp):
        nodes = [choice.test, choice.body, choice.orelse]
    elif isinstance(choice, ast.BoolOp):
        nodes = choice.values
    return {
        name for node in nodes if node is not new.node for name in variables_in(node)
    }


# In words and code.


def _compiled_again(
    handed: _Handed, compiled: _Compiled, *, is_whole: bool
) -> CompiledAgain:
    names = [_in_words(new) for new in handed.new]
    *before, last = names
    what = f"{', '.join(before)} and {last}" if before else last
    own = itself(handed.scope) if isinstance(handed.scope, Function) else ""
    reads = _reads(handed)
    other = tuple(sorted(reads - {own}))
    may_change = ""
    if other:
        they = "they read" if before else "it reads"
        may_change = f" ({they} {', '.join(other)}, which may change)"
    of = "functions that" if before else "a function that"
    return CompiledAgain(
        words=f"{what}, {of} {compiled.name} is given and compiled for, "
        f"{'are' if before else 'is'} made anew in {handed.where}{may_change}",
        before=_before(handed),
        once=_once(handed, compiled, reads, own, is_whole=is_whole),
        reads=other,
        of_several=bool(before),
    )


def _in_words(new: _New) -> str:
    if new.name:
        return new.name
    if isinstance(new.node, ast.Lambda):
        return "a lambda"
    assert isinstance(new.node, ast.Call)
    return f"what {ast.unparse(new.node.func)} gives"


def _reads(handed: _Handed) -> set[str]:
    """Of all that is new: what may have another value in another call or round."""
    found, scope, loop = set[str](), handed.scope, handed.loop
    for new in handed.new:
        if isinstance(scope, Function):
            found |= read_by(handed.parsed, scope, new.node, new.name)
        elif loop is not None:
            stored = {
                node.id
                for node in ast.walk(loop)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
            found |= {*variables_in(new.node)} & stored - arguments_in(new.node)
            found -= {new.name}
    return found


def _before(handed: _Handed) -> str:
    made = [_as_it_is(new) for new in handed.new if new.name][:_MOST_SHOWN]
    lines = indented("\n".join([*made, ast.unparse(handed.call)]))
    if handed.loop is not None:
        return f"{head_of(handed.loop)}:\n{lines}"
    assert isinstance(handed.scope, Function)
    return f"{signature(handed.scope).head}\n{lines}"


def _as_it_is(new: _New) -> str:
    if isinstance(new.node, Function):
        return f"{signature(new.node).head} ..."
    is_choice = isinstance(new.choice, ast.IfExp | ast.BoolOp)
    value = new.choice if is_choice and new.choice is not None else new.node
    return f"{new.name} = {ast.unparse(value)}"


def _once(
    handed: _Handed,
    compiled: _Compiled,
    reads: set[str],
    own: str,
    *,
    is_whole: bool,
) -> str:
    outside = _outside(handed)
    if not reads:
        return "\n".join([f"# once, outside of {outside}", *_definitions(handed)])
    if reads == {own} and _has_beginning(handed):
        return "\n".join(["# once, in __init__", *_definitions(handed, f"{own}.")])
    is_whole = is_whole and compiled.is_of_tensorflow
    if is_whole and isinstance(handed.scope, Function):
        head = signature(handed.scope).head
        note = f"# once, around what makes it; {compiled.name} without a compiler"
        return f"{note}\n@{compiled.by}\n{head} ..."
    return _wrapped(handed, compiled, reads, own, outside)


def _outside(handed: _Handed) -> str:
    if handed.loop is not None:
        return "the loop"
    assert isinstance(handed.scope, Function)
    return handed.scope.name


def _has_beginning(handed: _Handed) -> bool:
    """Whether the object's class has an __init__ to make it in."""
    assert isinstance(handed.scope, Function)
    of = class_of(handed.parsed.tree, handed.scope)
    functions = () if of is None else of.body
    return any(isinstance(f, Function) and f.name == "__init__" for f in functions)


def _definitions(handed: _Handed, owner: str = "") -> Iterator[str]:
    """At most so many, and how what chooses takes the first. owner: `self.`."""
    chosen = ""
    for new in handed.new[:_MOST_SHOWN]:
        name = new.name or "given"
        if isinstance(new.node, Function):
            yield f"{signature(new.node).head} ..."
            if owner:
                yield f"{owner}{name} = {name}"
            continue
        kept = f"{owner}{name}"
        if new.choice is not None:
            kept = f"default_{name}"
            chosen = chosen or _choosing(new, kept)
        yield f"{kept} = {ast.unparse(new.node)}"
    if chosen:
        yield f"# and in the function: {chosen}"


def _choosing(new: _New, kept: str) -> str:
    """As it is, of what is made once."""
    if not isinstance(new.choice, ast.IfExp | ast.BoolOp):
        return f"{new.name} = {kept}"
    text = ast.unparse(new.node)
    choice = _Instead(text, kept).visit(copy.deepcopy(new.choice))
    return f"{new.name} = {ast.unparse(choice)}"


class _Instead(ast.NodeTransformer):
    """An expression with a name in place of what makes a function."""

    def __init__(self, text: str, name: str) -> None:
        self._text, self._name = text, name

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and ast.unparse(node) == self._text:
            return ast.Name(self._name, ast.Load())
        self.generic_visit(node)
        return node


def _wrapped(
    handed: _Handed, compiled: _Compiled, reads: set[str], own: str, outside: str
) -> str:
    """The call inside of a compiled function, of what changes as arguments."""
    new = {new.name for new in handed.new}
    is_of_self = bool(own) and own in reads | {dotted(handed.call.func)[0]}
    given = _given(handed, {own, *new})
    options = list[str]()
    if is_of_self:
        given = [own, *given]
        if compiled.is_of_tensorflow:
            reads = {name for name in reads if "." not in name}
        else:
            options = ["static_argnums=0"]
    wrapped = Wrapped(
        name=f"compiled_{compiled.name}",
        call=handed.call,
        given=tuple(given),
        reads=tuple(sorted(reads - {own, *given, *new})),
    )
    scope = _around(handed)
    code = wrapped_once(handed.parsed, scope, wrapped, compiled.by, options)
    return f"# once, outside of {outside}; what changes as arguments\n{code}"


def _around(handed: _Handed) -> Function | ast.Module:
    """Of what lies in no function, the loop alone."""
    if isinstance(handed.scope, Function) or handed.loop is None:
        return handed.scope
    return ast.Module([handed.loop], [])


def _given(handed: _Handed, but: set[str]) -> list[str]:
    """Variables of the function or loop in the call's arguments, but for some."""
    call = handed.call
    local = _local(handed) - arguments_in(call) - but
    values = [*call.args, *(word.value for word in call.keywords)]
    named = [name for node in values for name in variables_in(node)]
    return [name for name in dict.fromkeys(named) if name in local]


def _local(handed: _Handed) -> set[str]:
    """Variables of the function, or of the loop, and its arguments."""
    around = handed.scope if isinstance(handed.scope, Function) else handed.loop
    assert around is not None
    stored = {
        node.id
        for node in nodes_in(around)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return stored | arguments_in(around)
