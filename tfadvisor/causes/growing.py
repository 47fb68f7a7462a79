"""Arrays that get longer in each round of a loop of the program, so that what takes
them has another shape each time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import msgspec

from tfadvisor.causes.called import last_name, stored_in
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import Function, Loop, calls_in, covers, own_nodes
from tfadvisor.causes.witness import function_around, head_of
from tfadvisor.causes.wrapped_once import variables_in
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.names.stack_frames import FRAMEWORKS

_JOINING = frozenset("append concat concatenate hstack vstack".split())
_PACKAGES = FRAMEWORKS | {"numpy"}
_AXES = {"vstack": "0", "hstack": "-1"}
_SUMS = ast.Name | ast.Constant | ast.BinOp | ast.operator | ast.Load | ast.UnaryOp
"""Of what an end is computed that counts up; `len(batch)` may stay the same."""
_DEEPEST = 3
"""Calls of the program's functions, one inside of another."""


class Growing(msgspec.Struct, frozen=True):
    """What of a call's arguments is longer in each round of the loop around it."""

    name: str
    """A variable, to which the loop appends; "" for parts of others alone."""
    piece: str
    """What is appended: `frame[:, None]`."""
    axis: str
    parts: tuple[str, ...]
    """`actions[:, :index + 1]`, whose length the loop changes."""
    loop: str
    """`for index in range(9)`."""
    place: str
    """Where it grows: `train.py:9`."""

    @property
    def words(self) -> str:
        """The begin of a sentence."""
        what = [self.name, *self.parts] if self.name else [*self.parts]
        has = "have" if len(what) > 1 else "has"
        round_ = f"each round of `{self.loop}` ({self.place})"
        return f"{' and '.join(what)} {has} another length in {round_}"


def growing_on(
    files: Sequence[ParsedFile], parsed: ParsedFile, line: int
) -> Growing | None:
    """Of what a line reads: in a loop around it, or around calls of its function."""
    function = function_around(parsed.tree, line)
    scope = function or parsed.tree
    stated = [
        node
        for node in own_nodes(scope)
        if isinstance(node, ast.stmt) and covers(node, line)
    ]
    if not stated:
        return None
    read = _reaching(scope, stated[-1])
    for loop in (node for node in stated[::-1] if isinstance(node, Loop)):
        found = _grown(parsed, loop, stated[-1], read)
        if found is not None:
            return found
    return None if function is None else _by_callers(files, function, read, 0)


def _by_callers(
    files: Sequence[ParsedFile], function: Function, read: set[str], depth: int
) -> Growing | None:
    """Of the arguments of a function, as its callers give them."""
    arguments = [argument.arg for argument in function.args.args]
    for parsed, call in _calls_of(files, function.name):
        given = [*_given(arguments, call, read)]
        names = {name for node in given for name in variables_in(node)}
        around = function_around(parsed.tree, call.lineno)
        found = _around(parsed, around or parsed.tree, call, given)
        if found is None and around is not None and depth < _DEEPEST:
            found = _by_callers(files, around, names, depth + 1)
        if found is not None:
            return found
    return None


def _around(
    parsed: ParsedFile, scope: ast.AST, call: ast.Call, given: list[ast.expr]
) -> Growing | None:
    """Of what a call is given, in a loop around it."""
    whole = ast.Tuple(given, ast.Load())
    for loop in own_nodes(scope):
        if isinstance(loop, Loop) and covers(loop, call.lineno):
            found = _grown(parsed, loop, whole, {*variables_in(whole)})
            if found is not None:
                return found
    return None


def _calls_of(
    files: Sequence[ParsedFile], name: str
) -> Iterator[tuple[ParsedFile, ast.Call]]:
    for parsed in files:
        for call in calls_in(parsed.tree):
            if last_name(call) == name:
                yield parsed, call


def _given(arguments: list[str], call: ast.Call, read: set[str]) -> Iterator[ast.expr]:
    """What a call gives as these arguments."""
    if arguments[:1] == ["self"] and isinstance(call.func, ast.Attribute):
        arguments = arguments[1:]
    for name, node in zip(arguments, call.args, strict=False):
        if name in read:
            yield node
    for word in call.keywords:
        if word.arg in read:
            yield word.value


def _reaching(scope: ast.AST, stated: ast.stmt) -> set[str]:
    """Variables that a statement reads, with those of which others of its function make
    these, and those of functions that it names.
    """
    own = [*own_nodes(scope)]
    sources = [
        (stored_in(node), {*variables_in(node.value)})
        for node in own
        if isinstance(node, ast.Assign)
    ]
    sources += [
        ({node.name}, {*variables_in(node)})
        for node in own
        if isinstance(node, Function)
    ]
    found, before = {*variables_in(stated)}, set[str]()
    while found != before:
        before = {*found}
        for written, read in sources:
            found |= read if written & found else set()
    return found


def _grown(
    parsed: ParsedFile, loop: Loop, given: ast.AST, read: set[str]
) -> Growing | None:
    """given: in which parts may stand. read: variables that may grow."""
    parts = tuple(dict.fromkeys(_parts(given, _counted(loop))))
    head, place = head_of(loop), parsed.file
    for node in own_nodes(loop):
        name, joined = _joined(parsed, node)
        if joined is not None and name in read:
            return Growing(
                name=name,
                piece=_piece(joined, name),
                axis=_axis(joined),
                parts=parts,
                loop=head,
                place=place_in_words(place, joined.lineno, ""),
            )
    if not parts:
        return None
    return Growing("", "", "0", parts, head, place_in_words(place, loop.lineno, ""))


def _counted(loop: Loop) -> set[str]:
    """Variables that are another number in each round, as far as they are numbers."""
    if isinstance(loop, ast.For):
        return stored_in(loop.target)
    return {
        node.target.id
        for node in own_nodes(loop)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }


def _joined(parsed: ParsedFile, node: ast.AST) -> tuple[str, ast.Call | None]:
    """(name, call) of `name = concatenate([name, piece])`."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        target, called = node.targets[0], parsed.names.called(node.value)
        is_joining = called.package in _PACKAGES and called.names[-1] in _JOINING
        name = target.id if isinstance(target, ast.Name) else ""
        if is_joining and name in variables_in(node.value):
            return name, node.value
    return "", None


def _piece(joined: ast.Call, name: str) -> str:
    pieces = joined.args[:2] if last_name(joined) == "append" else joined.args[:1]
    flat = [
        inner
        for node in pieces
        for inner in (node.elts if isinstance(node, ast.List | ast.Tuple) else [node])
    ]
    others = [node for node in flat if name not in variables_in(node)]
    return ast.unparse(others[0]) if len(others) == 1 else "new"


def _axis(joined: ast.Call) -> str:
    given = [word.value for word in joined.keywords if word.arg in ("axis", "dim")]
    places = joined.args[2 if last_name(joined) == "append" else 1 :]
    first = next(iter([*given, *places]), None)
    return _AXES.get(last_name(joined), "0") if first is None else ast.unparse(first)


def _parts(given: ast.AST, changing: set[str]) -> Iterator[str]:
    """Slices from a fixed begin to an end that the loop changes."""
    for node in ast.walk(given):
        if isinstance(node, ast.Subscript):
            bounds = (node.slice, *getattr(node.slice, "elts", ()))
            if any(_grows(bound, changing) for bound in bounds):
                yield ast.unparse(node)


def _grows(bound: ast.expr, changing: set[str]) -> bool:
    if not isinstance(bound, ast.Slice) or bound.upper is None:
        return False
    begins = set() if bound.lower is None else {*variables_in(bound.lower)}
    ends = bound.upper
    is_sum = all(isinstance(node, _SUMS) for node in ast.walk(ends))
    return (
        is_sum
        and begins.isdisjoint(changing)
        and bool(changing & {*variables_in(ends)})
    )
