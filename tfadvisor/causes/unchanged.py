"""Which arguments of a compiled function the program's loop gives it unchanged in each
round, by the program's own lines.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

from tfadvisor.causes.called import functions_in, last_name
from tfadvisor.causes.loop_data import Loop, names_in
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.witness import functions_around, own_nodes, with_aliases

_DEEPEST = 4
"""Calls from the loop to the compiled function."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_Inside = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Unchanged(msgspec.Struct, frozen=True):
    """What the loops that call a function give it unchanged."""

    names: frozenset[str]
    """Of its arguments."""
    file: str
    """Of the first of these loops."""
    line: int


class _Site(msgspec.Struct, frozen=True):
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
    program = _Program(files)
    defined = program.definition(function)
    if defined is None:
        return None
    sites = program.sites(function)
    loops = [program.loop_of(site) for site in sites]
    known = [loop for loop in loops if loop is not None]
    if not sites or len(known) < len(loops):
        return None
    same = frozenset(
        name
        for name in names
        if all(program.gets_same(site, defined, name) for site in sites)
    )
    parsed, loop = known[0]
    return Unchanged(same, parsed.file, loop.lineno)


class _Program:
    """The files, with where their functions are called."""

    def __init__(self, files: Sequence[ParsedFile]) -> None:
        self._files = files
        self._sites: dict[str, list[_Site]] = {}

    def definition(self, name: str) -> _Function | None:
        """None where none of the files, or several, define it."""
        found = [
            function
            for parsed in self._files
            for function in functions_in(parsed.tree)
            if function.name == name
        ]
        return found[0] if len(found) == 1 else None

    def sites(self, name: str) -> list[_Site]:
        """Its calls, by this name or one that is given to what is made of it."""
        if name not in self._sites:
            self._sites[name] = [
                _site(parsed, call)
                for parsed in self._files
                for call in _calls(parsed.tree, name)
            ]
        return self._sites[name]

    def loop_of(self, site: _Site, depth: int = 0) -> tuple[ParsedFile, Loop] | None:
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
        self, site: _Site, function: _Function, name: str, depth: int = 0
    ) -> bool:
        """Whether a call gives a function the same in each round for an argument."""
        value = _given(site.call, function, name)
        return value is not None and self._is_same(value, site, depth)

    def _is_same(self, value: ast.expr, site: _Site, depth: int) -> bool:
        if isinstance(value, ast.Constant):
            return True
        if isinstance(value, ast.Tuple | ast.List):
            return all(self._is_same(part, site, depth) for part in value.elts)
        if isinstance(value, ast.Name):
            return self._is_same_name(value.id, site, depth)
        if isinstance(value, ast.Attribute):
            is_kept = not self._is_written(value.attr)
            return is_kept and self._is_same(value.value, site, depth)
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            return self._is_same(value.value, site, depth)
        return False

    def _is_same_name(self, name: str, site: _Site, depth: int) -> bool:
        if name in site.bound or name in self._set_by_functions:
            return False
        if site.loop is not None:
            return not _may_change(name, site.loop)
        if site.function is None or depth == _DEEPEST:
            return False
        if name not in _parameters(site.function):
            return self._is_global(name, site)
        if _may_change(name, site.function):
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

    def _is_global(self, name: str, site: _Site) -> bool:
        """Whether a name of the module is written once, outside of all loops and
        functions.
        """
        nodes = list(own_nodes(site.parsed.tree))
        writing = [node for node in nodes if _writes(name, node)]
        others = [node for node in ast.walk(site.parsed.tree) if _writes(name, node)]
        loops = [node for node in nodes if isinstance(node, ast.For | ast.While)]
        in_loops = any(_may_change(name, loop) for loop in loops)
        return len(writing) == len(others) == 1 and not in_loops

    @cached_property
    def _set_by_functions(self) -> frozenset[str]:
        """Names that functions declare as those of their module or outer function."""
        found: set[str] = set()
        for parsed in self._files:
            for node in ast.walk(parsed.tree):
                if isinstance(node, ast.Global | ast.Nonlocal):
                    found |= set(node.names)
        return frozenset(found)

    def _is_written(self, attribute: str) -> bool:
        """Whether an attribute of this name is set, or what it stands for changed,
        elsewhere than where its object is made.
        """
        for parsed in self._files:
            making = [
                function
                for function in functions_in(parsed.tree)
                if function.name in ("__init__", "__post_init__", "setup")
            ]
            inside = [range(f.lineno, (f.end_lineno or f.lineno) + 1) for f in making]
            for node in ast.walk(parsed.tree):
                line = getattr(node, "lineno", 0)
                is_made = any(line in lines for lines in inside)
                if not is_made and _sets_attribute(attribute, node):
                    return True
        return False


def _calls(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    names = with_aliases(tree, frozenset({name}))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and last_name(node) in names:
            yield node


def _site(parsed: ParsedFile, call: ast.Call) -> _Site:
    around = functions_around(parsed.tree, call.lineno)
    function = around[-1] if around else None
    nodes = list(own_nodes(function or parsed.tree))
    loops = [
        node
        for node in nodes
        if isinstance(node, ast.For | ast.While) and _is_in_body(node, call)
    ]
    inner = [node for node in nodes if _holds(node, call)]
    bound = frozenset[str]().union(*map(_bound_by, inner))
    innermost = max(loops, key=lambda loop: loop.lineno, default=None)
    return _Site(parsed, call, function, innermost, bound)


def _bound_by(node: ast.AST) -> set[str]:
    """Names that a comprehension or a lambda binds; nothing for other nodes."""
    if isinstance(node, ast.Lambda):
        return {argument.arg for argument in node.args.args}
    if isinstance(node, _Inside):
        return set[str]().union(*(names_in(each.target) for each in node.generators))
    return set()


def _is_in_body(loop: Loop, call: ast.Call) -> bool:
    """Whether each round comes to it; what a `for` goes over is made once."""
    repeated = loop.body if isinstance(loop, ast.For) else [loop.test, *loop.body]
    return any(_holds(node, call) for node in repeated)


def _holds(outer: ast.AST, inner: ast.AST) -> bool:
    return any(node is inner for node in ast.walk(outer))


def _parameters(function: _Function) -> list[str]:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [argument.arg for argument in every]


def _given(call: ast.Call, function: _Function, name: str) -> ast.expr | None:
    """What a call gives for an argument, its default included; None where that cannot
    be seen.
    """
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    is_plain = all(keyword.arg is not None for keyword in call.keywords)
    positional = [*function.args.posonlyargs, *function.args.args]
    names = [argument.arg for argument in positional]
    is_method = names[:1] == ["self"] and isinstance(call.func, ast.Attribute)
    if name in names:
        place = names.index(name) - int(is_method)
        if 0 <= place < len(call.args):
            before = call.args[: place + 1]
            starred = any(isinstance(value, ast.Starred) for value in before)
            return None if starred else call.args[place]
    return _default(function).get(name) if is_plain and not _stars(call) else None


def _stars(call: ast.Call) -> bool:
    return any(isinstance(value, ast.Starred) for value in call.args)


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


def _may_change(name: str, inside: ast.AST) -> bool:
    """Whether anything there, in functions that it defines too, may give a name another
    value, or change what it stands for in place.
    """
    return any(_writes(name, node) or _changes(name, node) for node in ast.walk(inside))


def _writes(name: str, node: ast.AST) -> bool:
    """Whether a node binds a name; nothing of a function's own parameters."""
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Store | ast.Del)
    if isinstance(node, ast.ExceptHandler):
        return node.name == name
    if isinstance(node, ast.alias):
        return (node.asname or node.name.partition(".")[0]) == name
    return isinstance(node, _SCOPES) and getattr(node, "name", "") == name


def _sets_attribute(attribute: str, node: ast.AST) -> bool:
    """As _writes and _changes, of an attribute of any object."""
    if isinstance(node, ast.Attribute) and node.attr == attribute:
        return isinstance(node.ctx, ast.Store | ast.Del)
    return any(_changes(name, node) for name in _attributes(attribute, node))


def _attributes(attribute: str, node: ast.AST) -> set[str]:
    """How an attribute is written in an expression: `self.rows`."""
    return {name for name in names_in(node) if name.endswith(f".{attribute}")}


_READING = frozenset(
    "append print info log write add_scalar debug format scalar "
    "block_until_ready".split()
)
"""Functions that change none of their arguments."""


def _changes(name: str, node: ast.AST) -> bool:
    """Whether it sets a part of what a name stands for, calls one of its methods for
    its effect, or gives it to a function of which nothing is kept, as a shuffle.
    """
    if isinstance(node, ast.Subscript | ast.Attribute):
        is_stored = isinstance(node.ctx, ast.Store | ast.Del)
        return is_stored and name in names_in(node.value)
    if isinstance(node, ast.Call):
        touched = [each.value for each in node.keywords if each.arg == "out"]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        touched = _touched_for_its_effect(node.value)
    else:
        return False
    return any(name in names_in(value) for value in touched)


def _touched_for_its_effect(call: ast.Call) -> list[ast.expr]:
    """By a call of which nothing is kept: its object, and what it is given."""
    touched: list[ast.expr] = []
    if isinstance(call.func, ast.Attribute):
        touched.append(call.func.value)
    if last_name(call) not in _READING:
        touched += [*call.args, *(keyword.value for keyword in call.keywords)]
    return touched
