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
    "filter with_options window flat_map take "
    "skip unbatch enumerate concatenate shard from_generator snapshot".split()
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
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and called(node) in CHAINED
    ):
        node = node.func.value
    return node


def assignments(program: Program, name: str) -> list[Any]:
    """Values that a name gets, in the order in which they are written."""
    return _values(program).get(name, [])


@once
def _values(program: Program) -> dict[str, list[Any]]:
    return listed((dotted(target), value) for target, value in pairs(program))


def _returns(program: Program, call: ast.Call) -> list[Any]:
    """What the functions of the module return that a call may be of."""
    return [
        one.value
        for function in functions_named(program, call.func)
        for one in walk(function.body)
        if isinstance(one, ast.Return) and one.value is not None
    ]


def is_pipeline(program: Program, node: ast.AST) -> bool:
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
        if isinstance(root, ast.Name):
            left += assignments(program, root.id)
        elif isinstance(root, ast.Call) and called(root) in _ITERATORS:
            left += (
                [root.func.value]
                if isinstance(root.func, ast.Attribute)
                else root.args[:1]
            )
        elif isinstance(root, ast.Call):
            left += _returns(program, root)
    return False


_LONGEST = 5
"""Names and functions through which a pipeline is followed."""


def stages(program: Program, node: Any) -> list[str]:
    """Names of a pipeline's stages, the last first, followed through names and
    functions as far as they can be.
    """
    found: list[str] = []
    for _ in range(_LONGEST):
        found += [called(one) for one in links_of(node)]
        root = root_of(node)
        before = [
            one
            for one in assignments(program, dotted(root))
            if one.lineno < node.lineno
        ]
        before = before[-1:] if isinstance(root, ast.Name) else []
        if isinstance(root, ast.Call):
            before = _returns(program, root)[:1]
        if not before:
            break
        node = before[0]
    return found


def pipeline_calls(program: Program, *names: str) -> list[Any]:
    """Stages of these names in pipelines."""
    return [
        call
        for call in program.calls(*names)
        if isinstance(call.func, ast.Attribute)
        and is_pipeline(program, call.func.value)
    ]


def carrier(program: Program, node: ast.AST) -> tuple[Any, str]:
    """Which pipeline a stage belongs to: the function around it, and the name that its
    statement assigns or begins with.
    """
    statement = program.inside(node, ast.stmt)
    name = text_of(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    root = root_of(node)
    if isinstance(root, ast.Name) and assignments(program, root.id):
        name = root.id
    return program.scope(node), name
