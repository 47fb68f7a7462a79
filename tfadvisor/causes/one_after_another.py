"""Functions that play or compute one thing after another, each by many calls of what is
compiled, by the program's source.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tfadvisor.causes.called import last_name
from tfadvisor.causes.compiled_names import HostCalls
from tfadvisor.causes.loop_data import feeds_itself, may_feed
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import Function, Loop, calls_in, own_nodes
from tfadvisor.causes.witness import head_of


class OneAfterAnother(NamedTuple):
    """Two loops, one within the other."""

    outer: str
    """Over the things: `for _ in range(episodes)`."""
    inner: str
    """Over what each takes: `while not over`."""
    called: str
    """What is compiled, and called in each of its rounds: `get_actions`."""
    call: str
    """As the program writes it: `get_actions(params, obs)`."""


def one_after_another(
    parsed: ParsedFile, name: str, host: HostCalls
) -> OneAfterAnother | None:
    """Of a function of a file. None unless a loop in it holds another, or calls a
    function of the file that does nothing without one, in which each call of what is
    compiled is given what came of the call before.
    """
    function = parsed.names.functions.get(name)
    for outer in () if function is None else _loops_in(function):
        if not isinstance(outer, ast.For):
            continue
        for inner in _inner(parsed, outer):
            for call in calls_in(inner):
                if host.is_compiled(last_name(call)) and _needs_itself(inner, call):
                    return _described(outer, inner, call)
    return None


def _needs_itself(loop: Loop, call: ast.Call) -> bool:
    return feeds_itself(loop, [call]) or may_feed(loop, [call], [call])


def _loops_in(node: ast.AST) -> Iterator[Loop]:
    for inner in own_nodes(node):
        if isinstance(inner, Loop):
            yield inner


def _inner(parsed: ParsedFile, outer: Loop) -> Iterator[Loop]:
    yield from _loops_in(outer)
    for call in calls_in(outer):
        called: Function | None = parsed.names.functions.get(last_name(call))
        if called is not None:
            yield from _loops_in(called)


def _described(outer: Loop, inner: Loop, call: ast.Call) -> OneAfterAnother:
    return OneAfterAnother(
        head_of(outer), head_of(inner), last_name(call), ast.unparse(call)
    )
