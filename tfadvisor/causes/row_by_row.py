"""Loops that call what is compiled for one row after another, by the program's source:
no call needs what another gave, so that one call could compute all.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import msgspec

from tfadvisor.causes.called import last_name
from tfadvisor.causes.loop_data import (
    bindings_in,
    feeds_itself,
    loops_around,
    may_feed,
    names_in,
)
from tfadvisor.causes.loop_elements import elements, leaves_out
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import Loop
from tfadvisor.causes.witness import head_of, with_aliases


class RowByRow(msgspec.Struct, frozen=True):
    """A call in such a loop."""

    line: int
    """Of the call."""
    head: str
    """Of the loop: `for x, y in zip(xs, ys)`."""
    called: str
    """As the program calls it: `predict`."""
    axes: str
    """Of its arguments, for jax.vmap: `(None, 0)`."""
    arguments: str
    """Of the one call, which gets all rows: `model, xs`."""


def row_by_row(parsed: ParsedFile, compiled: str) -> RowByRow | None:
    """The first loop of a file that calls this compiled function in such a way; None
    where none does, or one calls it otherwise: the steps may be those calls.
    """
    names = with_aliases(parsed.tree, frozenset({compiled}))
    found = [
        None if _is_needed(loop, call) else _in_loop(loop, call)
        for loop, calls in loops_around(parsed.tree, names)
        for call in calls
    ]
    return found[0] if found and all(found) else None


def _is_needed(loop: Loop, call: ast.Call) -> bool:
    """Whether a later round may need what the call gives."""
    return feeds_itself(loop, [call]) or may_feed(loop, [call], [call])


def _in_loop(loop: Loop, call: ast.Call) -> RowByRow | None:
    """None where it is not known which of the call's arguments are rows, and of what:
    the rest must be the same in each round.
    """
    over = _over(loop)
    if not over or call.keywords:
        return None
    bound = set[str]().union(*(binding.written for binding in bindings_in(loop)))
    axes, arguments = [], []
    for argument in call.args:
        rows = _rows(argument, over)
        if rows is None and names_in(argument) & (bound | set(over)):
            return None
        axes.append("None" if rows is None else "0")
        arguments.append(ast.unparse(argument) if rows is None else rows)
    if "0" not in axes:
        return None
    return RowByRow(
        line=call.lineno,
        head=head_of(loop),
        called=ast.unparse(call.func) or last_name(call),
        axes=f"({', '.join(axes)}{',' if len(axes) == 1 else ''})",
        arguments=", ".join(arguments),
    )


def _over(loop: Loop) -> dict[str, str]:
    """What each variable of the loop's head goes over: `x` -> `xs`; `i` -> "" for a
    count from 0. Empty where that is not known.
    """
    heads: Sequence[ast.For | ast.comprehension] = (
        [loop] if isinstance(loop, ast.For) else getattr(loop, "generators", ())
    )
    if len(heads) != 1 or leaves_out(heads[0].iter):
        return {}
    return dict(elements(heads[0].target, heads[0].iter))


def _rows(argument: ast.expr, over: dict[str, str]) -> str | None:
    """All rows of which an argument is one: of `x`, or of `xs[i]`, `xs`."""
    if isinstance(argument, ast.Name):
        return over.get(argument.id) or None
    if not isinstance(argument, ast.Subscript):
        return None
    index = argument.slice
    is_counted = isinstance(index, ast.Name) and over.get(index.id) == ""
    if is_counted and isinstance(argument.value, ast.Name | ast.Attribute):
        return ast.unparse(argument.value)
    return None
