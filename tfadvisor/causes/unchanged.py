"""Which arguments of a compiled function the program's loop gives it unchanged in each
round, by the program's own lines.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

from tfadvisor.causes.called import (
    CHANGING,
    TRACED_METHODS,
    arguments_in,
    declared_outer,
    last_name,
    only_function,
    owner_of,
)
from tfadvisor.causes.definitions import writes
from tfadvisor.causes.loop_data import names_in
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import Loop, functions_in, nodes_in, own_nodes
from tfadvisor.causes.witness import function_around, with_aliases

_DEEPEST = 4
"""Calls from the loop to the compiled function."""
_MOST_SITES = 50
"""Calls of a function; nobody looks at more."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Inside = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Unchanged(msgspec.Struct, frozen=True):
    """What the loops that call a function give it unchanged."""

    names: frozenset[str]
    """Of its arguments."""
    file: str
    """Of the first of these loops."""
    line: int
    is_all: bool
    """Whether all of its arguments are."""


class Site(msgspec.Struct, frozen=True):
    """Where a function is called."""

    parsed: ParsedFile
    call: ast.Call
    function: _Function | None
    """Around it; None outside of all."""
    loop: Loop | None
    """The innermost of that function around it."""
    bound: frozenset[str]
    """Names that comprehensions or lambdas around it bind."""


def unchanged_arguments(
    files: Sequence[ParsedFile], function: str, names: frozenset[str]
) -> Unchanged | None:
    """Of a function that the files define once, those of these arguments that each call
    of it gets unchanged in the rounds of the innermost loop around it. None where they
    do not show its calls, or no loop comes to them.
    """
    try:
        return _unchanged(Program(files), function, names)
    except RecursionError:  # of an expression that no person writes
        return None


def _unchanged(
    program: Program, function: str, names: frozenset[str]
) -> Unchanged | None:
    defined = program.definition(function)
    if defined is None:
        return None
    sites = program.sites(function)
    loops = [program.loop_of(site) for site in sites]
    known = [loop for loop in loops if loop is not None]
    if not sites or len(known) < len(loops):
        return None
    every = names.union(parameters(defined)) - {"self", "cls"}
    same = frozenset(
        name
        for name in every
        if all(program.gets_same(site, defined, name) for site in sites)
    )
    parsed, loop = known[0]
    return Unchanged(same & names, parsed.file, loop.lineno, same == every)


class Program:
    """The files, with where their functions are called."""

    def __init__(self, files: Sequence[ParsedFile]) -> None:
        """files: of the program."""
        self.files = files
        self._sites: dict[str, list[Site]] = {}

    def definition(self, name: str) -> _Function | None:
        """None where none of the files, or several, define it."""
        return only_function([parsed.tree for parsed in self.files], name)

    def sites(self, name: str) -> list[Site]:
        """Its calls, by this name or one that is given to what is made of it; nothing
        where that gives some of its arguments itself.
        """
        if name not in self._sites:
            trees = [parsed.tree for parsed in self.files]
            calls = [
                (parsed, call)
                for parsed in self.files
                for call in _calls(parsed.tree, name)
            ]
            is_seen = not any(_is_bound(tree, name) for tree in trees)
            if len(calls) > _MOST_SITES or not is_seen:
                calls = []
            self._sites[name] = [_site_of(parsed, call) for parsed, call in calls]
        return self._sites[name]

    def loop_of(self, site: Site, depth: int = 0) -> tuple[ParsedFile, Loop] | None:
        """The loop whose rounds come to a call: around it, else around the only calls
        of the function that it is in.
        """
        if site.loop is not None:
            return site.parsed, site.loop
        if site.function is None or depth == _DEEPEST:
            return None
        callers = self.sites(site.function.name)
        loops = [self.loop_of(caller, depth + 1) for caller in callers]
        return None if not loops or None in loops else loops[0]

    def gets_same(
        self, site: Site, function: _Function, name: str, depth: int = 0
    ) -> bool:
        """Whether a call gives a function the same in each round for an argument."""
        called = site.parsed.names.called(site.call)
        is_own = called.names[0] in ("self", "cls") or _is_method(function)
        if called.is_method and not is_own:  # of another object, by the same name
            return False
        value = given_for(site.call, function, name)
        return value is not None and self._is_same(value, site, depth)

    def _is_same(self, value: ast.expr, site: Site, depth: int) -> bool:
        if isinstance(value, ast.Constant):
            return True
        if isinstance(value, ast.Tuple | ast.List):
            return all(self._is_same(part, site, depth) for part in value.elts)
        if isinstance(value, ast.Name):
            return self._is_same_name(value.id, site, depth)
        if isinstance(value, ast.Attribute):
            is_kept = not {value.attr, ""} & self.written
            return is_kept and self._is_same(value.value, site, depth)
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            return self._is_same(value.value, site, depth)
        return False

    def _is_same_name(self, name: str, site: Site, depth: int) -> bool:
        if name in site.bound or self.is_set_by_functions(name):
            return False
        if site.loop is not None:
            return not self.may_change(name, site.loop, site.parsed)
        if site.function is None or depth == _DEEPEST:
            return False
        if name not in parameters(site.function):
            return self.is_global(name, site.parsed)
        if self.may_change(name, site.function, site.parsed):
            return False
        callers = self.sites(site.function.name)
        is_only = self.definition(site.function.name) is site.function
        return (
            bool(callers)
            and is_only
            and all(
                self.gets_same(caller, site.function, name, depth + 1)
                for caller in callers
            )
        )

    def is_global(self, name: str, parsed: ParsedFile) -> bool:
        """Whether a name of the module is written once, outside of all loops and
        functions.
        """
        loops = [
            node
            for node in own_nodes(parsed.tree)
            if isinstance(node, ast.For | ast.While)
        ]
        in_loops = any(self.may_change(name, loop, parsed) for loop in loops)
        return self.is_bound_once(name, parsed) and not in_loops

    def is_bound_once(self, name: str, parsed: ParsedFile) -> bool:
        """Whether the file gives a name a value once, in its module and no loop."""
        nodes = list(own_nodes(parsed.tree))
        writing = [node for node in nodes if writes(name, node)]
        others = [node for node in nodes_in(parsed.tree) if writes(name, node)]
        in_loops = any(
            writes(name, node)
            for loop in nodes
            if isinstance(loop, ast.For | ast.While)
            for node in ast.walk(loop)
        )
        return len(writing) == len(others) == 1 and not in_loops

    def is_set_by_functions(self, name: str) -> bool:
        """Whether a function declares to set a name, or may change in place what it
        stands for outside.
        """
        return name in self._set_by_functions

    def home(self, function: _Function) -> ParsedFile | None:
        """The file that defines it."""
        for parsed in self.files:
            if any(function is found for found in functions_in(parsed.tree)):
                return parsed
        return None

    def may_change(self, name: str, inside: ast.AST, parsed: ParsedFile) -> bool:
        """Whether anything there, in functions that it defines too, may give a name
        another value, or change what it stands for in place. parsed: the file.
        """
        others = _other_names(name, parsed.tree)
        for node in ast.walk(inside):
            if writes(name, node) or _augmented(node) in others:
                return True
            if not others.isdisjoint(self._changed(node)):
                return True
        return False

    def _changed(self, node: ast.AST) -> set[str]:
        """Names whose values it may change in place."""
        touched = _touched(node, self._filling)
        return set[str]().union(*map(names_in, touched))

    @cached_property
    def _functions(self) -> list[_Function]:
        return [
            function for parsed in self.files for function in functions_in(parsed.tree)
        ]

    @cached_property
    def _filling(self) -> frozenset[str]:
        """Functions that may change what they are given."""
        found: set[str] = set()
        for function in self._functions:
            given = arguments_in(function.args)
            for node in own_nodes(function):
                is_kept = isinstance(node, ast.Call)  # as of a model's method
                touched = [] if is_kept else _touched(node, frozenset())
                if any(not given.isdisjoint(names_in(value)) for value in touched):
                    found.add(function.name)
        return frozenset(found)

    @cached_property
    def _set_by_functions(self) -> frozenset[str]:
        """Names of their module or of an outer function that functions declare to set,
        or may change in place.
        """
        found: set[str] = set()
        for function in self._functions:
            own, changed = arguments_in(function.args), set[str]()
            nodes = list(own_nodes(function))
            found |= declared_outer(nodes)
            for node in nodes:
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    own.add(node.id)
                changed |= self._changed(node)
            found |= changed - own
        return frozenset(found)

    @cached_property
    def written(self) -> frozenset[str]:
        """Attributes that are set, or what they stand for changed, elsewhere than where
        their object is made, and those that functions compute. "" for any.
        """
        found = {function.name for function in self._functions}
        for parsed in self.files:
            held = _held_attributes(parsed.tree)
            making = set[int]()
            for function in functions_in(parsed.tree):
                if function.name in ("__init__", "__post_init__", "setup"):
                    last = function.end_lineno or function.lineno
                    making.update(range(function.lineno, last + 1))
            for node in nodes_in(parsed.tree):
                if getattr(node, "lineno", 0) not in making:
                    found |= _set_attributes(node)
                    for value in _touched(node, self._filling):
                        found |= _attributes(value, held)
                    found |= held.get(_augmented(node), set())
        return frozenset(found)


def _is_bound(tree: ast.Module, name: str) -> bool:
    """Whether a `partial` gives a function some of its arguments."""
    for node in nodes_in(tree):
        if isinstance(node, ast.Call) and last_name(node) == "partial":
            given = _given_values(node)
            first, is_more = given[:1], len(given) > 1
            if is_more and isinstance(first[0], ast.Name) and first[0].id == name:
                return True
    return False


def _calls(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    names = with_aliases(tree, frozenset({name}))
    for node in nodes_in(tree):
        if isinstance(node, ast.Call) and last_name(node) in names:
            yield node


def _site_of(parsed: ParsedFile, call: ast.expr) -> Site:
    """Where a call is, or another expression that stands for one."""
    function = function_around(parsed.tree, call.lineno)
    nodes = list(own_nodes(function or parsed.tree))
    loops = [
        node
        for node in nodes
        if isinstance(node, ast.For | ast.While) and _is_in_body(node, call)
    ]
    binding = [node for node in nodes if isinstance(node, _Inside | ast.Lambda)]
    inner = [node for node in binding if _holds(node, call)]
    bound = frozenset[str]().union(*map(_bound_by, inner))
    innermost = max(loops, key=lambda loop: loop.lineno, default=None)
    asked = call if isinstance(call, ast.Call) else ast.Call(call, [], [])
    return Site(parsed, asked, function, innermost, bound)


def _bound_by(node: ast.AST) -> set[str]:
    """Names that a comprehension or a lambda binds; nothing for other nodes."""
    if isinstance(node, ast.Lambda):
        return arguments_in(node.args)
    if isinstance(node, _Inside):
        return set[str]().union(*(names_in(each.target) for each in node.generators))
    return set()


def _is_in_body(loop: Loop, call: ast.expr) -> bool:
    """Whether each round comes to it; what a `for` goes over is made once."""
    repeated = loop.body if isinstance(loop, ast.For) else [loop.test, *loop.body]
    return any(_holds(node, call) for node in repeated)


def _holds(outer: ast.AST, inner: ast.AST) -> bool:
    return any(node is inner for node in ast.walk(outer))


def parameters(function: _Function) -> list[str]:
    """Names of its arguments, `self` included."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [argument.arg for argument in every]


def given_for(call: ast.Call, function: _Function, name: str) -> ast.expr | None:
    """What a call gives for an argument, its default included; None where that cannot
    be seen.
    """
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    is_method = _is_method(function)
    if is_method and not isinstance(call.func, ast.Attribute):
        return None  # of one object, or of the class
    positional = [*function.args.posonlyargs, *function.args.args]
    names = [argument.arg for argument in positional][int(is_method) :]
    place = names.index(name) if name in names else len(call.args)
    if place < len(call.args):
        return None if _stars(call.args[: place + 1]) else call.args[place]
    is_plain = all(keyword.arg is not None for keyword in call.keywords)
    return _default(function).get(name) if is_plain and not _stars(call.args) else None


def _is_method(function: _Function) -> bool:
    return parameters(function)[:1] in (["self"], ["cls"])


def _stars(given: Sequence[ast.expr]) -> bool:
    return any(isinstance(value, ast.Starred) for value in given)


def _default(function: _Function) -> Mapping[str, ast.expr]:
    positional = [*function.args.posonlyargs, *function.args.args]
    names = [argument.arg for argument in positional]
    found = dict(zip(names[::-1], function.args.defaults[::-1], strict=False))
    for argument, value in zip(
        function.args.kwonlyargs, function.args.kw_defaults, strict=True
    ):
        if value is not None:
            found[argument.arg] = value
    return found


# What may change a name's value.


def _augmented(node: ast.AST) -> str:
    """The name that `+=` may change in place; "" for none."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return ""


def _other_names(name: str, tree: ast.Module) -> set[str]:
    """Of what a name stands for or a part of it, as `rows = fixed[:8]` and `for row in
    fixed` give them, with itself.
    """
    found = {name}
    for node in nodes_in(tree):
        if isinstance(node, ast.Assign):
            value, targets = node.value, node.targets
        elif isinstance(node, ast.For):
            value, targets = node.iter, [node.target]
        else:
            continue
        given = _shared(value)
        shared = given.union(*map(_shared, targets))
        if given and name in shared:
            found |= shared
    return found


def _shared(value: ast.expr) -> set[str]:
    """Variables of which it is the value, or a part of it."""
    if isinstance(value, ast.Name):
        return {value.id} - {"self", "cls"}
    if isinstance(value, ast.Attribute | ast.Subscript | ast.Starred):
        return _shared(value.value)
    if isinstance(value, ast.Tuple | ast.List):
        return set[str]().union(*map(_shared, value.elts))
    return set()


def _held_attributes(tree: ast.Module) -> dict[str, set[str]]:
    """By a name, the attributes that it may stand for: `rows = self.fixed`."""
    found: dict[str, set[str]] = {}
    for node in nodes_in(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, set()).add(node.value.attr)
    return found


def _set_attributes(node: ast.AST) -> set[str]:
    """That a node sets; "" for any."""
    if isinstance(node, ast.Attribute):
        return {node.attr} if isinstance(node.ctx, ast.Store | ast.Del) else set()
    if isinstance(node, ast.Call) and last_name(node) in ("setattr", "__setattr__"):
        texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
        return {next((text for text in texts if isinstance(text, str)), "")}
    return set()


def _attributes(value: ast.expr, held: Mapping[str, set[str]]) -> set[str]:
    """In an expression, with those that its names stand for."""
    found: set[str] = set()
    for node in ast.walk(value):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Name):
            found |= held.get(node.id, set())
    return found


_READING = frozenset(
    "append print info log write add_scalar debug format scalar "
    "block_until_ready".split()
)
"""Functions that change none of their arguments."""


_COMPUTING = (TRACED_METHODS - CHANGING) | frozenset(
    "block_until_ready copy count index item numpy tolist".split()
)
"""Methods that leave what they belong to as it is, where their result is kept."""


def _touched(node: ast.AST, filling: frozenset[str]) -> list[ast.expr]:
    """What may be changed in place: of which a part is set, a method called, or what is
    given to a function of which nothing is kept, as a shuffle. filling: functions
    that change what they are given.
    """
    if isinstance(node, ast.Subscript | ast.Attribute):
        return [node.value] if isinstance(node.ctx, ast.Store | ast.Del) else []
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _touched_for_its_effect(node.value)
    if not isinstance(node, ast.Call):
        return []
    touched = [each.value for each in node.keywords if each.arg == "out"]
    owner = owner_of(node)
    if owner is not None and last_name(node) not in _COMPUTING:
        touched.append(owner)
    return touched + (_given_values(node) if last_name(node) in filling else [])


def _touched_for_its_effect(call: ast.Call) -> list[ast.expr]:
    """By a call of which nothing is kept: its object, and what it is given."""
    touched: list[ast.expr] = []
    if isinstance(call.func, ast.Attribute):
        touched.append(call.func.value)
    if last_name(call) not in _READING:
        touched += _given_values(call)
    return touched


def _given_values(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]
