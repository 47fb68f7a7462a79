"""What a loop reads of its step in each round, although the next step does not need it,
by the program's source.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from tfadvisor.causes.called import KEEPING, SHOWING, last_name, owner_of
from tfadvisor.causes.compiled_names import HostCalls
from tfadvisor.causes.loop_data import kept_in, made_by, may_feed, names_in
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import Loop, calls_in, covers, own_nodes
from tfadvisor.causes.witness import scope_around

_READS = frozenset(
    "array asarray block_until_ready bool device_get float int item print "
    "tolist".split()
)
"""What waits for an array that it is given, or belongs to."""
_LONGEST = 100
"""Characters of what is shown."""


class ReadEachRound(msgspec.Struct, frozen=True):
    """A line that reads what a step of the same loop gives."""

    read: str
    """`jax.device_get(loss)`."""
    statement: str
    """`losses.append(jax.device_get(loss))`."""
    kept: str
    """The same without reading, where it only keeps what it reads:
    `losses.append(loss)`; "" for anything else.
    """
    holder: str
    """What keeps it: `losses`; "" for nothing."""


def read_each_round(
    parsed: ParsedFile, line: int, host: HostCalls
) -> ReadEachRound | None:
    """On a line. None where the source does not show that the next round may begin
    without it: where the loop decides by what its steps give, where a step may be given
    it, or what another line reads or what the host makes of it, and where the line does
    not come in each round.
    """
    around = _around(parsed, line)
    if around is None:
        return None
    loop, statement = around
    steps = _steps(loop, host)
    given = made_by(loop, steps)
    reads = (each for each in _reads(statement) if _is_of(each, given, steps))
    read = next(reads, None)
    if read is None or _has_inner(loop, steps):
        return None
    values = made_by(loop, [read])
    if _decides(loop, given | values | kept_in(loop, [read], values)):
        return None
    others = [
        call
        for call in _each_round(loop)
        if not _is_step(call, host) and _is_of(call, given, steps)
    ]
    if any(may_feed(loop, [call], steps) for call in (read, *others)):
        return None
    return _described(statement, read)


def _around(parsed: ParsedFile, line: int) -> tuple[Loop, ast.stmt] | None:
    """The innermost loop around a line in its function and the statement on it, if that
    comes in each round as far as one sees.
    """
    within = [
        node
        for node in own_nodes(scope_around(parsed.tree, line))
        if isinstance(node, ast.stmt) and covers(node, line)
    ]
    loop = next((node for node in within[::-1] if isinstance(node, Loop)), None)
    if loop is None or loop is within[-1]:
        return None
    inside = within[within.index(loop) + 1 :]
    return None if any(map(_is_seldom, inside)) else (loop, inside[-1])


def _is_seldom(node: ast.AST) -> bool:
    """Whether it is a branch that is taken once in N rounds."""
    return isinstance(node, ast.If) and any(
        isinstance(inner, ast.Mod) for inner in ast.walk(node.test)
    )


def _nodes_of_each_round(node: ast.AST) -> Iterator[ast.AST]:
    """What a loop runs in each round itself."""
    for inner in ast.iter_child_nodes(node):
        if not _is_seldom(inner):
            yield inner
            yield from _nodes_of_each_round(inner)


def _each_round(loop: Loop) -> list[ast.Call]:
    return [node for node in _nodes_of_each_round(loop) if isinstance(node, ast.Call)]


def _is_step(call: ast.Call, host: HostCalls) -> bool:
    return last_name(call) not in _READS | SHOWING and host.is_on_devices(call)


def _steps(loop: Loop, host: HostCalls) -> list[ast.Call]:
    return [call for call in _each_round(loop) if _is_step(call, host)]


def _has_inner(loop: Loop, steps: list[ast.Call]) -> bool:
    """Whether a loop inside of it runs steps: it comes to its own lines seldom."""
    asked = set(map(id, steps))
    inner = (node for node in own_nodes(loop) if isinstance(node, Loop))
    return any(id(node) in asked for each in inner for node in ast.walk(each))


def _reads(statement: ast.stmt) -> Iterator[ast.Call]:
    """The calls of a statement that wait for an array, the inner ones before those
    around them.
    """
    found = [call for call in calls_in(statement) if last_name(call) in _READS]
    yield from found[::-1]


def _is_of(call: ast.Call, given: set[str], steps: list[ast.Call]) -> bool:
    """Whether a call reads what a step gives."""
    asked = set(map(id, steps))
    parts = [*call.args, *(keyword.value for keyword in call.keywords)]
    owner = owner_of(call)
    parts += [] if owner is None else [owner]
    return any(
        names_in(part) & given or any(id(node) in asked for node in ast.walk(part))
        for part in parts
    )


def _decides(loop: Loop, given: set[str]) -> bool:
    """Whether the loop asks in each round for what its steps give, to know what to do
    next.
    """
    nodes = [loop, *_nodes_of_each_round(loop)]
    tests = (
        node.test
        for node in nodes
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert)
    )
    return any(names_in(test) & given for test in tests)


def _described(statement: ast.stmt, read: ast.Call) -> ReadEachRound:
    text, words = ast.unparse(statement), ast.unparse(read)
    if len(text) > _LONGEST or isinstance(statement, ast.For | ast.While | ast.With):
        return ReadEachRound(words, words, "", "")
    call = statement.value if isinstance(statement, ast.Expr) else None
    what = read.args[0] if read.args else owner_of(read)
    holder = _keeper_of(call, read)
    if holder is None or what is None:
        return ReadEachRound(words, text, "", "")
    kept = text.replace(words, ast.unparse(what), 1)
    return ReadEachRound(words, text, kept, ast.unparse(holder))


def _keeper_of(call: ast.expr | None, read: ast.Call) -> ast.expr | None:
    """What a call appends it to, that does nothing else."""
    if not isinstance(call, ast.Call) or call.args != [read]:
        return None
    return owner_of(call) if last_name(call) in KEEPING else None
