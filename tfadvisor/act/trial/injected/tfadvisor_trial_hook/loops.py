"""A program with a call at the head of each round of its loops, and before and behind
each loop.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Number = Callable[[ast.AST, str, list[str], bool], "int | None"]
    """From a loop, its function's name, its targets and whether the function is a
    generator: the loop's number, None for one that is left as it is."""

TICK = "__tfadvisor_tick__"
ENTER = "__tfadvisor_enter__"
LEAVE = "__tfadvisor_leave__"


def with_ticks(tree: ast.Module, number: Number) -> ast.Module:
    """Changes the tree in place; lines stay where they are."""
    _Ticking(number, _knows_numba(tree)).visit(tree)
    return ast.fix_missing_locations(tree)


class _Ticking(ast.NodeTransformer):
    def __init__(self, number: Number, numba: bool) -> None:
        self.number = number
        self.numba = numba
        self.names: list[str] = []
        self.yields = [False]

    def visit_FunctionDef(self, node: Any) -> Any:
        """Numba compiles bytecode and knows nothing of our calls."""
        if self.numba and node.decorator_list:
            return node
        self.names.append(node.name)
        self.yields.append(_yields(node))
        self.generic_visit(node)
        self.yields.pop()
        self.names.pop()
        return node

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_ClassDef = visit_FunctionDef

    def visit_For(self, node: Any) -> Any:
        """`for` and `while` alike."""
        set_by_it = ast.walk(node.target) if isinstance(node, ast.For) else ()
        targets = [one.id for one in set_by_it if isinstance(one, ast.Name)]
        number = self.number(
            node, ".".join(self.names) or "<module>", targets, self.yields[-1]
        )
        self.generic_visit(node)
        if number is None:
            return node
        node.body.insert(0, _call(TICK, number, node))
        return [_call(ENTER, number, node), node, _call(LEAVE, number, node)]

    visit_While = visit_For


def _yields(function: ast.AST) -> bool:
    """Whether it is a generator; functions inside of it do not count."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    return any(
        isinstance(one, (ast.Yield, ast.YieldFrom))
        or (not isinstance(one, inner) and _yields(one))
        for one in ast.iter_child_nodes(function)
    )


def _call(name: str, number: int, where: ast.AST) -> ast.stmt:
    call = ast.Call(
        func=ast.Name(id=name, ctx=ast.Load()),
        args=[ast.Constant(value=number)],
        keywords=[],
    )
    return ast.copy_location(ast.Expr(value=ast.copy_location(call, where)), where)


def _knows_numba(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(
            one.name.split(".")[0] == "numba" for one in node.names
        ):
            return True
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").split(".")[0] == "numba"
        ):
            return True
    return False


def as_script(tree: ast.Module) -> ast.Module:
    """A module that is run as `python train.py` runs it: it has no spec, so that
    processes that it spawns find it by its file.
    """
    place = 1 if tree.body and ast.get_docstring(tree, clean=False) is not None else 0
    while place < len(tree.body):
        one = tree.body[place]
        if not (isinstance(one, ast.ImportFrom) and one.module == "__future__"):
            break
        place += 1
    tree.body[place:place] = ast.parse("__spec__ = __package__ = None").body
    return tree
