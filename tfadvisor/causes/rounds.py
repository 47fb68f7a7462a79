"""Loops of the program in which a round needs nothing but the one before: Python drives
what a compiled loop could do in one call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

import msgspec

from tfadvisor.causes.called import (
    CHANGING,
    COMPUTING,
    KEEPING,
    NOT_TRACED,
    READING,
    TRACED,
    TRACED_METHODS,
    WAITING,
    last_name,
    owner_of,
    stored_in,
)
from tfadvisor.causes.compiled_names import COMPILERS
from tfadvisor.causes.loop_data import (
    asked_of,
    calls_of,
    feeds_itself,
    loops_around,
    names_in,
)
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import Function, Loop, calls_in, own_nodes
from tfadvisor.causes.witness import made_by_calls, scope_around, with_aliases

_COUNTING = frozenset({"arange", "count", "range", "trange"})
_SHOWN_ROUND = frozenset({"tqdm"})
"""Around what a loop goes over."""
_ON_DEVICE = frozenset({"arange", "split"})
"""What gives an array of JAX of which each round may take its part."""
_READ = READING | WAITING | {"array", "asarray", "item", "tolist"}
"""What may read a value where it is collected."""
_MOST_LINES = 6


class Rounds(msgspec.Struct, frozen=True):
    """A loop that does nothing but its rounds."""

    file: str
    line: int
    """On which it begins."""
    function: str
    """Around it; "" for none."""
    lines: str
    """Its own, without their common indent."""
    collects: bool
    """Whether it keeps or yields something of each round."""


def rounds_of(
    parsed: ParsedFile,
    step: str,
    is_pure: Callable[[Function], bool],
) -> list[Rounds | None]:
    """Each of the innermost loops around a step, by its name in the trace; None for one
    that does more than its rounds. is_pure: whether a function of the file can be
    compiled as it stands.
    """
    tree = parsed.tree
    names = with_aliases(tree, frozenset({step}))
    found = loops_around(tree, names) or loops_around(tree, _callers(parsed, names))
    rounds = (_Reader(parsed, loop, calls, names, is_pure) for loop, calls in found)
    return [each.rounds() if each.does_nothing_else() else None for each in rounds]


def _callers(parsed: ParsedFile, names: frozenset[str]) -> frozenset[str]:
    """Functions of the file that call one of these."""
    functions = parsed.names.functions.items()
    return frozenset(name for name, inside in functions if calls_of(inside, names))


class _Reader:
    """Of one loop."""

    def __init__(
        self,
        parsed: ParsedFile,
        loop: Loop,
        steps: Sequence[ast.Call],
        step: frozenset[str],
        is_pure: Callable[[Function], bool],
    ) -> None:
        """steps: its calls of the step, or of what calls that. step: its names."""
        self._parsed, self._loop, self._steps = parsed, loop, list(steps)
        self._step, self._read = step - parsed.names.functions.keys(), dict[str, bool]()
        self._is_pure, self._names = is_pure, parsed.names
        self._scope = scope_around(parsed.tree, loop.lineno)
        self._stored = stored_in(loop)
        self._kept = list(map(_collected, loop.body))

    def rounds(self) -> Rounds:
        """What is said of it."""
        function = "" if isinstance(self._scope, ast.Module) else self._scope.name
        lines = ast.unparse(self._loop).split("\n")
        more = ["    ..."] if len(lines) > _MOST_LINES else []
        return Rounds(
            self._parsed.file,
            self._loop.lineno,
            function,
            "\n".join([*lines[: _MOST_LINES - len(more)], *more]),
            any(kept is not None for kept in self._kept),
        )

    def does_nothing_else(self) -> bool:
        """Whether a round needs nothing but what the one before gave, its number, and
        what stays the same.
        """
        return (
            self._goes_over_numbers()
            and asked_of(self._loop, self._steps) is None
            and feeds_itself(self._loop, self._steps)
            and not self._loop.orelse
            and all(map(self._is_round, self._loop.body, self._kept))
            and not self._reads_what_it_collects()
        )

    def _goes_over_numbers(self) -> bool:
        loop = self._loop
        if isinstance(loop, ast.While):
            calls = any(isinstance(node, ast.Call) for node in ast.walk(loop.test))
            return isinstance(loop.test, ast.Constant | ast.Compare) and not calls
        over: ast.expr = loop.iter
        while isinstance(over, ast.Call) and last_name(over) in _SHOWN_ROUND:
            over = over.args[0] if over.args else over.func
        if isinstance(over, ast.Name):
            return over.id in self._of_device()
        return isinstance(over, ast.Call) and (
            last_name(over) in _COUNTING or self._is_of_jax(over, _ON_DEVICE)
        )

    def _of_device(self) -> set[str]:
        """Names that keys of JAX, or numbers, bear outside of the loop."""
        given = (
            stored_in(node)
            for node in own_nodes(self._scope)
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and self._is_of_jax(node.value, _ON_DEVICE)
        )
        return set[str]().union(*given) - self._stored

    def _is_of_jax(self, call: ast.Call, names: frozenset[str]) -> bool:
        return self._names.called(call).package == "jax" and last_name(call) in names

    def _is_round(self, statement: ast.stmt, kept: ast.expr | None) -> bool:
        """Whether it computes, or collects."""
        if kept is not None:
            return self._computes(kept, _READ)
        if isinstance(statement, ast.Pass):
            return True
        if isinstance(statement, ast.Expr):
            return isinstance(statement.value, ast.Constant)
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
            targets = [statement.target]
        else:
            return False
        are_names = all(map(_are_names, targets))
        value = statement.value
        return are_names and value is not None and self._computes(value)

    def _computes(self, value: ast.expr, also: frozenset[str] = frozenset()) -> bool:
        """Whether a value is one that a compiled loop can compute. also: called
        besides.
        """
        calls = all(
            last_name(call) in also or self._may_be_compiled(call)
            for call in calls_in(value)
        )
        return calls and not any(map(self._is_part_of_data, ast.walk(value)))

    def _may_be_compiled(self, call: ast.Call) -> bool:
        called, name = self._names.called(call), last_name(call)
        if called.package in TRACED:
            return not NOT_TRACED & {*called.path.split(".")}
        if called.path:
            return False
        if called.is_method:
            is_set = "at" in called.names
            return name in TRACED_METHODS and (is_set or name not in CHANGING)
        if name in self._names.functions:
            return self._may_be_in_a_round(self._names.functions[name])
        return name in COMPUTING or name in self._step or name in self._jitted()

    def _may_be_in_a_round(self, function: Function) -> bool:
        """Whether a function can be compiled as it stands, or calls what is compiled
        and computes besides.
        """
        if function.name not in self._read:
            self._read[function.name] = False  # one that calls itself is none
            self._read[function.name] = self._computes_alone(function)
        return self._read[function.name]

    def _computes_alone(self, function: Function) -> bool:
        if self._is_pure(function):
            return True
        *body, last = function.body
        value = last.value if isinstance(last, ast.Return) else None
        computes = all(self._is_round(statement, None) for statement in body)
        return computes and value is not None and self._computes(value)

    def _jitted(self) -> set[str]:
        """Names of what a compiler gives."""
        return {
            name
            for name, call in made_by_calls(self._parsed.tree)
            if last_name(call) in COMPILERS
        }

    def _is_part_of_data(self, node: ast.AST) -> bool:
        """Whether a round takes its part of what lies outside of the loop: a batch."""
        if not isinstance(node, ast.Subscript):
            return False
        inside = names_in(node.value) & self._stored
        of_round = names_in(node.slice) & self._stored
        is_known = not names_in(node.value) - self._of_device()
        return bool(of_round) and not inside and not is_known

    def _reads_what_it_collects(self) -> bool:
        """Whether a round reads what others have collected."""
        into = set[str]()
        read = set[str]()
        for statement, kept in zip(self._loop.body, self._kept, strict=True):
            if kept is None:
                read |= names_in(statement)
            else:
                read |= names_in(kept)
                into |= _collector(statement)
        return bool(into & read)


def _are_names(target: ast.expr) -> bool:
    return all(
        isinstance(
            node, ast.Name | ast.Tuple | ast.List | ast.Starred | ast.expr_context
        )
        for node in ast.walk(target)
    )


def _collected(statement: ast.stmt) -> ast.expr | None:
    """What a statement keeps of a round, and does nothing else with: `xs.append(x)`,
    `xs[i] = x`, `yield x`; None for others.
    """
    if isinstance(statement, ast.Expr):
        value = statement.value
        if isinstance(value, ast.Yield):
            return value.value
        if isinstance(value, ast.Call) and _is_append(value):
            return value.args[0]
    elif isinstance(statement, ast.Assign):
        (target, *more) = statement.targets
        if isinstance(target, ast.Subscript) and not more:
            return statement.value
    return None


def _is_append(call: ast.Call) -> bool:
    is_one = len(call.args) == 1 and not call.keywords
    return is_one and last_name(call) in KEEPING and owner_of(call) is not None


def _collector(statement: ast.stmt) -> set[str]:
    """The names of what it keeps that in."""
    if isinstance(statement, ast.Assign):
        return set[str]().union(*map(_targets, statement.targets))
    value = statement.value if isinstance(statement, ast.Expr) else None
    owner = owner_of(value) if isinstance(value, ast.Call) else None
    return set[str]() if owner is None else names_in(owner)


def _targets(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Subscript):
        yield from names_in(target.value)
