"""Objects of the program's classes that are made again and again."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from tfadvisor.causes.called import last_name, stored_in
from tfadvisor.causes.made_anew import variables
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import calls_in, covers, nodes_in
from tfadvisor.causes.witness import (
    class_of,
    element_loop,
    function_around,
    head_of,
    signature,
)
from tfadvisor.timeline.names.frames import place_in_words

_FIRST = "__init__"


class MadeObject(NamedTuple):
    """A call that makes an object, again and again."""

    call: ast.Call
    where: str
    """`each call of Member (train.py:8), which a loop calls`."""
    changing: set[str]
    """Variables that differ from one object to the next."""


def all_made(
    files: Sequence[ParsedFile], name: str, called_again: frozenset[str]
) -> list[MadeObject]:
    """Where objects of a class are made; empty where one is made once, or kept."""
    found = list[MadeObject]()
    for parsed in files:
        for call in calls_in(parsed.tree):
            if last_name(call) == name:
                made = _made(parsed, call, called_again)
                if made is None:
                    return []
                found.append(made)
    return found


def _made(
    parsed: ParsedFile, call: ast.Call, called_again: frozenset[str]
) -> MadeObject | None:
    if _is_kept(parsed.tree, call):
        return None
    function = function_around(parsed.tree, call.lineno)
    loop = element_loop(parsed.tree, call.lineno)
    local = set[str]() if function is None else variables(function)
    if loop is not None:
        place = place_in_words(parsed.file, call.lineno, "")
        where = f"each round of `{head_of(loop)}` ({place})"
        return MadeObject(call, where, local | stored_in(loop))
    if function is None or function.decorator_list:
        return None
    around = signature(function)
    of = class_of(parsed.tree, function) if around.name == _FIRST else None
    owner = around.name if of is None else of.name
    if owner not in called_again:
        return None
    place = place_in_words(parsed.file, around.line, owner)
    return MadeObject(call, f"each call of {place}, which a loop calls", local)


def _is_kept(tree: ast.Module, call: ast.Call) -> bool:
    """Whether a condition asks first whether there is one."""
    return any(
        isinstance(node, ast.If | ast.IfExp)
        and covers(node, call.lineno)
        and any(
            isinstance(op, ast.NotIn | ast.In | ast.Is | ast.IsNot)
            for test in ast.walk(node.test)
            for op in (test.ops if isinstance(test, ast.Compare) else ())
        )
        for node in nodes_in(tree)
    )
