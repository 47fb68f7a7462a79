"""tf.data pipelines: chains of calls, and the names that carry them from line to line."""

from __future__ import annotations

import ast
import re
from typing import Any

from tfadvisor.act.repair.reading.compiled import functions_named, words_reached
from tfadvisor.act.repair.reading.program import Program, called, dotted, keyword, pairs, text_of, walk

CHAINED = frozenset(
    "map batch padded_batch ragged_batch shuffle repeat prefetch cache interleave filter with_options window flat_map take "
    "skip unbatch enumerate concatenate shard from_generator snapshot".split()
)
"""Methods of a dataset that give a dataset."""
_ITERATORS = ("iter", "as_numpy_iterator", "experimental_distribute_dataset", "distribute_datasets_from_function")
_RANDOM = ("random", "augment", "dropout")
_SEEDED = re.compile(r"\b(tf\.random\.|tf\.image\.)?stateless_\w+")


def links_of(node: ast.AST) -> list[Any]:
    """The calls of a chain, the last first: `[batch(3), map(f)]` of `a.map(f).batch(3)`."""
    found = []
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        found.append(node)
        node = node.func.value
    return found


def root_of(node: ast.AST) -> Any:
    """What a chain begins with: a name, or a call of something that is no method."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and called(node) in CHAINED:
        node = node.func.value
    return node


def assignments(program: Program, name: str) -> list[Any]:
    """Values that a name gets, in the order in which they are written."""
    return [value for target, value in pairs(program) if dotted(target) == name]


def _returns(program: Program, call: ast.Call) -> list[Any]:
    """What the functions of the module return that a call may be of."""
    return [
        one.value
        for function in functions_named(program, call.func)
        for one in walk(function.body)
        if isinstance(one, ast.Return) and one.value is not None
    ]


def is_pipeline(program: Program, node: ast.AST, depth: int = 5) -> bool:
    """Whether an expression is a tf.data pipeline: built from one here, in a name, or in a function of the module."""
    root = root_of(node)
    text = text_of(root)
    if "tf.data" in text or "Dataset" in text:
        return True
    if not depth:
        return False
    if isinstance(root, ast.Name):
        values = assignments(program, root.id)
        return any(is_pipeline(program, one, depth - 1) for one in values if one is not node and text_of(one) != text)
    if not isinstance(root, ast.Call):
        return False
    if called(root) in _ITERATORS:
        read = root.func.value if isinstance(root.func, ast.Attribute) else root.args[0] if root.args else root
        return read is not root and is_pipeline(program, read, depth - 1)
    return any(is_pipeline(program, one, depth - 1) for one in _returns(program, root))


def stages(program: Program, node: Any, depth: int = 5) -> list[str]:
    """Names of a pipeline's stages, the last first, followed through names and functions as far as they can be."""
    found = [called(one) for one in links_of(node)]
    root = root_of(node)
    if not depth:
        return found
    if isinstance(root, ast.Name):
        earlier = [one for one in assignments(program, root.id) if one.lineno < node.lineno]
        return found + (stages(program, earlier[-1], depth - 1) if earlier else [])
    returned = _returns(program, root)[:1] if isinstance(root, ast.Call) else []
    return found + [name for one in returned for name in stages(program, one, depth - 1)]


def pipeline_calls(program: Program, *names: str) -> list[Any]:
    """Stages of these names in pipelines."""
    return [
        call
        for call in program.calls(*names)
        if isinstance(call.func, ast.Attribute) and is_pipeline(program, call.func.value)
    ]


def is_random(program: Program, call: Any) -> bool:
    """Whether a stage's function may give another result for the same element."""
    told = keyword(call, "map_func")
    given = told.value if told is not None else call.args[0] if call.args else call
    text = _SEEDED.sub(
        "", text_of(call) + "".join(words_reached(program, one) for one in functions_named(program, given))
    )
    return any(word in text for word in _RANDOM)


def carrier(program: Program, node: ast.AST) -> tuple[Any, str]:
    """Which pipeline a stage belongs to: the function around it, and the name that its statement assigns or begins with."""
    statement = program.inside(node, ast.stmt)
    name = text_of(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    root = root_of(node)
    if isinstance(root, ast.Name) and assignments(program, root.id):
        name = root.id
    return program.scope(node), name
