"""Loops that call what is compiled for one row after another, by the program's source:
no call needs what another gave, so that one call could compute all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tfadvisor.causes.called import last_name
from tfadvisor.causes.loop_data import (
    Loop,
    bindings_in,
    calls_of,
    feeds_itself,
    loops,
    may_feed,
    names_in,
)
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.witness import head_of, with_aliases

_PAIRING = frozenset({"zip"})
_COUNTING = frozenset({"range", "arange"})
_SHOWING = frozenset({"tqdm"})
"""Around what a loop goes over."""


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
    where none does, or one does otherwise.
    """
    names = with_aliases(parsed.tree, frozenset({compiled}))
    found = [
        _in_loop(loop, call)
        for loop, call in _innermost(parsed.tree, names)
        if not _is_needed(loop, call)
    ]
    return found[0] if found and all(found) else None


def _innermost(
    tree: ast.Module, names: frozenset[str]
) -> Iterator[tuple[Loop, ast.Call]]:
    seen = set[int]()
    for loop in loops(tree):
        for call in calls_of(loop, names):
            if id(call) not in seen:
                seen.add(id(call))
                yield loop, call


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
    count. Empty where that is not known.
    """
    if isinstance(loop, ast.For):
        return dict(_paired(loop.target, loop.iter))
    generators: Sequence[ast.comprehension] = getattr(loop, "generators", ())
    if len(generators) != 1:
        return {}
    return dict(_paired(generators[0].target, generators[0].iter))


def _paired(target: ast.expr, goes_over: ast.expr) -> Iterable[tuple[str, str]]:
    if isinstance(goes_over, ast.Call):
        return _of_call(target, last_name(goes_over), goes_over.args)
    if isinstance(target, ast.Name) and isinstance(goes_over, ast.Name | ast.Attribute):
        return [(target.id, ast.unparse(goes_over))]
    return ()


def _of_call(
    target: ast.expr, name: str, given: Sequence[ast.expr]
) -> Iterable[tuple[str, str]]:
    """Of `tqdm(xs)`, `enumerate(xs)`, `zip(xs, ys)` and `range(n)`."""
    if name in _COUNTING:
        return _counts(target)
    if name in _SHOWING and given:
        return _paired(target, given[0])
    if not isinstance(target, ast.Tuple):
        return ()
    parts = list[ast.expr](target.elts)
    if name == "enumerate" and given:
        return [*_counts(parts[0]), *_paired(parts[-1], given[0])]
    pairs = zip(parts, given, strict=False) if name in _PAIRING else ()
    return [each for of, rows in pairs for each in _paired(of, rows)]


def _counts(target: ast.expr) -> list[tuple[str, str]]:
    return [(target.id, "")] if isinstance(target, ast.Name) else []


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
