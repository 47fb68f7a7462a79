"""Graphs of TensorFlow 1 that a program builds in each call of a function, or in each
round of a loop, with a session to run them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import msgspec

from tfadvisor.causes.called import last_name
from tfadvisor.causes.compiled_again import CompiledAgain
from tfadvisor.causes.given_anew import (
    Program,
    is_under_a_condition,
    loop_of,
    runs_again,
    where_again,
)
from tfadvisor.causes.made_anew import indented
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import Function, Loop, calls_in, covers
from tfadvisor.causes.witness import head_of, scope_around, signature

_SESSIONS = frozenset({"InteractiveSession", "MonitoredSession", "Session"})
_GRAPHS = frozenset({"Graph", "reset_default_graph"})
_RESTORES = frozenset({"import_meta_graph", "restore"})
_MOST_SHOWN = 4


class _Anew(msgspec.Struct, frozen=True):
    """A function, or a loop, that makes a graph or a session anew."""

    parsed: ParsedFile
    scope: Function | ast.Module
    loop: Loop | None
    calls: tuple[ast.Call, ...]
    """That make them."""


def graph_anew(
    program: Program, file: str, lines: Sequence[int]
) -> CompiledAgain | None:
    """Of the function, or the loop, that makes a graph or a session in each of its
    calls or rounds, and holds a line or is called on one.
    """
    found = [anew for parsed in program.files for anew in _all_anew(program, parsed)]
    for line in lines:
        for anew in found:
            if _is_at(program, anew, file, line):
                return _compiled_again(anew)
    return None


def _all_anew(program: Program, parsed: ParsedFile) -> Iterator[_Anew]:
    by_scope: dict[int, list[ast.Call]] = {}
    scopes: dict[int, tuple[Function | ast.Module, Loop | None]] = {}
    for call in calls_in(parsed.tree):
        is_of_tensorflow = parsed.names.called(call).package == "tensorflow"
        if is_of_tensorflow and last_name(call) in _GRAPHS | _SESSIONS:
            scope = scope_around(parsed.tree, call.lineno)
            loop = loop_of(scope, call)
            is_kept = is_under_a_condition(scope, call)
            if not is_kept and (loop is not None or runs_again(program, scope)):
                key = id(scope if loop is None else loop)
                scopes[key] = scope, loop
                by_scope.setdefault(key, []).append(call)
    for key, calls in by_scope.items():
        in_order = sorted(calls, key=lambda call: (call.lineno, call.col_offset))
        yield _Anew(parsed, *scopes[key], tuple(in_order))


def _is_at(program: Program, anew: _Anew, file: str, line: int) -> bool:
    around = anew.loop or anew.scope
    is_here = anew.parsed.file == file
    if is_here and not isinstance(around, ast.Module) and covers(around, line):
        return True
    return isinstance(anew.scope, Function) and any(
        last_name(call) == anew.scope.name and covers(call, line)
        for parsed in program.files
        if parsed.file == file
        for call in calls_in(parsed.tree)
    )


# In words and code.


def _compiled_again(anew: _Anew) -> CompiledAgain:
    names = {last_name(call) for call in anew.calls}
    own = anew.scope if anew.loop is None else anew.loop
    made = [
        word
        for word, kinds in (("a graph", _GRAPHS), ("a session", _SESSIONS))
        if names & kinds
    ]
    restores = any(last_name(call) in _RESTORES for call in calls_in(own))
    read = ", and reads its weights from a file" if restores else ""
    lines = [ast.unparse(call) for call in anew.calls][:_MOST_SHOWN]
    head = f"{head_of(anew.loop)}:" if anew.loop is not None else ""
    if isinstance(anew.scope, Function) and not head:
        head = signature(anew.scope).head
    return CompiledAgain(
        words=f"{_who(anew)} makes {' and '.join(made)} anew{read}",
        before=f"{head}\n{indented(chr(10).join(lines))}",
        once=_once(anew, restores=restores),
    )


def _who(anew: _Anew) -> str:
    where = where_again(anew.parsed, anew.scope, anew.loop).replace("each", "Each", 1)
    return where if anew.loop is not None else f"{where},"


def _once(anew: _Anew, *, restores: bool) -> str:
    where = "the loop" if anew.loop is not None else "what is called again"
    *_, made = sorted(anew.calls, key=lambda call: last_name(call) in _SESSIONS)
    of = ast.unparse(made.func).removesuffix(last_name(made))
    session = last_name(made) if last_name(made) in _SESSIONS else "Session"
    load = "\n    saver.restore(session, checkpoint)        # once too"
    return (
        f"# once, outside of {where}\n"
        f"graph = {of}Graph()\n"
        "with graph.as_default():\n"
        f"    inputs = {of}placeholder(tf.float32, [None, None, None, 3])  "
        "# None for what differs\n"
        "    outputs = model(inputs)                   # tf.shape for sizes\n"
        f"    session = {of}{session}(graph=graph)"
        f"{load if restores else ''}\n"
        "# and for each call\n"
        "result = session.run(outputs, {inputs: batch})"
    )
