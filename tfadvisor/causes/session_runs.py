"""Runs of one session of TensorFlow 1 that one round makes with the same feeds, by the
program's source.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tfadvisor.causes.called import Function, calls_in, last_name, owner_of, stored_in
from tfadvisor.causes.loop_data import Loop, names_in
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.witness import covers, function_around, own_nodes, scope_around

_FEEDS = "feed_dict"
_LONGEST = 100
"""Characters of what is shown."""


class SessionRuns(NamedTuple):
    """Several, in one round."""

    lines: tuple[tuple[int, int], ...]
    """First and last line of each, in their order."""
    shown: str
    """The first two, a line each."""
    together: str
    """One run that fetches the same."""


class _Run(NamedTuple):
    call: ast.Call
    statement: ast.stmt
    session: str
    fetched: ast.expr
    feeds: ast.expr


def session_runs(parsed: ParsedFile, line: int) -> SessionRuns | None:
    """Those with the session and the feeds of the run on a line, in the innermost loop
    around it, else in its function. None for less than two, and where what is fed is
    another value from one to the next.
    """
    body = _body_around(parsed, line)
    runs = [] if body is None else [*_runs_in(parsed, body)]
    this = next((run for run in runs if covers(run.call, line)), None)
    if this is None or body is None:
        return None
    alike = [run for run in runs if _key(run) == _key(this)]
    if len(alike) < 2 or _are_written(alike, body, names_in(this.feeds)):
        return None
    return _described(alike)


def _body_around(parsed: ParsedFile, line: int) -> ast.AST | None:
    """The innermost loop of a line's function, else that; None outside of both."""
    scope = scope_around(parsed.tree, line)
    loops = [node for node in own_nodes(scope) if _is_around(node, line)]
    return loops[-1] if loops else function_around(parsed.tree, line)


def _is_around(node: ast.AST, line: int) -> bool:
    return isinstance(node, Loop) and covers(node, line)


def _key(run: _Run) -> tuple[str, str]:
    return run.session, ast.dump(run.feeds)


def _runs_in(parsed: ParsedFile, body: ast.AST) -> Iterator[_Run]:
    for statement in _statements(body):
        for call in calls_in(statement):
            if last_name(call) != "run" or not parsed.names.called(call).is_method:
                continue
            owner, feeds = owner_of(call), _fed(call)
            if owner is not None and feeds is not None:
                session = ast.unparse(owner)
                yield _Run(call, statement, session, call.args[0], feeds)


def _statements(body: ast.AST) -> Iterator[ast.stmt]:
    """Plain ones that come in each round: in no branch, and in no loop inside."""
    for node in getattr(body, "body", ()):
        if isinstance(node, ast.With | ast.Try):
            yield from _statements(node)
        elif not isinstance(node, ast.If | Loop | Function | ast.ClassDef):
            yield node


def _fed(call: ast.Call) -> ast.expr | None:
    words = {word.arg: word.value for word in call.keywords}
    by_place = call.args[1] if len(call.args) > 1 else None
    is_plain = set(words) <= {"fetches", _FEEDS}
    return words.get(_FEEDS, by_place) if is_plain and call.args else None


def _are_written(runs: list[_Run], body: ast.AST, names: set[str]) -> bool:
    """Whether any of these may be another value at a later run; what a call gives
    always is.
    """
    if any(isinstance(node, ast.Call) for node in ast.walk(runs[0].feeds)):
        return True
    first, last = runs[0].call.lineno, runs[-1].call.lineno
    between = (each for each in _statements(body) if first <= each.lineno < last)
    return any(stored_in(statement) & names for statement in between)


def _described(runs: list[_Run]) -> SessionRuns | None:
    lines = tuple(
        (run.call.lineno, run.call.end_lineno or run.call.lineno) for run in runs
    )
    names = [_name(run, number) for number, run in enumerate(runs, 1)]
    fetched = [ast.unparse(run.fetched) for run in runs]
    first = runs[0]
    together = (
        f"{', '.join(names)} = {first.session}.run(\n"
        f"    [{', '.join(fetched)}],\n"
        f"    feed_dict={ast.unparse(first.feeds)})"
    )
    shown = [ast.unparse(run.statement) for run in runs[:2]]
    if any(len(text) > _LONGEST for text in (*shown, *together.splitlines())):
        return None
    return SessionRuns(lines, "\n".join(shown), together)


def _name(run: _Run, number: int) -> str:
    """Of what it gives."""
    statement = run.statement
    if isinstance(statement, ast.Expr) and statement.value is run.call:
        return "_"
    if isinstance(statement, ast.Assign) and statement.value is run.call:
        return ast.unparse(statement.targets[0])
    if isinstance(run.fetched, ast.Name):
        return f"{run.fetched.id}_value"
    return f"value_{number}"
