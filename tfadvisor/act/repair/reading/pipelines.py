"""tf.data pipelines: chains of calls, and the names that carry them from line
to line.
"""

from __future__ import annotations

import ast
from typing import Any

from tfadvisor.act.repair.reading.compiled import functions_named
from tfadvisor.act.repair.reading.program import (
    Program,
    called,
    dotted,
    once,
    pairs,
    text_of,
    walk,
)
from tfadvisor.tallies import listed

CHAINED = frozenset(
    "map batch padded_batch ragged_batch shuffle repeat prefetch cache interleave "
    "filter with_options window flat_map take skip unbatch enumerate concatenate "
    "shard from_generator snapshot".split()
)
"""Methods of a dataset that give a dataset."""
_ITERATORS = (
    "iter",
    "as_numpy_iterator",
    "experimental_distribute_dataset",
    "distribute_datasets_from_function",
)


def links_of(node: ast.AST) -> list[Any]:
    """The calls of a chain, the last first: `[batch(3), map(f)]` of
    `a.map(f).batch(3)`.
    """
    found = []
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        found.append(node)
        node = node.func.value
    return found


def root_of(node: ast.AST) -> Any:
    """What a chain begins with: a name, or a call of something that is no method."""
    while isinstance(node, ast.Call) and called(node) in CHAINED:
        if not isinstance(node.func, ast.Attribute):
            break
        node = node.func.value
    return node


def assignments(
    program: Program,
    name: str,
) -> list[Any]:
    """Values that a name gets, in the order in which they are written."""
    return _values(program).get(name, [])


@once
def _values(program: Program) -> dict[str, list[Any]]:
    named = []
    for target, value in pairs(program):
        named.append((dotted(target), value))
    return listed(named)


def _returns(
    program: Program,
    call: ast.Call,
) -> list[Any]:
    """What the functions of the module return that a call may be of."""
    found = []
    for function in functions_named(program, call.func):
        for node in walk(function.body):
            if isinstance(node, ast.Return) and node.value is not None:
                found.append(node.value)
    return found


def is_pipeline(
    program: Program,
    node: ast.AST,
) -> bool:
    """Whether an expression is a tf.data pipeline: built from one here, in a name, or
    in a function of the module.
    """
    left, seen = [node], set()
    while left:
        root = root_of(left.pop())
        text = text_of(root)
        if "tf.data" in text or "Dataset" in text:
            return True
        if text in seen:
            continue
        seen.add(text)
        left += _made_of(program, root)
    return False


def _made_of(
    program: Program,
    root: Any,
) -> list[Any]:
    """What a name, an iterator or a function's value may be."""
    if isinstance(root, ast.Name):
        return assignments(program, root.id)
    if not isinstance(root, ast.Call):
        return []
    if called(root) not in _ITERATORS:
        return _returns(program, root)
    if isinstance(root.func, ast.Attribute):
        return [root.func.value]
    return root.args[:1]


_LONGEST = 5
"""Names and functions through which a pipeline is followed."""


def stages(
    program: Program,
    node: Any,
) -> list[str]:
    """Names of a pipeline's stages, the last first, followed through names and
    functions as far as they can be.
    """
    found: list[str] = []
    for _ in range(_LONGEST):
        found += [called(link) for link in links_of(node)]
        before = _before(program, node)
        if before is None:
            break
        node = before
    return found


def _before(program: Program, node: Any) -> Any:
    """What the root of a chain is given by; None where that is not known."""
    root = root_of(node)
    given: list[Any] = []
    if isinstance(root, ast.Call):
        given = _returns(program, root)[:1]
    elif isinstance(root, ast.Name):
        values = assignments(program, root.id)
        given = [value for value in values if value.lineno < node.lineno]
    return given[-1] if given else None


def pipeline_calls(
    program: Program,
    *names: str,
) -> list[Any]:
    """Stages of these names in pipelines."""
    calls = program.calls(*names)
    methods = [call for call in calls if isinstance(call.func, ast.Attribute)]
    return [method for method in methods if is_pipeline(program, method.func.value)]


def carrier(
    program: Program,
    node: ast.AST,
) -> tuple[Any, str]:
    """Which pipeline a stage belongs to: the function around it, and the name that its
    statement assigns or begins with.
    """
    statement = program.inside(node, ast.stmt)
    name = ""
    if isinstance(statement, ast.Assign):
        name = text_of(statement.targets[0])
    root = root_of(node)
    if isinstance(root, ast.Name) and assignments(program, root.id):
        name = root.id
    return program.scope(node), name
