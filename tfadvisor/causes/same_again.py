"""Functions of the program that compute the same in each call, by its source: what they
are given and what they read stays as it is, and they do nothing else than compute.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import msgspec

from tfadvisor.causes.called import Function, last_name, owner_of
from tfadvisor.causes.only_computes import OnlyComputes, is_plain
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.unchanged import Site, given_for, parameters, site_of
from tfadvisor.causes.whole_program import WholeProgram
from tfadvisor.causes.witness import covers, function_around, own_nodes, scope_around

_DEEPEST = 4
"""Calls from one that gives an argument to one that says what it is."""
_PROPERTY = "property"
_KEEPS_MEANING = frozenset({_PROPERTY, "staticmethod"})
"""Decorators that change nothing of what a function computes."""


class SameAgain(msgspec.Struct, frozen=True):
    """A call that gives the same each time."""

    call: str
    """As the program writes it: `mel_filters()`."""
    name: str
    """Of what is called."""
    head: str
    """`def mel_filters():`."""
    kind: str
    """`property`, `method` or `function`."""
    is_bare: bool
    """Whether it is given no arguments but its object."""


def same_again(
    files: Sequence[ParsedFile],
    function: tuple[str, int, str],
    caller: tuple[str, int],
) -> SameAgain | None:
    """function: (file, line of it, name). caller: (file, line) of its call. None where
    the files do not show that it gives the same each time.
    """
    try:
        return _SameAgain(WholeProgram(files)).found(function, caller)
    except RecursionError:  # of an expression that no person writes
        return None


class _SameAgain:
    def __init__(self, program: WholeProgram) -> None:
        self._program = program
        self._computing = OnlyComputes(program)

    def found(
        self, where: tuple[str, int, str], caller: tuple[str, int]
    ) -> SameAgain | None:
        """As same_again."""
        file, line, name = where
        defined = self._program.definition(name)
        parsed = self._program.file(file)
        if parsed is None or defined is None:
            return None
        if defined is not function_around(parsed.tree, line):
            return None
        decorators = {ast.unparse(each) for each in defined.decorator_list}
        if decorators - _KEEPS_MEANING or not self._computing.asked(parsed, defined):
            return None
        uses = [*self._uses(defined, caller, is_property=_PROPERTY in decorators)]
        if len(uses) != 1 or not self._is_same_use(uses[0], defined):
            return None
        return _described(defined, uses[0].call, decorators)

    def _uses(
        self, function: Function, caller: tuple[str, int], *, is_property: bool
    ) -> Iterator[Site]:
        """Calls of it that lie on a line; of a property where it is asked for."""
        parsed = self._program.file(caller[0])
        if parsed is None:
            return
        inside = scope_around(parsed.tree, caller[1])
        for node in own_nodes(inside):
            if is_property and isinstance(node, ast.Attribute):
                is_it = node.attr == function.name and isinstance(node.ctx, ast.Load)
            elif isinstance(node, ast.Call) and not is_property:
                is_it = last_name(node) == function.name
            else:
                continue
            if is_it and covers(node, caller[1]):
                yield site_of(parsed, node)

    def _is_same_use(self, site: Site, function: Function) -> bool:
        names = parameters(function)
        is_own = names[:1] == ["self"]
        owner = owner_of(site.call)
        if function.args.vararg or function.args.kwarg:
            return False
        if is_own:
            is_meant = owner is not None and self._is_same_object(owner, site)
        else:
            path = site.parsed.names.called(site.call).path
            is_meant = owner is None or bool(path)
        if not is_meant:
            return False
        return all(
            self._is_same_argument(site, function, name)
            for name in names[int(is_own) :]
        )

    def _is_same_object(self, owner: ast.expr, site: Site) -> bool:
        """Whether a method's object is the same; of what it holds its function says
        more.
        """
        if not isinstance(owner, ast.Name) or owner.id == "self":
            return self._is_same(owner, site)
        function, loop = site.function, self._program.outermost_loop(site)
        if owner.id in site.bound or loop is None:
            return self._is_same(owner, site)
        values = _values_of(owner.id, function or site.parsed.tree)
        is_bound = bool(values) and len(values) == 1
        is_kept = not any(_binds(node, owner.id) for node in ast.walk(loop))
        return is_bound and is_kept and self._program.runs_once(function)

    def _is_same_argument(
        self, site: Site, function: Function, name: str, depth: int = 0
    ) -> bool:
        value = given_for(site.call, function, name)
        return value is not None and self._is_same(value, site, depth)

    # Expressions.

    def _is_same(self, value: ast.expr, site: Site, depth: int = 0) -> bool:
        """Whether it stands for the same, as it was, each time that a call is met."""
        if isinstance(value, ast.Name):
            return self._is_same_name(value.id, site, depth)
        if isinstance(value, ast.Attribute):
            if not self._computing.is_kept(value.attr):
                return False
            return self._is_same(value.value, site, depth)
        if isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Slice):
            parts = [value.value, value.slice]
        elif isinstance(value, ast.Tuple | ast.List):
            parts = value.elts
        elif isinstance(value, ast.BinOp):
            parts = [value.left, value.right]
        elif isinstance(value, ast.UnaryOp):
            parts = [value.operand]
        elif isinstance(value, ast.Call) and last_name(value) == "len":
            parts = value.args
        else:
            return isinstance(value, ast.Constant)
        return all(self._is_same(part, site, depth) for part in parts)

    def _is_same_name(self, name: str, site: Site, depth: int) -> bool:
        program = self._program
        if name in site.bound:
            return False
        function, loop = site.function, program.outermost_loop(site)
        if function is None or not _is_local(name, function):
            return self._computing.is_constant(name, site.parsed)
        is_free = not program.is_set_by_functions(name)
        if not is_free or (loop and program.may_change(name, loop, site.parsed)):
            return False
        if name == "self":
            return program.is_of_one_object(function)
        if name in parameters(function):
            return self._is_given_same(name, site, depth)
        return self._is_made_before(name, site, depth)

    def _is_given_same(self, name: str, site: Site, depth: int) -> bool:
        """Of an argument of the function around a call: by all calls of that."""
        function = site.function
        if function is None or depth == _DEEPEST:
            return False
        if self._program.may_change(name, function, site.parsed):
            return False
        callers = self._program.sites(function.name)
        is_only = self._program.definition(function.name) is function
        return (
            is_only
            and bool(callers)
            and all(
                self._is_same_argument(caller, function, name, depth + 1)
                for caller in callers
            )
        )

    def _is_made_before(self, name: str, site: Site, depth: int) -> bool:
        """Of a variable of the function around a call: by its one binding, in a
        function that runs once, or of what is the same each time.
        """
        values = _values_of(name, site.function) if site.function is not None else []
        if len(values) != 1 or values[0] is None or depth == _DEEPEST:
            return False
        is_once = self._program.outermost_loop(site) is not None
        if is_once and self._program.runs_once(site.function):
            return self._is_plain_at(name, site)
        return self._is_same(values[0], site, depth + 1)

    def _is_plain_at(self, name: str, site: Site) -> bool:
        """Whether a variable is bound once, to what holds its values as they are."""
        values = _values_of(name, site.function or site.parsed.tree)
        if len(values) != 1:
            return False
        value = values[0]
        if value is not None and is_plain(value, site.parsed.names):
            return True
        return not self._computing.has_state


def _is_local(name: str, function: Function) -> bool:
    return name in parameters(function) or bool(_values_of(name, function))


def _values_of(name: str, inside: ast.AST) -> list[ast.expr | None]:
    """What bindings give a name; None for one that is no plain assignment."""
    found: list[ast.expr | None] = []
    plain = set[int]()
    for node in own_nodes(inside):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    plain.add(id(target))
                    found.append(node.value)
        if _binds(node, name) and id(node) not in plain:
            found.append(None)
    return found


def _binds(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Name) or node.id != name:
        return False
    return not isinstance(node.ctx, ast.Load)


def _described(function: Function, call: ast.Call, decorators: set[str]) -> SameAgain:
    is_property = _PROPERTY in decorators
    is_method = parameters(function)[:1] == ["self"]
    kind = _PROPERTY if is_property else "method" if is_method else "function"
    text = ast.unparse(call.func if is_property else call)
    names = ", ".join(ast.unparse(function.args).split(", "))
    head = f"def {function.name}({names}):"
    is_bare = not call.args and not call.keywords and not is_property
    return SameAgain(" ".join(text.split()), function.name, head, kind, is_bare)
