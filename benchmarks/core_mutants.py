"""The mutants of a module: its source with one small change each, compiled, named by what was changed."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from types import CodeType
from typing import Any

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
UNTOUCHED = {"annotation", "returns", "decorator_list", "format_spec"}
SMALL = 20
"""Whole numbers up to this move by one, all others by a quarter."""


def mutants(source: str, file: str) -> Iterator[tuple[str, CodeType]]:
    """(what is changed and where, the changed module), one change each, in the order of the source."""
    tree = ast.parse(source)
    seen = Counter[str]()
    for name in _changes(tree, "", table=True):
        seen[name] += 1
        ast.fix_missing_locations(tree)
        again = f" ({seen[name]})" if seen[name] > 1 else ""
        yield name + again, compile(tree, file, "exec")


def _changes(node: ast.AST, where: str, *, table: bool) -> Iterator[str]:
    """Makes each change in place, yields its name, and takes it back. table: displays here are tables, not arguments."""
    if isinstance(node, (ast.Assert, ast.Raise, ast.Import, ast.ImportFrom)) or _for_types_only(node):
        return
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        where = f"{where}.{node.name}" if where else node.name
        table = False
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and table:
        where = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    for owner, field, value, *what in _own_changes(node, table):
        before, old = ast.unparse(node), getattr(owner, field)
        setattr(owner, field, value)
        after = ast.unparse(ast.fix_missing_locations(node))
        yield f"{where or 'module'}: {what[0] if what else _difference(before, after)}"
        setattr(owner, field, old)
    for field, value in ast.iter_fields(node):
        if field not in UNTOUCHED:
            for index, child in enumerate(value if isinstance(value, list) else [value]):
                inside = where
                if isinstance(node, ast.Dict) and field == "values" and (key := node.keys[index]) is not None:
                    inside = f"{where}[{ast.unparse(key)}]"
                if isinstance(child, ast.AST):
                    looped = isinstance(node, (ast.For, ast.comprehension)) and field == "iter"
                    within = isinstance(node, (ast.Tuple, ast.List))  # an entry is no table itself
                    yield from _changes(child, inside, table=(table or looped) and not within)


def _for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _own_changes(node: ast.AST, table: bool) -> Iterator[tuple[Any, ...]]:
    """(whose, which field, its new value, what that means where it is not plain) of the changes that this node shows.

    Numbers are shown by what holds them.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Constant) and type(child.value) in (int, float):
            yield from ((child, "value", value) for value in _moved(child.value))  # type: ignore[arg-type]
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            other = COMPARISONS[type(operator)]()
            yield node, "ops", [*node.ops[:index], other, *node.ops[index + 1 :]]
    elif isinstance(node, ast.BoolOp):
        yield node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And()
        for values in _without_one(node.values):
            yield node, "values", values if len(values) > 1 else values * 2
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in ARITHMETIC:
        yield node, "op", ARITHMETIC[type(node.op)]()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
        yield node, "operand", ast.UnaryOp(node.op, node.operand)
    elif isinstance(node, (ast.If, ast.IfExp)):
        yield from ((node, "test", ast.Constant(value)) for value in (True, False))
    elif isinstance(node, ast.comprehension):
        yield from ((node, "ifs", ifs) for ifs in _without_one(node.ifs))
    elif table:
        yield from _shorter(node)


def _shorter(node: ast.AST) -> Iterator[tuple[Any, ...]]:
    """A table without one of its entries: a display, or the words of a text that is split."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and len(node.elts) > 1:
        for entry, elts in zip(node.elts, _without_one(node.elts), strict=True):
            yield node, "elts", elts, f"without {ast.unparse(entry)}"
    elif isinstance(node, ast.Dict):
        pairs = list(zip(node.keys, node.values, strict=True))
        for (key, value), rest in zip(pairs, _without_one(pairs), strict=True):
            changed = {**vars(node), "keys": [one for one, _ in rest], "values": [one for _, one in rest]}
            yield node, "__dict__", changed, f"without {ast.unparse(key or value)}"
    elif isinstance(node, ast.Attribute) and node.attr == "split" and isinstance(node.value, ast.Constant):
        words = str(node.value.value).split()
        for word, rest in zip(words, _without_one(words), strict=True):
            yield node.value, "value", " ".join(rest), f"without {word}"


def _without_one(items: list[Any]) -> Iterator[list[Any]]:
    return (items[:index] + items[index + 1 :] for index in range(len(items)))


def _moved(number: float) -> tuple[float, float]:
    """A little up, a little down."""
    if isinstance(number, int) and number <= SMALL:
        return number + 1, number - 1
    step = number / 4 if number else 0.1
    return (number + int(step), number - int(step)) if isinstance(number, int) else (number + step, number - step)


def _difference(before: str, after: str) -> str:
    """The first lines that differ; of long ones the neighbourhood of the difference."""
    old, new = next(pair for pair in zip(before.split("\n"), after.split("\n"), strict=False) if pair[0] != pair[1])
    start = next((index for index, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    lo = max(start - 40, 0) if len(old) > 120 else 0
    return f"{old[lo : start + 80].strip()} → {new[lo : start + 80].strip()}"
