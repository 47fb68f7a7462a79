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
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def with_ticks(
    tree: ast.Module,
    number: Number,
) -> ast.Module:
    """Changes the tree in place; lines stay where they are."""
    _Ticking(number, _knows_numba(tree)).visit(tree)
    return ast.fix_missing_locations(tree)


class _Ticking(ast.NodeTransformer):
    def __init__(
        self,
        number: Number,
        numba: bool,
    ) -> None:
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
        function = ".".join(self.names) or "<module>"
        number = self.number(
            node,
            function,
            _targets(node),
            self.yields[-1],
        )
        self.generic_visit(node)
        if number is None:
            return node
        node.body.insert(0, _call(TICK, number, node))
        before = _call(ENTER, number, node)
        behind = _call(LEAVE, number, node)
        return [before, node, behind]

    visit_While = visit_For


def _targets(loop: Any) -> list[str]:
    """Names that a loop sets in each round."""
    if not isinstance(loop, ast.For):
        return []
    nodes = ast.walk(loop.target)
    return [node.id for node in nodes if isinstance(node, ast.Name)]


def _yields(function: ast.AST) -> bool:
    """Whether it is a generator; functions inside of it do not count."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, _FUNCTIONS) and _yields(node):
            return True
    return False


def _call(
    name: str,
    number: int,
    where: ast.AST,
) -> ast.stmt:
    function = ast.Name(
        id=name,
        ctx=ast.Load(),
    )
    call = ast.Call(
        func=function,
        args=[ast.Constant(value=number)],
        keywords=[],
    )
    ast.copy_location(call, where)
    return ast.copy_location(ast.Expr(value=call), where)


def _knows_numba(tree: ast.Module) -> bool:
    imported: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported.append(node.module or "")
    return any(module.split(".")[0] == "numba" for module in imported)


def as_script(tree: ast.Module) -> ast.Module:
    """A module that is run as `python train.py` runs it: it has no spec, so that
    processes that it spawns find it by its file.
    """
    place = 0
    if tree.body and ast.get_docstring(tree, clean=False) is not None:
        place = 1
    for statement in tree.body[place:]:
        if (
            not isinstance(statement, ast.ImportFrom)
            or statement.module != "__future__"
        ):
            break
        place += 1
    tree.body[place:place] = ast.parse("__spec__ = __package__ = None").body
    return tree
