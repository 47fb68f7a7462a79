"""How dense the code of the package is: tokens, and branches a function."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
MOST_BRANCHES = 12
"""A function above it is hard to read at once."""
LISTED = Path(__file__).with_name("complex_functions.txt")
"""Functions that are above it all the same. The list may only get shorter."""
_COUNTED = (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
_BRANCHES = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.match_case)


class Density(msgspec.Struct, frozen=True):
    """Of all modules of the package together."""

    tokens: int
    """Names, operators, numbers and texts; comments and docstrings are none."""
    lines: int
    """That hold such a token."""
    complex: tuple[str, ...]
    """Functions with more branches than `MOST_BRANCHES`, as `trace/runs.py:run_in`."""

    @property
    def tokens_a_line(self) -> float:
        """On average."""
        return self.tokens / self.lines


def density(root: Path = ROOT) -> Density:
    """Reads every module below `root/tfadvisor`."""
    tokens = lines = 0
    found: list[str] = []
    for module in sorted((root / "tfadvisor").rglob("*.py")):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        counted = list(_tokens(module, _docstring_lines(tree)))
        tokens += len(counted)
        lines += len({line for one in counted for line in one})
        name = module.relative_to(root / "tfadvisor").as_posix()
        found += [f"{name}:{one}" for one in _complex(tree)]
    return Density(tokens, lines, tuple(sorted(found)))


def branches(function: ast.AST) -> int:
    """1 and one for each branch, loop, condition, comprehension and its filters, and for
    each `and` and `or`. Functions inside count too.
    """
    found = 1
    for node in ast.walk(function):
        if isinstance(node, _BRANCHES):
            found += 1
        elif isinstance(node, ast.comprehension):
            found += 1 + len(node.ifs)
        elif isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
    return found


def _complex(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and branches(node) > MOST_BRANCHES:
            yield node.name


def _docstring_lines(tree: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, str):
            lines.update(range(node.lineno, (node.end_lineno or 0) + 1))
    return lines


def _tokens(module: Path, docstrings: set[int]) -> Iterator[range]:
    """The lines of each token that counts."""
    with module.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in _COUNTED and token.start[0] not in docstrings:
                yield range(token.start[0], token.end[0] + 1)


def listed() -> list[str]:
    """The functions that may be complex."""
    return LISTED.read_text(encoding="utf-8").split()
