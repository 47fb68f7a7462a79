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
    Counter = Callable[[str], int]
    """From the name of what is done: the number of its counter."""

TICK = "__tfadvisor_tick__"
ENTER = "__tfadvisor_enter__"
LEAVE = "__tfadvisor_leave__"
COUNTS = "__tfadvisor_counts__"
"""Where counters are."""
_LONGEST = 60
"""Characters of a statement."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def with_ticks(
    tree: ast.Module,
    number: Number,
    counter: Counter | None = None,
) -> ast.Module:
    """Changes the tree in place; lines stay where they are. counter: where functions
    and what loops do under conditions are counted.
    """
    _Ticking(number, _knows_numba(tree), counter).visit(tree)
    return ast.fix_missing_locations(tree)


class _Ticking(ast.NodeTransformer):
    def __init__(
        self,
        number: Number,
        numba: bool,
        counter: Counter | None,
    ) -> None:
        self.number = number
        self.numba = numba
        self.counter = counter
        self.names: list[str] = []
        self.yields = [False]
        self.loops = [0]
        """Around what is looked at, in its function."""

    def visit_FunctionDef(self, node: Any) -> Any:
        """Numba compiles bytecode and knows nothing of our calls."""
        if self.numba and node.decorator_list:
            return node
        self.names.append(node.name)
        self.yields.append(_yields(node))
        self.loops.append(0)
        self.generic_visit(node)
        if not isinstance(node, ast.ClassDef):
            self.count(node, ".".join(self.names))
        self.loops.pop()
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
        self.loops[-1] += 1
        self.generic_visit(node)
        self.loops[-1] -= 1
        if number is None:
            return node
        node.body.insert(0, _where_known(f"{TICK}({number})", node))
        before = _where_known(f"{ENTER}({number})", node)
        behind = _where_known(f"{LEAVE}({number})", node)
        return [before, node, behind]

    visit_While = visit_For

    def visit_If(self, node: Any) -> Any:
        """What it does in a loop, by its first line. Python 3.8 has no text of it."""
        unparse = getattr(ast, "unparse", None)
        if not self.loops[-1] or self.counter is None or unparse is None:
            return self.generic_visit(node)
        first = unparse(node.body[0]).split("\n")[0][:_LONGEST]
        self.generic_visit(node)
        self.count(node, first)
        return node

    def count(self, node: Any, name: str) -> None:
        """Each time that a body begins."""
        if self.counter is None:
            return
        made = _where_known(f"{COUNTS}[{self.counter(name)}] += 1", node.body[0])
        is_docstring = isinstance(node.body[0], ast.Expr) and isinstance(
            node.body[0].value, ast.Constant
        )
        node.body.insert(1 if is_docstring else 0, made)


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


def _where_known(text: str, where: ast.AST) -> ast.stmt:
    """A statement that does nothing in a process that does not know our names: the
    program may pickle its functions by value or save them in a model. where: its place.
    """
    guarded = f"try:\n {text}\nexcept NameError:\n pass"
    made = ast.parse(guarded).body[0]
    for part in ast.walk(made):
        if hasattr(part, "lineno"):
            ast.copy_location(part, where)
    return made


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
