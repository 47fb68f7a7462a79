"""The program's own files as a witness: how a call in its loop is tied to the step.

Files are parsed and never run. They may have changed since the trace was recorded; what
is read of them is said to be of today's files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec

ARGUMENT, RESULT, STEP = "argument", "result", "step"
"""How a call is tied to the step: it makes an argument of it, it reads its result and
gives nothing that is read, or it is the step. That it does neither no source can show:
it may change what the step reads elsewhere.
"""
_LARGEST = 1_000_000
"""Bytes of a file that is read; no program that people write is larger."""
_MOST_FILES = 5_000
_SKIPPED = frozenset({"site-packages", "node_modules", "__pycache__"})
Name = str
"""Of a variable, or `self.state` for an attribute."""


class Tie(msgspec.Struct, frozen=True):
    """How the call of a function is tied to the step."""

    tie: str
    """ARGUMENT, RESULT or STEP."""
    line: int
    """Where the loop calls it."""
    text: str
    """That line."""


class ProgramSource:
    """The Python files below a folder, by name. Nothing is read before it is
    asked for.
    """

    def __init__(self, folder: Path) -> None:
        """A folder that does not exist has no files."""
        self._files = _files_by_name(folder)
        self._parsed: dict[str, tuple[ast.Module, list[str]] | None] = {}

    def tie(self, file: str, function: str, steps: frozenset[str]) -> Tie | None:
        """Of a function of the program in a file, as traces name both. steps: names of
        the compiled functions that a step calls.

        None where no loop of the file calls both the function and a step, or the file
        is not there or is there several times.
        """
        parsed = self._read(file)
        if parsed is None or not function:
            return None
        tree, lines = parsed
        for loop in _loops(tree):
            found = _tie_in(loop, function, steps)
            if found is not None:
                tie, line = found
                return Tie(tie, line, lines[line - 1].strip())
        return None

    def _read(self, file: str) -> tuple[ast.Module, list[str]] | None:
        if file not in self._parsed:
            paths = self._files.get(file, [])
            self._parsed[file] = _parsed(paths[0]) if len(paths) == 1 else None
        return self._parsed[file]


def _files_by_name(folder: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for count, path in enumerate(folder.rglob("*.py")):
        if count >= _MOST_FILES:
            break
        if not _SKIPPED.intersection(path.parts):
            found.setdefault(path.name, []).append(path)
    return found


def _parsed(path: Path) -> tuple[ast.Module, list[str]] | None:
    try:
        if path.stat().st_size > _LARGEST:
            return None
        text = path.read_text(encoding="utf-8")
        return ast.parse(text), text.splitlines()
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _loops(tree: ast.Module) -> Iterator[ast.For | ast.While]:
    """The innermost first: what a loop inside of another calls belongs to it."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]
    yield from sorted(found, key=lambda loop: -loop.lineno)


def _tie_in(
    loop: ast.For | ast.While, function: str, steps: frozenset[str]
) -> tuple[str, int] | None:
    """(tie, line of the call) of a function that the loop calls beside a step."""
    asked = _calls_of(loop, frozenset({function}))
    if not asked:
        return None
    line = asked[0].lineno
    if function in steps:
        return STEP, line
    stepping = _calls_of(loop, steps)
    if not stepping:
        return None

    is_inside = any(_holds(step, asked[0]) for step in stepping)
    if is_inside or _made_by(loop, asked) & _names_in_arguments(stepping):
        return ARGUMENT, line
    results = _roots(_made_by(loop, stepping))
    own = _roots({name for call in asked for name in _names(call)})
    if _may_change(own - results, stepping) or not _is_dropped(loop, asked):
        return None
    return (RESULT, line) if own & results else None


def _may_change(names: set[Name], stepping: list[ast.Call]) -> bool:
    """Whether a call that is given these may change what the step is given: an array
    that it fills, an object whose attribute the step reads.
    """
    given = _names_in_arguments(stepping)
    return bool(names & _roots(given))


def _is_dropped(loop: ast.AST, calls: list[ast.Call]) -> bool:
    """Whether nothing reads what the calls give."""
    statements = [node.value for node in ast.walk(loop) if isinstance(node, ast.Expr)]
    return all(any(value is call for value in statements) for call in calls)


def _roots(names: set[Name]) -> set[Name]:
    return {name.partition(".")[0] for name in names}


def _calls_of(loop: ast.AST, functions: frozenset[str]) -> list[ast.Call]:
    calls = (node for node in ast.walk(loop) if isinstance(node, ast.Call))
    return [call for call in calls if _called(call) in functions]


def _called(call: ast.Call) -> str:
    """The last name of what is called: `step` of `trainer.step(x)`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _holds(outer: ast.AST, inner: ast.AST) -> bool:
    return any(node is inner for node in ast.walk(outer) if node is not outer)


def _names_in_arguments(calls: list[ast.Call]) -> set[Name]:
    found: set[Name] = set()
    for call in calls:
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        for value in values:
            found.update(_names(value))
    return found


def _made_by(loop: ast.AST, calls: list[ast.Call]) -> set[Name]:
    """Variables that hold what the calls give, or what is made of it."""
    made: set[Name] = set()
    for node in _assignments(loop):
        if any(node.value is call or _holds(node.value, call) for call in calls):
            made |= _written(node)
    return _with_what_is_made_of(loop, made)


def _with_what_is_made_of(loop: ast.AST, made: set[Name]) -> set[Name]:
    """Assignments that read one of the variables make others of it, through calls too:
    what is cast, padded or put on a device is still of the batch.
    """
    known = set(made)
    for node in _assignments(loop):
        if _names(node.value) & known:
            known |= _written(node)
    return known


def _assignments(loop: ast.AST) -> Iterator[ast.Assign]:
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            yield node


def _written(node: ast.Assign) -> set[Name]:
    found: set[Name] = set()
    for target in node.targets:
        found |= _names(target)
    return found


def _names(node: ast.AST) -> set[Name]:
    """Variables and attributes that an expression reads or writes."""
    found: set[Name] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            found.add(one.id)
        elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
            found.add(f"{one.value.id}.{one.attr}")
    return found - {"self", "np", "jnp", "jax", "tf"}
