"""A compiled function that the program makes in each call of another one. Compilers
know a function by its identity: JAX compiles a lambda, a partial, a bound method or an
inner function again each time that it is made, TensorFlow whatever tf.function is
called on.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tfadvisor.causes.called import (
    FileNames,
    arguments_in,
    called_names,
    declared_outer,
    dotted,
    last_name,
    stored_in,
)
from tfadvisor.causes.compiled_names import COMPILERS
from tfadvisor.causes.loop_data import all_bindings_in
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import (
    COMPREHENSIONS,
    Function,
    Loop,
    asked_once,
    calls_in,
    covers,
    first_line,
    functions_in,
    loops,
    nodes_in,
    own_nodes,
)
from tfadvisor.causes.witness import (
    Signature,
    element_loop,
    functions_around,
    head_of,
    only_calls,
    signature,
)
from tfadvisor.causes.wrapped_once import Wrapped, wrapped_once
from tfadvisor.patterns import pattern
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.names.stack_frames import FRAMEWORKS

_LAMBDA = "<lambda>"
_BOUND_ONCE = frozenset({"staticmethod", "classmethod"})
"""Decorators that leave a function to run in each call."""
_MAKING = FRAMEWORKS | {"functools"}
"""Packages whose calls give another function each time: of `jax.grad`, `partial`."""
_UNNAMED = "compiled"
_THE_LOOP = "the loop"
_MOST_SHOWN = 3
"""Of what one function makes, with its lines."""
BEGINNINGS = frozenset({"__init__", "__post_init__", "setup", "__new__"})
_BY_PLACE = pattern(r"pmap|in_axes|in_shardings|in_specs|input_signature")
"""What says something of each argument in its place, or of all."""


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
    """What it reads that may have another value in another call: variables of the
    function, what a loop around it or another function writes, `self.params`.
    """
    others: tuple[str, ...]
    """What else the function makes and compiles so, in words."""
    loop: str = ""
    """The loop that makes it in each of its rounds, with its place; "" for a function
    that makes it in each of its calls.
    """

    @property
    def words(self) -> str:
        """The begin of a sentence."""
        made = {_LAMBDA: f"{self.by} of a lambda", "": f"what {self.by} gives"}
        what, are, they = made.get(self.compiled, self.compiled), "is", "it reads"
        if self.others:
            *before, last = what, *self.others
            what, are, they = f"{', '.join(before)} and {last}", "are", "they read"
        may_change = f" ({they} {', '.join(self.reads)}, which may change)"
        reads = may_change if self.reads else ""
        return f"{what} {are} made anew in {self._when}{reads}"

    @property
    def _when(self) -> str:
        if self.loop:
            return f"each round of {self.loop}"
        place = place_in_words(self.file, self.around.line, self.around.name)
        return f"each call of {place}, which a loop calls"


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
    None where the line compiles none of that. compiled: the name of what is compiled,
    "" for any: one of those, but of several the line may compile another one.
    but_in_loops: leave out what a loop of the function calls, which may run its steps.
    """
    for function in reversed(functions_around(parsed.tree, line)):
        found = [
            making
            for making in _makings(parsed.names, function)
            if not (but_in_loops and _is_called_in_a_loop(function, making))
        ]
        if any(compiled in ("", _name_of(made.node) or compiled) for made in found):
            is_it = any(_may_compile(function, making, line) for making in found)
            return _all_made(parsed, function, found) if is_it else None
    return None


def made_and_given(parsed: ParsedFile, compiled: str) -> MadeAnew | None:
    """The compiled function of this name that a function of the file makes and gives
    to whoever calls it; None for none.
    """
    for function in functions_in(parsed.tree):
        given = {
            node.value.id
            for node in own_nodes(function)
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Name)
        }
        found = [
            making
            for making in _all_makings(parsed.names, function)
            if making.name in given and compiled in (making.name, _name_of(making.node))
        ]
        if found:
            return _all_made(parsed, function, found)
    return None


def made_in_loop(parsed: ParsedFile, line: int, compiled: str = "") -> MadeAnew | None:
    """What the innermost loop around a line, in its function or in none, makes and
    compiles anew in each of its rounds.
    """
    loop = element_loop(parsed.tree, line)
    if not isinstance(loop, ast.For | ast.While) or not covers(loop, line):
        return None
    rounds = _as_function(loop)
    conditional = {id(node) for node in _under_conditions(loop)}
    found = [
        making
        for making in _makings(parsed.names, rounds)
        if id(making.node) not in conditional
    ]
    is_it = any(_may_compile(rounds, making, line) for making in found)
    if not is_it or all(
        compiled not in ("", _name_of(making.node) or compiled) for making in found
    ):
        return None
    place = place_in_words(parsed.file, loop.lineno, "")
    made, head = _all_made(parsed, rounds, found), head_of(loop)
    return msgspec.structs.replace(
        made,
        before=made.before.replace(made.around.head, f"{head}:", 1),
        loop=f"`{head}` ({place})",
    )


def _as_function(loop: Loop) -> Function:
    """What a loop does in its rounds, as a function without a name of its own."""
    no_arguments = ast.parse("def loop(): pass").body[0]
    assert isinstance(no_arguments, ast.FunctionDef)
    no_arguments.body = [loop]
    no_arguments.name = _THE_LOOP
    return ast.copy_location(no_arguments, loop)


def _under_conditions(loop: Loop) -> Iterator[ast.AST]:
    for node in own_nodes(loop):
        if isinstance(node, ast.If | ast.IfExp | ast.Try):
            yield from ast.walk(node)


def called_again(files: Sequence[ParsedFile]) -> frozenset[str]:
    """Names of functions that a loop of the program calls, or that a function calls
    which is one of these; by another name too.
    """
    inside = {
        name: called_names(function)
        for parsed in files
        for name, function in parsed.names.functions.items()
    }
    for parsed in files:
        for name, function in _other_names(parsed):
            inside.setdefault(name, set()).add(function)
        for name, called in _beginnings(parsed.tree):
            inside.setdefault(name, set()).update(called)
    looping = (loop for parsed in files for loop in _all_loops(parsed.tree))
    found = set[str]().union(*map(called_names, looping))
    left = [*found]
    while left:
        new = inside.get(left.pop(), set()) - found
        found |= new
        left += new
    return frozenset(found)


def _other_names(parsed: ParsedFile) -> Iterator[tuple[str, str]]:
    """(name, the function that it stands for): `draw` of `draw = sample`, and of
    `self.draw = partial(sample, size=4)`, since a call of it is one of the function.
    """
    for node in nodes_in(parsed.tree):
        if not isinstance(node, ast.Assign):
            continue
        given = node.value
        if isinstance(given, ast.Call) and given.args:
            is_partial = parsed.names.called(given).path == "functools.partial"
            given = given.args[0] if is_partial else given
        if isinstance(given, ast.Name | ast.Attribute):
            function = dotted(given)[-1]
            yield from ((dotted(name)[-1], function) for name in node.targets)


def _beginnings(tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    """(name of a class, what is called where an object of it begins)."""
    for node in nodes_in(tree):
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, Function) and inner.name in BEGINNINGS:
                    yield node.name, called_names(inner)


def _all_loops(tree: ast.Module) -> Iterator[ast.AST]:
    yield from loops(tree)
    for node in nodes_in(tree):
        if isinstance(node, COMPREHENSIONS):
            yield node


def _may_compile(function: Function, making: _Making, line: int) -> bool:
    """Whether a line of the function calls what is made, or makes it, or is in it; or
    calls nothing, as its head.
    """
    node = making.call or making.node
    calls = [call for call in calls_in(function) if covers(call, line)]
    is_called = any(
        call.func is making.call or ast.unparse(call.func) == making.name
        for call in calls
    )
    begins = first_line(node) if isinstance(node, Function) else node.lineno
    is_inside = begins <= line <= (node.end_lineno or begins)
    return is_called or is_inside or not calls


# What is made.


def _makings(names: FileNames, function: Function) -> Iterator[_Making]:
    """Those of a function that nothing outside of it keeps."""
    if not {*map(ast.unparse, function.decorator_list)} <= _BOUND_ONCE:
        return
    kept_out = declared_outer(own_nodes(function))
    for making in _all_makings(names, function):
        is_kept = making.name in kept_out
        if not is_kept and (not making.name or only_calls(function, making.name)):
            yield making


def _all_makings(names: FileNames, function: Function) -> Iterator[_Making]:
    own = list(own_nodes(function))
    inner = [node for node in own if isinstance(node, Function)]
    new = names_made_new(names, own)
    for node in inner:
        if any(compiles(names, by) for by in node.decorator_list):
            yield _Making(node, None, node.name)
    for name, call in _named_and_called(own):
        if _is_new(names, call, new):
            yield _Making(call.args[0], call, name)


def names_made_new(names: FileNames, own: Sequence[ast.AST]) -> set[str]:
    """What stands for another function each time that these nodes run."""
    new = {node.name for node in own if isinstance(node, Function)}
    for node in own:
        if isinstance(node, ast.Assign) and gives_new(names, node.value, new):
            new |= stored_in(node)
    return new


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


def compiles(names: FileNames, node: ast.expr) -> bool:
    """Whether a decorator is a compiler, with arguments or without, or a partial of
    one.
    """
    if isinstance(node, ast.Call):
        return any(compiles(names, inner) for inner in (node.func, *node.args[:1]))
    called = names.stands_for(node)
    return called.package in FRAMEWORKS and called.names[-1] in COMPILERS


def _is_new(names: FileNames, call: ast.Call, new: set[str]) -> bool:
    """Whether a call compiles what is another object in each call. new: names that the
    function gives to such objects.
    """
    if not call.args or not compiles(names, call.func):
        return False
    is_new = names.stands_for(call.func).package == "tensorflow"
    return is_new or gives_new(names, call.args[0], new)


def gives_new(names: FileNames, node: ast.expr, new: set[str]) -> bool:
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


def _all_made(parsed: ParsedFile, function: Function, found: list[_Making]) -> MadeAnew:
    """As one, with the lines of the first of them."""
    first, *others = [_made(parsed, function, making) for making in found]
    if not others:
        return first
    shown = [first, *others][:_MOST_SHOWN]
    making = (indented(_as_it_is(making)) for making in found[:_MOST_SHOWN])
    return msgspec.structs.replace(
        first,
        others=tuple(dict.fromkeys(map(_in_words, found[1:]))),
        reads=tuple(sorted({name for made in (first, *others) for name in made.reads})),
        before="\n".join([first.around.head, *making]),
        once="\n".join(_but_once(shown)),
    )


def _but_once(shown: Iterable[MadeAnew]) -> Iterator[str]:
    """Their lines, without notes and objects that stand there already."""
    seen = set[str]()
    for line in (line for made in shown for line in made.once.splitlines()):
        if line not in seen or not (line[:1] == "#" or " = " in line):
            yield line
        seen.add(line)


def _in_words(making: _Making) -> str:
    """Its name in a trace, else that of what is made, else what makes it."""
    name = _name_of(making.node)
    if name not in ("", _LAMBDA) or making.call is None:
        return name
    by = ast.unparse(making.call.func)
    return making.name or (f"{by} of a lambda" if name else f"what {by} gives")


def _made(parsed: ParsedFile, function: Function, making: _Making) -> MadeAnew:
    around = signature(function)
    reads = _reads(parsed, function, making)
    own, owner = itself(function), _owner(making.node)
    kept = _made_alike(parsed, function, reads, owner)
    others = tuple(sorted(reads - {own, owner, *kept}))
    with_functions = (
        "" if own in reads else _made_with(parsed, function, making, others)
    )
    if with_functions:
        others = ()
    node = making.node if making.call is None else making.call
    note = f"outside of {around.name}"
    if own in reads:
        note = "in __init__"
    elif owner in reads - kept.keys():
        note = f"for each {owner}, {note}"
    return MadeAnew(
        file=parsed.file,
        line=node.lineno,
        compiled=_name_of(making.node),
        by="" if making.call is None else ast.unparse(making.call.func),
        around=around,
        before=f"{around.head}\n{indented(_as_it_is(making))}",
        once=with_functions
        or _once(making, note, others, [*kept.values()], is_of_self=own in reads)
        or _once_inside(parsed, function, making, note, others),
        reads=others,
        others=(),
    )


def _made_with(
    parsed: ParsedFile, function: Function, making: _Making, reads: tuple[str, ...]
) -> str:
    """How a function made of all that it reads is made once, where that are functions
    which it calls: as an argument each new one would be compiled for. "" for others.
    """
    node = making.node
    if isinstance(node, ast.Name):
        node = parsed.names.functions.get(node.id, node)
    called = {
        call.func.id for call in calls_in(node) if isinstance(call.func, ast.Name)
    }
    if making.call is None or not making.name or not reads or not called >= {*reads}:
        return ""
    given = ", ".join(_made_of(function, {*reads}))
    name, maker = making.name, f"make_{_bare(making.name)}"
    are = "is a function" if len(reads) == 1 else "are functions"
    return (
        f"# once, before the loop: {', '.join(reads)} {are}, each compiled for\n"
        f"def {maker}({given}):\n"
        f"    ...                                # as in {function.name}\n"
        f"    return {ast.unparse(making.call)}\n"
        f"{name} = {maker}({given})\n"
        f"# {function.name} takes {name} as an argument"
    )


def _made_of(function: Function, names: set[str]) -> list[str]:
    """The arguments of a function of which variables in it are made, or which they
    are.
    """
    bound = [*all_bindings_in(function)]
    while True:
        more = set[str]().union(*(each.reads for each in bound if each.written & names))
        roots = {name.partition(".")[0] for name in more}
        if roots <= names:
            break
        names = names | roots
    return [each.arg for each in function.args.args if each.arg in names]


def _owner(node: ast.AST) -> str:
    """`env` of `env.step`; "" for what is no method of a variable."""
    held = node.value if isinstance(node, ast.Attribute) else None
    return held.id if isinstance(held, ast.Name) else ""


def _made_alike(
    parsed: ParsedFile, function: Function, reads: set[str], owner: str
) -> dict[str, str]:
    """Variables among those that are read which each call of the function makes alike,
    so that they can be made once as well, with the lines: objects of classes of the
    file, and what holds the method that is compiled.
    """
    changing = variables(function) | _shared(parsed.tree, function)
    classes = parsed.names.defined - parsed.names.functions.keys()
    own = list(own_nodes(function))
    stored = [
        node.id
        for node in own
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return {
        name: f"{name} = {ast.unparse(call)}"
        for name, call in _named_and_called(own)
        if name in reads
        and (name == owner or last_name(call) in classes)
        and stored.count(name) == 1
        and _is_alike(call, changing)
    }


def _is_alike(call: ast.Call, changing: set[str]) -> bool:
    """Whether it is given nothing that changes, nor what another call gives."""
    given = [inner for inner in ast.walk(call) if inner is not call]
    words = {inner.id for inner in given if isinstance(inner, ast.Name)}
    return not words & changing and not any(isinstance(n, ast.Call) for n in given)


def _as_it_is(making: _Making) -> str:
    if isinstance(making.node, Function):
        by = "".join(f"@{ast.unparse(by)}\n" for by in making.node.decorator_list)
        return f"{by}{signature(making.node).head} ..."
    text = "" if making.call is None else ast.unparse(making.call)
    return f"{making.name} = {text}" if making.name else f"{text}(...)"


def _once(
    making: _Making,
    where: str,
    reads: tuple[str, ...],
    before: list[str],
    *,
    is_of_self: bool,
) -> str:
    """where: it is made. before: lines that make what it reads. "" where no text gives
    it so.
    """
    if reads and _BY_PLACE.search(_as_it_is(making)):
        return ""
    code = _once_by_call if making.call is not None else _once_by_decorator
    made = code(making, reads, "self." if is_of_self else "")
    return "\n".join([_note(where, reads), *before, made]) if made else ""


def _note(where: str, reads: tuple[str, ...]) -> str:
    note = f"# once, {where}"
    return f"{note}; {', '.join(reads)} as arguments" if reads else note


def _once_inside(
    parsed: ParsedFile,
    function: Function,
    making: _Making,
    where: str,
    reads: tuple[str, ...],
) -> str:
    """As a function around what is compiled; in words where the compiler says something
    of each argument in its place.
    """
    note, call = _note(where, reads), making.call
    options = [] if call is None else _options(call)
    compiled = "" if call is None else ast.unparse(call.func)
    counting = _BY_PLACE.search(" ".join([compiled, *options]))
    if call is None or counting:
        more = _BY_PLACE.findall(_as_it_is(making))
        counted = f", each with its place in {more[-1]}" if more else ""
        return f"{note}{counted}:\n# {_as_it_is(making).splitlines()[0]}"
    given = _given(function, making)
    body = ast.Call(call.args[0], [ast.Name(name) for name in given], [])
    wrapped = Wrapped(making.name or _UNNAMED, body, given, reads)
    text = wrapped_once(parsed, function, wrapped, compiled, options)
    return f"# once, {where}; what changes as arguments\n{text}"


def _options(call: ast.Call) -> list[str]:
    """What a compiler is given beside what it compiles."""
    named = [f"{word.arg}={ast.unparse(word.value)}" for word in call.keywords]
    return [*map(ast.unparse, call.args[1:]), *named]


def _given(function: Function, making: _Making) -> tuple[str, ...]:
    """The names that a call of what is made is given, where all of it are names; else
    `*arguments`.
    """
    for call in calls_in(function):
        is_it = call.func is making.call or ast.unparse(call.func) == making.name
        if is_it and not call.keywords:
            names = [node.id for node in call.args if isinstance(node, ast.Name)]
            if len({*names}) == len(call.args):
                return tuple(names)
    return ("*arguments",)


def _once_by_decorator(making: _Making, reads: tuple[str, ...], owner: str) -> str:
    if not isinstance(making.node, Function):
        return ""
    by = "".join(f"@{ast.unparse(by)}\n" for by in making.node.decorator_list)
    given = ast.unparse(_with_keywords(making.node.args, reads))
    kept = f"\n{owner}{making.name} = {making.name}" if owner else ""
    return f"{by}def {making.node.name}({given}): ...{kept}"


def _once_by_call(making: _Making, reads: tuple[str, ...], owner: str) -> str:
    given = _with_arguments(making, reads)
    if making.call is None or not given:
        return ""
    compiled = ast.unparse(making.call.func)
    name = making.name or _UNNAMED
    options = _options(making.call)
    return f"{owner}{name} = {compiled}({', '.join([given, *options])})"


def _with_arguments(making: _Making, reads: tuple[str, ...]) -> str:
    """What is compiled, which takes what it reads by name, so that the places of its
    own arguments hold; a partial without what it holds of that. "" for what no text
    gives.
    """
    node = making.node
    if isinstance(node, ast.Lambda) and reads:
        body = _Renamed(reads).visit(copy.deepcopy(node.body))
        return ast.unparse(ast.Lambda(_with_keywords(node.args, reads), body))
    if isinstance(node, ast.Call) and reads:
        return _without(node, reads, ast.unparse(making.call or node))
    return ast.unparse(node)


def _without(partial: ast.Call, reads: tuple[str, ...], whole: str) -> str:
    """What a partial holds, without what is read; "" where the places of other
    arguments would change, or for another call. whole: that compiles it.
    """
    if not partial.args or last_name(partial) != "partial":
        return ""
    held, *values = partial.args
    if not all(_is_one(value, reads) for value in values):
        return ""
    if values and "argnums" in whole:
        return ""
    kept = [given for given in partial.keywords if not _is_one(given.value, reads)]
    return ast.unparse(ast.Call(partial.func, [held], kept) if kept else held)


def _with_keywords(arguments: ast.arguments, reads: tuple[str, ...]) -> ast.arguments:
    """Without types, and with what is read as keywords."""
    given = copy.deepcopy(arguments)
    for argument in ast.walk(given):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    given.kwonlyargs += [ast.arg(_bare(name)) for name in reads]
    given.kw_defaults += [None for _ in reads]
    return given


def _is_one(node: ast.expr, reads: tuple[str, ...]) -> bool:
    names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return bool(names.intersection(reads)) or ast.unparse(node) in reads


def _bare(name: str) -> str:
    """`self.params` -> `params`."""
    return name.rpartition(".")[2]


class _Renamed(ast.NodeTransformer):
    """An expression in which attributes that are read are arguments."""

    def __init__(self, reads: tuple[str, ...]) -> None:
        self._reads = reads

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if ast.unparse(node) in self._reads:
            return ast.Name(node.attr, ast.Load())
        self.generic_visit(node)
        return node


# What it reads.


def _reads(parsed: ParsedFile, function: Function, making: _Making) -> set[str]:
    return read_by(parsed, function, making.node, making.name)


def read_by(
    parsed: ParsedFile, function: Function, node: ast.expr | Function, name: str = ""
) -> set[str]:
    """As of MadeAnew, with `self` itself; of what is compiled, and of the functions of
    the file that it names. name: that the function gives it.
    """
    own, local = itself(function), variables(function)
    shared, attributes = _shared(parsed.tree, function), _written_again(parsed.tree)
    left: list[ast.expr | Function] = [node]
    found, known = set[str](), {name, function.name}
    while left:
        read = left.pop()
        names, of_own = _free(read, own)
        known_here = shared | (local if covers(function, read.lineno) else set())
        found |= names & known_here - {name}
        found |= {f"{own}.{attribute}" for attribute in of_own & attributes}
        new = (names | of_own) & parsed.names.functions.keys() - known
        left += [parsed.names.functions[inner] for inner in new]
        known |= new
    return found


def _free(node: ast.expr | Function, own: str) -> tuple[set[str], set[str]]:
    """(names that it does not bind, attributes of `own`)."""
    defines = isinstance(node, Function | ast.Lambda)
    bound = arguments_in(node) | (stored_in(node) if defines else set())
    names, attributes = set(), set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            names.add(inner.id)
        elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
            attributes |= {inner.attr} if own and inner.value.id == own else set()
    return names - bound, attributes


def itself(function: Function) -> str:
    """`self`; "" in what is no method."""
    first = [*function.args.posonlyargs, *function.args.args][:1]
    return first[0].arg if signature(function).is_method else ""


def variables(function: Function) -> set[str]:
    """Its arguments, and what it writes."""
    return arguments_in(function.args) | _written(own_nodes(function))


def _shared(tree: ast.Module, function: Function) -> frozenset[str]:
    """Variables of the module and of functions around a function that are written in
    their loops, or by other functions.
    """
    around = functions_around(tree, first_line(function))[:-1]
    scopes = (tree, *around)
    return _declared_outer(tree).union(*map(_written_in_loops, scopes))


@asked_once
def _declared_outer(tree: ast.Module) -> frozenset[str]:
    return frozenset(declared_outer(nodes_in(tree)))


@asked_once
def _written_in_loops(scope: Function | ast.Module) -> frozenset[str]:
    """Variables that a function, or a file, writes in its own loops."""
    loops = [node for node in own_nodes(scope) if isinstance(node, Loop)]
    within = (node for loop in loops for node in (loop, *own_nodes(loop)))
    return frozenset(_written(within))


def _written(nodes: Iterable[ast.AST]) -> set[str]:
    return {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


@asked_once
def _written_again(tree: ast.Module) -> set[str]:
    """Attributes that are written elsewhere than where an object begins."""
    begins = {
        id(node)
        for function in functions_in(tree)
        if function.name in BEGINNINGS
        for node in nodes_in(function)
    }
    found = set()
    for node in nodes_in(tree):
        held = node.value if isinstance(node, ast.Subscript) else node
        is_write = isinstance(getattr(node, "ctx", None), ast.Store)
        if is_write and isinstance(held, ast.Attribute) and id(node) not in begins:
            found.add(held.attr)
    return found


def indented(text: str) -> str:
    """As the body of a function."""
    return "\n".join(f"    {line}" for line in text.splitlines())
